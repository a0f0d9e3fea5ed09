"""
The elements of a systolic array that work in each cycle of a fold, in closed form.

Operands enter at two edges, skewed by a cycle a row and column, so that the element at row i and column j works from
cycle start + i + j on, for as many cycles as the fold streams steps. With dataflow `ws` and `is` the stationary tile is
loaded first, a row a cycle.
"""

from __future__ import annotations

from dataclasses import dataclass

from npuc.compiler.analysis.machine.array import Array


@dataclass(frozen=True)
class Wave:
    """
    A fold by itself: it uses `rows` x `cols` elements, streams `steps`, and takes `cycles`, in `start` of which the
    stationary tile is loaded.
    """

    rows: int
    cols: int
    steps: int
    start: int
    cycles: int

    @property
    def macs(self) -> int:
        """The multiply-accumulates of the fold, one for each element in use and step."""
        return self.rows * self.cols * self.steps

    @property
    def last(self) -> int:
        """The last cycle in which an element works."""
        return self.start + self.rows + self.cols + self.steps - 3

    @property
    def middle(self) -> int:
        """A cycle in which most elements work at a time: the wave rises and falls alike."""
        return (self.start + self.last) // 2

    @property
    def ramp(self) -> int:
        """The cycles until most elements work, and those from the last such cycle to the end."""
        return min(self.rows + self.cols - 2, self.middle - self.start)

    def works(self, row: int, col: int, cycle: int) -> bool:
        """Whether an element works in a cycle."""
        inside = row < self.rows and col < self.cols
        return inside and 0 <= cycle - self.start - row - col < self.steps

    def busy(self, cycle: int) -> int:
        """How many elements work in a cycle."""
        since = cycle - self.start
        return self._begun(since) - self._begun(since - self.steps)

    def _begun(self, since: int) -> int:
        """The elements with row + column <= since."""
        beyond = (since, since - self.rows, since - self.cols, since - self.rows - self.cols)
        all_, rows, cols, both = ((x + 1) * (x + 2) // 2 if x >= 0 else 0 for x in beyond)
        return all_ - rows - cols + both


def why_no_wave(array: Array) -> str | None:
    """Why the elements of an array do not work by this rule; None where they do."""
    if array.dataflow == "rs":
        return "passes of a row-stationary array are no folds"
    if array.stages is not None:
        return "the array is fed from registers, by instructions"
    if array.dataflow == "in-place":
        return "an in-place array keeps its tile from product to product"
    if array.fill != "per-fold":
        return "with array.fill=overlap folds run into each other, so that none fills the array by itself"
    return None


def fold_wave(array: Array, rows: int, cols: int, steps: int) -> Wave:
    """
    The wave of a fold of a product with so many rows and columns on the array and steps in the stream.

    It is right where `why_no_wave` has nothing to say.
    """
    start = array.rows if array.dataflow in ("ws", "is") else 0
    return Wave(min(rows, array.rows), min(cols, array.cols), steps, start, steps + array.latency)
