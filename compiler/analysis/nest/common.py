"""Blocks in a memory that all cores of a chip have in common."""

from math import prod

from npuc.compiler.analysis.nest.elements import Bits, footprint_bytes, whole_bytes
from npuc.dialects.npu.footprint import footprint
from npuc.dialects.npu.nest import Nest, Schedule


def common_bytes(nest: Nest, schedule: Schedule, widths: Bits) -> int:
    """
    The bytes of the blocks that a schedule keeps in a common memory, where one core's are no larger than the first's.

    Blocks of inputs and starts that several cores read are there once; sums of each core are blocks of its own.
    """
    if not schedule.core_depth:
        return footprint_bytes(nest, schedule, widths)
    bits = widths.occupied(nest)
    held = footprint(nest, schedule)
    return sum(copies_of(nest, schedule, name) * whole_bytes(bits[name] * count) for name, count in held.items())


def copies_of(nest: Nest, schedule: Schedule, tensor: str) -> int:
    """How many blocks of a tensor a common memory has, over all cores."""
    dims, own = nest.tensors[tensor].dims, any(out.name == tensor for out in nest.outs)
    return prod(
        -(-nest.sizes[loop.dim] // loop.step)
        for loop in schedule.loops[: schedule.core_depth]
        if own or loop.dim in dims
    )
