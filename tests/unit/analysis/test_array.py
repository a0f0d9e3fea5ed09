"""The systolic array against SCALE-Sim's results, and its own rules."""

import csv
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from npuc.compiler.analysis.machine.array import Array, Dataflow, Drain, Fill
from npuc.compiler.analysis.machine.compute import compute, tile_cycles
from npuc.dialects.npu.nest import Axis, Loop, Nest, Schedule, Statement, Tensor

DATA = Path(__file__).parents[2] / "oracle" / "data" / "scalesim_gemm_cycles.csv"
FLOWS: tuple[Dataflow, ...] = ("os", "ws", "is")


def gemm(m: int, n: int, k: int, batch: int = 1) -> Nest:
    def tensor(name: str, *dims: tuple[str, int]) -> Tensor:
        return Tensor(name, tuple(size for _, size in dims), tuple(Axis(((d, 1),)) for d, _ in dims))

    x, w, y = (
        tensor("X", ("b", batch), ("m", m), ("k", k)),
        tensor("W", ("b", batch), ("k", k), ("n", n)),
        tensor("Y", ("b", batch), ("m", m), ("n", n)),
    )
    return Nest((("b", batch), ("m", m), ("n", n), ("k", k)), (x, w), (y,), (None,), (Statement("Y", "X", "W"),))


def flow(name: str) -> Dataflow:
    return next(f for f in FLOWS if f == name)


with DATA.open(newline="") as file:
    ROWS = list(csv.DictReader(file))


@pytest.mark.oracle
@pytest.mark.parametrize("row", ROWS, ids=lambda r: f"{r['layer']}-{r['dataflow']}-{r['array_rows']}x{r['array_cols']}")
def test_equals_scalesim(row: dict[str, str]) -> None:
    m, n, k = (int(row[c]) for c in "MNK")
    array = Array(int(row["array_rows"]), int(row["array_cols"]), flow(row["dataflow"]), "per-fold", "hidden")
    work = compute(gemm(m, n, k), Schedule(), array)
    assert work.cycles - 1 == int(row["compute_cycles"])
    assert work.accesses["X"] == int(row["ifmap_sram_reads"])
    assert work.accesses["W"] == int(row["filter_sram_reads"])
    extra = (array.rows + array.cols) * work.folds if array.dataflow == "os" else 0
    assert work.accesses["Y"] + extra == int(row["ofmap_sram_writes"])


@pytest.mark.parametrize(
    ("dataflow", "drain", "cycles"),
    [("os", "hidden", 6 * (20 + 4 + 8 - 2)), ("os", "full", 6 * (2 * 4 + 8 + 20 - 2)), ("ws", "hidden", 5 * 2 * 24)],
)
def test_cycles_by_hand(dataflow: Dataflow, drain: Drain, cycles: int) -> None:
    """A 10 x 16 x 20 product on 4 x 8: 3 x 2 folds of 20 steps (os), 5 x 2 folds of 10 steps (ws)."""
    assert Array(4, 8, dataflow, "per-fold", drain).cycles(10, 16, 20) == cycles


def test_overlap_pays_the_latency_once() -> None:
    array = Array(4, 8, "os", "overlap", "hidden")
    work = compute(gemm(10, 16, 20), Schedule(), array)
    assert work.cycles == 3 * 2 * 20 + (4 + 8 - 2)
    tiled = compute(gemm(10, 16, 20), Schedule((Loop("k", 5),)), array)
    assert tiled.cycles == work.cycles
    assert (work.tiles, tiled.tiles) == (1, 4)
    assert tiled.accesses["Y"] == 4 * work.accesses["Y"]


def test_arrays_of_sizes() -> None:
    array = Array(4, 8, "is", "per-fold")
    m, n, k = (np.array(v) for v in ([10, 3], [16, 9], [20, 7]))
    assert array.cycles(m, n, k).tolist() == [array.cycles(10, 16, 20), array.cycles(3, 9, 7)]
    assert array.folds(m, n, k).tolist() == [5 * 2, 2 * 1]


@pytest.mark.parametrize("seed", range(20))
def test_ws_is_mirrors_is(seed: int) -> None:
    r = Random(seed)
    m, n, k = (r.randint(1, 300) for _ in range(3))
    ws = compute(gemm(m, n, k), Schedule(), Array(16, 8, "ws", "per-fold"))
    is_ = compute(gemm(n, m, k), Schedule(), Array(16, 8, "is", "per-fold"))
    assert ws.cycles == is_.cycles
    assert (ws.accesses["X"], ws.accesses["W"]) == (is_.accesses["W"], is_.accesses["X"])


@pytest.mark.parametrize("dataflow", FLOWS)
@pytest.mark.parametrize("fill", ["per-fold", "overlap"])
def test_sum_over_tiles(dataflow: Dataflow, fill: Fill) -> None:
    """The closed form equals the sum over ragged and twice-cut tiles, one by one."""
    nest = gemm(37, 26, 45, batch=3)
    schedule = Schedule((Loop("m", 17), Loop("k", 20), Loop("b", 2), Loop("m", 5), Loop("n", 9)))
    array = Array(4, 6, dataflow, fill)

    def cut(size: int, steps: list[int]) -> list[int]:
        parts = [size]
        for step in steps:
            parts = [min(step, p - low) for p in parts for low in range(0, p, step)]
        return parts

    ms, ks, bs, ns = cut(37, [17, 5]), cut(45, [20]), cut(3, [2]), cut(26, [9])
    array = replace(array, edge_elements=None)
    walked = sum(
        tile_cycles(nest, array, {"b": b, "m": m, "n": n, "k": k}) for m in ms for k in ks for b in bs for n in ns
    )
    closed = compute(nest, schedule, array)
    assert closed.cycles == walked + closed.overhead
    assert closed.tiles == len(ms) * len(ks) * len(bs) * len(ns)
