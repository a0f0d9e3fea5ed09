"""
What a scheduled nest moves between DRAM and SPM, tensor by tensor: an exact closed form.

The sum over the iterations of a tensor's load depth of its block's elements is a product of sums, one a tensor
axis, times the trips of the other dimensions. Where a dimension is cut twice the block may stay the same from one
iteration to the next (a *seam*: a loop that does not index the tensor steps while every loop inside it that does
takes one trip); it is not moved again then, so one block is subtracted a seam. Without repeated dimensions there
are no seams, and for plain maps the result is `mult x |T|`. Accumulators write each block they leave, read back
what was written before, and write once the elements that no statement touches.

An element of an accumulator is written each time its block leaves. It is finished the last time and a partial sum
before, and a partial sum is what is read back; so of the writes as many as there are reads are unfinished, and every
element is written once finished.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from npuc.compiler.analysis.nest.blocks import CutDimension, Stream, axis_sum, interval_count, streams, touched
from npuc.compiler.analysis.nest.elements import Bits, whole_bytes
from npuc.dialects.npu.nest import Nest, Schedule


@dataclass(frozen=True)
class TensorTraffic:
    """
    Elements of one tensor read from and written to DRAM.

    `resumed` are those of the reads that are partial sums, `spilled` those of the writes that are not finished.
    """

    read: int
    write: int
    resumed: int = 0
    spilled: int = 0

    def bits(self, stored: int, sums: int) -> tuple[int, int]:
        """The bits read and written of a tensor with elements of `stored` bits and partial sums of `sums`."""
        more = sums - stored
        return self.read * stored + self.resumed * more, self.write * stored + self.spilled * more


def moved_bits(nest: Nest, moved: Mapping[str, TensorTraffic], widths: Bits) -> int:
    """All bits that move between DRAM and SPM."""
    return sum(read + write for read, write in bits_by_tensor(nest, moved, widths).values())


def bits_by_tensor(nest: Nest, moved: Mapping[str, TensorTraffic], widths: Bits) -> dict[str, tuple[int, int]]:
    """The bits of each tensor that are read, and those that are written."""
    stored, sums = widths.by_name(nest), widths.with_sums(nest)
    return {name: t.bits(stored[name], sums[name]) for name, t in moved.items()}


def bytes_by_tensor(nest: Nest, moved: Mapping[str, TensorTraffic], widths: Bits) -> dict[str, tuple[int, int]]:
    """The whole bytes of each tensor that are read, and those that are written."""
    return {
        name: (whole_bytes(read), whole_bytes(write))
        for name, (read, write) in bits_by_tensor(nest, moved, widths).items()
    }


def traffic(nest: Nest, schedule: Schedule) -> dict[str, TensorTraffic]:
    """The elements that a schedule moves, for every tensor of a nest (start tensors included)."""
    result: dict[str, TensorTraffic] = {}
    for stream in streams(nest, schedule):
        tensor = stream.tensor
        moved = volume(nest, schedule, stream)
        reached = touched(tensor, nest.sizes)
        if stream.kind == "accumulator":
            again = moved - reached
            result[tensor.name] = TensorTraffic(again, tensor.elements + again, again, again)
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
        if position >= schedule.core_depth and schedule.loops[position].dim not in stream.tensor.dims:
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
        cuts = tuple(
            CutDimension(nest.sizes[d], steps(d, outside), min(steps(d, inside), default=None)) for d, _ in axis.terms
        )
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
