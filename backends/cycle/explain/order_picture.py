"""The order of tiles as a picture: of each tensor a grid, darker the later a tile is first brought."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from importlib import import_module

from npuc.backends.cycle.explain.order import Order, title
from npuc.compiler.analysis.nest.visits import Visits
from npuc.compiler.core.drawing.figure import EDGE, SMALL, WIDTH, Axes, text_size
from npuc.compiler.core.drawing.palette import QUIET, SCALE
from npuc.compiler.core.drawing.stack import Block

DRAWN = 16
"""The most rows and columns that are drawn."""
SIDE, BETWEEN = 0.23, 0.35
"""Of a tile, and between two grids, in inches."""


def order_blocks(order: Order) -> Iterator[Block]:
    """The grids side by side, as many as fit; nothing where no tensor has two tiles."""
    rows: list[list[Visits]] = [[]]
    for grid in order.shown:
        if rows[-1] and _width([*rows[-1], grid]) > WIDTH - 2 * EDGE:
            rows.append([])
        rows[-1].append(grid)
    part = "" if order.walked == order.tiles else f" (of the first {order.walked:,} tile operations)"
    head = f"order of tiles: dark ones are brought first; a number says how often, if not once{part}"
    for number, row in enumerate(rows):
        if row:
            height = SIDE * max(min(grid.height, DRAWN) for grid in row)
            fill = partial(_grids, row, order, height, "" if number else head)
            yield Block(height, fill, above=0.24 if number else 0.5, below=0.2, left=EDGE, right=EDGE)


def _wide(grid: Visits) -> float:
    """The width of a grid with its title."""
    return max(SIDE * min(grid.width, DRAWN), text_size(_name(grid), SMALL)[0])


def _width(grids: Sequence[Visits]) -> float:
    return sum(_wide(grid) for grid in grids) + BETWEEN * (len(grids) - 1)


def _name(grid: Visits) -> str:
    cut = f", first {DRAWN}" if max(grid.height, grid.width) > DRAWN else ""
    return f"{title(grid)}{cut}"


def _grids(row: Sequence[Visits], order: Order, height: float, head: str, axes: Axes) -> None:
    """Grids of one row, on axes in inches."""
    axes.set_axis_off()
    axes.set_xlim(0, WIDTH - 2 * EDGE)
    axes.set_ylim(height, 0)
    rectangle, colours = import_module("matplotlib.patches").Rectangle, import_module("matplotlib").colormaps[SCALE]
    if head:
        axes.text(0, -0.3, head, color=QUIET, va="bottom")
    x = 0.0
    for grid in row:
        axes.text(x, -0.06, _name(grid), fontsize=SMALL, va="bottom")
        for (line, column), first in sorted(grid.first.items()):
            if line < DRAWN and column < DRAWN:
                late = first / max(1, order.walked - 1)
                at = x + SIDE * column, SIDE * line
                axes.add_patch(rectangle(at, SIDE * 0.94, SIDE * 0.94, facecolor=colours(0.95 * late), linewidth=0))
                if (again := grid.brought[line, column]) > 1:
                    centre = at[0] + 0.47 * SIDE, at[1] + 0.5 * SIDE
                    colour = "white" if late < 0.55 else "black"
                    axes.text(*centre, str(again), ha="center", va="center", fontsize=SMALL - 1.5, color=colour)
        x += _wide(grid) + BETWEEN
