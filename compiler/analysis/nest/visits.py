"""
The order in which a scheduled nest visits its tiles: an enumeration of the first tile operations, and loops as text.

A tile is loaded when the loops that move its tensor (`blocks.py`) step; the same tile may be loaded again later.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType

from npuc.compiler.analysis.nest.blocks import Stream, max_trips, streams
from npuc.compiler.analysis.nest.cores import core_traffic
from npuc.compiler.core.kinds import Reduction
from npuc.dialects.npu.gemm import gemm_view
from npuc.dialects.npu.nest import Nest, Schedule

WALKED = 4096
"""The largest number of tile operations that are enumerated."""
Lows = dict[str, int]
"""The first index of each dimension at some depth of the loops."""


@dataclass(frozen=True)
class Visits:
    """
    The tiles of one tensor on a grid: `rows` and `cols` are the dimensions in which its block moves, `height` and
    `width` the numbers of tiles along them.

    `first` is the number of the tile operation that first loads a tile, `brought` the number of its loads.
    """

    tensor: str
    rows: tuple[str, ...]
    cols: tuple[str, ...]
    height: int
    width: int
    first: dict[tuple[int, int], int]
    brought: dict[tuple[int, int], int]


def visits(nest: Nest, schedule: Schedule, limit: int = WALKED) -> tuple[tuple[Visits, ...], int]:
    """The tiles that the first operations load, for every tensor but initial values, and the number of operations."""
    view = gemm_view(nest, nest.statements[0])
    roles = [view.batch, view.m, view.n, view.k]
    moved = [stream for stream in streams(nest, schedule) if stream.kind != "start"]
    walked = list(islice(_operations(nest, schedule), limit))
    result: list[Visits] = []
    for stream in moved:
        moving = {schedule.loops[p].dim for p in stream.loops} & stream.tensor.dims
        own = [tuple(d for d in role if d in moving) for role in roles]
        used = [dims for dims in own if dims]
        rows = tuple(d for dims in used[:-1] for d in dims)
        cols = used[-1] if used else ()
        first: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
        brought: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
        before: tuple[tuple[int, ...], tuple[int, ...]] | None = None
        for number, levels in enumerate(walked):
            lows = levels[stream.depth]
            at = tuple(lows[d] for d in rows), tuple(lows[d] for d in cols)
            if at != before:
                first.setdefault(at, number)
                brought[at] = brought.get(at, 0) + 1
            before = at
        down = {low: n for n, low in enumerate(sorted({row for row, _ in first}))}
        across = {low: n for n, low in enumerate(sorted({col for _, col in first}))}
        result.append(
            Visits(
                stream.tensor.name,
                rows,
                cols,
                len(down),
                len(across),
                {(down[row], across[col]): number for (row, col), number in first.items()},
                {(down[row], across[col]): count for (row, col), count in brought.items()},
            )
        )
    return tuple(result), len(walked)


def _operations(nest: Nest, schedule: Schedule) -> Iterator[tuple[Lows, ...]]:
    """The tile operations in order: the first index of each dimension inside 0, 1, … up to all loops."""

    def inside(levels: tuple[Lows, ...], ends: Lows) -> Iterator[tuple[Lows, ...]]:
        if len(levels) > len(schedule.loops):
            yield levels
            return
        loop, lows = schedule.loops[len(levels) - 1], levels[-1]
        for at in range(lows[loop.dim], ends[loop.dim], loop.step):
            end = min(at + loop.step, ends[loop.dim])
            yield from inside((*levels, lows | {loop.dim: at}), ends | {loop.dim: end})

    yield from inside((dict.fromkeys(nest.sizes, 0),), nest.sizes)


def loop_nest(
    nest: Nest,
    schedule: Schedule,
    reduction: Reduction = "dram",
    resident: Collection[str] = (),
    epilogue: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> tuple[str, ...]:
    """
    The loops of a schedule as lines of pseudocode, with the loads and stores at each depth.

    With `reduction` "on-chip" a core continues the sums of the core before it. `resident` tensors cause no loads and
    stores. `epilogue` gives the lines that follow each completed block of an output.
    """
    return tuple(_Text(nest, schedule, reduction, resident, epilogue).inside(0))


class _Text:
    def __init__(
        self,
        nest: Nest,
        schedule: Schedule,
        reduction: Reduction,
        resident: Collection[str],
        epilogue: Mapping[str, Sequence[str]],
    ):
        self.resident, self.epilogue = resident, epilogue
        self.nest, self.loops, self.trips = nest, schedule.loops, max_trips(nest, schedule.loops)
        self.core_loops = schedule.core_depth if reduction == "on-chip" else 0
        self.moving = {stream.tensor.name: stream for stream in streams(nest, schedule)}
        self.starts = {stream.out.name: stream for stream in self.moving.values() if stream.kind == "start"}
        self.moved = core_traffic(nest, schedule, reduction=reduction).channel

    def inside(self, depth: int) -> Iterator[str]:
        """The lines inside the first `depth` loops."""
        here = [stream for stream in self.moving.values() if stream.depth == depth]
        outs = [stream for stream in here if stream.kind == "accumulator"]
        late = [stream for stream in here if stream.kind == "start" and self.is_late(stream)]
        pad = "  " * depth
        yield from (pad + line for line in self.loads([s for s in here if s not in outs and s not in late]))
        yield from (pad + self.begin(stream) for stream in outs)
        yield from (f"{pad}{s.out.name} += {s.tensor.name}{self.first_time(s)}" for s in late)
        if depth < len(self.loops):
            loop, count = self.loops[depth], self.trips[depth]
            over = "cores" if loop.cores else "for"
            yield f"{pad}{over} {loop.dim} in {count:,} step{'s' * (count > 1)} of {loop.step:,}:"
            yield from self.inside(depth + 1)
        else:
            yield from (f"{pad}{statement}" for statement in self.nest.statements)
        stored = [stream.tensor.name for stream in outs if stream.tensor.name not in self.resident]
        if stored:
            yield f"{pad}store {', '.join(stored)}"
        for stream in outs:
            yield from (pad + line for line in self.epilogue.get(stream.tensor.name, ()))

    def loads(self, streams: list[Stream]) -> Iterator[str]:
        """The loads of some tensors: on every visit, or on the first one."""
        always = [s.tensor.name for s in streams if not self.first_time(s) and s.tensor.name not in self.resident]
        if always:
            yield f"load {', '.join(always)}"
        yield from (f"load {s.tensor.name}{self.first_time(s)}" for s in streams if self.first_time(s))

    def begin(self, stream: Stream) -> str:
        """How a block of an output is initialised."""
        name, start = stream.tensor.name, self.starts.get(stream.tensor.name)
        first = "0" if start is None or self.is_late(start) else start.tensor.name
        before = ["what is there" if name in self.resident else "what was stored"] if self.moved[name].read else []
        before += ["what the core before has"] if self.again(stream, self.core_loops) else []
        return f"{name} = {' or '.join(before)}, at first {first}" if before else f"{name} = {first}"

    def is_late(self, start: Stream) -> bool:
        """Whether an initial value is loaded in smaller blocks than its output, after the sums have begun."""
        return start.depth > self.moving[start.out.name].depth

    def first_time(self, stream: Stream) -> str:
        """The remark that an initial value is loaded with the first of several visits of its output only."""
        return ", the first time" if stream.kind == "start" and self.again(stream, stream.depth) else ""

    def again(self, stream: Stream, depth: int) -> bool:
        """Whether the first `depth` loops visit the same elements of an output more than once."""
        return any(loop.dim not in stream.out.dims and self.trips[p] > 1 for p, loop in enumerate(self.loops[:depth]))
