"""
Tables that fit, and the lines below them.

A table has the columns for which there is room, those of the lowest rank first, and says which it leaves out. Numbers
are never cut; a long name continues on a second line. Lines below a table are wrapped between words and hang behind
their heading.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from npuc.compiler.core.frozen import frozen

if TYPE_CHECKING:
    from rich.console import Console

LABEL = 10
"""The width of the headings of lines below a table."""
NARROWEST = 16
"""Names up to this width stay on one line."""
_FEWEST_WORDS = 20
"""Below a table, sentences have at least this much room."""
_BELOW = "     "
"""Before what is said below a row."""
_GLUE = "\x00"
_PIECE_ENDS = re.compile(r"(?<=[. ])|(?<=,)(?!\d{3}\b)")
"""Where a name may be broken: behind points, blanks, and commas that do not part the digits of a number."""
_UNIT = re.compile(r"(?<=\d) (?=(?:[mµn]?[sJ]|[KMGT]iB|B|[kMGTP]|%)(?!\w))")


@frozen
class Column:
    """
    A column: its heading, which may have two lines, and a cell for each row.

    Columns of one `rank` are shown together, those of rank 0 always. Columns with `instead` are shown where those of
    that rank have no room. A footer stands below a rule. `called` is what is said of a column that is left out, where
    that is not its heading.
    """

    heading: str
    cells: tuple[str, ...]
    left: bool = False
    rank: int = 0
    footer: str = ""
    styles: tuple[str, ...] = ()
    instead: int | None = None
    called: str | None = None

    @property
    def width(self) -> int:
        """The width of the widest line of a cell or heading."""
        return max(len(line) for text in (self.heading, *self.cells, self.footer) for line in text.split("\n"))

    def lines(self, row: int, style: str) -> list[tuple[str, str]]:
        """The lines of a cell with their style."""
        own = self.styles[row] if self.styles else ""
        return [(line, f"{style} {own}".strip()) for line in self.cells[row].split("\n")]


def fitting(columns: Sequence[Column], width: int, gap: int = 1) -> list[Column]:
    """
    The columns for which there is room, in their order, ranks in ascending order: one without room is left out.

    Those of rank 0 are always among them; where they are too wide, long names are broken at their points.
    """
    whole = columns
    shown = [column for column in columns if not column.rank]
    is_narrow = _needed(shown, gap) > width
    if is_narrow:
        columns = [_broken(column, max(NARROWEST, width // 3)) for column in columns]
        shown = [column for column in columns if not column.rank]
    ranks = {0}
    for rank in sorted({column.rank for column in columns} - {0}):
        own = [column for column in columns if column.rank == rank]
        if own[0].instead in ranks:
            continue
        if _needed([*shown, *own], gap) <= width:
            shown += own
            ranks.add(rank)
    if is_narrow:
        room = max(NARROWEST, width // 3, _room_left(shown, width, gap))
        columns = [_broken(column, room) for column in whole]
    return [column for column in columns if column.rank in ranks]


def _needed(columns: Sequence[Column], gap: int) -> int:
    return sum(column.width + gap for column in columns) + 1


def _room_left(shown: Sequence[Column], width: int, gap: int) -> int:
    """What the numbers that are shown leave to each column of names."""
    names = sum(column.left for column in shown)
    numbers = [column for column in shown if not column.left]
    return (width - _needed(numbers, gap)) // names - gap if names else 0


def _broken(column: Column, room: int) -> Column:
    """A column of names in that room; one of numbers as it is."""
    if not column.left:
        return column
    return replace(column, cells=tuple(broken_name(cell, room) for cell in column.cells))


def broken_name(name: str, room: int) -> str:
    """A name on several lines of at most `room` characters, broken behind points and commas, later ones indented."""
    if len(name) <= room:
        return name
    lines = [""]
    for piece in _PIECE_ENDS.split(name):
        if lines[-1].strip() and len(lines[-1] + piece.rstrip()) > room:
            lines.append("  ")
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)


def left_out(columns: Iterable[Column], shown: Collection[Column], width: int) -> str:
    """What is said of columns without room and nothing in their place; empty if there are none."""
    there = {column.rank for column in shown} | {column.instead for column in shown}
    missing = [column for column in columns if column.instead is None and column.rank not in there]
    names = dict.fromkeys(column.called or " ".join(column.heading.split()) for column in missing)
    return f"no room in {width} columns for {', '.join(names)}" if names else ""


def columns_of(
    rows: Sequence[Sequence[str]], *, left: Collection[int] = (0,), ranks: Mapping[int, int] = MappingProxyType({})
) -> list[Column]:
    """
    Columns of rows whose first are the headings; by their numbers those on the left, and ranks that are not 0.

    Rows that are shorter than the headings end with empty cells.
    """
    heads, *below = rows
    below = [[*row, *[""] * (len(heads) - len(row))] for row in below]
    cells = [*zip(*below, strict=True)] if below else [()] * len(heads)
    return [Column(head, cells[n], left=n in left, rank=ranks.get(n, 0)) for n, head in enumerate(heads)]


def print_grid(
    columns: Sequence[Column],
    console: Console,
    *,
    gap: int = 1,
    styles: Sequence[str] = (),
    rules: Collection[int] = (),
    notes: Sequence[str] = (),
    last: bool = False,
    below: Sequence[str] = (),
) -> None:
    """
    Print the columns that fit on a console, below them which do not, and other notes; then an empty line unless `last`.

    `styles` are those of rows, `rules` the rows with a line below, `below` what is said of each row, below it.
    """
    keep = getattr(console, "keep_grid", None)
    if keep is not None:  # for another form of text: `exported.tables_of`
        keep(columns)
        return
    shown = fitting(columns, console.width, gap)
    tops = [column.heading.split("\n") for column in shown]
    height = max(map(len, tops))
    rule = " " + "─" * (_needed(shown, gap) - 1 - gap)
    for line in range(height):
        cells = [[""] * (height - len(top)) + top for top in tops]
        _print_line(shown, [(own[line], "bold") for own in cells], console, gap)
    console.print(rule, highlight=False, soft_wrap=True)
    for row in range(len(shown[0].cells)):
        lines = [column.lines(row, styles[row] if styles else "") for column in shown]
        for line in range(max(map(len, lines))):
            _print_line(shown, [own[line] if line < len(own) else ("", "") for own in lines], console, gap)
        if below and below[row]:
            _print_below(below[row], console)
        if row in rules:
            console.print(rule, highlight=False, soft_wrap=True)
    if any(column.footer for column in shown):
        console.print(rule, highlight=False, soft_wrap=True)
        _print_line(shown, [(column.footer, "") for column in shown], console, gap)
    for note in filter(None, (left_out(columns, shown, console.width), *notes)):
        print_note(note, console)
    if not last:
        console.print()


def _print_line(columns: Sequence[Column], cells: Sequence[tuple[str, str]], console: Console, gap: int) -> None:
    from rich.text import Text

    line = Text(" ")
    for number, (column, (cell, style)) in enumerate(zip(columns, cells, strict=True)):
        line.append(" " * gap if number else "")
        line.append(cell.ljust(column.width) if column.left else cell.rjust(column.width), style or None)
    line.rstrip()
    console.print(line, highlight=False, soft_wrap=True)


def _print_below(text: str, console: Console) -> None:
    from rich.text import Text

    for part in wrapped(text, max(console.width - len(_BELOW), _FEWEST_WORDS)):
        console.print(Text(_BELOW + part, "dim"), highlight=False, soft_wrap=True)


def print_line(label: str, text: str, console: Console, width: int = LABEL) -> None:
    """
    A line with its heading; what does not fit on it continues below, behind the heading.

    A heading as long as the `width` of all headings stands above its text. A console that has a method `keep_line` is
    given the line, and prints it where that says False.
    """
    from rich.text import Text

    keep = getattr(console, "keep_line", None)
    if keep is not None and keep(label, text):
        return

    room = max(console.width - width, _FEWEST_WORDS)
    parts = wrapped(text, room)
    if len(label) >= width:
        console.print(Text(label, "bold"), highlight=False, soft_wrap=True)
        label = ""
    for number, part in enumerate(parts):
        line = Text(label.ljust(width) if number == 0 else " " * width, "bold").append(part, "not bold")
        line.rstrip()
        console.print(line, highlight=False, soft_wrap=True)


def print_note(text: str, console: Console, style: str = "dim", indent: int = 2) -> None:
    """
    A remark, dim, its later lines indented.

    A console that has a method `keep_note` is given it, and prints it where that says False.
    """
    from rich.text import Text

    keep = getattr(console, "keep_note", None)
    if keep is not None and keep(text):
        return

    for number, part in enumerate(wrapped(text, max(console.width - indent, _FEWEST_WORDS))):
        console.print(Text(" " * (indent if number else 0) + part, style), highlight=False, soft_wrap=True)


def wrapped(text: str, width: int) -> list[str]:
    """The lines of a text of at most this width, broken between words, not between a number and its unit."""
    lines = textwrap.wrap(_UNIT.sub(_GLUE, text), width, break_long_words=False, break_on_hyphens=False)
    return [line.replace(_GLUE, " ") for line in lines] or [""]
