"""The in-place array: its cells against numpy and the closed form, and rows of the backend on it."""

from collections.abc import Callable, Sequence
from random import Random

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from npuc.backends.cycle.backend import CycleBackend
from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.compute import compute, tile_cycles
from npuc.compiler.analysis.machine.stationary import stationary_reuse
from npuc.compiler.core.errors import UsageError
from npuc.compiler.driver.compile import compile_source
from npuc.compiler.report import OpRow, Report
from npuc.dialects.npu.nest import Axis, Loop, Nest, Schedule, Statement, Tensor
from npuc.hardware import Hardware, load_hardware
from tests.unit.cycle.cells import Cells, Matrix, wave

Parse = Callable[[str], ModuleOp]
Machine = Callable[..., Hardware]
PRODUCTS = {"forward": ("X", "W", "Y"), "dx": ("dY", "W", "dX"), "dw": ("X", "dY", "dW")}
INDEX = {"X": "mk", "W": "kn", "Y": "mn"}


def nest(product: str, m: int, n: int, k: int) -> Nest:
    return layer_nest((product,), m, n, k)


def layer_nest(products: Sequence[str], m: int, n: int, k: int) -> Nest:
    """Products of a layer in one nest; those of other weights have numbers behind their names."""
    sizes = {"m": m, "n": n, "k": k}

    def tensor(name: str) -> Tensor:
        dims = INDEX[name.removeprefix("d")[0]]
        return Tensor(name, tuple(sizes[d] for d in dims), tuple(Axis(((d, 1),)) for d in dims))

    named = [
        tuple(f"{name}{product[-1]}" for name in PRODUCTS[product[:-1]]) if product[-1].isdigit() else PRODUCTS[product]
        for product in products
    ]
    ins = {name: tensor(name) for lhs, rhs, _ in named for name in (lhs, rhs)}
    outs = tuple(tensor(out) for *_, out in named)
    statements = tuple(Statement(out, lhs, rhs) for lhs, rhs, out in named)
    return Nest(tuple(sizes.items()), tuple(ins.values()), outs, (None,) * len(outs), statements)


def matrix(r: Random, rows: int, cols: int) -> Matrix:
    return np.array([[r.randint(-9, 9) for _ in range(cols)] for _ in range(rows)], np.int64)


def test_the_lectures_example() -> None:
    x, w, dy = (np.array(a, np.int64) for a in ([[1, 4], [5, 2]], [[2, 3], [0, 1]], [[3, 4], [1, 2]]))
    cells = Cells(2, 2)
    cells.preload(w)
    assert cells.run("forward", x, None).tolist() == [[2, 7], [10, 17]]
    assert cells.run("dx", None, dy).tolist() == [[18, 4], [8, 2]]
    cells.run("dw", x, dy)
    # W is where it was, and the sum of dW[c, n] stands in the cell of W[c, n].
    assert cells.w.T.tolist() == w.tolist()
    assert cells.sums.T.tolist() == [[8, 14], [14, 20]]
    assert cells.drain().tolist() == [[8, 14], [14, 20]]
    assert cells.cycles == 2 + 3 * 4 + 2


@pytest.mark.parametrize("seed", range(40))
def test_cells_equal_numpy_and_the_closed_form(seed: int) -> None:
    r = Random(seed)
    m, c, n = (r.randint(1, 16) for _ in range(3))
    x, w, dy = matrix(r, m, c), matrix(r, c, n), matrix(r, m, n)
    array = Array(n, c, "in-place", "per-fold")
    for product, wanted in (("forward", x @ w), ("dx", dy @ w.T), ("dw", x.T @ dy)):
        cells = Cells(n, c)
        if product != "dw":
            cells.preload(w)
            out = cells.run(product, x if product == "forward" else None, dy if product == "dx" else None)
        else:
            cells.run(product, x, dy)
            out = cells.drain()
        assert (out == wanted).all(), product
        extents = {"m": m, "n": n, "k": c}
        assert cells.cycles == m + c + n - 2 + n
        assert tile_cycles(nest(product, m, n, c), array, extents) == cells.cycles
        assert tile_cycles(nest(product, m, n, c), array, extents, (-1,)) == m + c + n - 2
        assert compute(nest(product, m, n, c), Schedule(), array).cycles == cells.cycles


