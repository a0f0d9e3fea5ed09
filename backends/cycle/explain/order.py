"""The order of tiles as text: a grid per tensor, each tile with the tile operation that first loads it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import wrap

from npuc.compiler.analysis.nest.visits import Visits

ROWS = 8
COLUMNS = 12
"""The most tiles of a tensor that are shown as text."""


@dataclass(frozen=True)
class Order:
    """Which tile operations load which tiles, among the first `walked` of `tiles` operations."""

    grids: tuple[Visits, ...]
    walked: int
    tiles: int

    @property
    def shown(self) -> tuple[Visits, ...]:
        """The tensors that have more than one tile."""
        return tuple(grid for grid in self.grids if grid.height * grid.width > 1)


def order_text(order: Order, width: int) -> Iterator[str]:
    """The grids side by side, as many as fit; nothing where no tensor has two tiles."""
    blocks = [list(_grid(grid, width)) for grid in order.shown]
    if not blocks:
        return
    part = "" if order.walked == order.tiles else f", of the first {order.walked:,}"
    yield from wrap(f"order of tiles: the tile operation that first brings each{part}; x2: brought twice", width)
    rows: list[list[list[str]]] = [[]]
    for block in blocks:
        if rows[-1] and sum(len(b[0]) + 3 for b in rows[-1]) + len(block[0]) > width:
            rows.append([])
        rows[-1].append(block)
    for number, row in enumerate(rows):
        if number:
            yield ""
        for line in range(max(map(len, row))):
            yield "   ".join(b[line] if line < len(b) else " " * len(b[0]) for b in row).rstrip()


def title(grid: Visits) -> str:
    """The title of a grid: the tensor, and the dimensions and counts of its tiles, vertical ones first."""
    across = f"{' '.join(grid.cols)} {grid.width:,}"
    return (
        f"{grid.tensor}  {' '.join(grid.rows)} {grid.height:,} x {across}" if grid.rows else f"{grid.tensor}  {across}"
    )


def cell(grid: Visits, row: int, column: int) -> str:
    """The label of a tile."""
    place = row, column
    if place not in grid.first:
        return "."
    again = grid.brought[place]
    return f"{grid.first[place]}{f'x{again}' if again > 1 else ''}"


def _grid(grid: Visits, room: int) -> Iterator[str]:
    """Lines of one width, at most `room`: the title, the tiles of the first rows and columns."""
    height, width = min(grid.height, ROWS), min(grid.width, COLUMNS)
    cells = [[cell(grid, row, column) for column in range(width)] for row in range(height)]
    size = max(len(text) for line in cells for text in line)
    width = min(width, (room - 2) // (size + 1))
    more = " …" if grid.width > width else ""
    lines = [" " + " ".join(f"{text:>{size}}" for text in line[:width]) + more for line in cells]
    if grid.height > height:
        lines.append(" …")
    wide = max(map(len, [title(grid), *lines]))
    yield title(grid).ljust(wide)
    for line in lines:
        yield line.ljust(wide)
