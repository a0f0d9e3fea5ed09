"""The levels of `-O` and the objectives: which passes run, what is refused."""

from typing import Any

import pytest

from npuc.compiler import CapacityError, UsageError, compile_source
from npuc.compiler.core.options import Options
from npuc.compiler.driver.levels.placement import placed
from npuc.compiler.driver.levels.preset import with_goal
from npuc.compiler.report.text.summary.verdict import verdict

NET = """network net(batch=8) {
  input x: f32[batch, 20]
  h = relu(linear(x, 30))
  y = linear(h, 10)
  output y
  loss sum(y ** 2)
}"""
PAIR = """func.func @pair(%dy: tensor<6x4xf32>, %w: tensor<8x4xf32>, %x: tensor<6x8xf32>)
    -> (tensor<6x8xf32>, tensor<8x4xf32>) {
  %dx = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dy[m, n], W = %w[k, n]) outs(dX[m, k]) do(dX += dY * W)
    loops [m : 2] {layer = "fc", role = "dx"} : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
  %dw = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) do(dW += X * dY)
    {layer = "fc", role = "dw"} : (tensor<6x8xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  func.return %dx, %dw : tensor<6x8xf32>, tensor<8x4xf32>
}"""
HARDWARE: dict[str, Any] = {
    "name": "small",
    "clock_mhz": 1000,
    "array.rows": 4,
    "array.cols": 4,
    "array.dataflow": "os",
    "memory.spm_kib": 2,
    "dram.gb_per_s": 1.0,
    "vector.lanes": 4,
}
ENERGIES = {"energy.mac_pj": 0.2, "energy.spm_pj_per_byte": 1.0, "energy.dram_pj_per_byte": 20.0}
PIPELINES = {
    0: "autodiff,lower-to-npu,schedule",
    1: "autodiff,lower-to-npu,interleave{mode=zip},schedule",
    2: "autodiff,lower-to-npu,interleave{mode=zip},rearrange{rule=published},schedule",
    3: "autodiff,lower-to-npu,interleave{mode=best},schedule",
}


@pytest.mark.parametrize("level", PIPELINES)
def test_a_level_is_a_pipeline(level: int) -> None:
    report = compile_source(NET, hardware=HARDWARE, opt_level=level)
    again = compile_source(NET, hardware=HARDWARE, pipeline=PIPELINES[level])
    assert report.ops == again.ops
    assert [part.partition("{")[0] for part in report.pipeline.split(",")] == [
        part.partition("{")[0] for part in PIPELINES[level].split(",")
    ]


def test_passes_are_placed_among_those_of_a_level() -> None:
    before = ['schedule=tile{steps="m:4,n:4,k:4"},cse', "autodiff=dce", "schedule=canonicalize"]
    report = compile_source(NET, hardware=HARDWARE, opt_level=0, before=before, after=["autodiff=cse", "schedule=dce"])
    middle = 'lower-to-npu,tile{steps="m:4,n:4,k:4"},cse,canonicalize,schedule,dce'
    assert report.pipeline.endswith(f"dce,autodiff,cse,{middle}")
    steps = [row.schedule.tile["m"] for row in report.ops if row.schedule is not None and row.phase == "forward"]
    assert steps == [4, 4]


def test_a_pass_that_runs_twice_is_an_anchor_at_both_ends() -> None:
    options = Options(before=("tidy=a",), after=("tidy=b",))
    assert placed(["tidy{x=1}", "mid", "tidy"], options) == ["a", "tidy{x=1}", "mid", "tidy", "b"]


