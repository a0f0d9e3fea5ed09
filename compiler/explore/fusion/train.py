"""
Train the network of the learned mapper:

    python -m npuc.compiler.explore.fusion.train -o compiler/analysis/fusion/learned/weights.npz

It learns from random networks of its own what groups cost over their steps apart: first from random groups, then also
from those that it proposed itself, so that it sees its own mistakes. The same seed makes the same weights.
"""

from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp, inf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npuc.compiler.analysis.fusion.learned.candidates import BAD, BASE, LEAST, GroupCandidates, Rows, candidates_of
from npuc.compiler.analysis.fusion.learned.mapper import RememberedPrices, proposed_plan
from npuc.compiler.analysis.fusion.learned.network import HIDDEN, OUTPUTS, SHAPES, Network, write_network
from npuc.compiler.analysis.programs.reported_costs import ReportedCost
from npuc.compiler.core.errors import NpucError
from npuc.compiler.explore.fusion.problems import FIRST_TRAINED, PricedProblem, random_problems

NETWORKS = 64
PRICED = 100
"""The groups of a problem that are priced."""
EPOCHS = 40
BATCH = 256
RATE = 3e-3
DECAY = 1e-4
NOISE = 0.1
"""Noise on descriptions, in their deviations, so that none is learned by heart."""
GOOD = 0.05
"""The logarithm of a cost over costs apart from which on a group is simply bad: a guess above it is no error."""
MOST = 0.1
"""The largest error that counts, as by Huber's loss: plans depend on guesses that are nearly right."""


@dataclass
class Lessons:
    """Descriptions of groups and the logarithms of their costs over their steps apart; nan where unknown."""

    features: list[NDArray[np.float32]] = field(default_factory=list[NDArray[np.float32]])
    targets: list[tuple[float, float, float]] = field(default_factory=list[tuple[float, float, float]])

    def learn(self, candidates: GroupCandidates, row: int, one: PricedProblem) -> None:
        """Add the group of a row with its price, which is only asked for as far as it is not simply bad."""
        objective = one.problem.objective
        apart = candidates.apart[row]
        known = ReportedCost(int(apart[0]), int(apart[1]), float(apart[2]))
        limit = inf if objective == "edp" else known.score(objective) * exp(GOOD)
        group = int(candidates.first[row]), int(candidates.last[row]), int(candidates.micro[row])
        cost = one.prices.within(*group, limit)
        self.features.append(candidates.features[row])
        if cost is None:
            by = {"time": 0, "traffic": 1, "energy": 2}.get(objective)
            cycles, bits, joules = (BAD if by in (None, part) else np.nan for part in range(3))
        else:
            now = (cost.cycles, float(cost.moved), np.nan if cost.joules is None else cost.joules)
            ratios = [np.log(max(a, 1e-30) / b) if b > 0 else np.nan for a, b in zip(now, apart, strict=True)]
            cycles, bits, joules = (float(np.clip(ratio, LEAST, BAD)) for ratio in ratios)
        self.targets.append((cycles, bits, joules))


def described(one: PricedProblem) -> GroupCandidates:
    """The candidates of a problem."""
    return candidates_of(one.problem, one.prices.alone)


def random_lessons(problems: Sequence[PricedProblem], seed: int, priced: int = PRICED) -> Lessons:
    """Random groups of all problems, short ones more often, those that look alike once."""
    random = np.random.default_rng(seed)
    lessons = Lessons()
    for one in problems:
        candidates = described(one)
        if not len(candidates.first):
            continue
        _, rows = np.unique(candidates.features, axis=0, return_index=True)
        length = (candidates.last - candidates.first)[rows]
        chance = (1 / length) / (1 / length).sum()
        for row in random.choice(rows, min(priced, len(rows)), replace=False, p=chance):
            lessons.learn(candidates, int(row), one)
    return lessons


def add_proposed(lessons: Lessons, problems: Sequence[PricedProblem], network: Network) -> None:
    """Add what a network proposes for the problems, with the exact prices."""
    for one in problems:
        asked = RememberedPrices(one.prices)
        proposed_plan(one.problem, asked, network)
        candidates = described(one)
        names = zip(candidates.first.tolist(), candidates.last.tolist(), candidates.micro.tolist(), strict=True)
        rows = {name: row for row, name in enumerate(names)}
        seen: set[bytes] = set()
        for group in asked.groups:
            row = rows[(group.first, group.last, group.micro)]
            if candidates.features[row].tobytes() not in seen:
                seen.add(candidates.features[row].tobytes())
                lessons.learn(candidates, row, one)