def tiles_of(schedule: Schedule, sizes: dict[str, int]) -> list[dict[str, range]]:
    """The ranges of every tile operation, in order."""
    found: list[dict[str, range]] = [{d: range(size) for d, size in sizes.items()}]
    for loop in schedule.loops:
        found = [
            tile | {loop.dim: tile[loop.dim][at : at + loop.step]}
            for tile in found
            for at in range(0, len(tile[loop.dim]), loop.step)
        ]
    return found


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("fill", ["per-fold", "overlap"])
def test_scheduled_products_cell_by_cell(seed: int, fill: str) -> None:
    """Tiles in the order of a schedule, cut in folds, on the cells: the product, the cycles, the preloads saved."""
    r = Random(seed)
    sizes = {d: r.randint(1, 12) for d in "mnk"}
    rows, cols = r.randint(1, 5), r.randint(1, 5)
    loops = [Loop(d, r.randint(1, sizes[d])) for d in r.sample("mnk", r.randint(0, 3))]
    if r.random() < 0.4:
        inner = [Loop(d, r.randint(1, lo.step - 1)) for lo in loops for d in [lo.dim] if lo.step > 1]
        loops += r.sample(inner, min(len(inner), 1))
    schedule = Schedule(tuple(loops))
    x, w = matrix(r, sizes["m"], sizes["k"]), matrix(r, sizes["k"], sizes["n"])
    y = np.zeros((sizes["m"], sizes["n"]), np.int64)
    cells, before, blocks, ranges = Cells(rows, cols), None, list[tuple[Matrix, Matrix]](), list[tuple[range, range]]()
    for tile in tiles_of(schedule, sizes):
        folds = [(tile["n"][a : a + rows], tile["k"][b : b + cols]) for a, b in corners(tile, rows, cols)]
        for n, k in folds:
            held = np.zeros((cols, rows), np.int64)
            held[: len(k), : len(n)] = w[np.ix_(k, n)]
            stream = np.zeros((len(tile["m"]), cols), np.int64)
            stream[:, : len(k)] = x[np.ix_(tile["m"], k)]
            same = before == (n, k)
            if not same:
                cells.preload(held)
            before = (n, k)
            y[np.ix_(tile["m"], n)] += cells.run("forward", stream, None)[:, : len(n)]
            blocks.append((stream, blocks[-1][1] if same else held))
            ranges.append((tile["m"], n))
    assert (y == x @ w).all()
    array = Array(rows, cols, "in-place", "per-fold" if fill == "per-fold" else "overlap")
    total = cells.cycles
    if fill == "overlap":
        outs, total = wave(rows, cols, blocks)
        z = np.zeros_like(y)
        for (m, n), out in zip(ranges, outs, strict=True):
            z[np.ix_(m, n)] += out[:, : len(n)]
        assert (z == y).all()
    for product in PRODUCTS:
        work = compute(nest(product, sizes["m"], sizes["n"], sizes["k"]), schedule, array)
        assert work.cycles == total, (product, schedule, array)
        assert work.accesses[{"forward": "W", "dx": "W", "dw": "dW"}[product]] == sum(
            len(n) * len(k) for n, k in changed_tiles(schedule, sizes, rows, cols)
        )


def corners(tile: dict[str, range], rows: int, cols: int) -> list[tuple[int, int]]:
    return [(a, b) for a in range(0, len(tile["n"]), rows) for b in range(0, len(tile["k"]), cols)]


def changed_tiles(schedule: Schedule, sizes: dict[str, int], rows: int, cols: int) -> list[tuple[range, range]]:
    """The stationary tiles that come in, one after another."""
    found: list[tuple[range, range]] = []
    for tile in tiles_of(schedule, sizes):
        for a, b in corners(tile, rows, cols):
            fold = (tile["n"][a : a + rows], tile["k"][b : b + cols])
            if not found or found[-1] != fold:
                found.append(fold)
    return found


def test_kept_tiles_when_m_is_innermost() -> None:
    array = Array(4, 4, "in-place")
    one = nest("forward", 16, 8, 8)
    inner, outer = (Loop("n", 4), Loop("k", 4), Loop("m", 4)), (Loop("m", 4), Loop("n", 4), Loop("k", 4))
    statement = one.statements[0]
    assert stationary_reuse(one, Schedule(inner), array, statement).tiles == 4 * 3
    assert stationary_reuse(one, Schedule(outer), array, statement).tiles == 0
    # 6 for fill and drain, 16 tiles of 4 rows, 4 or 16 preloads of 4 cycles.
    assert compute(one, Schedule(inner), array).cycles == 6 + 64 + 4 * 4
    assert compute(one, Schedule(outer), array).cycles == 6 + 64 + 16 * 4


NETWORK = """
network net(batch=16) {
  input x: f32[batch, 4]
  labels y: i32[batch]
  h = relu(linear(x, 4))
  loss cross_entropy(linear(h, 4), y)
  OPTIMIZER
}
"""
IN_PLACE: dict[str, object] = {
    "clock_mhz": 1000,
    "array": {"rows": 4, "cols": 4, "dataflow": "in-place"},
    "memory": {"spm_kib": 64},
    "dram": {"gb_per_s": 4.0},
    "vector": {"lanes": 8},
}


def report(changed: dict[str, object] | None = None, optimizer: str = "optimizer sgd(lr=0.1)") -> Report:
    """The products one after another."""
    text = NETWORK.replace("OPTIMIZER", optimizer)
    return compile_source(text, hardware=IN_PLACE, overrides=changed or {}, opt_level=0)


def whole(value: object) -> int:
    """A number of a report that must be a whole one."""
    assert isinstance(value, int)
    return value


def products(found: Report) -> dict[tuple[str, str], OpRow]:
    return {(row.name, row.phase): row for row in found.ops if row.kind == "matrix"}


