"""
The study of hybrid parallelism: plans and steps of its networks beside the paper's numbers.

Plans come from `compiler/analysis/sharding` and steps from `npuc compile --devices`; only the published numbers are
the paper's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from npuc.compiler.core.gc_pause import without_cycle_collection
from npuc.compiler.core.options import Convention, Strategy
from npuc.studies.base import Advance
from npuc.studies.hypar.claims import FigureRow, claim_rows
from npuc.studies.hypar.networks import SOURCES, HyparNetwork, gigabytes, networks_of
from npuc.studies.hypar.results import NetworkResult
from npuc.studies.hypar.scaling import Scale, scaled
from npuc.studies.hypar.settings import BASE, DEVICES, OURS, PRESETS, SCALES, STUDIED_STRATEGIES
from npuc.studies.hypar.space import LevelChoice, choices_of
from npuc.studies.hypar.steps import step_of

SCALED = "VGG-A"
"""The network whose scaling the paper shows."""
EXPLORED = "Lenet-c"
"""The network whose choices the paper explores."""


@dataclass(frozen=True)
class HyparResults:
    """
    The rows under a convention, the scaling of one network (`scales`), and the neighbourhood of a plan (`space`).

    `space` is empty unless the network that the paper explores is among `networks`.
    """

    preset: Convention
    networks: tuple[HyparNetwork, ...]
    rows: tuple[FigureRow, ...]
    scaled: str
    scales: tuple[Scale, ...]
    space: tuple[LevelChoice, ...]


@dataclass(frozen=True)
class HyparPlan:
    """A study whose options are validated."""

    preset: Convention
    networks: tuple[HyparNetwork, ...]

    @property
    def scaled(self) -> HyparNetwork:
        """The network that runs on 1 to 64 accelerators: the paper's, else the first."""
        return next((network for network in self.networks if network.name == SCALED), self.networks[0])

    @property
    def count(self) -> int:
        """The number of steps that the study scores."""
        return len(self.networks) * len(STUDIED_STRATEGIES) + 2 * len(SCALES)


def plan_study(preset: Convention = PRESETS[0], sources: Sequence[str] = ()) -> HyparPlan:
    """The study under a convention, of these networks in place of its own. Raises `NpucError`s as `networks_of`."""
    return HyparPlan(preset, networks_of(sources))


def run_study(plan: HyparPlan, done: Advance = lambda name, count: None) -> HyparResults:
    """The study; `done` is told of each step. Raises `NpucError`s of a network that is wrong."""
    results: dict[str, Mapping[Strategy, NetworkResult]] = {}
    with without_cycle_collection():
        for network in plan.networks:
            found: dict[Strategy, NetworkResult] = {}
            for strategy in STUDIED_STRATEGIES:
                found[strategy] = result_of(network, strategy, plan.preset)
                done(network.name, 1)
            results[network.name] = found
        scales = scaled(plan.scaled, (BASE, OURS), plan.preset, done)
        explored = [network for network in plan.networks if network.name == EXPLORED]
        space = choices_of(explored[0], plan.preset, DEVICES) if explored else []
    complete = {network.name for network in plan.networks} >= set(SOURCES)
    rows = claim_rows(plan.networks, results, plan.preset, means=complete)
    return HyparResults(plan.preset, plan.networks, tuple(rows), plan.scaled.name, tuple(scales), tuple(space))


def result_of(network: HyparNetwork, strategy: Strategy, convention: Convention) -> NetworkResult:
    """A network under a strategy on the paper's number of accelerators."""
    planned = network.plan(strategy, convention, DEVICES)
    others: dict[Convention, float] = {}
    for other in PRESETS:
        if other != convention:
            others[other] = gigabytes(network.plan(strategy, other, DEVICES))
    step = step_of(network, strategy, convention, DEVICES)
    return NetworkResult(network.choices(planned), gigabytes(planned), others, step)
