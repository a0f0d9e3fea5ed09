"""SCALE-Sim's own numbers: every column of every row in CALC mode, and what USER rows have in common with them."""

import csv
from functools import cache
from pathlib import Path

import pytest

from npuc.backends.cycle.scalesim import COLUMNS, Columns, Configuration, Image, Layer, Sparsity, simulate
from npuc.compiler.analysis.machine.array import PLACES, Dataflow

pytestmark = pytest.mark.oracle

FILE = Path(__file__).parents[2] / "oracle/data/scalesim/public.csv"
WINDOW = ("ifmap_h", "ifmap_w", "filter_h", "filter_w", "channels", "stride_h", "stride_w")
COMPUTE = (
    *("compute_cycles", "mapping_efficiency_pct", "compute_util_pct"),
    *("ifmap_sram_reads", "filter_sram_reads", "ofmap_sram_writes"),
)
DATAFLOWS: dict[str, Dataflow] = {name: name for name in PLACES}
Row = dict[str, str]


@cache
def rows() -> tuple[Row, ...]:
    with FILE.open() as file:
        return tuple(csv.DictReader(file))


def layer_of(row: Row) -> Layer:
    kept, _, block = row["sparsity"].partition(":")
    sparsity = Sparsity(int(kept), int(block)) if kept else None
    if row["kind"] == "gemm":
        return Layer(int(row["M"]), int(row["N"]), int(row["K"]), None, sparsity)
    return Layer.convolution(Image(*(int(row[name]) for name in WINDOW)), int(row["num_filters"]), sparsity)


def configuration_of(row: Row) -> Configuration:
    array = int(row["array_rows"]), int(row["array_cols"]), DATAFLOWS[row["dataflow"]]
    if row["stage"] == "compute_only":
        return Configuration(*array, memory=False)
    ifmap, filters, ofmap = (int(row[f"{operand}_sram_kb"]) for operand in ("ifmap", "filter", "ofmap"))
    return Configuration(*array, ifmap, filters, ofmap)


def differing(row: Row, ours: Columns, names: tuple[str, ...]) -> list[str]:
    """The columns that differ: integers at all, ratios by more than 1e-9, values where there are none."""
    wrong: list[str] = []
    for name in names:
        value = ours[name]
        if value is None or row[name] == "":
            same = value is None and row[name] == ""
        elif name.endswith(("_pct", "_bw")):
            same = value == pytest.approx(float(row[name]), rel=1e-9, abs=0)
        else:
            same = value == float(row[name])
        if not same:
            wrong.append(f"{name}: {value}, not {row[name]}")
    return wrong


def test_columns_are_those_of_the_file() -> None:
    names = tuple(rows()[0])
    assert names[names.index("compute_cycles") :] == COLUMNS


def test_sizes_of_the_product_are_those_of_the_file() -> None:
    for row in rows():
        layer = layer_of(row)
        assert (layer.m, layer.n, layer.k) == (int(row["M"]), int(row["N"]), int(row["K"])), row["layer"]


@pytest.mark.parametrize("kind", ["gemm", "conv"])
@pytest.mark.parametrize("dataflow", ["os", "ws", "is"])
@pytest.mark.parametrize("stage", ["full", "compute_only"])
def test_rows_are_equal(stage: str, dataflow: str, kind: str) -> None:
    chosen = [row for row in rows() if (row["stage"], row["dataflow"], row["kind"]) == (stage, dataflow, kind)]
    chosen = [row for row in chosen if row["bandwidth_mode"] != "USER"]
    assert len(chosen) > 20
    for row in chosen:
        assert differing(row, simulate(layer_of(row), configuration_of(row)), COLUMNS) == [], row


def test_compute_columns_of_rows_in_user_mode_are_equal() -> None:
    """Stalls apart, the array does the same whatever the bandwidth."""
    chosen = [row for row in rows() if row["bandwidth_mode"] == "USER"]
    assert len(chosen) > 20
    for row in chosen:
        assert differing(row, simulate(layer_of(row), configuration_of(row)), COMPUTE) == [], row
