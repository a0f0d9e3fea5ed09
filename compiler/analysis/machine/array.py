"""
A systolic array: cycles and SPM accesses of a matrix product in closed form.

A product Y[M, N] = X[M, K] W[K, N] is divided into *folds* of the array's size: two dimensions are mapped to rows and
columns, the third streams through in T steps:

    dataflow   rows   columns   streamed T   cycles of a fold P
    os         M      N         K            T + R + C - 2   (drain "hidden"), 2R + C + T - 2 ("full")
    ws         K      N         M            2R + C + T - 2
    is         K      M         N            2R + C + T - 2
    in-place   N      K         M            T + R + C - 2, and R to replace the stationary tile

The first three are the cycles of SCALE-Sim 3.0.0; the row `in-place` shows the forward product, `stationary.py` all
three products. With `fill = "per-fold"` every fold takes its P cycles, even if partly filled. With `fill = "overlap"`
fill and drain of a fold overlap with its neighbours: P - T is paid once per operation, and each fold takes the longer
of its own stream and of the transfers across the array's edge beside it (`edge.py`). An in-place array never hides the
replacement of its stationary tile. All sizes may be numpy arrays.

Where a product takes p passes through a multiplier (`npuc.dialects.npu.widths`), each streamed step takes p cycles, in
which the elements work on all pairs of chunks of the two mantissas, as the fMAC of FAST: T is p times the size of the
streamed dimension. What stays is loaded once, and the skew from element to element remains a cycle, so that fill, drain
and replacement do not repeat.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, get_args, overload

from npuc.compiler.analysis.machine.fact import Description, FromKey, always
from npuc.compiler.analysis.machine.overlap import OVERLAPS, Overlap, Stages, stages
from npuc.compiler.analysis.machine.row_stationary import RowStationary
from npuc.compiler.analysis.machine.skipping import Skipping, Skips
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.kinds import Flag, Integer, Limit, Text

if TYPE_CHECKING:
    import numpy as np

Dataflow = Literal["os", "ws", "is", "in-place", "rs"]
Fill = Literal["per-fold", "overlap"]
Drain = Literal["hidden", "full"]
Numbers: TypeAlias = "np.ndarray[tuple[int, ...], np.dtype[np.int64]]"
Group = Literal["m", "n", "k"]

PLACES: dict[Dataflow, tuple[Group, Group, Group]] = {
    "os": ("m", "n", "k"),
    "ws": ("k", "n", "m"),
    "is": ("k", "m", "n"),
    "in-place": ("n", "k", "m"),
}

DATAFLOWS: tuple[Dataflow, ...] = (*PLACES, "rs")
_SIDE = Integer(1, 1 << 16)


def _is_register_fed(hardware: Description) -> bool:
    return hardware.written("array.overlap")


def _skips(scheme: Skips) -> Callable[[Description], bool]:
    """Whether a description skips so."""
    return lambda hardware: hardware.get("array.skips") == scheme


@frozen
class Array:
    """
    `rows` x `cols` processing elements of one multiply-accumulate per cycle each; one pass of it with `mantissa_bits`.

    `edge_elements` is the number of elements per cycle of an edge port, of which each column has one; None: unlimited.
    It matters with `fill = "overlap"` only. With `overlap` the array is fed from registers, by instructions of `tile_m`
    rows (`overlap.py`); its dataflow is `ws`, and `fill`, `drain` and `edge_elements` are ignored. So they are with
    dataflow `rs`, where `row_stationary` is what the array has beside its elements.
    """

    rows: Annotated[int, FromKey("array.rows", _SIDE, "rows of processing elements", always)]
    cols: Annotated[int, FromKey("array.cols", _SIDE, "columns of processing elements", always)]
    dataflow: Annotated[
        Dataflow,
        FromKey("array.dataflow", Text(DATAFLOWS), "dataflow: which tensor is stationary in the array", always),
    ] = "os"
    fill: Annotated[
        Fill,
        FromKey(
            "array.fill", Text(("per-fold", "overlap")), "whether a fold fills while the one before it drains", always
        ),
    ] = "overlap"
    drain: Annotated[
        Drain,
        FromKey("array.drain", Text(("hidden", "full")), "whether outputs drain while the next fold runs", always),
    ] = "hidden"
    overlap: Annotated[
        Overlap | None,
        FromKey("array.overlap", Text(OVERLAPS), "how consecutive instructions of a register-fed array overlap"),
    ] = None
    tile_m: Annotated[
        int,
        FromKey("array.tile_m", _SIDE, "rows that one instruction streams (with array.overlap)", _is_register_fed),
    ] = 16
    edge_elements: Annotated[
        int | None,
        FromKey(
            "array.edge_elements",
            Limit(1 << 20),
            "elements per cycle through each port of the array's edge (with array.fill = overlap)",
        ),
    ] = 1
    row_stationary: RowStationary | None = None
    mantissa_bits: Annotated[
        int | None,
        FromKey(
            "array.mantissa_bits",
            Integer(1, 64),
            "bits of either mantissa that a multiplier takes at a time; default: a product takes one pass",
        ),
    ] = None
    skips: Annotated[
        Skips | None,
        FromKey("array.skips", Text(get_args(Skips)), "how products of zeros of sparse operands are skipped"),
    ] = None
    slice: Annotated[
        int,
        FromKey(
            "array.slice",
            Integer(1, 1 << 20),
            "values in a column's slice (array.skips = column-balance)",
            _skips("column-balance"),
        ),
    ] = 256
    balance: Annotated[
        bool,
        FromKey(
            "array.balance",
            Flag(),
            "whether halves of slices are paired (array.skips = column-balance)",
            _skips("column-balance"),
        ),
    ] = False
    lanes: Annotated[
        int,
        FromKey(
            "array.lanes",
            Integer(1, 64),
            "lanes that share a window (array.skips = window)",
            _skips("window"),
            name="array_lanes",
        ),
    ] = 16
    lookahead: Annotated[
        int,
        FromKey(
            "array.lookahead", Integer(1, 16), "rows of pairs in a window (array.skips = window)", _skips("window")
        ),
    ] = 3

    @cached_property
    def skipping(self) -> Skipping:
        """How it skips products of zeros; elements that are row-stationary only rest beside them."""
        scheme = self.skips or "none"
        if self.dataflow == "rs" and scheme != "none":
            scheme = "gated"
        return Skipping(scheme, self.cols, self.slice, self.balance, self.lanes, self.lookahead)

    @cached_property
    def stages(self) -> Stages | None:
        """The stages of an instruction of a register-fed array; None for others."""
        return None if self.overlap is None else stages(self.overlap, self.rows, self.cols, self.tile_m)

    @property
    def reuses_stationary(self) -> bool:
        """Whether reusing the stationary tile of the operation before saves time or accesses."""
        return self.grouped or self.skips_reloads

    @property
    def grouped(self) -> bool:
        """Whether consecutive folds on one stationary tile form a group, and groups overlap (`edge.py`)."""
        return self.fill == "overlap" and self.overlap is None and self.dataflow not in ("in-place", "rs")

    @property
    def skips_reloads(self) -> bool:
        """
        Whether reuse of a stationary tile skips a reload: in-place arrays, and register-fed ones whose loads take time.
        """
        if self.stages is not None:
            return self.stages.reload > 0 or self.stages.hidden > 0
        return self.dataflow == "in-place"

    @property
    def most_shift(self) -> int:
        """Cycles in which the stationary tile or the sums of a fold on all rows cross the edge."""
        return self.shift(self.rows) if self.grouped else 0

    @overload
    def shift(self, rows: int) -> int: ...
    @overload
    def shift(self, rows: Numbers) -> Numbers: ...
    def shift(self, rows: int | Numbers) -> int | Numbers:
        """Cycles in which `rows` rows of operands or sums cross the edge: ceil(rows / edge_elements)."""
        return 0 * rows if self.edge_elements is None else -(-rows // self.edge_elements)

    def wait(self, blocks: int) -> int:
        """Cycles between the end of `blocks` instructions on the same weights and the arrival of the next weights."""
        return 0 if self.stages is None else self.stages.wait(blocks)

    @overload
    def stream(self, size: int) -> int: ...
    @overload
    def stream(self, size: Numbers) -> Numbers: ...
    def stream(self, size: int | Numbers) -> int | Numbers:
        """Cycles of a fold that streams `size` steps, without the load of its stationary tile."""
        if self.stages is None:
            return size + self.fold_overhead
        return -(-size // self.tile_m) * self.stages.block

    @property
    def only_streams(self) -> bool:
        """Whether fill, drain and waits of a row-stationary array take no time."""
        return False

    @property
    def elements(self) -> int:
        """The number of processing elements."""
        return self.rows * self.cols

    @property
    def places(self) -> tuple[Group, Group, Group]:
        """Which of m, n, k is mapped to rows, which to columns, and which is streamed."""
        return PLACES[self.dataflow]

    @property
    def keeps_sums(self) -> bool:
        """Whether it is output-stationary: partial sums stay in the elements, while both operands stream."""
        return self.places[2] == "k"

    @property
    def latency(self) -> int:
        """Fill and drain: the cycles of a fold beyond those it streams (P - T); 0 with dataflow `rs`."""
        if self.dataflow == "rs":
            return 0
        if self.dataflow == "in-place" or (self.keeps_sums and self.drain == "hidden"):
            return self.rows + self.cols - 2
        return 2 * self.rows + self.cols - 2

    @property
    def filling(self) -> int:
        """The fill: the latency before a fold's first full step, while weights (`ws`, `is`) or operands come in."""
        if self.dataflow == "rs":
            return 0
        return self.rows + self.cols - 2 if self.keeps_sums or self.dataflow == "in-place" else self.rows

    @property
    def draining(self) -> int:
        """The drain: the latency after a fold's last full step."""
        return self.latency - self.filling

    @property
    def fold_overhead(self) -> int:
        """Cycles that every fold takes beyond its streamed steps."""
        return self.latency if self.fill == "per-fold" and self.stages is None else 0

    @property
    def reload(self) -> int:
        """Cycles to replace the stationary tile that nothing hides: a processing element has one weight register."""
        if self.stages is not None:
            return self.stages.reload
        if self.dataflow != "in-place":
            return 0
        return self.shift(self.rows) if self.fill == "overlap" else self.rows

    @property
    def op_overhead(self) -> int:
        """Cycles that an operation pays once, whatever its number of folds."""
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
        """
        Cycles in which the folds of one product stream (per-fold: also fill and drain), without waits for the edge.
        """
        rows, cols, streamed = ({"m": m, "n": n, "k": k}[place] for place in self.places)
        return -(-rows // self.rows) * -(-cols // self.cols) * self.stream(streamed)
