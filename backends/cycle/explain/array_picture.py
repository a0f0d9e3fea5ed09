"""The array as a picture: which elements work at some cycles of a fold, and how many over all of its cycles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from npuc.backends.cycle.explain.explanation import Explanation, Fold
from npuc.compiler.analysis.machine.wave import Wave
from npuc.compiler.core.drawing.figure import SMALL, Axes
from npuc.compiler.core.drawing.palette import BLUE, GRID, PHASE_NAMES, QUIET, RIM, WAITING
from npuc.compiler.core.drawing.stack import Block, Words, stack
from npuc.compiler.core.errors import UsageError

SIDE = 48
"""The most squares along a side of the grid; of a larger array a square is the element in the middle of its block."""
POINTS = 400
HINT = "it is for products with schedules on systolic arrays: --set array.fill=per-fold"


def draw_array(explanations: Sequence[Explanation], kind: str, title: str, about: str, why: str | None) -> bytes:
    """
    The picture of the first folds of some operations as a file of a kind (`svg`, `png`, `pdf`).

    Raises `UsageError` where there are none; `why` is the reason.
    """
    if not any(one.folds for one in explanations):
        raise UsageError(f"--view array: {why or 'there is no fold to show'}", hint=HINT)
    blocks: list[Block | Words] = []
    for one in explanations:
        for fold in one.folds:
            blocks += _fold(one, fold)
    return stack(kind, blocks, title=title, about=about)


def moments(wave: Wave) -> list[tuple[str, int]]:
    """Cycles to look at, each with what it is: filling, when most elements work, draining."""
    half = wave.ramp // 2
    found = [("first", wave.start), ("fill", wave.start + half), ("most", wave.middle)]
    found += [("drain", wave.last - half), ("last", wave.last)]
    kept: dict[int, str] = {}
    for name, cycle in found:
        kept.setdefault(cycle, name)
    return [(name, cycle) for cycle, name in sorted(kept.items())]


def _fold(one: Explanation, fold: Fold) -> Iterator[Block | Words]:
    wave, size = fold.wave, fold.rows * fold.cols
    shown = moments(wave)
    share = wave.macs / (size * wave.cycles)
    phase = "" if one.row is None else f"{PHASE_NAMES[one.row.phase]}: "
    heading = f"{phase}a fold of {wave.cycles:,} cycles uses {share:.1%} of the array's peak"
    several = "s" if wave.steps > 1 else ""
    load = f"loads {wave.start:,} cycles, " if wave.start else ""
    yield Words(
        heading,
        f"{fold.name}: {wave.rows:,} x {wave.cols:,} of {fold.rows:,} x {fold.cols:,} elements ({fold.dataflow}: "
        f"{fold.placed}); {load}streams {wave.steps:,} step{several}: {wave.macs:,} multiply-accumulates",
        above=0.12,
    )
    yield Block(1.35, lambda axes: _grids(axes, fold, shown), above=0.42, below=0.2, left=0.3)
    yield Block(1.0, lambda axes: _curve(axes, wave, size, shown), above=0.25, below=0.5)


def _grids(axes: Axes, fold: Fold, shown: Sequence[tuple[str, int]]) -> None:
    """A grid of elements for each of some cycles, side by side."""
    from importlib import import_module

    colours = import_module("matplotlib.colors").ListedColormap([GRID, WAITING, BLUE])
    axes.axis("off")
    wave = fold.wave
    rows, cols = _places(fold.rows), _places(fold.cols)
    for number, (name, cycle) in enumerate(shown):
        panel = axes.inset_axes((number / 5, 0, 0.185, 1))
        grid = [[_state(wave, row, col, cycle) for col in cols] for row in rows]
        panel.pcolormesh(grid, cmap=colours, vmin=0, vmax=2, edgecolors="white", linewidth=0.3)
        panel.set_aspect("equal")
        panel.invert_yaxis()
        panel.set_xticks(())
        panel.set_yticks(())
        panel.set_title(f"{name}: cycle {cycle:,}\n{wave.busy(cycle):,} work", fontsize=SMALL, loc="left")
        for spine in panel.spines.values():
            spine.set(visible=True, color=RIM, linewidth=0.6)
    scale = max(-(-fold.rows // len(rows)), -(-fold.cols // len(cols)))
    each = f"; a square stands for up to {scale} x {scale} elements" if scale > 1 else ""
    text = f"blue: works, grey: waits, light: not in use{each}"
    axes.text(0, -0.1, text, transform=axes.transAxes, fontsize=SMALL, color=QUIET, va="top")


def _places(count: int) -> list[int]:
    """The elements along a side that are drawn."""
    shown = min(count, SIDE)
    return [(2 * place + 1) * count // (2 * shown) for place in range(shown)]


def _state(wave: Wave, row: int, col: int, cycle: int) -> int:
    """0: not in use by the fold, 1: it waits, 2: it works."""
    return 2 if wave.works(row, col, cycle) else 1 if row < wave.rows and col < wave.cols else 0


def _curve(axes: Axes, wave: Wave, size: int, shown: Sequence[tuple[str, int]]) -> None:
    """The share of elements that work in each cycle."""
    stride = max(1, wave.cycles // POINTS)
    cycles = sorted({*range(0, wave.cycles, stride), wave.cycles - 1, wave.start, *(c for _, c in shown)})
    cycles = [cycle for cycle in cycles if cycle < wave.cycles]
    axes.fill_between(cycles, [100 * wave.busy(cycle) / size for cycle in cycles], color=BLUE, linewidth=0)
    for _, cycle in shown:
        axes.axvline(cycle, color=QUIET, linewidth=0.8, linestyle=(0, (1, 1.5)))
    axes.set_xlim(0, max(1, wave.cycles - 1))
    axes.set_ylim(0, 100)
    axes.set_ylabel("elements, %")
    axes.set_xlabel("cycle of the fold")
