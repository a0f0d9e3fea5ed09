"""
The file of a sweep: rows are appended to `F.partial` while points are scored, which becomes `F` at the end.

    # npuc sweep 0f31…            a hash of everything that the rows depend on
    memory.spm_kib,cycles,…       the header
    1024,102334621,…              a line a point

A sweep that was interrupted continues from the lines that are there; a last line without its end is dropped. `F`
itself has no first line, so that it is plain CSV.
"""

from __future__ import annotations

import csv
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

import msgspec

from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.files.lock import lock
from npuc.compiler.core.files.outputs import write_rest
from npuc.compiler.explore.sweep.devices import MOVED
from npuc.compiler.explore.sweep.grid import Grid
from npuc.compiler.explore.sweep.point import SweepPoint
from npuc.compiler.report.as_csv import cell, csv_text, nested_totals

HEAD = "# npuc sweep "
_INTEGER = re.compile(r"-?\d+", re.ASCII)


def header(grid: Grid) -> list[str]:
    """The names of the columns."""
    return [*(axis.key for axis in grid.axes), *grid.totals, *(MOVED if grid.is_shared else ()), "error"]


def line(cells: Sequence[Any]) -> str:
    """Values as a line of a CSV file."""
    return csv_text(cells)


class Partial:
    """
    The growing file of a sweep, a context: `each` gets the points that it had, `rows` is their number, `add` writes one
    more, `finish` names it.

    Leaving the context leaves the file as it is, to be continued. Raises `UsageError` where it cannot be written, was
    begun with other options, is damaged, or is being written by another sweep.
    """

    head: ClassVar[str] = HEAD
    what: ClassVar[str] = "unfinished sweep"
    anew: ClassVar[str] = "--restart begins anew and overwrites it"
    rename: ClassVar[str] = "give --csv another name"

    def __init__(
        self, path: str, grid: Grid, digest: str, each: Callable[[SweepPoint], object], *, restart: bool = False
    ):
        self.shown = f"{path}.partial"
        try:
            self.path = Path(os.path.realpath(path))
        except ValueError as e:  # a null byte, or what no file name has
            raise UsageError(f"cannot write {path!r}: {e}") from e
        self.grid, self._head = grid, f"{self.head}{digest}\n"
        self.file = Path(f"{self.path}.partial")
        self._each, self._restart = each, restart
        self.rows = 0

    def __enter__(self) -> Self:
        try:
            self._stream = open(self.file, "a+b")
            try:
                lock(
                    self._stream.fileno(),
                    UsageError(f"another process is writing '{self.shown}'", hint=f"wait for it, or {self.rename}"),
                )
                self._begin()
            except BaseException:
                self._stream.close()
                raise
        except OSError as e:
            raise UsageError(f"cannot write '{self.shown}': {e.strerror or e}") from e
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.rows:  # nothing to continue from
            self.file.unlink(missing_ok=True)
        self._stream.close()

    def add(self, point: SweepPoint) -> None:
        """Write the row of the next point."""
        try:
            self._stream.write(line(list(point.row(self.grid.totals).values())).encode())
            self._stream.flush()
            self.rows += 1
        except OSError as e:
            raise UsageError(f"cannot write '{self.shown}': {e.strerror or e}") from e

    def finish(self) -> None:
        """Give the file its final name, without its first line."""
        try:
            self._stream.flush()
            self._stream.seek(len(self._head))
            write_rest(str(self.path), self._stream)
            self.file.unlink()
        except OSError as e:
            raise UsageError(f"cannot write '{self.path}': {e.strerror or e}") from e

    def _begin(self) -> None:
        """Keep the rows that are there, or write the first two lines."""
        self._stream.seek(0)
        start = (self._head + line(header(self.grid))).encode()
        data = b"" if self._restart else self._stream.read(len(start) + 1)
        lines, kept = (0, 0) if self._restart else self._whole_lines()
        begun = lines > 2 or not data.startswith(self.head.encode())
        if not data or not begun or start.startswith(data):
            self._stream.truncate(0)
            self._stream.write(start)
            self._stream.flush()
            return
        for point in self._read(lines):
            self._each(point)
            self.rows += 1
        self._stream.truncate(kept)

    def _whole_lines(self) -> tuple[int, int]:
        """The number of lines that have an end, and their bytes."""
        self._stream.seek(0)
        lengths = Counter[bool]()
        bytes_of = 0
        for one in self._stream:
            whole = one.endswith(b"\n")
            lengths[whole] += 1
            bytes_of += len(one) * whole
        return lengths[True], bytes_of

    def _read(self, lines: int) -> Iterator[SweepPoint]:
        """The points of so many lines of the file."""
        names = header(self.grid)
        self._stream.seek(0)
        texts = (self._text(number, one) for number, one in enumerate(islice(self._stream, lines), 1))
        first = next(texts, "")
        if not first.startswith(self.head):
            raise UsageError(
                f"'{self.shown}' is no {self.what}: its first line is no '{self.head.strip()} HASH'", hint=self.anew
            )
        if first != self._head:
            raise UsageError(
                f"'{self.shown}' was begun with another source, other points or other options",
                hint=f"{self.anew.partition(' and ')[0]}; or {self.rename}",
            )
        if next(texts, "") != line(names):
            raise self._damaged(2, "it is not the header")
        if lines - 2 > self.grid.count:
            raise self._damaged(self.grid.count + 3, f"the sweep has {self.grid.count:,} points")
        for number, text in enumerate(texts, 3):
            yield self._point(number, text[:-1], names)

    def _index(self, number: int, cells: Sequence[str]) -> int:
        """The number of the point that a line has, by the line's number and the cells of its keys."""
        own = self.grid.values(number - 3)
        if [*cells] != [cell(value) for value in own.values()]:
            raise self._damaged(number, f"it is not the point {', '.join(map(cell, own.values()))}")
        return number - 3

    def _text(self, number: int, data: bytes) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise self._damaged(number, "it is not UTF-8") from None

    def _point(self, number: int, text: str, header: Sequence[str]) -> SweepPoint:
        try:
            (cells,) = list(csv.reader([text], strict=True)) if "\0" not in text else [[]]
        except (csv.Error, ValueError):
            cells = []
        if len(cells) != len(header):
            raise self._damaged(number, f"it is no row of {len(header)} cells")
        names = MOVED if self.grid.is_shared else ()
        count = len(self.grid.axes)
        index, numbers, error = self._index(number, cells[:count]), cells[count:-1], cells[-1]
        values = self.grid.values(index)
        if error:
            return SweepPoint(index, values, None, error, moved=dict.fromkeys(names) if names else None)
        try:
            known = {name: _number(one) for name, one in zip((*self.grid.totals, *names), numbers, strict=True)}
            moved = {name: known.pop(name) for name in names}
            shares = [name for name in known if name.startswith("assumed.")]
            if all(known[name] is None for name in shares):  # nothing is assumed at this point
                known = {name: value for name, value in known.items() if name not in shares}
            point = SweepPoint(index, values, nested_totals(known), moved=moved or None)
        except (ValueError, msgspec.ValidationError):
            raise self._damaged(number, "its totals are no numbers") from None
        if line(list(point.row(self.grid.totals).values())) != f"{text}\n":
            raise self._damaged(number, "it is not as it was written")
        return point

    def _damaged(self, number: int, reason: str) -> UsageError:
        return UsageError(f"'{self.shown}' is damaged: line {number:,}: {reason}", hint=self.anew)


def _number(text: str) -> int | float | None:
    if not text:
        return None
    value = int(text) if _INTEGER.fullmatch(text) else float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value
