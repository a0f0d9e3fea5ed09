"""
What nests hold together when they run in turn in one SPM: pure functions of nests, schedules and equal inputs.

A nest keeps a tensor whole when no step of its loops changes the block it holds. An input that two nests keep whole,
the same elements of one value, is held once and read once. Everything else is each nest's own.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from npuc.dialects.npu.footprint import footprint, positions, room_of
from npuc.dialects.npu.nest import Nest, Schedule, Tensor

Values: TypeAlias = tuple[tuple[int, ...], ...]
"""Of each nest, a number for each of its inputs: inputs of one number are the same value."""
Block: TypeAlias = tuple[int, str]
"""The block of a tensor: the number of its nest, its name there."""


@dataclass(frozen=True)
class Together:
    """Nests that run in turn, one tile operation each, with their schedules; `values` says which inputs are equal."""

    nests: tuple[Nest, ...]
    schedules: tuple[Schedule, ...]
    values: Values

    @property
    def macs(self) -> int:
        """Multiply-accumulates of all nests."""
        return sum(nest.macs for nest in self.nests)


def has_single_block(nest: Nest, schedule: Schedule, tensor: Tensor) -> bool:
    """Whether the block of a tensor stays the same throughout a nest."""
    extents = dict(nest.sizes)
    for loop in schedule.loops[: len(schedule.loops) - schedule.keep_depth(tensor.name)]:
        if loop.dim in tensor.dims and loop.step < extents[loop.dim]:
            return False
        extents[loop.dim] = loop.step
    return True


def reached_elements(nest: Nest, tensor: Tensor) -> Hashable:
    """The elements of a tensor that a nest reaches, as its positions on each axis; equal for equal sets."""
    masks: list[int] = []
    for axis, size in zip(tensor.axes, tensor.shape, strict=True):
        mask = positions(tuple((c, nest.sizes[d]) for d, c in axis.terms))
        moved = mask << axis.offset if axis.offset >= 0 else mask >> -axis.offset
        masks.append(moved & ((1 << size) - 1))
    return tensor.shape, tuple(masks)


def shared_blocks(together: Together) -> tuple[tuple[Block, ...], ...]:
    """The blocks that are held once, those of one value and the same elements together; the first one is read."""
    found: dict[Hashable, list[Block]] = {}
    for number, (nest, schedule) in enumerate(zip(together.nests, together.schedules, strict=True)):
        for tensor, value in zip(nest.ins, together.values[number], strict=True):
            if has_single_block(nest, schedule, tensor):
                found.setdefault((value, reached_elements(nest, tensor)), []).append((number, tensor.name))
    return tuple(tuple(blocks) for blocks in found.values() if len({number for number, _ in blocks}) > 1)


def joint_footprint(together: Together) -> tuple[dict[str, int], ...]:
    """The elements of SPM that the blocks of each nest take; of a block that is held once, the later ones take none."""
    pairs = zip(together.nests, together.schedules, strict=True)
    held = tuple(footprint(nest, schedule) for nest, schedule in pairs)
    for blocks in shared_blocks(together):
        for number, name in blocks[1:]:
            held[number][name] = 0
    return held


def joint_bytes(together: Together, bits: Sequence[Sequence[int]]) -> tuple[dict[str, int], ...]:
    """The bytes of SPM that they take, of elements of so many bits, in the order of each nest's tensors."""
    rows = zip(together.nests, joint_footprint(together), bits, strict=True)
    return tuple(room_of(held, nest, own) for nest, held, own in rows)


def number_values(inputs: Sequence[Sequence[Hashable]]) -> Values:
    """The numbers of values, in the order in which they come up."""
    known: dict[Hashable, int] = {}
    return tuple(tuple(known.setdefault(value, len(known)) for value in values) for values in inputs)
