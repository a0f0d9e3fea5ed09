"""Lines and cells of a table with their places, and the numbers that cells hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from typing import NamedTuple

from npuc.compiler.core.errors import Location, SourceError
from npuc.compiler.core.numbers import BLANKS
from npuc.frontends.tables.model import LARGEST

_CELLS = {sep: re.compile(rf' *"((?:[^"]|"")*)" *(?={sep}|$)|([^{sep}]*)') for sep in (",", "\t")}
_WHOLE = re.compile(r"\+?[0-9]{1,20}")
_ENDS = re.compile(r"\r\n|\n|\r")
_RATIO = re.compile(r"([0-9]{1,9})[ \t]*:[ \t]*([0-9]{1,9})")
_STRIDES = re.compile(r"([0-9]{1,9})[ \t]*[xX][ \t]*([0-9]{1,9})")
FLAGS = {"1": True, "0": False, "true": True, "false": False, "yes": True, "no": False}


class Cell(NamedTuple):
    """A cell without the blanks around it, and the column (from 1) where it begins."""

    text: str
    col: int


@dataclass(frozen=True)
class Line:
    """A line of the file: its number (from 1), text and cells, without trailing empty cells and comments."""

    number: int
    text: str
    cells: tuple[Cell, ...]


def lines_of(text: str) -> Iterator[Line]:
    """The lines of a table that hold anything."""
    for number, line in enumerate(_ENDS.split(text.removeprefix("\ufeff")), 1):
        cells = list(takewhile(lambda cell: not cell.text.startswith("#"), _split(line)))
        while cells and not cells[-1].text:
            cells.pop()
        if cells:
            yield Line(number, line, tuple(cells))


def _split(line: str) -> Iterator[Cell]:
    """
    The cells of a line, between commas; between tabs where it has no commas.

    A cell in double quotes may hold commas, and quotes written twice.
    """
    pattern = _CELLS["," if "," in line or "\t" not in line.strip() else "\t"]
    position = 0
    while True:
        found = pattern.match(line, position)
        assert found is not None, "the pattern matches the empty text"
        quoted, plain = found.group(1), found.group(2)
        if quoted is not None:
            yield Cell(quoted.replace('""', '"').strip(BLANKS), found.start(1) + 1)
        else:
            lead = len(plain) - len(plain.lstrip(BLANKS))
            yield Cell(plain.strip(BLANKS), position + lead + 1)
        position = found.end() + 1
        if position > len(line):
            return


@dataclass
class RowReader:
    """Reads the cells of one line; mistakes are collected in `errors`."""

    filename: str
    line: Line
    errors: list[SourceError] = field(default_factory=list[SourceError])

    def fail(self, message: str, cell: Cell | None = None, hint: str | None = None) -> None:
        """Note an error at a cell, or at the end of the line."""
        col = len(self.line.text.rstrip()) + 1 if cell is None else cell.col
        location = Location(self.filename, self.line.number, col)
        self.errors.append(SourceError(message, location=location, hint=hint, source_line=self.line.text))

    def cell(self, index: int, what: str) -> Cell | None:
        """The cell in a column; an error where it is missing or empty."""
        cells = self.line.cells
        if index < len(cells) and cells[index].text:
            return cells[index]
        self.fail(f"{what} is missing", cells[index] if index < len(cells) else None)
        return None

    def whole(self, index: int, what: str, least: int = 1) -> int:
        """The integer in a column, at least `least`; `least` and an error where the cell holds none."""
        cell = self.cell(index, what)
        if cell is None:
            return least
        value = int(cell.text) if _WHOLE.fullmatch(cell.text) else None
        if value is None or not least <= value <= LARGEST:
            self.fail(f"{what}: found '{cell.text}', expected a whole number from {least} to {LARGEST:,}", cell)
            return least
        return value

    def flag(self, index: int, what: str) -> bool:
        """The truth value in a column, 1 or 0."""
        cell = self.cell(index, what)
        if cell is not None and cell.text.lower() in FLAGS:
            return FLAGS[cell.text.lower()]
        if cell is not None:
            self.fail(f"{what}: found '{cell.text}', expected 1 or 0", cell)
        return True

    def strides(self, index: int) -> tuple[int, int]:
        """The strides in a column: one number for both axes, or `HxW`."""
        cell = self.line.cells[index] if index < len(self.line.cells) else None
        found = None if cell is None else _STRIDES.fullmatch(cell.text)
        if cell is None or found is None:
            value = self.whole(index, "the stride")
            return value, value
        height, width = int(found.group(1)), int(found.group(2))
        if not (height and width):
            self.fail(f"the stride: found '{cell.text}', expected strides of at least 1", cell)
        return max(height, 1), max(width, 1)

    def ratio(self, index: int) -> tuple[int, int] | None:
        """The N:M of the weights in a column that may be empty; dense ones (1:1) are None."""
        cell = self.line.cells[index] if index < len(self.line.cells) else None
        if cell is None or not cell.text:
            return None
        found = _RATIO.fullmatch(cell.text)
        kept, of = (int(found.group(1)), int(found.group(2))) if found else (0, 0)
        if not 1 <= kept <= of:
            hint = "2:4 keeps two weights of four; strides that differ by axis are written HxW, as in 2x1"
            self.fail(f"the sparsity: found '{cell.text}', expected N:M with 1 <= N <= M", cell, hint)
            return None
        return None if kept == of else (kept, of)
