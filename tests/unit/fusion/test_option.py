"""`--fuse-layers`: groups beside the passes of each level, never dearer than the level, and what is refused."""

from functools import cache
from typing import Any, cast

import pytest

from npuc.compiler import Report, UsageError, compile_source
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.driver.compile import compile_program
from npuc.compiler.driver.levels.fused import fuse_pass
from npuc.frontends.source import text_source

CHAIN = """network chain(batch=2) {
  input x: f32[batch, 8, 12, 12]
  input t: f32[batch, 8, 12, 12]
  a = relu(conv2d(x, 8, kernel=3, padding=1))
  b = relu(conv2d(a, 8, kernel=3, padding=1))
  loss mse(conv2d(b, 8, kernel=3, padding=1), t)
}"""
TINY = """network mlp(batch=8) {
  input x: f32[batch, 64]
  labels y: i32[batch]
  loss cross_entropy(linear(relu(linear(x, 64)), 8), y)
}"""
SMALL: dict[str, Any] = {"hardware": "igo-small", "overrides": {"memory.spm_kib": 24}}
LEFT_OUT = "left out, since with groups of layers the program costs"
STEPS = {
    0: "",
    1: "interleave{mode=zip},",
    2: "interleave{mode=zip},rearrange{rule=published},",
    3: "interleave{mode=best},",
}


@cache
def compiled(source: str = CHAIN, *, after: str | None = None, **options: Any) -> Report:
    keywords = {**SMALL, **options, "after": [] if after is None else [after]}
    return compile_source(source, **cast("CompileKeywords", keywords))


def cost(report: Report, objective: str) -> float:
    totals = report.totals
    moved = (totals.dram_read_bytes or 0) + (totals.dram_write_bytes or 0)
    return {"time": totals.cycles or 0, "traffic": moved, "energy": totals.energy_j or 0.0}[objective]


def by_hand(level: int, objective: str) -> float:
    goal = "" if objective == "time" else f"{{objective={objective}}}"
    steps = STEPS[level] if not goal else STEPS[level].replace("}", f" objective={objective}}}")
    pipeline = f"autodiff,lower-to-npu,{steps}schedule{goal},fuse-layers{goal}"
    return cost(compiled(pipeline=pipeline), objective)


@pytest.mark.parametrize(("level", "objective"), [(0, "time"), (1, "time"), (2, "energy"), (3, "time"), (3, "traffic")])
def test_the_better_of_the_level_and_none_is_kept(level: int, objective: str) -> None:
    fused = compiled(opt_level=level, objective=objective, fuse_layers="dp")
    beside, alone = by_hand(level, objective), by_hand(0, objective)
    assert cost(fused, objective) == min(beside, alone)
    assert cost(fused, objective) <= cost(compiled(opt_level=level, objective=objective), objective)
    assert ("interleave" in (fused.pipeline or "")) == (level > 0 and beside <= alone)
    assert any(LEFT_OUT in text for text in fused.warnings) == (level > 0 and alone < beside)


def test_both_ways_are_taken() -> None:
    """Else the test above would prove little."""
    kept = {name: "interleave" in (compiled(opt_level=1, fuse_layers=name).pipeline or "") for name in ("off", "dp")}
    assert kept == {"off": True, "dp": False}
    assert "interleave" in (compiled(fuse_layers="dp=1").pipeline or "")


def test_off_is_as_without() -> None:
    assert compiled(fuse_layers="off").to_json() == compiled().to_json()


def test_a_budget_and_an_objective_reach_the_pass() -> None:
    assert "fuse-layers{budget_kib=8}" in (compiled(TINY, opt_level=0, fuse_layers="dp=8").pipeline or "")
    assert fuse_pass("genetic=8", "traffic") == 'fuse-layers{mapper="genetic" budget_kib=8 objective="traffic"}'


def test_a_budget_that_no_group_fits_is_said() -> None:
    report = compiled(opt_level=0, fuse_layers="dp=1")
    assert any("no group of layers improves the time" in text for text in report.warnings)
    assert cost(report, "time") == cost(compiled(opt_level=0), "time")


def test_a_pass_of_ones_own_may_stand_between() -> None:
    pipeline = compiled(TINY, opt_level=0, after="schedule=cse", fuse_layers="dp").pipeline or ""
    assert pipeline.endswith("schedule,cse,fuse-layers")


def test_what_is_shown_is_what_is_kept() -> None:
    said: list[str] = []
    keywords: dict[str, Any] = {**SMALL, "opt_level": 1, "fuse_layers": "dp", "print_after": "fuse-layers"}
    (report,) = compile_program(
        text_source(CHAIN, "dsl", "<string>"), ["cycle"], cast("CompileKeywords", keywords), said.append
    ).reports
    assert report.totals == compiled(opt_level=1, fuse_layers="dp").totals
    (shown,) = (text for text in said if "after fuse-layers" in text)
    assert "npu.group" in shown
    assert "npu.interleave" not in shown


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"fuse_layers": "best"}, "expected off, dp"),
        ({"fuse_layers": "dp=1.5"}, "KIB of SPM"),
        ({"fuse_layers": "dp", "devices": 2}, "several devices"),
        ({"fuse_layers": "dp=25"}, "a schedule may use 12 KiB"),
        ({"fuse_layers": "dp", "backend": "maestro"}, "scores no groups"),
        ({"fuse_layers": "dp", "overrides": {"array.cores": 2}}, "one core only"),
        ({"fuse_layers": "dp", "overrides": {"memory.policy": "lru"}}, "memory.policy"),
        ({"fuse_layers": "dp", "hardware": "tpu-v4-cmem", "overrides": None}, "memory between SPM and DRAM"),
    ],
)
def test_what_has_no_groups_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        compile_source(TINY, **{**SMALL, **options})
    assert caught.value.exit_code == 2
    assert caught.value.hint