@pytest.mark.parametrize(
    ("keywords", "message", "hint"),
    [
        ({"before": ["shedule=cse"]}, "found the anchor 'shedule'", "did you mean 'schedule'? they are autodiff, lo"),
        ({"after": ["schedule"]}, "expected PASS=PASSES", "--after schedule=own-pass"),
        ({"after": ["schedule="]}, "expected PASS=PASSES", "--after schedule=own-pass"),
        (
            {"before": ["schedule=cse"], "pipeline": "autodiff"},
            "does not apply with -p",
            "write cse into -p, before sch",
        ),
        ({"load": ["own.py"]}, "--load needs -p, --before or --after", "--before schedule=own-pass"),
    ],
)
def test_a_placement_without_a_place_is_refused(keywords: Any, message: str, hint: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        compile_source(NET, hardware=HARDWARE, **keywords)
    assert caught.value.hint is not None
    assert hint in caught.value.hint


def test_level_0_runs_one_after_another() -> None:
    report = compile_source(NET, hardware=HARDWARE, opt_level=0)
    assert {row.schedule.program for row in report.ops if row.schedule is not None} == {"sequential"}
    assert [row.phase for row in report.ops if row.kind == "matrix" and row.phase != "forward"] == ["dx", "dw", "dw"]


def test_level_1_runs_in_turn_and_level_2_by_the_rule() -> None:
    programs = {
        level: [
            row.schedule.program
            for row in compile_source(NET, hardware=HARDWARE, opt_level=level).ops
            if row.phase == "dxdw" and row.schedule is not None
        ]
        for level in (1, 2)
    }
    assert programs == {1: ["zip"], 2: ["zip"]}
    cubic = NET.replace("10)", "200)")
    rows = compile_source(cubic, hardware=HARDWARE, opt_level=2).ops
    assert [row.schedule.program for row in rows if row.phase == "dxdw" and row.schedule] == ["fused"]


@pytest.mark.parametrize("objective", ["time", "latency", "traffic", "energy", "edp"])
def test_objectives(objective: str) -> None:
    report = compile_source(NET, hardware=HARDWARE | ENERGIES, opt_level=3, objective=objective)
    named = "time" if objective == "latency" else objective
    assert report.pipeline.replace('"', "").count(f"objective={named}") == 2 or named == "time"
    least = compile_source(NET, hardware=HARDWARE | ENERGIES, opt_level=3, objective="traffic")
    moved, fewest = ((r.totals.dram_read_bytes or 0) + (r.totals.dram_write_bytes or 0) for r in (report, least))
    assert 0 < fewest <= moved


def test_energies_that_the_machine_does_not_say() -> None:
    for objective in ("energy", "edp"):
        with pytest.raises(UsageError, match=rf"--objective {objective} needs energy\.mac_pj"):
            compile_source(NET, hardware=HARDWARE, objective=objective)
    with pytest.raises(UsageError, match="unknown objective 'speed'"):
        compile_source(NET, hardware=HARDWARE, objective="speed")
    with pytest.raises(UsageError, match="unknown optimisation level 4"):
        compile_source(NET, hardware=HARDWARE, opt_level=4)


def test_levels_leave_the_forward_pass_and_schedules_that_are_set() -> None:
    forward = compile_source(NET, hardware=HARDWARE, opt_level=3, inference=True)
    assert forward.pipeline == compile_source(NET, hardware=HARDWARE, opt_level=0, inference=True).pipeline
    for level in (1, 2, 3):
        report = compile_source(PAIR, "mlir", hardware=HARDWARE, opt_level=level)
        assert report.warnings == ["-O is ignored for contractions that the source has scheduled"]
        assert [row.phase for row in report.ops] == ["dx", "dw"]
        free = compile_source(PAIR.replace("loops [m : 2] ", ""), "mlir", hardware=HARDWARE, opt_level=level)
        assert [row.phase for row in free.ops] == ["dxdw"]


def test_the_verdict_says_what_runs_together() -> None:
    assert "1 set of contractions runs interleaved in turn" in verdict(
        compile_source(NET, hardware=HARDWARE, opt_level=1)
    )
    cubic = NET.replace("10)", "200)")
    assert "1 set of contractions runs fused in one nest" in verdict(
        compile_source(cubic, hardware=HARDWARE, opt_level=2)
    )
    assert "of contractions run" not in verdict(compile_source(NET, hardware=HARDWARE, opt_level=0))


def test_the_default_is_level_3() -> None:
    usual = compile_source(NET, hardware=HARDWARE)
    assert usual == compile_source(NET, hardware=HARDWARE, opt_level=3)
    assert "dxdw" in {row.phase for row in usual.ops}


def test_a_source_with_all_schedules_is_taken_without_a_warning() -> None:
    scheduled = PAIR.replace("    {layer", "    loops [n : 2] {layer")
    assert compile_source(scheduled, "mlir", hardware=HARDWARE).warnings == []
    warned = ["-O is ignored for contractions that the source has scheduled"]
    assert compile_source(PAIR, "mlir", hardware=HARDWARE).warnings == warned
    for level in (0, 3):
        report = compile_source(scheduled, "mlir", hardware=HARDWARE, opt_level=level)
        assert report.warnings == warned
        assert [row.phase for row in report.ops] == ["dx", "dw"]


def test_what_does_not_fit_is_said_of_the_first_product_at_every_level() -> None:
    for level in (0, 1, 2, 3):
        with pytest.raises(CapacityError, match=r"h\.linear: the smallest tiles need") as raised:
            compile_source(NET, filename="net.dsl", hardware=HARDWARE | {"memory.spm_kib": 0.004}, opt_level=level)
        assert str(raised.value.location) == "net.dsl:3:12"


def test_a_tolerance_is_written_without_an_exponent() -> None:
    """Pipelines are read without exponents."""
    assert with_goal("schedule", "time", 1e-9) == "schedule{tolerance=0.000000001}"
