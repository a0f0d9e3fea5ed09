"""memory.policy = "lru" in the cycle backend: pools of a layer's backward pass, rows that add up, what is refused."""

import csv
from collections.abc import Callable
from math import ceil
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

from npuc.backends.cycle import pool
from npuc.backends.cycle.backend import CycleBackend
from npuc.backends.cycle.costed import costed_operations
from npuc.backends.cycle.explain import explain, to_text
from npuc.backends.cycle.pool import IGNORED
from npuc.compiler.analysis.machine.facts import machine_from
from npuc.compiler.core.errors import CapacityError, UsageError
from npuc.compiler.core.stages import told_to
from npuc.compiler.driver.compile import compile_program
from npuc.compiler.report import OpRow, Report
from npuc.frontends.source import text_source
from npuc.hardware import Hardware, load_hardware, machine_target

Parse = Callable[[str], ModuleOp]
Machine = Callable[..., Hardware]
FILE = Path(__file__).parents[2] / "oracle/data/igo/prototype.csv"
FILL = 128 + 128 - 2
"""Fill and drain of an operation on `igo-large`."""


def backward(m: int, n: int, k: int, dx: str, dw: str, layers: tuple[str, str] = ("fc", "fc")) -> str:
    """dX and dW of a linear layer with schedules of their own."""
    x, w, y = f"tensor<{m}x{k}xf16>", f"tensor<{k}x{n}xf16>", f"tensor<{m}x{n}xf16>"
    sizes = f"m = {m}, n = {n}, k = {k}"
    return f"""
    func.func @net(%x: {x}, %w: {w}, %dy: {y}) -> ({x}, {w}) {{
      %dx = npu.contract ({sizes}) ins(dY = %dy[m, n], W = %w[k, n]) outs(dX[m, k]) do(dX += dY * W)
        {dx} {{layer = "{layers[0]}", role = "dx"}} : ({y}, {w}) -> {x}
      %dw = npu.contract ({sizes}) ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) do(dW += X * dY)
        {dw} {{layer = "{layers[1]}", role = "dw"}} : ({x}, {y}) -> {w}
      func.return %dx, %dw : {x}, {w}
    }}"""


def fused(m: int, n: int, k: int, schedule: str) -> str:
    """Both products in one nest."""
    x, w, y = f"tensor<{m}x{k}xf16>", f"tensor<{k}x{n}xf16>", f"tensor<{m}x{n}xf16>"
    return f"""
    func.func @net(%x: {x}, %w: {w}, %dy: {y}) -> ({x}, {w}) {{
      %dx, %dw = npu.contract (m = {m}, n = {n}, k = {k}) ins(X = %x[m, k], W = %w[k, n], dY = %dy[m, n])
        outs(dX[m, k], dW[k, n]) do(dX += dY * W, dW += X * dY)
        {schedule} {{layer = "fc", role = "dxdw"}} : ({x}, {w}, {y}) -> ({x}, {w})
      func.return %dx, %dw : {x}, {w}
    }}"""


def score(module: ModuleOp, hardware: Hardware) -> Report:
    return CycleBackend().score(module, hardware)


def large(**memory: object) -> Hardware:
    return load_hardware(
        "igo-large",
        {"memory.policy": "lru", "array.accumulator_bits": 16, **{f"memory.{k}": v for k, v in memory.items()}},
    )


def line(layer: str, order: str) -> dict[str, str]:
    with FILE.open() as file:
        rows = csv.DictReader(text for text in file if not text.startswith("#"))
        wanted = ("large", "array", layer, order, "1")
        return next(r for r in rows if tuple(r[c] for c in ("npu", "tile_mode", "layer", "order", "parts")) == wanted)


def moved(rows: list[OpRow], name: str) -> tuple[int, int]:
    found = [row.tensors[name] for row in rows if name in row.tensors]
    return sum(t.read_bytes for t in found), sum(t.write_bytes for t in found)


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("layer", "order"), [("bot2", "base"), ("conv4_proj", "base"), ("bot2", "dX"), ("conv5_a1", "dW")]
)
def test_equals_the_prototype(parse: Parse, layer: str, order: str) -> None:
    """Two rows, or one of a fused nest, are a line of its table; each row pays its own fill and drain."""
    expected = line(layer, order)
    m, n, k = (int(expected[c]) for c in "MNK")
    by_dx, by_dw = "loops [m : 128, k : S, n : 128]", "loops [n : 128, k : S, m : 128]"
    if order == "base":
        text = backward(m, n, k, by_dx, by_dw)
    else:
        text = fused(m, n, k, by_dx if order == "dX" else by_dw)
    rows = score(parse(text.replace("S", "128")), large()).ops
    assert sum((row.dram_read_bytes or 0) + (row.dram_write_bytes or 0) for row in rows) == int(expected["total_bytes"])
    assert moved(rows, "dY")[0] == int(expected["rd_dY"])
    assert moved(rows, "W")[0] == int(expected["rd_W"])
    assert moved(rows, "X")[0] == int(expected["rd_X"])
    assert moved(rows, "dX") == (int(expected["rd_dX_partial"]), int(expected["wr_dX"]))
    assert moved(rows, "dW") == (int(expected["rd_dW_partial"]), int(expected["wr_dW"]))
    assert sum(row.compute_cycles or 0 for row in rows) == int(expected["compute_cycles"]) + len(rows) * FILL
    assert max(row.spm_bytes or 0 for row in rows) == int(expected["peak_spm_bytes"])
    time = float(expected["cycles"]) + len(rows) * FILL
    assert ceil(time) <= sum(row.cycles or 0 for row in rows) <= time + len(rows) + 0.1


