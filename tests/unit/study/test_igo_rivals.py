"""The fair rival of the study is a program that npuc compiles: dY stays in SPM from dX to dW."""

import pytest

from npuc.compiler.analysis.machine.facts import machine_from
from npuc.compiler.driver.compile import compile_source
from npuc.hardware import load_hardware, machine_target
from npuc.studies.igo.explicit import ExplicitCosts
from npuc.studies.igo.products import Size
from npuc.studies.igo.rivals import rival_times

MACHINE = machine_from(machine_target(load_hardware("igo-small")))
STRICT = "schedule{tolerance=0.000000001}"
"""The least time by the quick search, which the study takes; a tolerance of 0 searches more thoroughly."""


def program(size: Size) -> str:
    x, w, y = (f"tensor<{a}x{b}xbf16>" for a, b in ((size.m, size.k), (size.k, size.n), (size.m, size.n)))
    dims = f"(m = {size.m}, n = {size.n}, k = {size.k})"
    return f"""
    func.func @pair(%x: {x}, %w: {w}, %dy: {y}) -> ({x}, {w}) {{
      %dx = npu.contract {dims} ins(dY = %dy[m, n], W = %w[k, n]) outs(dX[m, k]) do(dX += dY * W)
        {{layer = "fc", role = "dx"}} : ({y}, {w}) -> {x}
      %dw = npu.contract {dims} ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) do(dW += X * dY)
        {{layer = "fc", role = "dw"}} : ({x}, {y}) -> {w}
      func.return %dx, %dw : {x}, {w}
    }}"""


@pytest.mark.parametrize("size", [Size(196, 128, 512), Size(1024, 64, 96), Size(4096, 512, 64)])
def test_the_line_of_a_layer_is_the_time_of_a_program(size: Size) -> None:
    """Each product's cycles are rounded up in a report, whose search is the more thorough one: it may find less."""
    times = rival_times(size, True, MACHINE)
    forward = ExplicitCosts(MACHINE).forward(size).time
    for rival, passes in (("blocking", STRICT), ("dY kept", f"{STRICT},keep-resident{{what=pairs}}")):
        report = compile_source(program(size), "mlir", pipeline=passes, hardware="igo-small")
        expected = times[rival] - forward
        assert -expected / 1000 <= sum(row.cycles or 0 for row in report.ops) - expected < 2, rival
    stays = [row.native.get("resident_in") for row in report.ops]
    assert (times["dY kept"] < times["blocking"]) == (stays == [None, ["dY"]])


def test_it_gains_where_dy_fits_and_transfers_count() -> None:
    fits, not_ = (rival_times(size, True, MACHINE) for size in (Size(1024, 64, 96), Size(4096, 512, 64)))
    assert fits["dY kept"] < fits["blocking"]
    assert not_["dY kept"] == not_["blocking"]
