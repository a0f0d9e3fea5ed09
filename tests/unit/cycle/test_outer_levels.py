"""Machines with memories between scratchpads and DRAM: reports, refusals and errors."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import asdict
from xdsl.dialects.builtin import ModuleOp

from npuc.compiler import compile_source
from npuc.compiler.analysis.machine.table import machine_from
from npuc.compiler.cli import run_command
from npuc.compiler.core.errors import CapacityError, NpucError, UsageError
from npuc.compiler.driver.machine import machine_in, stamp_target
from npuc.compiler.report import Report
from npuc.compiler.report.levels import LevelFacts
from npuc.hardware import load_hardware, machine_target
from npuc.hardware.as_toml import as_toml
from npuc.hardware.level_keys import LEVELS

SPM = {"name": "SPM", "kib": 2}
L2 = {"name": "L2", "kib": 16, "gb_per_s": 32.0, "pj_per_byte": 2.0}
L3 = {"name": "L3", "kib": 64, "gb_per_s": 16.0, "pj_per_byte": 3.0}
DRAM = {"name": "DRAM", "gb_per_s": 4.0}
MACHINE: dict[str, Any] = {
    "name": "tower",
    "clock_mhz": 1000,
    "array": {"rows": 8, "cols": 8},
    "memory": {"element_bytes": 2, "levels": [SPM, L2, DRAM]},
    "vector.lanes": 8,
    "energy": {"mac_pj": 1.0, "spm_pj_per_byte": 1.0, "dram_pj_per_byte": 20.0},
}
GEMM = """
func.func @gemm(%x: tensor<64x32xf32>, %w: tensor<32x48xf32>) -> tensor<64x48xf32> {
  %y = npu.contract (m = 64, n = 48, k = 32) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
    loops [m : 32, n : 8, m : 8, k : 16] SCHEDULE {layer = "fc"}
    : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
  func.return %y : tensor<64x48xf32>
}
"""
STEP = """
network net(batch=16) {
  input x: f32[batch, 32]
  labels y: i32[batch]
  loss cross_entropy(linear(relu(linear(x, 24)), 8), y)
  optimizer sgd(lr=0.1)
}
"""


def levels(*rows: Mapping[str, object]) -> dict[str, object]:
    return {LEVELS: [dict(row) for row in rows]}


def scored(schedule: str, overrides: Mapping[str, object] | None = None) -> Report:
    text = GEMM.replace("SCHEDULE", schedule)
    return compile_source(text, "mlir", hardware=MACHINE, overrides=dict(overrides or {}))


def facts(report: Report) -> LevelFacts:
    found = LevelFacts.found_in(report.ops[0])
    assert found is not None
    return found


def test_bytes_by_hand() -> None:
    """
    SPM: X once for each n, W for each row of tiles, sums once. L2 has X of 32 rows over n, and all of W over m.
    """
    report = scored("keep(Y = 1) keep L2(X = 3, W = 4)")
    x, w, y = 64 * 32 * 2, 32 * 48 * 2, 64 * 48 * 2
    row, found = report.ops[0], facts(report)
    assert found.levels == ["L2"]
    assert found.level_read_bytes == [6 * x + 8 * w]
    assert found.level_write_bytes == [y]
    assert (row.dram_read_bytes, row.dram_write_bytes) == (x + w, y)
    assert found.level_held_bytes == [32 * 32 * 2 + w + 8 * 8 * 4]
    assert found.level_transfer_cycles == [-(-(6 * x + 8 * w + y) // 32)]
    spread = 6 * x + 8 * w + y + x + w + y
    assert found.level_j == [pytest.approx(2e-12 * spread)]
    plain = scored("keep(Y = 1)")
    assert row.energy_j is not None
    assert plain.ops[0].energy_j is not None
    less = (plain.ops[0].dram_read_bytes or 0) - x - w
    assert plain.ops[0].energy_j - row.energy_j == pytest.approx(1e-12 * less * (20 + 2))
    assert row.lower_bound_bytes == x + w + y  # by the size of L2
    assert found.level_bound_bytes[0] > row.lower_bound_bytes
    parts = [value for value in (row.energy or {}).values() if value is not None]
    assert sum(parts) == pytest.approx(row.energy_j)


def test_what_a_level_does_not_say_it_keeps_is_what_the_inner_one_keeps() -> None:
    three = levels(SPM, L2, L3, DRAM)
    one, same = scored("keep(Y = 1) keep L3(X = 3)", three), scored("keep(Y = 1) keep L2(Y = 1) keep L3(X = 3)", three)
    assert asdict(one.ops[0]) == asdict(same.ops[0])
    assert facts(one).levels == ["L2", "L3"]
    # every byte that no level keeps passes through all of them
    plain = facts(scored("keep(Y = 1)", three))
    assert plain.level_read_bytes[0] == plain.level_read_bytes[1] == scored("keep(Y = 1)").ops[0].dram_read_bytes


def test_the_report_says_what_levels_do() -> None:
    from io import StringIO

    from rich.console import Console

    from npuc.compiler.report.text.table import print_report

    out = StringIO()
    print_report(scored("keep(Y = 1) keep L2(X = 3, W = 4)"), Console(file=out, width=120))
    (line,) = re.findall(r"levels +(L2: .*)", out.getvalue())
    assert line == "L2: 48.0 KiB read, 6.00 KiB written; 2.84x the lower bound; holds up to 5.25 KiB; 137.2 nJ"


def test_time_is_that_of_the_slowest_level() -> None:
    slow = levels(SPM, {**L2, "gb_per_s": 1.0}, DRAM)
    found = scored("keep(Y = 1) keep L2(X = 3, W = 4)", slow)
    assert found.ops[0].limit == "level"
    assert (found.ops[0].cycles or 0) >= facts(found).level_transfer_cycles[0]
    assert "a level of memory on the chip" in verdict_of(found)


def verdict_of(report: Report) -> str:
    from npuc.compiler.report.text.summary.verdict import verdict
    from npuc.compiler.report.text.words import PLAIN

    return verdict(report, PLAIN)


def test_vector_work_passes_through_all_levels() -> None:
    fast = compile_source(STEP, hardware=MACHINE, opt_level=0)
    slow = compile_source(STEP, hardware=MACHINE, opt_level=0, overrides=levels(SPM, {**L2, "gb_per_s": 0.5}, DRAM))
    for a, b in zip(fast.ops, slow.ops, strict=True):
        if a.kind == "vector":
            found = LevelFacts.found_in(b)
            assert found is not None
            assert (found.level_read_bytes, found.level_write_bytes) == ([b.dram_read_bytes], [b.dram_write_bytes])
            assert b.limit == "level"
            assert (b.cycles or 0) > (a.cycles or 0)


WRONG: dict[str, tuple[list[Mapping[str, object]], str]] = {
    "size": ([SPM, {**L2, "kib": 1}, DRAM], "memory.levels[1].kib = 1: L2 is smaller than SPM inside of it"),
    "sizes": ([SPM, L2, {**L3, "kib": 8}, DRAM], "memory.levels[2].kib = 8: L3 is smaller than L2 inside of it"),
    "rate": ([SPM, {"name": "L2", "kib": 16}, DRAM], "memory.levels[1]: L2 has no gb_per_s"),
    "kib": ([SPM, {"name": "L2", "gb_per_s": 16}, DRAM], "memory.levels[1]: L2 has no kib"),
    "name": ([SPM, {**L2, "name": "level 2"}, DRAM], "memory.levels[1].name = 'level 2': expected a word"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_levels(name: str) -> None:
    rows, message = WRONG[name]
    with pytest.raises(UsageError, match=re.escape(message)):
        compile_source(STEP, hardware=MACHINE, overrides=levels(*rows))


def test_managed_is_said_of_further_levels() -> None:
    with pytest.raises(UsageError, match="managed: is said of levels between the scratchpad and DRAM"):
        load_hardware(MACHINE, levels({**SPM, "managed": True}, L2, DRAM))


def test_a_cache_is_no_level_of_schedules() -> None:
    """A level that is not managed changes nothing, and needs neither size nor bandwidth."""
    cache = {"name": "L2", "managed": False}
    reports = [
        compile_source(STEP, hardware=MACHINE, overrides=levels(*rows)) for rows in ([SPM, DRAM], [SPM, cache, DRAM])
    ]
    assert reports[0].totals == reports[1].totals
    assert [row.native for row in reports[0].ops] == [row.native for row in reports[1].ops]


SCHEDULES = {
    "keep(Y = 1) keep L2(Y = 0)": "keep L2 of Y is 0, in SPM it is 1: depths must not shrink outwards",
    "keep L2(X = 3) keep L3(X = 2)": "keep L3 of X is 2, in L2 it is 3: depths must not shrink outwards",
    "keep L2(X = 5)": "keep L2 of X is 5, expected 0 to 4, the number of loops",
    "keep L2(Z = 1)": "keep L2 names 'Z', the nest has X, W, Y",
    "keep L2(X = 1, X = 1)": "keep L2 names a tensor twice",
    "keep L2(X = 1) keep L2(W = 1)": "keep L2 is there twice",
    "keep L2(X = 1) keep(W = 1)": "expected the name of a level after 'keep'",
    "keep L4(X = 1)": "layer fc keeps tensors in L4, which the machine has not: between SPM and DRAM it has L2, L3",
    "keep L3(X = 3) keep L2(W = 4)": "layer fc names L2 after L3, which is outside of it: inner levels first",
}


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_wrong_schedules(schedule: str) -> None:
    with pytest.raises(NpucError, match=re.escape(SCHEDULES[schedule])):
        scored(schedule, levels(SPM, L2, L3, DRAM))


def test_a_schedule_that_keeps_more_than_a_level_holds() -> None:
    small = levels(SPM, {**L2, "kib": 4}, DRAM)
    with pytest.raises(CapacityError, match=r"layer fc keeps 5,376 bytes in L2, a schedule may use 2,048") as error:
        scored("keep(Y = 1) keep L2(X = 3, W = 4)", small)
    assert error.value.location is not None


def test_machines_of_one_level_have_no_further_ones() -> None:
    with pytest.raises(UsageError, match=r"keeps tensors in L2, which the machine has not: .* it has none"):
        scored("keep L2(X = 1)", levels(SPM, DRAM))


REFUSED: dict[str, dict[str, object]] = {
    "memory.policy = 'lru' is a pool in SPM alone: it does not know L2": {"memory.policy": "lru"},
    "array.dataflow = 'in-place' is modelled beside one level": {"array.dataflow": "in-place"},
}


@pytest.mark.parametrize("message", REFUSED)
def test_refused_machines(message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        compile_source(STEP, hardware=MACHINE, overrides=REFUSED[message])


PASSES = {
    "autodiff,lower-to-npu,schedule,fuse-vector": "has no price for vector work that is fused",
    "autodiff,lower-to-npu,schedule,keep-resident": "has no price for values that are resident in SPM",
    "autodiff,lower-to-npu,interleave{mode=zip},schedule": "contractions in turn keep blocks in SPM alone",
    "autodiff,lower-to-npu,interleave{mode=best},schedule": "contractions in turn keep blocks in SPM alone",
}


@pytest.mark.parametrize("passes", PASSES)
def test_refused_passes(passes: str) -> None:
    with pytest.raises(NpucError, match=PASSES[passes]):
        compile_source(STEP, hardware=MACHINE, pipeline=passes)


TURNS = """
func.func @turns(%dy: tensor<8x4xf32>, %w: tensor<6x4xf32>, %x: tensor<8x6xf32>) -> (tensor<8x6xf32>, tensor<6x4xf32>) {
  %dx, %dw = npu.interleave {
    %a = npu.contract (m = 8, n = 4, k = 6) ins(dY = %dy[m, n], W = %w[k, n]) outs(dX[m, k]) do(dX += dY * W)
      loops [m : 4] : (tensor<8x4xf32>, tensor<6x4xf32>) -> tensor<8x6xf32>
    %b = npu.contract (m = 8, n = 4, k = 6) ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) do(dW += X * dY)
      loops [m : 4] : (tensor<8x6xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
    npu.yield %a, %b : tensor<8x6xf32>, tensor<6x4xf32>
  } : (tensor<8x6xf32>, tensor<6x4xf32>)
  func.return %dx, %dw : tensor<8x6xf32>, tensor<6x4xf32>
}
"""


def test_contractions_in_turn_have_no_price() -> None:
    with pytest.raises(UsageError, match=r"memory between SPM and DRAM \(L2\) has no price for contractions in turn"):
        compile_source(TURNS, "mlir", hardware=MACHINE)
    compile_source(TURNS, "mlir", hardware=MACHINE, overrides=levels(SPM, DRAM))


def test_explanations_draw_one_level(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.dsl").write_text(STEP)
    (tmp_path / "tower.toml").write_text(as_toml(load_hardware(MACHINE), "a machine"))
    assert run_command(["explain", "net.dsl", "linear", "-q", "--hw", "tower.toml"]) == 2
    assert "draws scratchpads and DRAM alone: it does not know L2" in capsys.readouterr().err


def test_one_nest_of_both_gradients_has_a_price() -> None:
    report = compile_source(STEP, hardware=MACHINE, pipeline="autodiff,lower-to-npu,interleave{mode=fused},schedule")
    assert any(row.phase == "dxdw" and LevelFacts.found_in(row) is not None for row in report.ops)


@pytest.mark.parametrize("level", [1, 2, 3, None])
def test_optimisation_levels_leave_interleaving_out(level: int | None) -> None:
    report = compile_source(STEP, hardware=MACHINE, opt_level=level)
    assert any("its passes are left out" in text and "L2" in text for text in report.warnings)
    plain = compile_source(STEP, hardware=MACHINE, opt_level=0)
    assert report.totals == plain.totals
    assert not any("left out" in text for text in plain.warnings)


def test_a_module_has_the_levels_of_its_machine() -> None:
    machine, module = load_hardware(MACHINE, levels(SPM, L2, L3, DRAM)), ModuleOp([])
    stamp_target(module, machine, "cycle")
    again = machine_in(module)
    assert again is not None
    assert machine_target(again) == machine_target(machine)
    assert machine_target(machine)["levels"] == ("L2 8192 bytes 32.0 GB/s 2.0 pJ/B, L3 32768 bytes 16.0 GB/s 3.0 pJ/B")


TEXTS = {
    "L2": "levels: found 'L2', expected NAME N bytes R GB/s",
    "SPM 4096 bytes 1.0 GB/s": "levels: found 'SPM 4096 bytes 1.0 GB/s', expected",
    "L2 64 bytes 1.0 GB/s": "levels: L2 has 64 bytes, fewer than the 1,024 of SPM",
    "L2 4096 bytes 0 GB/s": "expected NAME N bytes R GB/s",
    "L2 4096 bytes 1 GB/s, L2 8192 bytes 1 GB/s": "with names of their own",
}


@pytest.mark.parametrize("text", TEXTS)
def test_wrong_facts(text: str) -> None:
    facts = machine_target(load_hardware(MACHINE, levels(SPM, DRAM))) | {"levels": text}
    with pytest.raises(UsageError, match=re.escape(TEXTS[text])):
        machine_from({name: value for name, value in facts.items()})


FUSED = """
func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) -> tensor<6x4xf32> {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
    loops [m : 2] keep L2(W = 1, X = 1) {layer = "fc"} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %z = npu.vector relu(%y) ops 24 fused : (tensor<6x4xf32>) -> tensor<6x4xf32>
  func.return %z : tensor<6x4xf32>
}
"""


def test_fused_work_has_blocks_in_spm_alone() -> None:
    with pytest.raises(NpucError, match="has no price for vector work that is fused"):
        compile_source(FUSED, "mlir", hardware=MACHINE)
    with pytest.raises(NpucError, match="keeps blocks in L2, and vector work is fused with it"):
        compile_source(FUSED, "mlir", hardware=MACHINE, pipeline="lower-tiles")
