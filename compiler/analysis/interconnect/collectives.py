"""
Time, bytes and energy of a collective between devices.

A collective over several levels has a stage per group, one after the other. A reduce-scatter starts at the innermost
level, where the most bandwidth is expected, and each stage leaves 1/p of the data; an all-gather starts at the
outermost; an all-reduce is a reduce-scatter followed by an all-gather; an all-to-all sends all data at every level. In
a stage among p devices, a device that has d bytes before it sends

    reduce-scatter  d (p - 1) / p     all-gather  d (p - 1)     all-to-all  d (p - 1) / p

whatever the kind of the level, and the stage takes

    seconds = waits x latency + crowding x bytes sent / bandwidth

(alpha-beta model), with waits and crowding from the `algorithm` of the level. Over P devices, in any order of levels, a
device sends d (1 - 1/P) in a reduce-scatter of d bytes and 2 d (1 - 1/P) in an all-reduce. All results are exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Literal, get_args

from npuc.compiler.analysis.interconnect.algorithm import TransferCost, algorithm_of
from npuc.compiler.analysis.interconnect.topology import CommunicationGroup, MeshPlacement
from npuc.dialects.distributed import AllGatherOp, AllReduceOp, AllToAllOp, DistOp, ReduceScatterOp

Collective = Literal["all_reduce", "reduce_scatter", "all_gather", "all_to_all"]
COLLECTIVES: tuple[Collective, ...] = get_args(Collective)
_KINDS: dict[type[DistOp], Collective] = {
    AllReduceOp: "all_reduce",
    ReduceScatterOp: "reduce_scatter",
    AllGatherOp: "all_gather",
    AllToAllOp: "all_to_all",
}


def collective_of(op: DistOp) -> Collective | None:
    """Which collective an operation is; None for single messages, and for what moves nothing."""
    return _KINDS.get(type(op))


@dataclass(frozen=True)
class Stage:
    """
    One stage: the level of the network (0 is the outermost), the bytes that a device sends, as the mean over devices,
    the bytes that links carry for them, counted once per link, the seconds, and the energy of these bytes, if known.
    """

    level: int
    sent: Fraction
    carried: Fraction
    seconds: Fraction
    picojoules: Fraction | None


@dataclass(frozen=True)
class Cost:
    """The cost of a collective, stage by stage; all numbers are per device, as means over the devices."""

    stages: tuple[Stage, ...] = ()

    @property
    def seconds(self) -> Fraction:
        """The time of the whole collective."""
        return sum((stage.seconds for stage in self.stages), Fraction(0))

    @property
    def sent(self) -> Fraction:
        """The bytes that a device sends."""
        return sum((stage.sent for stage in self.stages), Fraction(0))

    @property
    def picojoules(self) -> Fraction | None:
        """The energy of the bytes that a device sends; None if a level that they cross has no energy."""
        energies = [stage.picojoules for stage in self.stages]
        return None if None in energies else sum((energy for energy in energies if energy is not None), Fraction(0))

    def sent_by_level(self) -> dict[int, Fraction]:
        """The bytes that a device sends along each level of the network that the collective uses."""
        found: dict[int, Fraction] = {}
        for stage in self.stages:
            found[stage.level] = found.get(stage.level, Fraction(0)) + stage.sent
        return found


def collective_cost(kind: Collective, size: Fraction | int, placement: MeshPlacement, over: Iterable[int]) -> Cost:
    """The cost of a collective over levels of a mesh; `size` is the bytes of the operand on each device."""
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
    The cost of messages of `size` bytes along a level of a mesh, from devices with coordinate `source[i]` there to
    those with `target[i]`. Each coordinate sends at most once and receives at most once.
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
