"""
The tables of docs/map.md that compare mappers at equal evaluations, between markers.

    python -m tests.docs.mappers [TABLE…] [OBJECTIVE…]     searches, minutes an objective, and writes their rows anew

Twelve contractions of a network, with which the search was tuned, and contractions of samples on several machines, with
which it was not; a few seeds each. A cost is given by what share it is above the least one that any of these searches
has found (for time also `exact`), or above the least of all mappings where these are few enough to try them all. What
is proved to be the least of all is marked, and counted among what two mappers have equal. Rates are of the computer at
hand.
"""

import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, log
from statistics import mean

from npuc.backends.registry import get_backend
from npuc.compiler.driver.compile import lowered_module
from npuc.compiler.explore.mapping.best import BATCH, OBJECTIVES, BestMapping, Limits, Objective
from npuc.compiler.explore.mapping.mappers.exhaustive import ExhaustiveMapper, count_mappings
from npuc.compiler.explore.mapping.result import Settings
from npuc.compiler.explore.mapping.search import Search
from npuc.compiler.explore.mapping.searcher import Outcome, Searcher
from npuc.compiler.explore.mapping.task import SearchTask
from npuc.dialects.provenance import layer_of, role_of
from npuc.frontends.source import open_source, text_source
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


@dataclass(frozen=True)
class Layer:
    """A contraction: its network (a sample, or the one above), layer and phase, and the machine."""

    name: str
    phase: str
    network: str = "twelve"
    hardware: str = "nvdla"


LAYERS = (
    Layer("conv1", "forward"),
    Layer("conv1", "dw"),
    Layer("middle", "forward"),
    Layer("middle", "dw"),
    Layer("wide", "dx"),
    Layer("down", "forward"),
    Layer("down", "dx"),
    Layer("depthwise", "forward"),
    Layer("depthwise", "dw"),
    Layer("key", "forward"),
    Layer("scores", "forward"),
    Layer("logits", "dw"),
)
HELD_OUT = (
    Layer("stage6.0.project", "forward", "mobilenet_v2"),
    Layer("stage2.0.depthwise", "dw", "mobilenet_v2"),
    Layer("stage4.0.conv", "forward", "vgg16"),
    Layer("stage2.0.conv", "dx", "vgg16"),
    Layer("encoder.11.attention.context", "dx", "bert_base"),
    Layer("h.0.attention.q", "forward", "gpt2"),
    Layer("features.mlp.2.x.linear", "dw", "dlrm"),
    Layer("logits", "dw", "bert_base"),
    Layer("conv1", "forward", "mobilenet_v2", "eyeriss"),
    Layer("stage3.2.conv", "dx", "vgg16", "eyeriss"),
    Layer("logits", "dx", "gpt2", "eyeriss"),
    Layer("logits", "forward", "dlrm", "eyeriss"),
    Layer("stage5.2.conv", "dx", "vgg16", "tpu-v1"),
    Layer("encoder.11.fc2", "dw", "bert_base", "tpu-v1"),
    Layer("logits", "dx", "dlrm", "tpu-v1"),
    Layer("stage4.1.project", "forward", "mobilenet_v2", "maestro-example"),
    Layer("stage3.1.depthwise", "forward", "mobilenet_v2", "maestro-example"),
    Layer("logits", "dx", "bert_base", "maestro-example"),
)
BUDGETS = (2_000, 40_000)
PROOF = 100_000
"""The mappings that `exact` may evaluate to prove the least time."""
MAPPERS = ("random", "genetic")
"""The mappers of the table of contractions."""
COLUMNS = (*(("random", 2_000), ("genetic", 2_000), ("cma-es", 2_000)), *(("random", 40_000), ("genetic", 40_000)))
"""The mappers and budgets of the tables of objectives."""
CLOSE = 0.02
COUNTED = 2_500_000
"""The number of mappings up to which all of them are tried."""


@dataclass(frozen=True)
class Trial:
    """Contractions with the seeds of their searches; their table on the page."""

    table: str
    layers: tuple[Layer, ...]
    seeds: range


