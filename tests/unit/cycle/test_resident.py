"""Rows of operations that find or leave values in SPM, by hand; what is refused."""

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ModuleOp

from npuc.backends.cycle.backend import CycleBackend
from npuc.compiler.core.errors import CapacityError, SourceError, UsageError
from npuc.compiler.driver.compile import compile_source
from npuc.compiler.report import OpRow
from npuc.compiler.report.text.summary.resident import resident_text
from npuc.hardware import Hardware

Parse = Callable[[str], ModuleOp]
Machine = Callable[..., Hardware]
DX, DW = "tensor<6x8xf32>", "tensor<8x4xf32>"
DY = "tensor<6x4xf32>"


def pair(dx: str, dw: str, *, between: str = "", after: str = "", result: str = "%dw", types: str = DW) -> str:
    return f"""
    func.func @pair(%dy: {DY}, %w: {DW}, %x: {DX}) -> ({types}) {{
      %dx = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dy[m, n], W = %w[k, n]) outs(dX[m, k]) do(dX += dY * W)
        {dx} {{layer = "fc", role = "dx"}} : ({DY}, {DW}) -> {DX}
      {between}
      %dw = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) do(dW += X * dY)
        {dw} {{layer = "fc", role = "dw"}} : ({DX}, {DY}) -> {DW}
      {after}
      func.return {result} : {types}
    }}"""


def rows(parse: Parse, hardware: Machine, text: str, **more: object) -> list[OpRow]:
    return CycleBackend().score(parse(text), hardware(memory__element_bytes=2, **more)).ops


TILES = "loops [m : 2, k : 2, n : 2]"


def moved(row: OpRow) -> dict[str, tuple[int, int]]:
    return {name: (t.read_bytes, t.write_bytes) for name, t in row.tensors.items()}


def test_dy_is_read_once_for_both_products(parse: Parse, hardware: Machine) -> None:
    """dY has 24 elements of 2 bytes; in dX a row of blocks stays, dW would read all of it four times."""
    apart = rows(parse, hardware, pair(f"{TILES} keep(dY = 2)", TILES))
    dx, dw = rows(parse, hardware, pair(f"{TILES} keep(dY = 2) resident(out dY)", f"{TILES} resident(in dY)"))
    assert moved(dx) == moved(apart[0]) == {"dY": (48, 0), "W": (192, 0), "dX": (0, 96)}
    assert dx.cycles == apart[0].cycles
    assert moved(apart[1])["dY"] == (4 * 48, 0)
    assert moved(dw) == moved(apart[1]) | {"dY": (0, 0)}
    assert dw.native["not_moved_bytes"] == 192
    assert (dx.native["resident_out"], dw.native["resident_in"]) == (["dY"], ["dY"])
    # All of dY instead of a row of blocks or one block: 24 elements for 8 and for 4; blocks of 4, sums of 4 bytes.
    assert ((apart[0].spm_bytes, dx.spm_bytes), (apart[1].spm_bytes, dw.spm_bytes)) == ((40, 72), (32, 72))
    assert dw.lower_bound_bytes == (48 + 32) * 2


def test_the_time_is_that_of_the_bytes_that_move(parse: Parse, hardware: Machine) -> None:
    """One tile each: 176 and 160 bytes at 4 a cycle, 8 or 6 columns in two folds of 4, 6 more to fill and drain."""
    apart = rows(parse, hardware, pair("spm 480 bytes", "spm 480 bytes"))
    dx, dw = rows(parse, hardware, pair("spm 480 bytes resident(out dY)", "spm 480 bytes resident(in dY)"))
    assert dx.cycles == apart[0].cycles
    assert (apart[1].cycles or 0) - (dw.cycles or 0) == 48 // 4
    assert dw.compute_cycles == apart[1].compute_cycles


