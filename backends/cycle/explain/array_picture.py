"""The array as a picture: which elements work at some cycles, and how many over the first of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from npuc.backends.cycle.explain.filling import MOMENTS, Filling
from npuc.compiler.core.drawing.figure import SMALL, Axes
from npuc.compiler.core.drawing.palette import BLUE, GRID, ORANGE, QUIET, RIM, WAITING
from npuc.compiler.core.drawing.stack import Block, Words, stack
from npuc.compiler.core.errors import UsageError

SIDE = 48
"""The most squares along a side of the grid; of a larger array a square is one of the elements that it stands for."""
POINTS = 600
COLOURS = GRID, WAITING, BLUE, ORANGE
"""Those of the states of an element."""
GAP = 0.115
"""Between two grids, as a share of the width of one."""


def draw_array(fillings: Sequence[tuple[str, Filling]], kind: str, title: str, about: str, which: str) -> bytes:
    """
    The picture of what fills the array, each with the name of its phase, as a file of a kind (`svg`, `png`, `pdf`).

    Raises `UsageError` where nothing does; `which` operations these are.
    """
    if not fillings:
        message = f"--view array: no operation of {which} runs on the array, all is vector work or moves data"
        raise UsageError(message, hint="name another layer or --phase, one with a matrix product, or leave out --view")
    blocks: list[Block | Words] = []
    for phase, filling in fillings:
        blocks += _blocks(phase, filling)
    return stack(kind, blocks, title=title, about=about)


def _blocks(phase: str, filling: Filling) -> Iterator[Block | Words]:
    shown = filling.moments
    yield Words(f"{phase}: {filling.heading}", filling.text, above=0.12)
    yield Block(1.35, lambda axes: _grids(axes, filling, shown), above=0.42, below=0.2, left=0.3)
    yield Block(1.0, lambda axes: _curve(axes, filling, shown), above=0.25, below=0.5)


def _grids(axes: Axes, filling: Filling, shown: Sequence[tuple[str, int]]) -> None:
    """A grid of elements for each of some cycles, side by side."""
    axes.axis("off")
    rows, cols = _places(filling.rows), _places(filling.cols)
    for number, (name, cycle) in enumerate(shown):
        panel = axes.inset_axes((number / MOMENTS, 0, (1 - GAP) / MOMENTS, 1))
        grid = [[filling.state(row, col, cycle) for col in cols] for row in rows]
        for state, (tops, widths, lefts) in enumerate(_bars(grid)):
            panel.barh(tops, widths, left=lefts, height=1, align="edge", color=COLOURS[state], linewidth=0)
        panel.set_xlim(0, len(cols))
        panel.set_ylim(len(rows), 0)
        panel.set_aspect("equal")
        panel.hlines(range(1, len(rows)), 0, len(cols), color="white", linewidth=0.3)
        panel.vlines(range(1, len(cols)), 0, len(rows), color="white", linewidth=0.3)
        panel.set_xticks(())
        panel.set_yticks(())
        panel.set_title(f"{name}: cycle {cycle:,}\n{sum(filling.busy(cycle)):,} work", fontsize=SMALL, loc="left")
        for spine in panel.spines.values():
            spine.set(visible=True, color=RIM, linewidth=0.6)
    scale = max(-(-filling.rows // len(rows)), -(-filling.cols // len(cols)))
    each = f"; a square stands for up to {scale} x {scale} elements" if scale > 1 else ""
    text = f"blue and orange: works, {filling.each}s in turn; grey: waits; light: not in use{each}"
    axes.text(0, -0.1, text, transform=axes.transAxes, fontsize=SMALL, color=QUIET, va="top")


def _bars(grid: Sequence[Sequence[int]]) -> list[tuple[list[int], list[int], list[int]]]:
    """Of each state the elements side by side in a row as one: their row, how many, and the first of them."""
    found: list[tuple[list[int], list[int], list[int]]] = [([], [], []) for _ in COLOURS]
    for row, states in enumerate(grid):
        begin = 0
        for state, alike in groupby(states):
            tops, widths, lefts = found[state]
            width = len(list(alike))
            tops.append(row)
            widths.append(width)
            lefts.append(begin)
            begin += width
    return found


def _places(count: int) -> list[int]:
    """The elements along a side that are drawn, with the first and the last one: there the array fills and drains."""
    shown = min(count, SIDE)
    return [place * (count - 1) // max(1, shown - 1) for place in range(shown)]


def _curve(axes: Axes, filling: Filling, shown: Sequence[tuple[str, int]]) -> None:
    """The share of elements that work in each cycle."""
    size, first, end = filling.rows * filling.cols, filling.begin, filling.end
    stride = max(1, (end - first) // POINTS)
    cycles = sorted({*range(first, end, stride), end - 1, *(cycle for _, cycle in shown)})
    counts = [filling.busy(cycle) for cycle in cycles]
    both = [100 * sum(busy) / size for busy in counts]
    # Each cycle is as wide as those that it stands for, so that short gaps are seen.
    until = [*cycles, end]
    kind: dict[str, object] = {"step": "post", "linewidth": 0}
    axes.fill_between(until, [*both, both[-1]], color=ORANGE, **kind)
    axes.fill_between(until, [100 * own / size for own, _ in (*counts, counts[-1])], color=BLUE, **kind)
    for _, cycle in shown:
        axes.axvline(cycle, color=QUIET, linewidth=0.8, linestyle=(0, (1, 1.5)))
    axes.set_xlim(first, max(first + 1, end))
    axes.set_ylim(0, 100)
    axes.set_ylabel("elements, %")
    axes.set_xlabel("cycle of the operation, without waits for DRAM")
