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
    bits, outs = widths.occupied(nest), {out.name for out in nest.outs}
    counts = {loop.dim: -(-nest.sizes[loop.dim] // loop.step) for loop in schedule.loops[: schedule.core_depth]}
    total = 0
    for name, elements in footprint(nest, schedule).items():
        dims = nest.tensors[name].dims
        copies = prod(count for dim, count in counts.items() if name in outs or dim in dims)
        total += copies * whole_bytes(bits[name] * elements)
    return total