def test_dw_finds_dy_where_dx_left_it(parse: Parse) -> None:
    """The second row reads no dY, its bound says so; with another layer's name, or no room, it reads all of it."""
    loops = "loops [m : 32, k : 32, n : 32]", "loops [n : 32, k : 32, m : 32]"
    size = 2 * 256 * 64
    dx, dw = score(parse(backward(256, 64, 64, *loops)), large()).ops
    assert (dx.tensors["dY"].read_bytes, dw.tensors["dY"].read_bytes) == (size, 0)
    assert dw.dram_read_bytes == 2 * 256 * 64
    assert dw.lower_bound_bytes == 2 * (256 * 64 + 64 * 64)
    assert dw.lower_bound_seconds is not None
    assert dw.seconds is not None
    assert dw.lower_bound_seconds <= dw.seconds
    apart = score(parse(backward(256, 64, 64, *loops, layers=("fc", "other"))), large()).ops[1]
    assert apart.tensors["dY"].read_bytes == size
    small = score(parse(backward(256, 64, 64, *loops)), large(spm_kib=64)).ops
    assert [row.tensors["dY"].read_bytes for row in small] == [size, 2 * size]
    assert all(row.spm_bytes == row.native["peak_spm_bytes"] == 32 * 1024 for row in small)


def test_vector_work_between_leaves_the_pool_alone(parse: Parse) -> None:
    """The sum over dY that is the bias gradient; another contraction, of another layer, does not."""
    text = backward(256, 64, 64, "loops [m : 32, k : 32, n : 32]", "loops [n : 32, k : 32, m : 32]")
    first, second = text.split("%dw = npu.contract")
    bias = """%b = npu.vector reduce(%dy) ops 16384 {layer = "fc", role = "dw"}
        : (tensor<256x64xf16>) -> (tensor<64xf16>)
      %dw = npu.contract"""
    rows = score(parse(first + bias + second), large()).ops
    assert [row.kind for row in rows] == ["matrix", "vector", "matrix"]
    assert rows[2].tensors["dY"].read_bytes == 0
    other = first[first.index("%dx = ") :].replace("%dx", "%other").replace('"fc"', '"other"')
    rows = score(parse(first + other + "%dw = npu.contract" + second), large()).ops
    assert rows[2].tensors["dY"].read_bytes == 2 * 256 * 64


def test_keep_and_spm_mean_nothing_and_that_is_said_once(parse: Parse) -> None:
    """Not even a promise that the machine could not hold."""
    plain = "loops [m : 32, k : 32, n : 32]", "loops [n : 32, k : 32, m : 32]"
    promises = [loops + " keep(dY = 2) spm 399999996 bytes" for loops in plain]
    without = score(parse(backward(256, 64, 64, *plain)), large())
    ignoring = score(parse(backward(256, 64, 64, promises[0], promises[1])), large())
    assert without.warnings == []
    assert ignoring.warnings == [IGNORED]
    assert [(r.cycles, r.tensors) for r in ignoring.ops] == [(r.cycles, r.tensors) for r in without.ops]


def test_tiles_of_one_operation_must_fit(parse: Parse) -> None:
    with pytest.raises(CapacityError, match=r"fc: the tiles of one operation take 24,576 bytes.* the pool has 4,096"):
        score(parse(backward(64, 64, 64, "loops [m : 64]", "loops [m : 8]")), large(spm_kib=8))


def test_arrays_that_keep_a_tile_are_refused(parse: Parse) -> None:
    text = backward(64, 64, 64, "loops []", "loops []")
    for key, value in (("array.dataflow", "in-place"), ("array.overlap", "db-wls")):
        changed = {"memory.policy": "lru", key: value} | ({"array.dataflow": "ws"} if key == "array.overlap" else {})
        with pytest.raises(UsageError, match=key):
            score(parse(text), load_hardware("igo-large", changed))


def test_long_walks_are_forecast(parse: Parse) -> None:
    """Equal layers are walked once; a second or two is not worth a word."""
    backend = CycleBackend()
    small, big = "loops [m : 4, n : 4]", "loops [m : 1, n : 1, k : 1]"
    assert backend.forecast(parse(backward(256, 64, 64, small, small)), large()) is None
    said = backend.forecast(parse(backward(256, 64, 64, big, big)), large())
    assert said == "memory.policy = 'lru' walks 2,097,152 tile operations, about 8 s"
    assert backend.forecast(parse(backward(256, 64, 64, big, big)), load_hardware("igo-large")) is None


def test_the_driver_tells_the_forecast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "LONG", 0.0)
    said: list[str] = []
    text = backward(8, 8, 8, "loops [m : 4]", "loops [m : 4]")
    with told_to(said.append):
        compile_program(text_source(text, "mlir", "net.mlir"), ["cycle"], {"overrides": {"memory.policy": "lru"}})
    assert "memory.policy = 'lru' walks 4 tile operations, about 0 s" in said


def test_target_fact() -> None:
    """The policy is a fact of the module's machine, written where the hardware says it."""
    assert "policy" not in machine_target(load_hardware("igo-large"))
    facts = machine_target(large())
    assert machine_from(facts).policy == "lru"
    with pytest.raises(UsageError, match="policy is 'fifo', expected explicit, lru"):
        machine_from(facts | {"policy": "fifo"})


def test_explained_in_words(parse: Parse) -> None:
    """The pool instead of blocks that are kept, and no picture of the explicit schedule's time."""
    module = parse(backward(256, 64, 64, "loops [m : 32]", "loops [m : 32]"))
    found = score(module, large()).ops[1]
    told = explain(costed_operations(module)[1], found, machine_from(machine_target(large())))
    assert told.timeline is None
    text = to_text(told, 120)
    assert f"a pool of 4,194,304 bytes, least recently used first out; at most {found.spm_bytes:,}" in text
    assert f"{found.cycles:,} cycles" in text