def test_a_result_that_all_find_is_not_written(parse: Parse, hardware: Machine) -> None:
    relu = f"%g = npu.vector relu(%dx) ops 48 resident(in in0) : ({DX}) -> {DX}"
    both = {"result": "%g, %dw", "types": f"{DX}, {DW}"}
    dx, _, g = rows(parse, hardware, pair(f"{TILES} resident(out dX)", TILES, after=relu, **both))
    assert moved(dx)["dX"] == (0, 0)
    assert moved(g) == {"in0": (0, 0), "out0": (0, 96)}
    # Eight lanes: 6 cycles of work beside 96 bytes at 4 a cycle, no longer 192.
    assert (g.cycles, g.compute_cycles, g.native["not_moved_bytes"]) == (24, 6, 96)
    both = {"result": "%g, %dw, %dx", "types": f"{DX}, {DW}, {DX}"}
    dx, dw, g = rows(parse, hardware, pair(f"{TILES} resident(out dX)", TILES, after=relu, **both))
    assert moved(dx)["dX"] == (0, 96)
    assert moved(g)["in0"] == (0, 0)
    # dX takes its room from the product between.
    assert (dw.native["passing_bytes"], dw.spm_bytes) == (96, 96 + 32)


def test_no_room_is_an_error_of_the_operation_without_it(parse: Parse, hardware: Machine) -> None:
    relu = f"%g = npu.vector relu(%dx) ops 48 resident(in in0) : ({DX}) -> {DX}"
    text = pair(f"{TILES} resident(out dX)", TILES, after=relu)
    # Sums of all of dX, blocks of dY and W: 192 + 16 bytes; then dX beside the blocks of dW: 96 + 32.
    assert [row.spm_bytes for row in rows(parse, hardware, text, memory__spm_kib=0.40625)[:2]] == [208, 128]
    with pytest.raises(
        CapacityError, match=r"layer fc takes 208 bytes of SPM with the resident values \(0 of them for"
    ):
        rows(parse, hardware, text, memory__spm_kib=0.40234375)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"memory__policy": "lru"}, "resident values have no cost model with memory.policy 'lru'"),
        ({"array__cores": 2}, "resident values have a cost model on one core only"),
        ({"array__dataflow": "in-place"}, "resident values have no cost model on arrays that keep a stationary tile"),
    ],
)
def test_machines_without_a_price_are_refused(
    parse: Parse, hardware: Machine, more: dict[str, object], message: str
) -> None:
    text = pair(f"{TILES} keep(dY = 2) resident(out dY)", f"{TILES} resident(in dY)")
    with pytest.raises(UsageError, match=message):
        rows(parse, hardware, text, **more)


def test_a_broken_rule_is_told_at_the_operation_that_breaks_it() -> None:
    text = pair(f"{TILES} keep(dY = 2) resident(out dY)", f"{TILES} resident(in dY, in X)")
    with pytest.raises(SourceError, match="X is not resident: no operation before leaves it in SPM") as caught:
        compile_source(text, "mlir", pipeline="")
    assert caught.value.location is not None
    assert caught.value.location.line == 6


def test_the_table_says_what_stays_saves() -> None:
    network = """
    network n(batch=64) {
      input x: f32[batch, 256]
      labels y: i32[batch]
      h = relu(linear(x, 256))
      loss cross_entropy(linear(relu(linear(h, 256)), 10), y)
      optimizer sgd(lr=0.1)
    }"""
    passes = "autodiff,lower-to-npu,schedule"
    before = compile_source(network, "dsl", pipeline=passes)
    assert resident_text(before) is None
    for what in ("pairs", "gradients", "all"):
        after = compile_source(network, "dsl", pipeline=f'{passes},keep-resident{{what="{what}"}}')
        said = resident_text(after)
        assert said is not None
        count = sum("resident_in" in row.native or "resident_out" in row.native for row in after.ops)
        assert said.startswith(f"{count} operations find or leave values resident in SPM: ")
        assert (after.totals.cycles or 0) < (before.totals.cycles or 0)
