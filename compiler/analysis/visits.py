"""
The order in which a scheduled nest visits its tiles: a walk of the first tile operations, and its loops as text.

A tile is brought when the loops that move its tensor (`blocks.py`) step; the same tile may be brought again later.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from npuc.compiler.analysis.blocks import max_trips, streams
from npuc.compiler.analysis.gemm import gemm_view
from npuc.dialects.npu.nest import Nest, Schedule

WALKED = 4096
"""The most tile operations that are walked."""
Lows = dict[str, int]
"""The first index of each dimension at some place in the loops."""


@dataclass(frozen=True)
class Visits:
    """
    The tiles of one tensor on a grid: `rows` and `cols` are the dimensions in which its block moves, `height` and
    `width` the tiles along them.

    `first` is the number of the tile operation that brings a tile first, `brought` how often it is brought.
    """

    tensor: str
    rows: tuple[str, ...]
    cols: tuple[str, ...]
    height: int
    width: int
    first: dict[tuple[int, int], int]
    brought: dict[tuple[int, int], int]


def visits(nest: Nest, schedule: Schedule, limit: int = WALKED) -> tuple[tuple[Visits, ...], int]:
    """The tiles that the first operations bring, of every tensor but starts, and how many operations were walked."""
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
    """The tile operations in order: the first indices inside 0, 1, … up to all of the loops."""

    def inside(levels: tuple[Lows, ...], ends: Lows) -> Iterator[tuple[Lows, ...]]:
        if len(levels) > len(schedule.loops):
            yield levels
            return
        loop, lows = schedule.loops[len(levels) - 1], levels[-1]
        for at in range(lows[loop.dim], ends[loop.dim], loop.step):
            end = min(at + loop.step, ends[loop.dim])
            yield from inside((*levels, lows | {loop.dim: at}), ends | {loop.dim: end})

    yield from inside((dict.fromkeys(nest.sizes, 0),), nest.sizes)


def loop_nest(nest: Nest, schedule: Schedule) -> tuple[str, ...]:
    """The loops of a schedule as lines of pseudocode, with what is loaded and stored in each."""
    trips = max_trips(nest, schedule.loops)
    depths = {stream.tensor.name: stream for stream in streams(nest, schedule)}
    lines: list[str] = []

    def enter(depth: int) -> None:
        here = [name for name, stream in depths.items() if stream.depth == depth]
        pad = "  " * depth
        loads = [name for name in here if depths[name].kind == "input"]
        if loads:
            lines.append(f"{pad}load {', '.join(loads)}")
        for name in (name for name in here if depths[name].kind == "accumulator"):
            again = any(schedule.loops[p].dim not in nest.tensors[name].dims for p in depths[name].loops)
            lines.append(f"{pad}{f'{name} = what was stored, at first 0' if again else f'{name} = 0'}")
        for name in (name for name in here if depths[name].kind == "start"):
            lines.append(f"{pad}{depths[name].out.name} += {name}, the first time")
        if depth < len(schedule.loops):
            loop = schedule.loops[depth]
            over = "cores" if loop.cores else "for"
            count = trips[depth]
            lines.append(f"{pad}{over} {loop.dim} in {count:,} step{'s' * (count > 1)} of {loop.step:,}:")
            enter(depth + 1)
        else:
            lines.extend(f"{pad}{statement}" for statement in nest.statements)
        stored = [name for name in here if depths[name].kind == "accumulator"]
        if stored:
            lines.append(f"{pad}store {', '.join(stored)}")

    enter(0)
    return tuple(lines)