TUNED, HELD = Trial("objectives", LAYERS, range(5)), Trial("held out", HELD_OUT, range(1_000, 1_003))


@dataclass(frozen=True)
class Run:
    """A search: its outcome, the number of known mappings before it, and its CPU time, in seconds."""

    outcome: Outcome
    known: int
    seconds: float

    def cost(self, budget: int) -> float:
        """The least cost after so many proposals."""
        return [cost for number, cost in self.outcome.best.curve if number <= budget + self.known][-1]


@cache
def tasks(network: str, hardware: str) -> dict[tuple[str, str], SearchTask]:
    """The searches of the contractions of a network on a machine, by layer and phase."""
    source = text_source(NETWORK, "dsl", "<twelve>") if network == "twelve" else open_source(f"samples:{network}")
    module, machine = lowered_module(source, get_backend("maestro"), {"hardware": hardware}, lambda text: None, [])
    found = Search(module, machine, settings("time", "random", 0))
    return {(layer_of(op) or "", role_of(op).value): task for task, op in found.distinct.values()}


def task_of(layer: Layer) -> SearchTask:
    """The search of a contraction."""
    return tasks(layer.network, layer.hardware)[layer.name, layer.phase]


def settings(objective: Objective, mapper: str, seed: int) -> Settings:
    """The settings of a search with all evaluations that the tables have of it, as `npuc map` has them."""
    most = max((budget for name, budget in COLUMNS if name == mapper), default=PROOF)
    return Settings(objective, mapper, most, seed, levels=2, parallel=1, tiles="divisors")


@cache
def run(layer: Layer, objective: Objective, mapper: str, seed: int) -> Run:
    """A search."""
    task = task_of(layer)
    start = time.process_time()
    found = Searcher((task,), settings(objective, mapper, seed), os.devnull, {})(0)
    return Run(found, sum(1 for _ in task.known()), time.process_time() - start)


@cache
def counted(layer: Layer) -> dict[Objective, float] | None:
    """The least costs of all mappings; None where there are too many."""
    task = task_of(layer)
    if len(task.space.cut) > 3 or count_mappings(task.space) > COUNTED:
        return None
    limits = Limits(task.capacity.l1, task.capacity.l2)
    best: dict[Objective, BestMapping] = {one: BestMapping(one, limits) for one in OBJECTIVES}
    mapper = ExhaustiveMapper(task.space)
    while (batch := mapper.propose(BATCH)) is not None:
        costs = task.costs(batch)
        for one in best.values():
            one.add(batch, costs)
        mapper.tell(costs.cycles)
    found: dict[Objective, float] = {objective: one.key[0] for objective, one in best.items()}
    return found


@cache
def least(layer: Layer, objective: Objective) -> tuple[float, bool]:
    """The least cost that was found, and whether it is proved to be the least of all."""
    trial = TUNED if layer in LAYERS else HELD
    runs = [run(layer, objective, mapper, seed) for mapper in MAPPERS for seed in trial.seeds]
    exact = run(layer, objective, "exact", 0) if objective == "time" else None
    cost = min(one.cost(PROOF) for one in (*runs, *([] if exact is None else [exact])))
    every = None if trial is TUNED else counted(layer)
    if every is not None:
        return min(cost, every[objective]), True
    return cost, exact is not None and exact.outcome.bound is not None and cost <= exact.outcome.bound


def layer_row(layer: Layer, objective: Objective = "time") -> str:
    """The row of a contraction: the least cost, and the mean and largest excess of each mapper."""
    cost, proved = least(layer, objective)
    cells = [f"{layer.name} {layer.phase}", f"{cost:,.0f}{' *' if proved else ''}"]
    for budget in BUDGETS:
        for mapper in MAPPERS:
            values = [run(layer, objective, mapper, seed).cost(budget) / cost - 1 for seed in TUNED.seeds]
            cells.append(f"{100 * mean(values):.2f} ({100 * max(values):.2f})")
    return _line(cells)