def trained(lessons: Lessons, seed: int, epochs: int = EPOCHS) -> Network:
    """The network that fits lessons best, by Adam (Kingma and Ba, arXiv 1412.6980) on Huber's loss."""
    random = np.random.default_rng(seed)
    x = np.array(lessons.features, dtype=np.float32)
    y = np.array(lessons.targets, dtype=np.float32)
    weights = _fresh(x, random)
    names = [name for name in SHAPES if name not in ("mean", "scale")]
    means = {name: np.zeros_like(weights[name]) for name in names}
    squares = {name: np.zeros_like(weights[name]) for name in names}
    count, total = 0, epochs * -(-len(x) // BATCH)
    for _ in range(epochs):
        order = random.permutation(len(x))
        for start in range(0, len(x), BATCH):
            rows = order[start : start + BATCH]
            scaled = (x[rows] - weights["mean"]) / weights["scale"]
            scaled += NOISE * random.standard_normal(scaled.shape, dtype=np.float32)
            gradients = _gradients(weights, scaled, x[rows][:, BASE], y[rows])
            count += 1
            rate = RATE * (1 - (count - 1) / total)
            for name in names:
                means[name] = 0.9 * means[name] + 0.1 * gradients[name]
                squares[name] = 0.999 * squares[name] + 0.001 * gradients[name] ** 2
                mean, square = means[name] / (1 - 0.9**count), squares[name] / (1 - 0.999**count)
                weights[name] = weights[name] - rate * (mean / (np.sqrt(square) + 1e-8) + DECAY * weights[name])
    return Network({name: np.asarray(value, dtype=np.float32) for name, value in weights.items()})


def _fresh(x: Rows, random: np.random.Generator) -> dict[str, NDArray[Any]]:
    """Weights to begin with, which add nothing to the estimates."""
    weights: dict[str, NDArray[Any]] = {}
    for name, shape in SHAPES.items():
        start = np.zeros(shape)
        if name in ("w1", "w2"):
            start = random.standard_normal(shape) * np.sqrt(2 / shape[0])
        weights[name] = np.asarray(start, np.float32)
    return {**weights, "mean": x.mean(axis=0), "scale": np.maximum(x.std(axis=0), 0.05)}


def _gradients(w: dict[str, NDArray[Any]], x: NDArray[Any], base: Rows, y: Rows) -> dict[str, NDArray[Any]]:
    """The gradients of the loss of scaled descriptions, estimates and targets."""
    one = np.maximum(x @ w["w1"] + w["b1"], 0)
    two = np.maximum(one @ w["w2"] + w["b2"], 0)
    guess = base + two @ w["w3"] + w["b3"]
    error = np.where(np.isfinite(y), guess - np.minimum(y, GOOD), 0)
    error = np.where(y >= GOOD, np.minimum(error, 0), error)
    error = np.clip(error, -MOST, MOST) * (2 / (len(x) * OUTPUTS))
    back = error @ w["w3"].T * (two > 0)
    first = back @ w["w2"].T * (one > 0)
    return {
        **{"w3": two.T @ error, "b3": error.sum(axis=0), "w2": one.T @ back, "b2": back.sum(axis=0)},
        **{"w1": x.T @ first, "b1": first.sum(axis=0)},
    }


def train(networks: int, seed: int, rounds: int, say: bool = True) -> Network:
    """The trained network: random lessons, then rounds with what the network itself proposes."""
    problems: list[PricedProblem] = []
    for number in range(networks):
        try:
            problems += random_problems(FIRST_TRAINED + seed * networks + number)
        except NpucError as e:
            if say:
                print(f"network {number} is left out: {e.message}")
    lessons = random_lessons(problems, seed)
    network = trained(lessons, seed)
    for _ in range(rounds):
        add_proposed(lessons, problems, network)
        network = trained(lessons, seed)
    if say:
        print(f"{len(problems)} problems, {len(lessons.targets)} groups, hidden layers of {HIDDEN}")
    return network


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = ArgumentParser(
        prog="python -m npuc.compiler.explore.fusion.train", description="Train the network of the learned mapper."
    )
    parser.add_argument("-o", "--output", type=Path, required=True, help="the file of weights to write (.npz)")
    parser.add_argument("--networks", type=int, default=NETWORKS, help="how many random networks (%(default)s)")
    parser.add_argument("--rounds", type=int, default=1, help="rounds with groups of its own (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of all that is random (%(default)s)")
    asked = parser.parse_args(arguments)
    write_network(train(asked.networks, asked.seed, asked.rounds), asked.output)


if __name__ == "__main__":
    main()
