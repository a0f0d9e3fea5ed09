"""
What a tensor can be kept like in the levels outside of SPM, with its room and bytes in each.

Depths that move the same blocks take the same room, so that the least of them stands for all. Heads are those of the
first blocks of inputs, which every schedule waits for before its first operation.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from math import prod

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.levels.views import at_level
from npuc.compiler.analysis.nest.blocks import inside, streams
from npuc.compiler.analysis.nest.common import copies_of
from npuc.compiler.analysis.nest.cores import core_traffic
from npuc.compiler.analysis.nest.elements import Bits, Width, whole_bytes
from npuc.compiler.analysis.nest.traffic import bits_by_tensor
from npuc.dialects.npu.footprint import footprint, positions
from npuc.dialects.npu.nest import Nest, Schedule, Tensor


@dataclass(frozen=True)
class LevelOption:
    """
    The depths of a tensor in the levels outside of SPM, from there outwards, and for each of them the bytes that its
    blocks take, the bits that move to the memory outside of it, and those of the first block.
    """

    depths: tuple[int, ...]
    room: tuple[int, ...]
    moved: tuple[Width, ...]
    head: tuple[Width, ...]


@dataclass(frozen=True)
class _AtDepth:
    room: int
    moved: Width
    head: Width


def options_of(nest: Nest, schedule: Schedule, machine: Machine, widths: Bits) -> dict[str, list[LevelOption]]:
    """All ways to keep each tensor of a schedule, whose depths in SPM are given, in the levels of a machine."""
    seen = at_level(machine, 1)
    inner = len(schedule.loops) - schedule.core_depth
    at_depth: list[dict[str, _AtDepth]] = []
    kinds: list[dict[str, tuple[int, ...]]] = []
    stored = widths.by_name(nest)
    for depth in range(inner + 1):
        own = replace(schedule, keep=tuple((name, depth) for name in nest.tensors), spm=None, outer=())
        moved = bits_by_tensor(nest, core_traffic(nest, own, seen.multicast, seen.reduction).channel, widths)
        held, bits = footprint(nest, own), widths.occupied(nest)
        ins = {tensor.name for tensor in nest.ins}
        at_depth.append(
            {
                name: _AtDepth(
                    copies_of(nest, own, name) * whole_bytes(bits[name] * held[name]),
                    sum(moved[name]),
                    stored[name] * _first(nest, own, tensor, depth) if name in ins and not own.core_depth else 0,
                )
                for name, tensor in nest.tensors.items()
            }
        )
        kinds.append({stream.tensor.name: stream.loops for stream in streams(nest, own)})
    found: dict[str, list[LevelOption]] = {}
    for name in nest.tensors:
        least = schedule.keep_depth(name)
        apart = list(_apart([kind[name] for kind in kinds], least))
        found[name] = [
            LevelOption(
                depths,
                tuple(at_depth[depth][name].room for depth in depths),
                tuple(at_depth[depth][name].moved for depth in depths),
                tuple(at_depth[depth][name].head for depth in depths),
            )
            for depths in combinations_with_replacement(apart, len(machine.levels))
        ]
    return found


def _apart(loops: Sequence[tuple[int, ...]], least: int) -> Iterator[int]:
    """The depths from `least` on of which each moves other blocks than the one before."""
    for depth in range(least, len(loops)):
        if depth == least or loops[depth] != loops[depth - 1]:
            yield depth


def _first(nest: Nest, schedule: Schedule, tensor: Tensor, depth: int) -> int:
    """The elements of the first block of a tensor."""
    extents = dict(nest.sizes)
    for loop in schedule.loops[: len(schedule.loops) - depth]:
        extents[loop.dim] = min(loop.step, extents[loop.dim])
    return prod(
        inside(positions(tuple((c, extents[d]) for d, c in axis.terms)), axis.offset, size).bit_count()
        for axis, size in zip(tensor.axes, tensor.shape, strict=True)
    )
