"""
SCALE-Sim's compute model: folds, cycles, utilisations, accesses of the SRAMs. All closed forms.

    dataflow   rows Sr   columns Sc   streamed T   lines of a fold P
    os         M         N            K            T + R + C - 2
    ws         K         N            M            2R + C + T - 2
    is         K         M            N            2R + C + T - 2

The column fold is the outer loop, the row fold the inner one. A line is what the array asks for in one cycle; folds
never overlap, and partly filled ones have all their lines.
"""

from dataclasses import dataclass

from npuc.backends.cycle.scalesim.layer import Configuration, Layer
from npuc.compiler.analysis.machine.array import PLACES, Array, Dataflow


@dataclass(frozen=True)
class Folds:
    """The folds of a product on the array."""

    dataflow: Dataflow
    rows: int
    cols: int
    spatial_rows: int
    spatial_cols: int
    streamed: int
    row_folds: int
    col_folds: int
    lines_of_fold: int

    @property
    def count(self) -> int:
        """Folds in all."""
        return self.row_folds * self.col_folds

    @property
    def lines(self) -> int:
        """Lines in all: the cycles without stalls."""
        return self.count * self.lines_of_fold

    def rows_of(self, row_fold: int) -> int:
        """The rows of the array that a row fold fills."""
        return min(self.rows, self.spatial_rows - row_fold * self.rows)

    def cols_of(self, col_fold: int) -> int:
        """The columns of the array that a column fold fills."""
        return min(self.cols, self.spatial_cols - col_fold * self.cols)


@dataclass(frozen=True)
class Compute:
    """
    The compute columns. Ratios are in per cent, accesses in words.

    `compute_cycles` is the index of the last line, one less than their number. Undefined ratios (one line) are None.
    """

    compute_cycles: int
    overall_util_pct: float | None
    mapping_efficiency_pct: float
    compute_util_pct: float
    ifmap_sram_reads: int | float
    filter_sram_reads: int
    ofmap_sram_writes: int


def cut(layer: Layer, config: Configuration) -> Folds:
    """The folds of a layer; a sparse one has fewer rows of the filter."""
    sizes = {"m": layer.m, "n": layer.n, "k": layer.rows}
    rows, cols, streamed = (sizes[place] for place in PLACES[config.dataflow])
    array = Array(config.rows, config.cols, config.dataflow, fill="per-fold")
    return Folds(
        config.dataflow,
        config.rows,
        config.cols,
        rows,
        cols,
        streamed,
        -(-rows // config.rows),
        -(-cols // config.cols),
        streamed + array.latency,
    )


def compute(layer: Layer, folds: Folds) -> Compute:
    """
    The compute columns of a layer.

    Quirks: `compute_util_pct` of ws and is counts the skew of the columns twice (C - 1 cycles more than a fold has);
    `overall_util_pct` counts dense multiplications, so a sparse layer may exceed 100; `ofmap_sram_writes` of os has
    R + C added for every fold; the partial sums of ws and is are written for every row fold and never read; sparse
    reads of the ifmap in ws are multiplied by M / N of the pattern.
    """
    elements = folds.rows * folds.cols
    used = folds.spatial_rows * folds.spatial_cols
    slots = folds.count * elements
    last = folds.lines - 1
    counted = folds.lines_of_fold + (0 if folds.dataflow == "os" else folds.cols - 1)
    m, n, k = layer.m, layer.n, layer.rows
    ifmap: int | float
    if folds.dataflow == "os":
        ifmap, filters = m * k * folds.col_folds, k * n * folds.row_folds
        written = m * n + (folds.rows + folds.cols) * folds.count
    elif folds.dataflow == "ws":
        ifmap, filters, written = m * k * folds.col_folds, k * n, m * n * folds.row_folds
        if layer.sparsity is not None:
            scaled, rest = divmod(ifmap * layer.sparsity.block, layer.sparsity.kept)
            ifmap = scaled if rest == 0 else ifmap * layer.sparsity.block / layer.sparsity.kept
    else:
        ifmap, filters, written = m * k, k * n * folds.col_folds, m * n * folds.row_folds
    return Compute(
        last,
        100 * layer.m * layer.n * layer.k / (last * elements) if last else None,
        100 * used / slots,
        100 * used * folds.streamed / (slots * counted),
        ifmap,
        filters,
        written,
    )