def layer_rows() -> Iterator[str]:
    """A row a contraction, in time."""
    heads = [f"{mapper}, {budget:,}" for budget in BUDGETS for mapper in MAPPERS]
    yield _line(["contraction", "cycles", *heads])
    yield f"|---|{'---:|' * (1 + len(heads))}"
    for layer in LAYERS:
        yield layer_row(layer)


def objective_row(trial: Trial, objective: Objective, mapper: str, budget: int) -> str:
    """
    All contractions and seeds of an objective: the mean excess, the largest, also among those of which all mappings
    were tried, those close to the least cost, those better than random ones, and equal to them; of the latter, in time,
    those that are proved to be the least of all.
    """
    pairs = [(layer, seed) for layer in trial.layers for seed in trial.seeds]
    costs = [run(layer, objective, mapper, seed).cost(budget) for layer, seed in pairs]
    drawn = [run(layer, objective, "random", seed).cost(budget) for layer, seed in pairs]
    over = [cost / least(layer, objective)[0] - 1 for cost, (layer, _) in zip(costs, pairs, strict=True)]
    geometric = exp(mean(log(1 + one) for one in over)) - 1
    cells = [objective, mapper, f"{budget:,}", f"{100 * geometric:.2f}", f"{100 * max(over):.2f}"]
    if trial is HELD:
        known = [one for one, (layer, _) in zip(over, pairs, strict=True) if counted(layer) is not None]
        cells.append(f"{100 * max(known):.2f}")
    better = sum(one < other for one, other in zip(costs, drawn, strict=True))
    same = [(layer, one) for one, other, (layer, _) in zip(costs, drawn, pairs, strict=True) if one == other]
    proved = sum(least(layer, objective) == (one, True) for layer, one in same)
    text = f"{better} + {len(same)}" + (f" ({proved})" if objective == "time" else "")
    return _line([*cells, str(sum(one <= CLOSE for one in over)), "" if mapper == "random" else text])


def objective_rows(trial: Trial, wanted: Sequence[Objective], text: str) -> Iterator[str]:
    """A row an objective, a mapper and a number of evaluations: those that are wanted anew, the others of the page."""
    more = ["most counted, %"] if trial is HELD else []
    yield _line(["objective", "mapper", "mappings", "mean, %", "most, %", *more, "within 2 %", "better + equal"])
    yield f"|---|---|{'---:|' * (5 + len(more))}"
    old = text.split(begin(trial.table))[1].split(end(trial.table))[0].splitlines()
    for objective in OBJECTIVES:
        if objective in wanted:
            yield from (objective_row(trial, objective, mapper, budget) for mapper, budget in COLUMNS)
        else:
            yield from (row for row in old if row.startswith(f"| {objective} |"))


def rates(trial: Trial, objective: Objective) -> Iterator[str]:
    """The least and the largest number of mappings a second of each mapper, and of all its searches."""
    for mapper in dict(COLUMNS):
        runs = [run(layer, objective, mapper, seed) for layer in trial.layers for seed in trial.seeds]
        each = [one.outcome.best.evaluations / one.seconds for one in runs]
        whole = sum(one.outcome.best.evaluations for one in runs) / sum(one.seconds for one in runs)
        yield f"{mapper}: {min(each):,.0f} to {max(each):,.0f} mappings a second, {whole:,.0f} in all"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE = FOLDER / "map.md"
    ASKED: list[Objective] = [one for one in OBJECTIVES if one in sys.argv[1:]] or list(OBJECTIVES)
    TRIALS = [one for one in (TUNED, HELD) if one.table in sys.argv[1:]] or [TUNED, HELD]
    for TRIAL in TRIALS:
        for ONE in ASKED:
            TEXT = PAGE.read_text(encoding="utf-8")
            TABLES = {TRIAL.table: list(objective_rows(TRIAL, [ONE], TEXT))}
            if TRIAL is TUNED and ONE == "time":
                TABLES["layers"] = list(layer_rows())
            PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), TABLES), encoding="utf-8")
            print(TRIAL.table, ONE, *rates(TRIAL, ONE), sep="\n  ", flush=True)
