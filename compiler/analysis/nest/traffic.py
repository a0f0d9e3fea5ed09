"""
The traffic of a scheduled nest between DRAM and SPM, by tensor, in exact closed form.

The elements of a tensor's block, summed over the iterations of its load depth, are a product of one sum per tensor
axis, times the trips of the other dimensions. Where a dimension is tiled twice the block may be the same in consecutive
iterations (a *seam*: a loop that does not index the tensor steps, while every loop inside it that does takes one trip);
it is then not moved again, so one block is subtracted per seam. Without repeated dimensions there are no seams, and for
plain maps the result is `mult x |T|`. Accumulators write every block that they evict, read back blocks written before,
and write the elements that no statement touches once.

An element of an accumulator is written whenever its block is evicted: as a partial sum, which is read back later, and
the last time as a final element. So as many writes as there are reads are partial sums.
"""

from collections.abc import Mapping
from math import prod

from npuc.compiler.analysis.nest.blocks import Stream, TiledDimension, axis_sum, interval_count, streams, touched
from npuc.compiler.analysis.nest.elements import Bits, Width, whole_bytes
from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu.nest import Nest, Schedule


@frozen
class TensorTraffic:
    """
    Elements of one tensor read from and written to DRAM.

    `resumed` counts the reads that are partial sums, `spilled` the writes that are partial sums.
    """

    read: int
    write: int
    resumed: int = 0
    spilled: int = 0

    def bits(self, stored: Width, sums: Width) -> tuple[Width, Width]:
        """The bits read and written, for final elements of `stored` bits and partial sums of `sums` bits."""
        more = sums - stored
        return self.read * stored + self.resumed * more, self.write * stored + self.spilled * more


def moved_bits(nest: Nest, moved: Mapping[str, TensorTraffic], widths: Bits) -> Width:
    """All bits that move between DRAM and SPM."""
    return sum(read + write for read, write in bits_by_tensor(nest, moved, widths).values())


def bits_by_tensor(nest: Nest, moved: Mapping[str, TensorTraffic], widths: Bits) -> dict[str, tuple[Width, Width]]:
    """The bits read and written of each tensor."""
    stored, sums = widths.by_name(nest), widths.with_sums(nest)
    return {name: t.bits(stored[name], sums[name]) for name, t in moved.items()}


def bytes_by_tensor(nest: Nest, moved: Mapping[str, TensorTraffic], widths: Bits) -> dict[str, tuple[int, int]]:
    """The bytes read and written of each tensor, rounded up."""
    return {
        name: (whole_bytes(read), whole_bytes(write))
        for name, (read, write) in bits_by_tensor(nest, moved, widths).items()
    }


def traffic(nest: Nest, schedule: Schedule) -> dict[str, TensorTraffic]:
    """The elements that a schedule moves, for every tensor of a nest, initial values of sums included."""
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
    """The elements of all blocks that a tensor visits; consecutive visits of one block count once."""
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
    The elements of the blocks, summed over the iterations of the loops `outside`.

    With `seam`, a loop that does not index the tensor, a block counts once per step of that loop after its first
    iteration, and only where the loops inside it that index the tensor take one trip.
    """
    inside = () if seam is None else stream.loops[stream.loops.index(seam) + 1 :]

    def steps(dim: str, loops: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(schedule.loops[p].step for p in loops if schedule.loops[p].dim == dim)

    total = 1
    for axis, size in zip(stream.tensor.axes, stream.tensor.shape, strict=True):
        cuts = tuple(
            TiledDimension(nest.sizes[d], steps(d, outside), min(steps(d, inside), default=None)) for d, _ in axis.terms
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
