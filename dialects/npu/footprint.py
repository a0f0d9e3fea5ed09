"""
The SPM footprint of each tensor under a schedule: pure functions of a nest and its schedule.

A block of a tensor contains the distinct positions that its index map reaches in one visit, a product over the axes
since every dimension of a tensor occurs in one axis only. A 1x1 window of stride 2 has a quarter of its bounding box.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod

from npuc.dialects.npu.nest import Axis, Nest, Schedule
from npuc.dialects.npu.widths import Width, whole_bytes


@lru_cache(maxsize=65536)
def positions(steps: tuple[tuple[int, int], ...]) -> int:
    """
    The set of sums of coefficient x index over (coefficient, extent) pairs, as a bit mask: bit p is set if p is
    reached.

    Logarithmic in the extents: each pair is doubled up.
    """
    mask = 1
    for coefficient, extent in steps:
        if extent < 1:
            return 0
        covered, reached = 1, mask
        while covered < extent:
            more = min(covered, extent - covered)
            reached |= reached << (coefficient * more)
            covered += more
        mask = reached
    return mask


def axis_count(axis: Axis, extents: Mapping[str, int]) -> int:
    """The distinct positions of an axis, inside or outside the tensor, when its dimensions have these extents."""
    if len(axis.terms) == 1:
        return extents[axis.terms[0][0]]
    return positions(tuple((c, extents[d]) for d, c in axis.terms)).bit_count()


def block_shape(axes: Sequence[Axis], shape: Sequence[int], extents: Mapping[str, int]) -> tuple[int, ...]:
    """The shape of a block: the distinct positions of each axis, at most the size of the tensor's axis."""
    return tuple(min(axis_count(axis, extents), size) for axis, size in zip(axes, shape, strict=True))


def block_sizes(nest: Nest, schedule: Schedule, tensor: str) -> dict[str, int]:
    """The largest extent of each dimension in a block of `tensor`: the step of the innermost of its outer loops."""
    sizes = dict(nest.sizes)
    for loop in schedule.loops[: len(schedule.loops) - schedule.keep_depth(tensor)]:
        sizes[loop.dim] = loop.step
    return sizes


def footprint(nest: Nest, schedule: Schedule) -> dict[str, int]:
    """The elements of the largest block of each tensor, initial values of sums included."""
    return {
        name: prod(block_shape(tensor.axes, tensor.shape, block_sizes(nest, schedule, name)))
        for name, tensor in nest.tensors.items()
    }


def block_bytes(nest: Nest, schedule: Schedule, bits: Sequence[Width]) -> dict[str, int]:
    """The bytes of the largest block of each tensor, for element widths in the order of `nest.tensors`."""
    return room_of(footprint(nest, schedule), nest, bits)


def room_of(elements: Mapping[str, int], nest: Nest, bits: Sequence[Width]) -> dict[str, int]:
    """The bytes of blocks with these numbers of elements, rounded up for each tensor of a nest."""
    width = dict(zip(nest.tensors, bits, strict=True))
    return {name: whole_bytes(count * width[name]) for name, count in elements.items()}
