"""
The blocks that nests share when they run round-robin in one SPM: pure functions of nests, schedules and equal inputs.

A tensor has a single block in a nest if no loop step replaces the block. If an input has a single block in two nests,
with the same elements of one value, the block is stored and read once. All other blocks belong to one nest each.
"""

from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import TypeAlias

from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu.footprint import footprint, positions, room_of
from npuc.dialects.npu.nest import Nest, Schedule, Tensor
from npuc.dialects.products import Passes

Values: TypeAlias = tuple[tuple[int, ...], ...]
"""For each nest the numbers of its inputs' values; inputs of equal number have the same value."""
Block: TypeAlias = tuple[int, str]
"""The block of a tensor: the number of its nest, its name there."""


@frozen
class RoundRobin:
    """Scheduled nests that run round-robin, one tile operation each; `values` says which inputs are the same."""

    nests: tuple[Nest, ...]
    schedules: tuple[Schedule, ...]
    values: Values

    @property
    def macs(self) -> int:
        """Multiply-accumulates of all nests."""
        return sum(nest.macs for nest in self.nests)

    @property
    def mac_passes(self) -> Passes:
        """The passes of all multiply-accumulates through multipliers."""
        return sum(nest.mac_passes for nest in self.nests)


def has_single_block(nest: Nest, schedule: Schedule, tensor: Tensor) -> bool:
    """Whether a tensor has a single block throughout a nest."""
    extents = dict(nest.sizes)
    for loop in schedule.loops[: len(schedule.loops) - schedule.keep_depth(tensor.name)]:
        if loop.dim in tensor.dims and loop.step < extents[loop.dim]:
            return False
        extents[loop.dim] = loop.step
    return True


def reached_elements(nest: Nest, tensor: Tensor) -> Hashable:
    """A key of the elements of a tensor that a nest reaches, equal for equal sets: the positions on each axis."""
    masks: list[int] = []
    for axis, size in zip(tensor.axes, tensor.shape, strict=True):
        mask = positions(tuple((c, nest.sizes[d]) for d, c in axis.terms))
        moved = mask << axis.offset if axis.offset >= 0 else mask >> -axis.offset
        masks.append(moved & ((1 << size) - 1))
    return tensor.shape, tuple(masks)


def shared_blocks(together: RoundRobin) -> tuple[tuple[Block, ...], ...]:
    """The shared blocks, grouped by value and elements; the first block of each group is the one that is read."""
    found: dict[Hashable, list[Block]] = {}
    for number, (nest, schedule) in enumerate(zip(together.nests, together.schedules, strict=True)):
        for tensor, value in zip(nest.ins, together.values[number], strict=True):
            if has_single_block(nest, schedule, tensor):
                found.setdefault((value, reached_elements(nest, tensor)), []).append((number, tensor.name))
    return tuple(tuple(blocks) for blocks in found.values() if len({number for number, _ in blocks}) > 1)


def joint_footprint(together: RoundRobin) -> tuple[dict[str, int], ...]:
    """The elements of SPM that the blocks of each nest occupy; a shared block counts for its first nest only."""
    pairs = zip(together.nests, together.schedules, strict=True)
    footprints = tuple(footprint(nest, schedule) for nest, schedule in pairs)
    for blocks in shared_blocks(together):
        for number, name in blocks[1:]:
            footprints[number][name] = 0
    return footprints


def joint_bytes(together: RoundRobin, bits: Sequence[Sequence[int]]) -> tuple[dict[str, int], ...]:
    """The joint footprint in bytes; `bits` are element widths in the order of each nest's tensors."""
    rows = zip(together.nests, joint_footprint(together), bits, strict=True)
    return tuple(room_of(elements, nest, own) for nest, elements, own in rows)


@lru_cache(maxsize=1024)
def held_bytes(together: RoundRobin, bits: tuple[tuple[int, ...], ...]) -> int:
    """The bytes of SPM that all blocks occupy, each shared one once; `bits` as of `joint_bytes`."""
    return sum(sum(blocks.values()) for blocks in joint_bytes(together, bits))


def number_values(inputs: Sequence[Sequence[Hashable]]) -> Values:
    """Values numbered in the order of their first occurrence."""
    known: dict[Hashable, int] = {}
    return tuple(tuple(known.setdefault(value, len(known)) for value in values) for values in inputs)
