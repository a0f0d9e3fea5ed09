"""
Breaking a statement into lines.

A statement that fits on a line stands on one. Otherwise a bracket that is too wide is broken: its content goes to a
line of its own, two columns further in, or if that is too wide, to one line per item (items without brackets fill
lines). Where no bracket helps, a line ends behind one of the operators that bind least. Strings and names are never
broken.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

from npuc.frontends.dsl.format.pieces import Comment, Pieces

WIDTH = 120
INDENT = 2
CONTINUATION = 4

_LEVELS = {
    "COMMA": 0,
    "IF": 1,
    "ELSE": 1,
    "OR": 2,
    "AND": 3,
    "COMPARE": 4,
    "PLUS": 5,
    "MINUS": 5,
    "PRODUCT": 6,
    "POWER": 7,
}
_SPLIT_BEFORE = frozenset({"IF", "ELSE"})
Task: TypeAlias = Callable[[], None]


@dataclass
class Writer:
    """Lines of text; a line break takes effect with the text that follows."""

    lines: list[str] = field(default_factory=list[str])
    indent: int = 0
    is_fresh: bool = True
    _broken: bool = False

    def start(self, indent: int, blank: bool = False) -> None:
        """Begin a line, behind a blank one unless a body begins here."""
        if blank and not self.is_fresh:
            self.lines.append("")
        self.lines.append(" " * indent)
        self.indent, self._broken, self.is_fresh = indent, False, False

    def break_line(self, indent: int) -> None:
        """Let what follows begin a line."""
        self.indent, self._broken = indent, True

    @property
    def column(self) -> int:
        """Where the next text would stand."""
        return self.indent if self._broken else len(self.lines[-1])

    @property
    def is_at_start(self) -> bool:
        """True where nothing stands on the line yet."""
        return self._broken or len(self.lines[-1]) == self.indent

    def write(self, text: str, is_spaced: bool = False) -> None:
        """Append text, behind a blank if `is_spaced` and not at the start of a line."""
        if self._broken:
            self.start(self.indent)
        self.lines[-1] += " " * (is_spaced and not self.is_at_start) + text

    def comments(self, comments: list[Comment], indent: int) -> None:
        """Comments inside a statement; the line ends behind them."""
        for comment in comments:
            if comment.own_line:
                self.start(indent)
                self.lines[-1] += comment.text
            else:
                self.lines[-1] += f"  {comment.text}"
            self.break_line(indent)


class Layout:
    """Writes ranges of pieces. A stack of tasks stands in for recursion, as brackets may be nested deep."""

    def __init__(self, pieces: Pieces, writer: Writer):
        self.pieces = pieces
        self.writer = writer
        self._tasks: list[Task] = []

    def statement(self, start: int, stop: int, indent: int) -> None:
        """Write the pieces of a statement, or of its head; comments behind the last one are left to the caller."""
        self._range(start, stop, indent + CONTINUATION, 0, is_inside=False)
        while self._tasks:
            self._tasks.pop()()

    def fits(self, start: int, stop: int, trail: int = 0) -> bool:
        """Whether pieces, and `trail` columns behind them, fit on the rest of the line."""
        if self.pieces.has_comments(start, stop - 1):
            return False
        blank = self.pieces.is_spaced[start] and not self.writer.is_at_start
        return self.writer.column + blank + self.pieces.width(start, stop) + trail <= WIDTH

    def flat(self, start: int, stop: int) -> None:
        """Write pieces on the line."""
        for k in range(start, stop):
            self.writer.write(self.pieces.items[k].text, self.pieces.is_spaced[k])

    def _push(self, tasks: list[Task]) -> None:
        self._tasks += reversed(tasks)

    def _comments(self, k: int, indent: int) -> None:
        self.writer.comments(self.pieces.items[k].comments, indent)

    def _range(self, start: int, stop: int, further: int, trail: int, *, is_inside: bool) -> None:
        """Pieces of one bracket level; lines that continue begin in column `further`."""
        if self.fits(start, stop, trail):
            self.flat(start, stop)
            return
        cuts = self._cuts(start, stop, is_inside)
        if not cuts:
            self._chain(start, stop, further, trail)
            return
        tasks: list[Task] = []
        bounds = [start, *cuts, stop]
        for a, b in pairwise(bounds):
            behind = trail if b == stop else 0
            if a > start:
                tasks.append(lambda k=a - 1: self._comments(k, further))
                tasks.append(lambda a=a, b=b, behind=behind: self._soft(a, b, further, behind))
            tasks.append(lambda a=a, b=b, behind=behind: self._range(a, b, further, behind, is_inside=is_inside))
        self._push(tasks)

    def _cuts(self, start: int, stop: int, is_inside: bool) -> list[int]:
        """Where the operands of the operators that bind least begin, but for the first."""
        best, cuts = len(_LEVELS), list[int]()
        k = start
        while k < stop:
            kind = self.pieces.kind(k)
            level = _LEVELS.get(kind, len(_LEVELS))
            at = k if kind in _SPLIT_BEFORE else k + 1
            is_cut = start < at < stop and not self.pieces.is_unary[k] and (is_inside or kind not in _SPLIT_BEFORE)
            if is_cut and level < best:
                best, cuts = level, []
            if is_cut and level == best and level < len(_LEVELS):
                cuts.append(at)
            k = self.pieces.match.get(k, k) + 1
        return cuts

    def _soft(self, start: int, stop: int, further: int, trail: int) -> None:
        """End the line if the pieces fit on the next one, but not on this."""
        if self.writer.is_at_start or self.fits(start, stop, trail):
            return
        fits_alone = further + self.pieces.width(start, stop) + trail <= WIDTH
        bracket = next((k for k in range(start, stop) if k in self.pieces.match), None)
        if fits_alone or bracket is None or self.writer.column + 1 + self.pieces.width(start, bracket + 1) > WIDTH:
            self.writer.break_line(further)

    def _chain(self, start: int, stop: int, further: int, trail: int) -> None:
        """Pieces without operators between them: names, words and brackets in a row."""
        tasks: list[Task] = []
        k = start
        while k < stop:
            last = self.pieces.match.get(k, k)
            if last > k:
                behind = self._behind(last + 1, stop, trail)
                tasks.append(lambda k=k, last=last, behind=behind: self._bracket(k, last, behind))
            else:
                tasks.append(lambda k=k: self.flat(k, k + 1))
            if last < stop - 1:
                tasks.append(lambda k=last: self._comments(k, further))
            k = last + 1
        self._push(tasks)

    def _behind(self, start: int, stop: int, trail: int) -> int:
        """The columns needed on the line behind a closing bracket: up to the next bracket that could be broken."""
        k = start
        while k < stop:
            if k in self.pieces.match:
                return self.pieces.is_spaced[start] + self.pieces.width(start, k + 1)
            k += 1
        return (self.pieces.is_spaced[start] + self.pieces.width(start, stop) if start < stop else 0) + trail

    def _bracket(self, first: int, last: int, trail: int) -> None:
        """A pair of brackets and what is in it."""
        if self.fits(first, last + 1, trail):
            self.flat(first, last + 1)
            return
        self.flat(first, first + 1)
        base = self.writer.indent
        inner = base + INDENT
        self._comments(first, inner)
        items = self._items(first + 1, last)
        commented = self.pieces.has_comments(first, last)
        self.writer.break_line(inner)
        tasks: list[Task] = []
        if not commented and inner + self.pieces.width(first + 1, last) <= WIDTH:
            tasks.append(lambda: self.flat(first + 1, last))
        elif not commented and len(items) > 1 and not any(k in self.pieces.match for k in range(first + 1, last)):
            tasks.append(lambda: self._fill(items, inner))
        else:
            for a, b in items:
                tasks.append(lambda a=a, b=b: self._item(a, b, inner, len(items) > 1))
                tasks.append(lambda b=b: self._end_item(b, last, inner, len(items) > 1))
        tasks.append(lambda: self.writer.break_line(base))
        tasks.append(lambda: self.flat(last, last + 1))
        self._push(tasks)

    def _items(self, start: int, stop: int) -> list[tuple[int, int]]:
        """The ranges between the commas."""
        commas: list[int] = []
        k = start
        while k < stop:
            if self.pieces.kind(k) == "COMMA":
                commas.append(k)
            k = self.pieces.match.get(k, k) + 1
        starts = [start, *(k + 1 for k in commas)]
        return [(a, b) for a, b in zip(starts, [*commas, stop], strict=True) if a < b]

    def _fill(self, items: list[tuple[int, int]], indent: int) -> None:
        for number, (a, b) in enumerate(items):
            is_last = number == len(items) - 1
            if number and not self.fits(a, b, 0 if is_last else 1):
                self.writer.break_line(indent)
            self.flat(a, b if is_last else b + 1)

    def _item(self, start: int, stop: int, indent: int, has_comma: bool) -> None:
        self.writer.break_line(indent)
        self._range(start, stop, indent + CONTINUATION, int(has_comma), is_inside=True)

    def _end_item(self, stop: int, last: int, indent: int, has_comma: bool) -> None:
        """The comma behind an item, also behind the last of several, then its comments."""
        if has_comma:
            self.writer.write(",")
        self._comments(stop - 1 if stop == last else stop, indent)
