"""
A systolic array: cycles and SPM accesses of a matrix product in closed form.

A product Y[M, N] = X[M, K] W[K, N] is cut in *folds* of the array's size; two dimensions lie on rows and columns,
the third streams through (T steps):

    dataflow   rows   columns   streamed T   cycles of a fold P
    os         M      N         K            T + R + C - 2   (drain "hidden"), 2R + C + T - 2 ("full")
    ws         K      N         M            2R + C + T - 2
    is         K      M         N            2R + C + T - 2
    in-place   N      K         M            T + R + C - 2, and R for a change of what stays

The first three are SCALE-Sim 3.0.0's cycles; in-place stands here for the forward product, `stationary.py` has all of
them. With `fill = "per-fold"` every fold pays its P, partly filled ones too. With `fill = "overlap"` fill and drain of
a fold run beside its neighbours: P - T once an operation, and each fold the longer of its own stream and of what
crosses the array's edge beside it (`edge.py`). What a change of the tile takes that stays in an in-place array is never
hidden. All sizes may be numpy arrays.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias, overload

import numpy as np

from npuc.compiler.analysis.machine.overlap import Overlap, Stages, stages

Dataflow = Literal["os", "ws", "is", "in-place"]
Fill = Literal["per-fold", "overlap"]
Drain = Literal["hidden", "full"]
Numbers: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.int64]]
Group = Literal["m", "n", "k"]

PLACES: dict[Dataflow, tuple[Group, Group, Group]] = {
    "os": ("m", "n", "k"),
    "ws": ("k", "n", "m"),
    "is": ("k", "m", "n"),
    "in-place": ("n", "k", "m"),
}


@dataclass(frozen=True)
class Array:
    """
    `rows` x `cols` processing elements, each one multiply-accumulate a cycle.

    `edge_elements` are what a port of the edge, one a column, takes or gives in a cycle; None: as many as come. They
    count with `fill = "overlap"` alone. With `overlap` the array is fed by registers, with instructions of `tile_m`
    rows (`overlap.py`); its dataflow is `ws`, and `fill`, `drain` and `edge_elements` have no meaning.
    """

    rows: int
    cols: int
    dataflow: Dataflow = "os"
    fill: Fill = "overlap"
    drain: Drain = "hidden"
    overlap: Overlap | None = None
    tile_m: int = 16
    edge_elements: int | None = 1

    @cached_property
    def stages(self) -> Stages | None:
        """The stages of the instructions of a register-fed array."""
        return None if self.overlap is None else stages(self.overlap, self.rows, self.cols, self.tile_m)

    @property
    def keeps(self) -> bool:
        """Whether it saves time or accesses to find the stationary tile in the elements."""
        return self.grouped or self.carries

    @property
    def grouped(self) -> bool:
        """Whether folds that follow each other on one stationary tile are a group, and groups overlap (`edge.py`)."""
        return self.fill == "overlap" and self.overlap is None and self.dataflow != "in-place"

    @property
    def carries(self) -> bool:
        """Whether tiles stay in the elements by another rule: of in-place arrays, of register-fed ones that gain."""
        if self.stages is not None:
            return self.stages.reload > 0 or self.stages.hidden > 0
        return self.dataflow == "in-place"

    @property
    def most_shift(self) -> int:
        """What crosses the edge for a fold that uses all rows, in cycles of each port."""
        return self.shift(self.rows) if self.grouped else 0

    @overload
    def shift(self, rows: int) -> int: ...
    @overload
    def shift(self, rows: Numbers) -> Numbers: ...
    def shift(self, rows: int | Numbers) -> int | Numbers:
        """The cycles in which so many rows of operands or sums cross the edge: ceil(rows / edge_elements)."""
        return 0 * rows if self.edge_elements is None else -(-rows // self.edge_elements)

    def wait(self, blocks: int) -> int:
        """The cycles that follow so many instructions of the same weights until the next weights are there."""
        return 0 if self.stages is None else self.stages.wait(blocks)

    @overload
    def stream(self, size: int) -> int: ...
    @overload
    def stream(self, size: Numbers) -> Numbers: ...
    def stream(self, size: int | Numbers) -> int | Numbers:
        """The cycles of one fold that streams so many steps, without what its stationary tile takes."""
        if self.stages is None:
            return size + self.fold_overhead
        return -(-size // self.tile_m) * self.stages.block

    @property
    def elements(self) -> int:
        """The number of processing elements."""
        return self.rows * self.cols

    @property
    def places(self) -> tuple[Group, Group, Group]:
        """Which of m, n, k lie on rows and on columns, and which is streamed."""
        return PLACES[self.dataflow]

    @property
    def latency(self) -> int:
        """Fill and drain: the cycles of a fold beyond those it streams (P - T)."""
        if self.dataflow == "in-place" or (self.dataflow == "os" and self.drain == "hidden"):
            return self.rows + self.cols - 2
        return 2 * self.rows + self.cols - 2

    @property
    def filling(self) -> int:
        """The part of the latency before a fold's first full step: weights coming in (`ws`, `is`), or operands."""
        return self.rows if self.dataflow in ("ws", "is") else self.rows + self.cols - 2

    @property
    def draining(self) -> int:
        """The part of the latency after a fold's last full step."""
        return self.latency - self.filling

    @property
    def fold_overhead(self) -> int:
        """What every fold pays beyond the streamed steps."""
        return self.latency if self.fill == "per-fold" and self.stages is None else 0

    @property
    def reload(self) -> int:
        """What a change of the tile that stays in the elements takes by itself: a weight has one register a cell."""
        if self.stages is not None:
            return self.stages.reload
        if self.dataflow != "in-place":
            return 0
        return self.shift(self.rows) if self.fill == "overlap" else self.rows

    @property
    def op_overhead(self) -> int:
        """What an operation pays once, whatever its number of folds."""
        if self.stages is not None:
            return self.stages.once
        return self.latency if self.fill == "overlap" else 0

    @overload
    def folds(self, m: int, n: int, k: int) -> int: ...
    @overload
    def folds(self, m: Numbers, n: Numbers, k: Numbers) -> Numbers: ...
    def folds(self, m: int | Numbers, n: int | Numbers, k: int | Numbers) -> int | Numbers:
        """The number of folds of one product."""
        rows, cols, _ = ({"m": m, "n": n, "k": k}[place] for place in self.places)
        return -(-rows // self.rows) * -(-cols // self.cols)

    @overload
    def cycles(self, m: int, n: int, k: int) -> int: ...
    @overload
    def cycles(self, m: Numbers, n: Numbers, k: Numbers) -> Numbers: ...
    def cycles(self, m: int | Numbers, n: int | Numbers, k: int | Numbers) -> int | Numbers:
        """The cycles that the folds of one product stream (and fill and drain, per fold), whatever crosses the edge."""
        rows, cols, streamed = ({"m": m, "n": n, "k": k}[place] for place in self.places)
        return -(-rows // self.rows) * -(-cols // self.cols) * self.stream(streamed)
