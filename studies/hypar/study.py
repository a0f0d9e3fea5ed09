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
from npuc.studies.hypar.made_for import step_made_for
from npuc.studies.hypar.networks import SOURCES, HyparNetwork, gigabytes, networks_of
from npuc.studies.hypar.platform import Platform, platform_of
from npuc.studies.hypar.results import NetworkResult
from npuc.studies.hypar.scaling import Scale, scaled
from npuc.studies.hypar.settings import BASE, DEVICES, OURS, PRESETS, SCALES, STUDIED_STRATEGIES, TOPOLOGIES, Topology
from npuc.studies.hypar.space import LevelChoice, choices_of
from npuc.studies.hypar.steps import AcceleratorStep, step_of
from npuc.studies.hypar.topology import TopologyRow, topology_claims, topology_rows

SCALED = "VGG-A"
"""The network whose scaling the paper shows."""
EXPLORED = "Lenet-c"
"""The network whose choices the paper explores."""


@dataclass(frozen=True)
class HyparResults:
    """
    The rows under a convention, the scaling of one network (`scales`), the plans on each topology (`topology`), and the
    neighbourhood of a plan (`space`).

    `space` is empty unless the network that the paper explores is among `networks`.
    """

    preset: Convention
    networks: tuple[HyparNetwork, ...]
    rows: tuple[FigureRow, ...]
    scaled: str
    scales: tuple[Scale, ...]
    space: tuple[LevelChoice, ...]
    topology: tuple[TopologyRow, ...] = ()


@dataclass(frozen=True)
class HyparPlan:
    """A study whose options are validated."""

    preset: Convention
    networks: tuple[HyparNetwork, ...]
    platform: Platform

    @property
    def scaled(self) -> HyparNetwork:
        """The network that runs on 1 to 64 accelerators: the paper's, else the first."""
        return next((network for network in self.networks if network.name == SCALED), self.networks[0])

    @property
    def count(self) -> int:
        """The number of steps that the study scores."""
        return len(self.networks) * (len(STUDIED_STRATEGIES) + len(TOPOLOGIES)) + 2 * len(SCALES)


def plan_study(preset: Convention = PRESETS[0], sources: Sequence[str] = (), hardware: str | None = None) -> HyparPlan:
    """
    The study under a convention, of these networks in place of its own, on accelerators of another machine than the
    paper's. Raises `NpucError`s as `networks_of` and `platform_of`.
    """
    return HyparPlan(preset, networks_of(sources), platform_of(hardware))


def run_study(plan: HyparPlan, done: Advance = lambda name, count: None) -> HyparResults:
    """The study; `done` is called for each step. Raises `NpucError`s for a wrong network."""
    results: dict[str, Mapping[Strategy, NetworkResult]] = {}
    made: dict[str, Mapping[Topology, AcceleratorStep]] = {}
    platform = plan.platform
    with without_cycle_collection():
        for network in plan.networks:
            found: dict[Strategy, NetworkResult] = {}
            for strategy in STUDIED_STRATEGIES:
                found[strategy] = result_of(network, strategy, plan.preset, platform)
                done(network.name, 1)
            results[network.name] = found
            own: dict[Topology, AcceleratorStep] = {}
            for topology in TOPOLOGIES:
                own[topology] = step_made_for(topology, network, DEVICES, platform)
                done(network.name, 1)
            made[network.name] = own
        scales = scaled(plan.scaled, (BASE, OURS), plan.preset, platform, done)
        explored = [network for network in plan.networks if network.name == EXPLORED]
        space = choices_of(explored[0], plan.preset, DEVICES) if explored else []
    complete = {network.name for network in plan.networks} >= set(SOURCES)
    rows = [*claim_rows(plan.networks, results, plan.preset, platform, means=complete)]
    rows += topology_claims(plan.networks, results, made, plan.preset, platform, means=complete)
    topology = tuple(topology_rows(plan.networks, results, made, platform))
    return HyparResults(
        plan.preset, plan.networks, tuple(rows), plan.scaled.name, tuple(scales), tuple(space), topology
    )


def result_of(network: HyparNetwork, strategy: Strategy, convention: Convention, platform: Platform) -> NetworkResult:
    """A network under a strategy on the paper's number of accelerators."""
    planned = network.plan(strategy, convention, DEVICES)
    others: dict[Convention, float] = {}
    for other in PRESETS:
        if other != convention:
            others[other] = gigabytes(network.plan(strategy, other, DEVICES))
    step = step_of(network, strategy, convention, DEVICES, platform)
    return NetworkResult(network.choices(planned), gigabytes(planned), others, step)
