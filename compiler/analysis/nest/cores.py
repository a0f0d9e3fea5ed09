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
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

from npuc.compiler.analysis.nest.blocks import Stream, inside, is_plain, streams, touched
from npuc.compiler.analysis.nest.traffic import TensorTraffic, volume
from npuc.compiler.core.kinds import Reduction
from npuc.dialects.npu.footprint import positions
from npuc.dialects.npu.nest import Axis, Nest, Schedule, Tensor

Range = tuple[int, int]
"""First index and number of indices."""
Key = tuple[tuple[str, Range], ...]


@dataclass(frozen=True)
class CorePart:
    """The part of one core: the nest restricted to `ranges` of the partitioned dimensions, outermost first."""

    nest: Nest
    schedule: Schedule
    ranges: tuple[tuple[str, Range], ...]

    def continues(self, dims: frozenset[str]) -> bool:
        """Whether an earlier core works on the same elements of a tensor of these dimensions."""
        return any(low > 0 for dim, (low, _) in self.ranges if dim not in dims)

    def is_continued(self, nest: Nest, dims: frozenset[str]) -> bool:
        """Whether a later core works on the same elements of a tensor of these dimensions; `nest` is the whole nest."""
        return any(low + extent < nest.sizes[dim] for dim, (low, extent) in self.ranges if dim not in dims)

    def key(self, dims: frozenset[str]) -> Key:
        """Equal for the cores that work on the same elements of a tensor of these dimensions."""
        return tuple(at for at in self.ranges if at[0] in dims)


@lru_cache(maxsize=4096)
def core_parts(nest: Nest, schedule: Schedule) -> tuple[CorePart, ...]:
    """The parts of a nest, one per core, in program order; the whole nest if no loop is over cores."""
    if not schedule.core_depth:
        return (CorePart(nest, schedule, ()),)
    inner = replace(schedule, loops=schedule.loops[schedule.core_depth :])
    return tuple(CorePart(part_nest(nest, dict(at)), inner, at) for at in _ranges(nest, schedule))


def _ranges(nest: Nest, schedule: Schedule, number: int = 0) -> Iterator[tuple[tuple[str, Range], ...]]:
    """The ranges of the partitioned dimensions, core by core."""
    if number == schedule.core_depth:
        yield ()
        return
    loop = schedule.loops[number]
    size = nest.sizes[loop.dim]
    for low in range(0, size, loop.step):
        for rest in _ranges(nest, schedule, number + 1):
            yield ((loop.dim, (low, min(loop.step, size - low))), *rest)


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


@dataclass(frozen=True)
class CoreTraffic:
    """
    Elements moved between DRAM and SPMs, by tensor: `moved` of each core, and `channel` over the shared DRAM channel,
    where a multicast block counts once.
    """

    moved: tuple[dict[str, TensorTraffic], ...]
    channel: dict[str, TensorTraffic]


@lru_cache(maxsize=4096)
def core_traffic(nest: Nest, schedule: Schedule, multicast: bool = False, reduction: Reduction = "dram") -> CoreTraffic:
    """The traffic of every core of a schedule, and that of the DRAM channel which the cores share."""
    cores = core_parts(nest, schedule)
    inner = [streams(part.nest, part.schedule) for part in cores]
    moved: list[dict[str, TensorTraffic]] = [{} for _ in cores]
    channel: dict[str, TensorTraffic] = {}
    for number, stream in enumerate(streams(nest, schedule)):
        rows = [_moved(nest, part, stream, mine[number], reduction) for part, mine in zip(cores, inner, strict=True)]
        tensor = stream.tensor
        if stream.kind == "accumulator" and reduction == "on-chip":
            last = {part.key(tensor.dims): part for part in cores}
            rows = [
                row if last[part.key(tensor.dims)] is part else _passed_on(row, _new(nest, part, tensor))
                for part, row in zip(cores, rows, strict=True)
            ]
        missed = tensor.elements - touched(tensor, nest.sizes)
        if stream.kind == "accumulator":
            rows[0] = replace(rows[0], write=rows[0].write + missed)
        elif stream.kind == "start":
            rows[0] = replace(rows[0], read=rows[0].read + missed)
        for mine, row in zip(moved, rows, strict=True):
            mine[tensor.name] = row
        read, write = sum(row.read for row in rows), sum(row.write for row in rows)
        resumed, spilled = sum(row.resumed for row in rows), sum(row.spilled for row in rows)
        if multicast and stream.kind != "accumulator":
            most: dict[Key, int] = {}
            for part, row in zip(cores, rows, strict=True):
                key = part.key(tensor.dims)
                most[key] = max(most.get(key, 0), row.read)
            read = sum(most.values())
        channel[tensor.name] = TensorTraffic(read, write, resumed, spilled)
    return CoreTraffic(tuple(moved), channel)


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

    Windows at the border of two parts overlap. Parts are ordered lexicographically by their indices, outermost
    dimension first, so that the new elements are a product over the axes.
    """
    elements = 1
    ranges = dict(part.ranges)
    for axis, size in zip(tensor.axes, tensor.shape, strict=True):
        mine = {d: ranges.get(d, (0, nest.sizes[d])) for d in axis.dims}
        if is_plain(axis):
            elements *= mine[axis.terms[0][0]][1]
            continue
        reached = 0
        for number, (dim, (low, extent)) in enumerate(part.ranges):
            if dim not in axis.dims:
                continue
            end = low + extent
            fixed = {d for d, _ in part.ranges[:number]}
            before = {d: mine[d] if d in fixed else (0, nest.sizes[d]) for d in axis.dims}
            reached |= _mask(axis, size, before | {dim: (end, nest.sizes[dim] - end) if last else (0, low)})
        elements *= (_mask(axis, size, mine) & ~reached).bit_count()
    return elements


def _mask(axis: Axis, size: int, ranges: Mapping[str, Range]) -> int:
    """The positions of an axis that these ranges of its dimensions reach, as a bit mask."""
    mask = positions(tuple((c, ranges[d][1]) for d, c in axis.terms))
    return inside(mask, axis.offset + sum(c * ranges[d][0] for d, c in axis.terms), size)
