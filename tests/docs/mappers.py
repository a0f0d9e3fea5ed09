"""
The tables of docs/map.md that compare mappers at equal evaluations, between markers.

    python -m tests.docs.mappers [OBJECTIVE…]     searches, a minute an objective, and writes their rows anew

Twelve contractions of a network, five seeds each. A cost is given by what share it is above the least one that any of
these searches or `exact` has found; what is proved to be the least of all is marked. Rates are of the computer at hand.
"""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, log
from statistics import mean

from npuc.backends.registry import get_backend
from npuc.compiler.driver.compile import lowered_module
from npuc.compiler.explore.mapping.best import OBJECTIVES, Objective
from npuc.compiler.explore.mapping.result import Settings
from npuc.compiler.explore.mapping.search import Search
from npuc.compiler.explore.mapping.searcher import Outcome, Searcher
from npuc.compiler.explore.mapping.task import SearchTask
from npuc.dialects.provenance import layer_of, role_of
from npuc.frontends.source import text_source
from tests.docs.pages import FOLDER
from tests.docs.tables import begin, end, filled

NETWORK = """
network twelve(batch = 4) {
  input x: f32[batch, 3, 224, 224]
  input words: f32[batch, 128, 256]
  labels t: i32[batch]
  conv1 = conv2d(x, 64, kernel=7, stride=2, padding=3)
  narrow = conv2d(max_pool(relu(conv1), kernel=3, stride=2, padding=1), 64, kernel=1)
  middle = conv2d(relu(narrow), 64, kernel=3, padding=1)
  wide = conv2d(relu(middle), 256, kernel=1)
  down = conv2d(relu(wide), 128, kernel=3, stride=2, padding=1)
  depthwise = conv2d(relu(down), 128, kernel=3, padding=1, groups=128)
  point = conv2d(relu(depthwise), 256, kernel=1)
  key = linear(words, 256)
  scores = matmul(key, words, transpose_b=true)
  mixed = matmul(softmax(scores), words)
  logits = linear(global_avg_pool(relu(point)) + mean(mixed, axis=1), 1000)
  loss cross_entropy(logits, t)
  optimizer sgd(lr=0.1)
}
"""
Layer = tuple[str, str]
LAYERS: tuple[Layer, ...] = (
    ("conv1", "forward"),
    ("conv1", "dw"),
    ("middle", "forward"),
    ("middle", "dw"),
    ("wide", "dx"),
    ("down", "forward"),
    ("down", "dx"),
    ("depthwise", "forward"),
    ("depthwise", "dw"),
    ("key", "forward"),
    ("scores", "forward"),
    ("logits", "dw"),
)
"""Layers and phases."""
HARDWARE = "nvdla"
SEEDS, BUDGETS = range(5), (2_000, 40_000)
MAPPERS = ("random", "genetic")
CLOSE = 0.02


@dataclass(frozen=True)
class Run:
    """A search: its outcome, and the CPU time that it took, in seconds."""

    outcome: Outcome
    seconds: float

    def cost(self, budget: int) -> float:
        """The least cost after so many proposals; the known mappings come before them."""
        known = self.outcome.best.evaluations - BUDGETS[-1] if self.outcome.best.evaluations > BUDGETS[-1] else 0
        return [cost for number, cost in self.outcome.best.curve if number <= budget + known][-1]


@cache
def tasks() -> dict[Layer, SearchTask]:
    """The searches of the twelve contractions."""
    source = text_source(NETWORK, "dsl", "<twelve>")
    module, hardware = lowered_module(source, get_backend("maestro"), {"hardware": HARDWARE}, lambda text: None, [])
    found = Search(module, hardware, settings("time", "random", 0))
    every = {(layer_of(op), role_of(op).value): task for task, op in found.distinct.values()}
    return {layer: every[layer] for layer in LAYERS}


def settings(objective: Objective, mapper: str, seed: int) -> Settings:
    """The settings of a search of all evaluations, as `npuc map` has them."""
    return Settings(objective, mapper, BUDGETS[-1], seed, levels=2, parallel=1, tiles="divisors")


@cache
def run(layer: Layer, objective: Objective, mapper: str, seed: int) -> Run:
    """A search."""
    start = time.process_time()
    found = Searcher((tasks()[layer],), settings(objective, mapper, seed), os.devnull, {})(0)
    return Run(found, time.process_time() - start)


