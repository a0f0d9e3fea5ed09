"""
Whether a schedule completes an output block by block, so that an epilogue (`fused` on `npu.vector`) may follow.

It does when the blocks partition the output and each is visited once: a block that leaves SPM is then complete. Pure
functions of a nest and its schedule.
"""

from math import prod

from npuc.dialects.npu.footprint import block_shape, block_sizes, positions
from npuc.dialects.npu.nest import Axis, Nest, Schedule


def incomplete_reason(nest: Nest, schedule: Schedule, name: str) -> str | None:
    """Why blocks of an output may leave SPM with incomplete sums; None if they are complete whenever they leave."""
    tensor = nest.tensors[name]
    extent, cut = dict(nest.sizes), set[str]()
    steps: list[tuple[str, bool]] = []
    for loop in schedule.loops[: len(schedule.loops) - schedule.keep_depth(name)]:
        steps.append((loop.dim, loop.step < extent[loop.dim]))
        extent[loop.dim] = loop.step
    # Innermost loops that do not change the block do not end its visit; each core has visits of its own.
    while steps and (not steps[-1][1] or (steps[-1][0] not in tensor.dims and len(steps) > schedule.core_depth)):
        steps.pop()
    for dim, moves in steps:
        if moves and dim not in tensor.dims:
            return f"the loop over {dim} comes back to blocks of {name} that have left"
        if moves:
            cut.add(dim)
    for axis, size in zip(tensor.axes, tensor.shape, strict=True):
        if not _is_plain(axis):
            if not cut.isdisjoint(axis.dims):
                return f"blocks of {name} overlap or leave elements out"
            if not _covers(axis, size, nest.sizes):
                return f"no statement touches some elements of {name}"
    return None


def _is_plain(axis: Axis) -> bool:
    return len(axis.terms) == 1 and axis.terms[0][1] == 1 and axis.offset == 0


def _covers(axis: Axis, size: int, sizes: dict[str, int]) -> bool:
    """Whether an axis reaches every index of [0, size)."""
    mask = positions(tuple((c, sizes[d]) for d, c in axis.terms))
    reached = mask << axis.offset if axis.offset >= 0 else mask >> -axis.offset
    return reached & ((1 << size) - 1) == (1 << size) - 1


def block_elements(nest: Nest, schedule: Schedule, name: str) -> int:
    """The elements of the largest block of a tensor."""
    tensor = nest.tensors[name]
    return prod(block_shape(tensor.axes, tensor.shape, block_sizes(nest, schedule, name)))
