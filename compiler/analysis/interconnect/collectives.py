"""
Time, bytes and energy of a collective between devices.

A collective over several levels works on one group after the other. Reduce-scatter begins innermost, where the most
bandwidth is expected, and passes on a p-th; all-gather begins outermost; all-reduce is the first and then the second;
an all-to-all passes all data on every level. Of d bytes that a device has before a stage among p devices it sends

    reduce-scatter  d (p - 1) / p     all-gather  d (p - 1)     all-to-all  d (p - 1) / p

whatever the kind, and the stage takes

    seconds = waits x latency + crowding x bytes sent / bandwidth

(alpha-beta model), where waits and crowding are those of the level's `algorithm`. Stages follow each other. Over P
devices and any order of levels a device sends d (1 - 1/P) for a reduce-scatter of d bytes, 2 d (1 - 1/P) for an
all-reduce. All results are exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Literal, get_args

from npuc.compiler.analysis.interconnect.algorithm import TransferCost, algorithm_of
from npuc.compiler.analysis.interconnect.topology import CommunicationGroup, MeshPlacement

Collective = Literal["all_reduce", "reduce_scatter", "all_gather", "all_to_all"]
COLLECTIVES: tuple[Collective, ...] = get_args(Collective)


@dataclass(frozen=True)
class Stage:
    """
    One stage: the level of the network (0 the outermost), the bytes that a device sends, the mean of all, the bytes
    that its links carry for that, counted once a link, the seconds, and the energy of a device's bytes, if known.
    """

    level: int
    sent: Fraction
    carried: Fraction
    seconds: Fraction
    picojoules: Fraction | None


@dataclass(frozen=True)
class Cost:
    """What a collective costs, stage by stage; all numbers are of one device, the mean of all."""

    stages: tuple[Stage, ...] = ()

    @property
    def seconds(self) -> Fraction:
        """Time of the whole collective."""
        return sum((stage.seconds for stage in self.stages), Fraction(0))

    @property
    def sent(self) -> Fraction:
        """Bytes that a device sends."""
        return sum((stage.sent for stage in self.stages), Fraction(0))

    @property
    def picojoules(self) -> Fraction | None:
        """Energy of what a device sends; None where a level that is used does not say its own."""
        energies = [stage.picojoules for stage in self.stages]
        return None if None in energies else sum((energy for energy in energies if energy is not None), Fraction(0))

    def sent_by_level(self) -> dict[int, Fraction]:
        """Bytes that a device sends along each level of the network that is used."""
        found: dict[int, Fraction] = {}
        for stage in self.stages:
            found[stage.level] = found.get(stage.level, Fraction(0)) + stage.sent
        return found


def collective_cost(kind: Collective, size: Fraction | int, placement: MeshPlacement, over: Iterable[int]) -> Cost:
    """A collective over levels of a mesh; `size` is the bytes of each device's operand."""
    groups, data = placement.along(over), Fraction(size)
    match kind:
        case "reduce_scatter":
            return Cost(_scatter(groups, data))
        case "all_gather":
            return Cost(_gather(groups, data))
        case "all_reduce":
            scattered = data / prod(group.size for group in groups)
            return Cost((*_scatter(groups, data), *_gather(groups, scattered)))
        case "all_to_all":
            return Cost(tuple(_stage(g, data * (g.size - 1) / g.size, algorithm_of(g).exchange(g)) for g in groups))


def messages_cost(
    size: Fraction | int, placement: MeshPlacement, over: int, source: Sequence[int], target: Sequence[int]
) -> Cost:
    """
    Messages of `size` bytes along a level of a mesh: devices with digit `source[i]` send to those with `target[i]`.

    No digit sends twice or receives twice.
    """
    pairs = [pair for pair in zip(source, target, strict=True) if pair[0] != pair[1]]
    if not pairs:
        return Cost()
    (group,) = placement.along([over])
    return Cost(
        (_stage(group, Fraction(size), algorithm_of(group).message(group, pairs), Fraction(len(pairs), group.size)),)
    )


def _scatter(groups: Sequence[CommunicationGroup], data: Fraction) -> tuple[Stage, ...]:
    """Reduce-scatter from the innermost group out."""
    found: list[Stage] = []
    for group in groups:
        found.append(_stage(group, data * (group.size - 1) / group.size, algorithm_of(group).scatter(group)))
        data /= group.size
    return tuple(found)


def _gather(groups: Sequence[CommunicationGroup], data: Fraction) -> tuple[Stage, ...]:
    """All-gather from the outermost group in."""
    found: list[Stage] = []
    for group in reversed(groups):
        found.append(_stage(group, data * (group.size - 1), algorithm_of(group).scatter(group)))
        data *= group.size
    return tuple(found)


def _stage(group: CommunicationGroup, sent: Fraction, transfer: TransferCost, part: Fraction = Fraction(1)) -> Stage:
    """A stage in which a part of the devices sends so many bytes each."""
    level = group.level
    carried = sent * transfer.hops * part
    return Stage(
        group.number,
        sent * part,
        carried,
        transfer.waits * level.latency_s + transfer.crowding * sent / level.bytes_per_s,
        None if level.pj_per_byte is None else carried * level.pj_per_byte,
    )
