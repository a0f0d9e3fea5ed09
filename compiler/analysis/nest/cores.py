"""
A nest partitioned over cores: the part of each core, and its traffic.

`loops [cores m : 784, …]` assigns the iterations of one step of m to a core. A part runs the inner loops on its own
array and in its own SPM, which is empty at first: an input that does not depend on m is read by every core, and a sum
over several cores is continued by each core where the one before left it in DRAM, which costs one more read and write
of the tensor per core. Two features of a chip avoid that:

- *multicast*: a block that several cores read is fetched from DRAM once for all of them;
- *on-chip reduction*: partial sums pass from core to core without DRAM, and the last core writes the total.

Derived from the traffic of a nest (`traffic.py`), whose iterations the parts are: their traffic adds up to it exactly.
The last core of a shared sum completes it; the others write partial sums.

Cores whose parts are alike (`core_classes.py`) cost the same, and each class of them is looked at once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from math import prod
from typing import TypeVar

from npuc.compiler.analysis.nest.blocks import Stream, is_plain, streams, touched
from npuc.compiler.analysis.nest.core_classes import (
    Range,
    loop_classes,
    reached_beside,
    reached_positions,
    spread,
)
from npuc.compiler.analysis.nest.traffic import TensorTraffic, volume
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.kinds import Reduction
from npuc.dialects.npu.nest import Axis, Nest, Schedule, Tensor

Key = tuple[tuple[str, Range], ...]
T = TypeVar("T")


@frozen
class CorePart:
    """
    The part of the first core of a class: the nest restricted to `ranges` of the partitioned dimensions, outermost
    first. `counts` are the numbers of like iterations of the loops over cores.
    """

    nest: Nest
    schedule: Schedule
    ranges: tuple[tuple[str, Range], ...]
    counts: tuple[int, ...] = ()

    @property
    def cores(self) -> int:
        """The number of cores of the class."""
        return prod(self.counts)

    def continues(self, dims: frozenset[str]) -> bool:
        """Whether an earlier core works on the same elements of a tensor of these dimensions."""
        return any(low > 0 for dim, (low, _) in self.ranges if dim not in dims)

    def is_continued(self, nest: Nest, dims: frozenset[str]) -> bool:
        """Whether a later core works on the same elements of a tensor of these dimensions; `nest` is the whole nest."""
        return any(low + extent < nest.sizes[dim] for dim, (low, extent) in self.ranges if dim not in dims)

    def key(self, dims: frozenset[str]) -> Key:
        """Equal for the classes whose cores work on the same elements of a tensor of these dimensions."""
        return tuple(at for at in self.ranges if at[0] in dims)

    def sharing(self, dims: frozenset[str]) -> int:
        """The cores of the class that work on the same elements of a tensor of these dimensions."""
        return prod(count for (dim, _), count in zip(self.ranges, self.counts, strict=True) if dim not in dims)


@lru_cache(maxsize=4096)
def core_parts(nest: Nest, schedule: Schedule) -> tuple[CorePart, ...]:
    """The parts of a nest, one for each class of like cores; the whole nest if no loop is over cores."""
    if not schedule.core_depth:
        return (CorePart(nest, schedule, ()),)
    over, inner = schedule.loops[: schedule.core_depth], schedule.loops[schedule.core_depth :]
    own = replace(schedule, loops=inner)
    loops = loop_classes(nest, over)
    parts: list[CorePart] = []
    for like in product(*(loop.classes for loop in loops)):
        ranges = tuple((loop.dim, one.range) for loop, one in zip(loops, like, strict=True))
        parts.append(CorePart(part_nest(nest, dict(ranges)), own, ranges, tuple(one.count for one in like)))
    return tuple(parts)


@lru_cache(maxsize=4096)
def first_part(nest: Nest, schedule: Schedule) -> Nest:
    """The part of the first core, which no other exceeds."""
    over = schedule.loops[: schedule.core_depth]
    return part_nest(nest, {loop.dim: (0, min(loop.step, nest.sizes[loop.dim])) for loop in over})


def on_cores(nest: Nest, schedule: Schedule, values: Sequence[T]) -> list[T]:
    """A value of each class of cores (`core_parts`) as one of each core, in program order."""
    return [values[number] for number in spread(loop_classes(nest, schedule.loops[: schedule.core_depth]))]


def core_count(nest: Nest, schedule: Schedule) -> int:
    """The number of cores that a schedule uses."""
    return prod(-(-nest.sizes[loop.dim] // loop.step) for loop in schedule.loops[: schedule.core_depth])


def part_nest(nest: Nest, ranges: Mapping[str, Range]) -> Nest:
    """A nest restricted to ranges of its dimensions: plain axes get shorter, other axes keep their size."""

    def cut(tensor: Tensor) -> Tensor:
        axes: list[Axis] = []
        shape: list[int] = []
        for axis, size in zip(tensor.axes, tensor.shape, strict=True):
            if is_plain(axis):
                axes.append(axis)
                shape.append(ranges.get(axis.terms[0][0], (0, size))[1])
            else:
                moved = sum(c * ranges[d][0] for d, c in axis.terms if d in ranges)
                axes.append(replace(axis, offset=axis.offset + moved))
                shape.append(size)
        return Tensor(tensor.name, tuple(shape), tuple(axes))

    return Nest(
        tuple((dim, ranges.get(dim, (0, size))[1]) for dim, size in nest.dims),
        tuple(cut(t) for t in nest.ins),
        tuple(cut(t) for t in nest.outs),
        tuple(None if s is None else cut(s) for s in nest.starts),
        nest.statements,
    )


@frozen
class CoreTraffic:
    """
    Elements moved between DRAM and SPMs, by tensor: `moved` of a core of each class, and `channel` over the shared DRAM
    channel, where a multicast block counts once.
    """

    moved: tuple[dict[str, TensorTraffic], ...]
    channel: dict[str, TensorTraffic]


@lru_cache(maxsize=4096)
def core_traffic(nest: Nest, schedule: Schedule, multicast: bool = False, reduction: Reduction = "dram") -> CoreTraffic:
    """The traffic of the cores of a schedule, and that of the DRAM channel which they share."""
    cores = core_parts(nest, schedule)
    inner = [streams(part.nest, part.schedule) for part in cores]
    moved: list[dict[str, TensorTraffic]] = [{} for _ in cores]
    channel: dict[str, TensorTraffic] = {}
    for number, stream in enumerate(streams(nest, schedule)):
        rows = [_moved(nest, part, stream, mine[number], reduction) for part, mine in zip(cores, inner, strict=True)]
        tensor = stream.tensor
        if stream.kind == "accumulator" and reduction == "on-chip":
            rows = [
                _passed_on(row, _new(nest, part, tensor)) if part.is_continued(nest, tensor.dims) else row
                for part, row in zip(cores, rows, strict=True)
            ]
        missed = tensor.elements - touched(tensor, nest.sizes)
        # Where there are any, the first core is a class of its own.
        if stream.kind == "accumulator":
            rows[0] = replace(rows[0], write=rows[0].write + missed)
        elif stream.kind == "start":
            rows[0] = replace(rows[0], read=rows[0].read + missed)
        for mine, row in zip(moved, rows, strict=True):
            mine[tensor.name] = row
        once = multicast and stream.kind != "accumulator"
        channel[tensor.name] = _on_channel(cores, rows, tensor, once=once)
    return CoreTraffic(tuple(moved), channel)


def _on_channel(
    cores: Sequence[CorePart], rows: Sequence[TensorTraffic], tensor: Tensor, *, once: bool
) -> TensorTraffic:
    """The traffic of all cores for a tensor, given that of a core of each class; what several read may count once."""
    read, write, resumed, spilled = (
        sum(part.cores * count for part, count in zip(cores, counts, strict=True))
        for counts in zip(*((row.read, row.write, row.resumed, row.spilled) for row in rows), strict=True)
    )
    if once:
        most: dict[Key, int] = {}
        blocks: dict[Key, int] = {}
        for part, row in zip(cores, rows, strict=True):
            key = part.key(tensor.dims)
            most[key] = max(most.get(key, 0), row.read)
            blocks[key] = part.cores // part.sharing(tensor.dims)
        read = sum(blocks[key] * count for key, count in most.items())
    return TensorTraffic(read, write, resumed, spilled)


def _moved(nest: Nest, part: CorePart, stream: Stream, inner: Stream, reduction: Reduction) -> TensorTraffic:
    """The traffic of one core for a tensor, without elements that no statement touches."""
    if stream.kind == "start" and part.continues(stream.out.dims):
        return TensorTraffic(0, 0)
    visited = volume(part.nest, part.schedule, inner)
    if stream.kind != "accumulator":
        return TensorTraffic(visited, 0)
    continued = part.continues(stream.tensor.dims) and reduction == "dram"
    read = visited - (0 if continued else _new(nest, part, stream.tensor))
    finished = 0 if part.is_continued(nest, stream.tensor.dims) else _new(nest, part, stream.tensor, last=True)
    return TensorTraffic(read, visited, read, visited - finished)


def _passed_on(row: TensorTraffic, elements: int) -> TensorTraffic:
    """The traffic of a core that passes `elements` partial sums to the next core instead of writing them."""
    return replace(row, write=row.write - elements, spilled=row.spilled - elements)


def _new(nest: Nest, part: CorePart, tensor: Tensor, *, last: bool = False) -> int:
    """
    The elements of a tensor in a part that no earlier part with other elements reached; with `last`, no later one.

    Windows at the border of two parts overlap. The order of the parts makes the new elements a product over the axes.
    """
    elements = 1
    ranges = dict(part.ranges)
    for axis, size in zip(tensor.axes, tensor.shape, strict=True):
        mine = {d: ranges.get(d, (0, nest.sizes[d])) for d in axis.dims}
        if is_plain(axis):
            elements *= mine[axis.terms[0][0]][1]
            continue
        reached = reached_beside(axis, size, nest.sizes, ranges, last=last)
        elements *= (reached_positions(axis, size, mine) & ~reached).bit_count()
    return elements
