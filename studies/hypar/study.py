"""
The study of hybrid parallelism, repeated: plans and steps of the networks, and the paper's numbers beside them.

Plans are those of `compiler/analysis/sharding`, steps those of `npuc compile --devices`; only the published numbers
are the paper's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from npuc.compiler.core.gc_pause import without_cycle_collection
from npuc.compiler.core.options import Convention, Strategy
from npuc.studies.hypar.claims import Row, claim_rows
from npuc.studies.hypar.networks import SOURCES, Network, gigabytes, networks_of
from npuc.studies.hypar.results import Result
from npuc.studies.hypar.scaling import Scale, scaled
from npuc.studies.hypar.settings import BASE, DEVICES, OURS, PRESETS, SCALES, STUDIED_STRATEGIES
from npuc.studies.hypar.space import Choice, choices_of
from npuc.studies.hypar.steps import step_of

Done = Callable[[str, int], None]
SCALED = "VGG-A"
"""The network whose scaling the paper shows."""
EXPLORED = "Lenet-c"
"""The network whose choices the paper explores."""


@dataclass(frozen=True)
class Study:
    """
    Results under a convention, and what follows from them.

    `scales` are of one network; `space` has all choices of the explored network at two levels, if it is one of these.
    """

    preset: Convention
    networks: tuple[Network, ...]
    rows: tuple[Row, ...]
    scaled: str
    scales: tuple[Scale, ...]
    space: tuple[Choice, ...]


@dataclass(frozen=True)
class Plan:
    """What is to be done: all that can be wrong about the options has been found."""

    preset: Convention
    networks: tuple[Network, ...]

    @property
    def scaled(self) -> Network:
        """The network that runs on 1 to 64 accelerators: the paper's, else the first."""
        return next((network for network in self.networks if network.name == SCALED), self.networks[0])

    @property
    def count(self) -> int:
        """How many steps the study takes."""
        return len(self.networks) * len(STUDIED_STRATEGIES) + 2 * len(SCALES)


def plan_study(preset: Convention = PRESETS[0], sources: Sequence[str] = ()) -> Plan:
    """The study under a convention, of these networks in place of its own. Raises `NpucError`s as `networks_of`."""
    return Plan(preset, networks_of(sources))


def run_study(plan: Plan, done: Done = lambda name, count: None) -> Study:
    """The study; `done` is told of each step. Raises `NpucError`s of a network that is wrong."""
    results: dict[str, Mapping[Strategy, Result]] = {}
    with without_cycle_collection():
        for network in plan.networks:
            found: dict[Strategy, Result] = {}
            for strategy in STUDIED_STRATEGIES:
                found[strategy] = result_of(network, strategy, plan.preset)
                done(network.name, 1)
            results[network.name] = found
        scales = scaled(plan.scaled, (BASE, OURS), plan.preset, done)
        explored = [network for network in plan.networks if network.name == EXPLORED]
        space = choices_of(explored[0], plan.preset, DEVICES) if explored else []
    complete = {network.name for network in plan.networks} >= set(SOURCES)
    rows = claim_rows(plan.networks, results, plan.preset, means=complete)
    return Study(plan.preset, plan.networks, tuple(rows), plan.scaled.name, tuple(scales), tuple(space))


def result_of(network: Network, strategy: Strategy, convention: Convention) -> Result:
    """A network under a strategy on the paper's number of accelerators."""
    planned = network.plan(strategy, convention, DEVICES)
    others: dict[Convention, float] = {}
    for other in PRESETS:
        if other != convention:
            others[other] = gigabytes(network.plan(strategy, other, DEVICES))
    step = step_of(network, strategy, convention, DEVICES)
    return Result(network.choices(planned), gigabytes(planned), others, step)
