"""The order of a schedule's loops."""

from collections.abc import Sequence
from dataclasses import replace

from npuc.compiler.analysis.nest.gemm import forward_view
from npuc.dialects.npu.nest import Nest, Schedule


def permuted(nest: Nest, schedule: Schedule, order: Sequence[str]) -> Schedule:
    """
    The schedule with its loops in the order of these dimensions, loops of other dimensions inside in their order.

    Loops over cores remain outermost, followed by partitions over time, which have another loop of their dimension
    inside, and by batch dimensions that `order` does not name. Keep depths do not change.
    """
    over, inner = schedule.loops[: schedule.core_depth], schedule.loops[schedule.core_depth :]
    tile = {loop.dim: number for number, loop in enumerate(inner)}
    cuts = [loop for number, loop in enumerate(inner) if tile[loop.dim] != number]
    tiles = [loop for number, loop in enumerate(inner) if tile[loop.dim] == number]
    batch = [dim for dim in forward_view(nest).batch if dim not in order]
    place = {dim: number for number, dim in enumerate([*batch, *order])}
    tiles.sort(key=lambda loop: place.get(loop.dim, len(place)))
    return replace(schedule, loops=(*over, *cuts, *tiles))