def test_weights_stay_between_operations() -> None:
    """The last layer's forward is followed by its dX, and that by its dW; the first layer's dW by nothing."""
    rows = products(report())
    assert {key: row.native["held"] for key, row in rows.items()} == {
        ("h.linear", "forward"): 0,
        ("linear", "forward"): 0,
        ("linear", "dx"): 1,
        ("linear", "dw"): 1,
        ("h.linear", "dw"): 0,
    }
    forward, dx = rows["linear", "forward"], rows["linear", "dx"]
    assert forward.native["reloads"] == 1
    assert dx.native["reloads"] == 0
    assert whole(dx.compute_cycles) == whole(forward.compute_cycles) - 4
    assert whole(rows["h.linear", "dw"].compute_cycles) - whole(rows["linear", "dw"].compute_cycles) == 4


@pytest.mark.parametrize("changed", [{"array.rows": 3}, {"array.cols": 3}])
def test_weights_that_do_not_fit_do_not_stay(changed: dict[str, object]) -> None:
    assert not any(row.native["held"] for row in products(report(changed)).values())


@pytest.mark.parametrize("optimizer", ["optimizer sgd(lr=0.1, momentum=0.9)", "optimizer adam(lr=0.1)", ""])
def test_only_plain_descent_updates_in_place(optimizer: str) -> None:
    rows = products(report(optimizer=optimizer))
    assert rows["linear", "dx"].native["held"] == 1
    assert rows["linear", "dw"].native["held"] == 0


@pytest.mark.parametrize("optimizer", ["optimizer sgd(lr=0.1)", "optimizer adam(lr=0.1)"])
def test_gradients_run_together_where_that_is_faster(optimizer: str) -> None:
    """No sequential program looks cheaper than it is by tiles that dW cannot find in the array."""
    text = NETWORK.replace("OPTIMIZER", optimizer).replace("batch=16", "batch=9").replace("(h, 4)", "(h, 2)")
    wide: dict[str, object] = {"array.rows": 512, "array.cols": 32, "dram.gb_per_s": 500.0}
    cycles = [
        compile_source(text, hardware=IN_PLACE, overrides=wide, opt_level=level).totals.cycles or 0
        for level in range(4)
    ]
    assert cycles[3] == min(cycles)


def test_explicit_transposes() -> None:
    """One more read and write of W (4 x 4) for dX and of X (16 x 4) for dW, of 4 bytes an element; nothing stays."""
    usual, explicit = products(report()), products(report({"array.transpose": "explicit"}))
    for key, tensor, size in ((("linear", "dx"), "W", 64), (("linear", "dw"), "X", 256)):
        one, other = usual[key], explicit[key]
        before, after = one.tensors[tensor], other.tensors[tensor]
        assert whole(after.read_bytes) == whole(before.read_bytes) + size
        assert whole(after.write_bytes) == whole(before.write_bytes) + size
        assert moved(other) == moved(one) + 2 * size
        assert one.native["transpose_bytes"] == 2 * size
        assert one.native["explicit_cycles"] == other.cycles
        assert whole(other.cycles) >= whole(one.cycles) + 2 * size // 4
        assert other.native["held"] == 0
    key = ("linear", "forward")
    assert usual[key] == explicit[key]


def moved(row: OpRow) -> int:
    return whole(row.dram_read_bytes) + whole(row.dram_write_bytes)


def test_time_covers_computation_and_transfers() -> None:
    changes: list[dict[str, object]] = [{}, {"array.fill": "per-fold"}, {"array.transpose": "explicit"}]
    changes.append({"memory.spm_kib": 1})
    for changed in changes:
        for row in report(changed).ops:
            cycles, compute_cycles = whole(row.cycles), whole(row.compute_cycles)
            assert cycles >= max(compute_cycles, whole(row.native["transfer_cycles"]))
            assert row.stall_cycles == cycles - compute_cycles
            assert row.seconds is not None
            assert row.lower_bound_seconds is not None
            assert row.lower_bound_seconds <= row.seconds


def test_hand_written_nests_in_a_row(parse: Parse, hardware: Machine) -> None:
    """The same W for forward and dX, once as it is and once with its axes exchanged: that is another tile."""
    text = """
    func.func @f(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
      %y = npu.contract (m = 8, n = 4, k = 4) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
        loops [m : 4] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
      %z = npu.contract (m = 8, n = 4, k = 4) ins(dY = %y[m, n], W = %w[AXES]) outs(dX[m, k]) do(dX += dY * W)
        loops [m : 4] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
      func.return %y, %z : tensor<8x4xf32>, tensor<8x4xf32>
    }
    """
    machine = hardware(array__dataflow="in-place", memory__spm_kib=8)
    held = {
        axes: [row.native["held"] for row in CycleBackend().score(parse(text.replace("AXES", axes)), machine).ops]
        for axes in ("k, n", "n, k")
    }
    assert held == {"k, n": [0, 1], "n, k": [0, 0]}


def test_explicit_transposes_need_the_in_place_array() -> None:
    with pytest.raises(UsageError, match=r"array\.transpose = 'explicit' applies only to array\.dataflow = 'in-place'"):
        load_hardware("igo-small", {"array.transpose": "explicit"})
