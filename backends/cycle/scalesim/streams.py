"""
The requests of an operand line by line: the words of each line.

In every fold an operand requests one block of words, either skewed (lane p is p lines late: a systolic stream) or row
by row (the stationary operand is loaded). The line of a word has a closed form.
"""

from dataclasses import dataclass
from math import isqrt

from npuc.backends.cycle.scalesim.compute import Folds


@dataclass(frozen=True)
class Stream:
    """
    The words of one operand in the order of their lines.

    `by_rows` and `by_cols` say whether a block has a side along the rows and columns of the array; the other side of a
    block with one of them is the streamed dimension. `first` is the line of a fold where a full block begins; `late`
    blocks end where a full one would (rows enter or leave in reverse order, missing ones first).
    """

    folds: Folds
    by_rows: bool
    by_cols: bool
    first: int
    skewed: bool = True
    late: bool = False

    @property
    def words(self) -> int:
        """Words in all."""
        cols = self.folds.spatial_cols if self.by_cols else self.folds.col_folds
        return self._sweep_unit * cols

    def words_of(self, col_fold: int) -> int:
        """The words of one column fold."""
        return self._sweep_unit * self._width(col_fold)

    def line_of(self, word: int) -> int:
        """The line of a word, counted from 0."""
        col_fold, word = divmod(word, self._sweep_unit * self._full_width)
        row_fold, word = divmod(word, self._full_height * self._width(col_fold))
        height, width = self._block(row_fold, col_fold)
        line = _line(word, min(height, width), max(height, width)) if self.skewed else word // width
        fold = col_fold * self.folds.row_folds + row_fold
        return fold * self.folds.lines_of_fold + self._first(row_fold) + line

    @property
    def _streamed(self) -> int:
        """The streamed side of a block, 1 if it has both others."""
        return 1 if self.by_rows and self.by_cols else self.folds.streamed

    @property
    def _sweep_unit(self) -> int:
        """The words of a column fold for each unit of its width."""
        return self._streamed * (self.folds.spatial_rows if self.by_rows else self.folds.row_folds)

    @property
    def _full_height(self) -> int:
        """The words of a full row fold for each unit of width."""
        return self._streamed * (self.folds.rows if self.by_rows else 1)

    @property
    def _full_width(self) -> int:
        return self.folds.cols if self.by_cols else 1

    def _width(self, col_fold: int) -> int:
        return self.folds.cols_of(col_fold) if self.by_cols else 1

    def _block(self, row_fold: int, col_fold: int) -> tuple[int, int]:
        """The sides of a fold's block."""
        if not self.by_cols:
            return self.folds.streamed, self.folds.rows_of(row_fold)
        return self.folds.rows_of(row_fold) if self.by_rows else self.folds.streamed, self.folds.cols_of(col_fold)

    def _first(self, row_fold: int) -> int:
        return self.first + (self.folds.rows - self.folds.rows_of(row_fold) if self.late else 0)


@dataclass(frozen=True)
class Streams:
    """The requests of the three operands of a layer."""

    ifmap: Stream
    filter: Stream
    ofmap: Stream


def streams(folds: Folds) -> Streams:
    """The three streams of a dataflow; the line where each begins in a fold."""
    if folds.dataflow == "os":
        return Streams(
            Stream(folds, by_rows=True, by_cols=False, first=0),
            Stream(folds, by_rows=False, by_cols=True, first=0),
            Stream(folds, by_rows=True, by_cols=True, first=folds.streamed - 1, late=True),
        )
    held = Stream(folds, by_rows=True, by_cols=True, first=0, skewed=False, late=True)
    moving = Stream(folds, by_rows=True, by_cols=False, first=folds.rows)
    out = Stream(folds, by_rows=False, by_cols=True, first=2 * folds.rows - 1)
    return Streams(moving, held, out) if folds.dataflow == "ws" else Streams(held, moving, out)


def _line(word: int, short: int, long: int) -> int:
    """The line of a word of a skewed block of `short` x `long` words: lines grow by one word, stay level, shrink."""
    up = short * (short - 1) // 2
    if word < up:
        return (isqrt(8 * word + 1) - 1) // 2
    if word < up + (long - short + 1) * short:
        return short - 1 + (word - up) // short
    return short + long - 2 - (isqrt(8 * (short * long - 1 - word) + 1) - 1) // 2