@cache
def least(layer: Layer, objective: Objective) -> tuple[float, bool]:
    """The least cost that was found, and whether it is proved to be the least of all."""
    exact = run(layer, objective, "exact", 0)
    runs = [exact, *(run(layer, objective, mapper, seed) for mapper in MAPPERS for seed in SEEDS)]
    cost = min(one.cost(BUDGETS[-1]) for one in runs)
    return cost, exact.outcome.bound is not None and cost <= exact.outcome.bound


def excess(layer: Layer, objective: Objective, mapper: str, budget: int) -> list[float]:
    """Of each seed, by what share the cost is above the least one."""
    cost, _ = least(layer, objective)
    return [run(layer, objective, mapper, seed).cost(budget) / cost - 1 for seed in SEEDS]


def layer_row(layer: Layer, objective: Objective = "time") -> str:
    """The row of a contraction: the least cost, and the mean and largest excess of each mapper."""
    cost, proved = least(layer, objective)
    cells = [" ".join(layer), f"{cost:,.0f}{' *' if proved else ''}"]
    for budget in BUDGETS:
        for mapper in MAPPERS:
            values = excess(layer, objective, mapper, budget)
            cells.append(f"{100 * mean(values):.2f} ({100 * max(values):.2f})")
    return _line(cells)


def layer_rows() -> Iterator[str]:
    """A row a contraction, in time."""
    heads = [f"{mapper}, {budget:,}" for budget in BUDGETS for mapper in MAPPERS]
    yield _line(["contraction", "cycles", *heads])
    yield f"|---|{'---:|' * (1 + len(heads))}"
    for layer in LAYERS:
        yield layer_row(layer)


def objective_row(objective: Objective, mapper: str, budget: int) -> str:
    """All contractions and seeds of an objective: the mean excess, the largest, those close to it, those not worse."""
    pairs = [(layer, seed) for layer in LAYERS for seed in SEEDS]
    costs = [run(layer, objective, mapper, seed).cost(budget) for layer, seed in pairs]
    drawn = [run(layer, objective, "random", seed).cost(budget) for layer, seed in pairs]
    over = [cost / least(layer, objective)[0] - 1 for cost, (layer, _) in zip(costs, pairs, strict=True)]
    geometric = exp(mean(log(1 + one) for one in over)) - 1
    good = sum(one <= CLOSE for one in over)
    better = sum(one < other for one, other in zip(costs, drawn, strict=True))
    equal = sum(one == other for one, other in zip(costs, drawn, strict=True))
    cells = [objective, mapper, f"{budget:,}", f"{100 * geometric:.2f}", f"{100 * max(over):.2f}", str(good)]
    return _line([*cells, "" if mapper == "random" else f"{better} + {equal}"])


def objective_rows(wanted: Sequence[Objective], text: str) -> Iterator[str]:
    """A row an objective, a mapper and a number of evaluations: those that are wanted anew, the others of the page."""
    yield _line(["objective", "mapper", "mappings", "mean, %", "most, %", "within 2 %", "better + equal"])
    yield "|---|---|---:|---:|---:|---:|---:|"
    old = text.split(begin("objectives"))[1].split(end("objectives"))[0].splitlines()
    for objective in OBJECTIVES:
        if objective in wanted:
            yield from (objective_row(objective, mapper, budget) for budget in BUDGETS for mapper in MAPPERS)
        else:
            yield from (row for row in old if row.startswith(f"| {objective} |"))


def rates(objective: Objective) -> Iterator[str]:
    """The least and the largest number of mappings a second of each mapper."""
    for mapper in MAPPERS:
        runs = [run(layer, objective, mapper, seed) for layer in LAYERS for seed in SEEDS]
        each = [one.outcome.best.evaluations / one.seconds for one in runs]
        yield f"{mapper}: {min(each):,.0f} to {max(each):,.0f} mappings a second"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE = FOLDER / "map.md"
    ASKED: list[Objective] = [one for one in OBJECTIVES if one in sys.argv[1:]] or list(OBJECTIVES)
    for ONE in ASKED:
        TEXT = PAGE.read_text(encoding="utf-8")
        TABLES = {"objectives": objective_rows([ONE], TEXT)} | ({"layers": layer_rows()} if ONE == "time" else {})
        PAGE.write_text(filled(TEXT, TABLES), encoding="utf-8")
        print(ONE, *rates(ONE), sep="\n  ")
