"""Scaling of a network from 1 to 64 accelerators: the traffic and the time of a step on both topologies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from npuc.compiler.core.options import Convention, Strategy
from npuc.studies.hypar.networks import HyparNetwork, gigabytes
from npuc.studies.hypar.platform import LINK, Platform
from npuc.studies.hypar.settings import SCALES, Topology
from npuc.studies.hypar.steps import step_of


@dataclass(frozen=True)
class Scale:
    """A strategy on a number of accelerators; without a program `seconds` is None and `note` gives the reason."""

    strategy: Strategy
    devices: int
    gb: float
    seconds: Mapping[Topology, float]
    note: str


def scaled(
    network: HyparNetwork,
    strategies: Sequence[Strategy],
    convention: Convention,
    platform: Platform,
    done: Callable[[str, int], None],
) -> Iterator[Scale]:
    """A network under strategies on each number of accelerators; `done` is called for each."""
    for strategy in strategies:
        for devices in SCALES:
            step = step_of(network, strategy, convention, devices, platform, (LINK,))
            gb = gigabytes(network.plan(strategy, convention, devices)) if devices > 1 else 0.0
            seconds: dict[Topology, float] = {topology: cost.seconds for topology, cost in step.costs.items()}
            done(f"{network.name} on {devices}", 1)
            yield Scale(strategy, devices, gb, seconds, step.refusal)
