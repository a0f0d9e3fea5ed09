"""
What a scheduled nest moves between DRAM and SPM, tensor by tensor: an exact closed form.

The sum over the iterations of a tensor's load depth of its block's elements is a product of sums, one a tensor
axis, times the trips of the other dimensions. Where a dimension is cut twice the block may stay the same from one
iteration to the next (a *seam*: a loop that does not index the tensor steps while every loop inside it that does
takes one trip); it is not moved again then, so one block is subtracted a seam. Without repeated dimensions there
are no seams, and for plain maps the result is `mult x |T|`. Accumulators write each block they leave, read back
what was written before, and write once the elements that no statement touches.
"""

from dataclasses import dataclass
from math import prod

from npuc.compiler.analysis.blocks import Cut, Stream, axis_sum, interval_count, streams, touched
from npuc.dialects.npu.nest import Nest, Schedule


@dataclass(frozen=True)
class TensorTraffic:
    """Elements of one tensor read from and written to DRAM."""

    read: int
    write: int


def traffic(nest: Nest, schedule: Schedule) -> dict[str, TensorTraffic]:
    """The elements that a schedule moves, for every tensor of a nest (start tensors included)."""
    result: dict[str, TensorTraffic] = {}
    for stream in streams(nest, schedule):
        tensor = stream.tensor
        moved = volume(nest, schedule, stream)
        reached = touched(tensor, nest.sizes)
        if stream.kind == "accumulator":
            result[tensor.name] = TensorTraffic(moved - reached, moved + tensor.elements - reached)
        elif stream.kind == "start":
            result[tensor.name] = TensorTraffic(moved + tensor.elements - reached, 0)
        else:
            result[tensor.name] = TensorTraffic(moved, 0)
    return result


def volume(nest: Nest, schedule: Schedule, stream: Stream) -> int:
    """The elements of all blocks that a tensor visits, a block counted once while it stays."""
    total = _visits(nest, schedule, stream, stream.loops, None)
    dims = [schedule.loops[p].dim for p in stream.loops]
    if len(set(dims)) == len(dims):
        return total
    for number, position in enumerate(stream.loops):
        if position >= schedule.spread and schedule.loops[position].dim not in stream.tensor.dims:
            total -= _visits(nest, schedule, stream, stream.loops[:number], position)
    return total


def _visits(nest: Nest, schedule: Schedule, stream: Stream, outside: tuple[int, ...], seam: int | None) -> int:
    """
    The summed elements of the blocks that the loops `outside` span.

    With `seam`, a loop that does not index the tensor: a block counts once for each step of that loop, its first
    iteration left out, and only where the loops inside that index the tensor take one trip.
    """
    inside = () if seam is None else stream.loops[stream.loops.index(seam) + 1 :]

    def steps(dim: str, loops: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(schedule.loops[p].step for p in loops if schedule.loops[p].dim == dim)

    total = 1
    for axis, size in zip(stream.tensor.axes, stream.tensor.shape, strict=True):
        cuts = tuple(Cut(nest.sizes[d], steps(d, outside), min(steps(d, inside), default=None)) for d, _ in axis.terms)
        total *= axis_sum(axis, size, cuts)
    others = {schedule.loops[p].dim for p in outside} - stream.tensor.dims
    stepping = None if seam is None else schedule.loops[seam]
    if stepping is not None:
        others.discard(stepping.dim)
        before = steps(stepping.dim, outside)
        total *= interval_count(nest.sizes[stepping.dim], (*before, stepping.step)) - interval_count(
            nest.sizes[stepping.dim], before
        )
    return total * prod(interval_count(nest.sizes[d], steps(d, outside)) for d in others)
