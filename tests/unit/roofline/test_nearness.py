"""Bounds and the best plan in a report: their errors, warnings and line of the table; standard output stays clean."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from npuc.backends.roofline.iteration import bounds
from npuc.compiler import compile_source
from npuc.compiler.analysis.solvers import linear
from npuc.compiler.core.errors import UsageError
from npuc.compiler.report import Report
from npuc.compiler.report.text.summary.iteration import nearness_text

NET = """network net(batch=16) {
  input x: f32[batch, 32]
  h = relu(linear(x, 64))
  h = relu(linear(h, 64)) + h
  h = linear(relu(linear(h, 64)), 32)
  loss mean(h ** 2)
}"""
BOUND = {"roofline.bound": True, "memory.cache_mib": 12 / 1024}
OPTIMAL = BOUND | {"roofline.policy": "optimal"}


def scored(keys: dict[str, Any]) -> Report:
    return compile_source(NET, backend="roofline", hardware="rtx2080ti", overrides=keys)


def test_a_report_says_nothing_of_bounds_unless_asked() -> None:
    report = scored({"memory.cache_mib": 0.1})
    assert "traffic_bound_bytes" not in report.native
    assert nearness_text(report) is None


def test_the_best_plan_is_at_its_bound() -> None:
    report = scored(OPTIMAL)
    assert report.native["traffic_ratio"] == 1.0
    assert report.native["traffic_bound_exact"]
    assert not report.warnings
    text = nearness_text(report)
    assert text is not None
    assert text.startswith("traffic is 1.0000x and time ")
    assert "(exact)" in text
    single = scored(BOUND | {"roofline.plan": "single"}).native["traffic_ratio"]
    assert isinstance(single, float)
    assert single > 1.0


def test_where_the_search_is_stopped_the_report_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an answer of the solver the plan is the best of the other policies, and the bound that of tiles."""
    solve = linear.solve

    def stopped(program: linear.LinearProgram, **keys: Any) -> linear.Solution | None:
        return solve(program, **keys) if "nodes" not in keys else linear.Solution(None, -np.inf, proved=False)

    monkeypatch.setattr(bounds, "solve", stopped)
    report = scored(OPTIMAL)
    (warning,) = report.warnings
    assert "more than the least" in warning
    assert not report.native["traffic_bound_exact"]
    assert report.native["traffic_bound_bytes"] == report.native["tile_bound_bytes"]
    assert "(exact)" not in (nearness_text(report) or "")


@pytest.mark.parametrize("keys", [BOUND, {"roofline.policy": "optimal"}])
def test_without_a_solver(keys: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(UsageError, match="needs HiGHS") as caught:
        scored(keys)
    assert caught.value.hint == 'pip install "npuc[solver]"'


def test_large_iterations_have_no_best_plan_but_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("npuc.backends.roofline.nearness.MOST_ACCESSES", "npuc.backends.roofline.iteration.bounds.MOST_TIMED"):
        monkeypatch.setattr(name, 10)
    with pytest.raises(UsageError, match="at most 10 accesses") as caught:
        scored(OPTIMAL)
    assert "roofline.policy=belady" in (caught.value.hint or "")
    native = scored(BOUND).native
    assert native["traffic_bound_bytes"] == native["tile_bound_bytes"]
    assert not native["traffic_bound_exact"]
    compute = scored(BOUND).totals.lower_bound_seconds
    moved, seconds = native["tile_bound_bytes"], native["time_bound_seconds"]
    assert isinstance(moved, int)
    assert compute is not None
    assert seconds == pytest.approx(max(compute, moved / 616e9))


def test_the_solver_writes_nothing() -> None:
    """HiGHS writes lines of its own from C++ in some versions, which reach standard output when the process ends."""
    program = """from npuc.compiler import compile_file
keys = {"roofline.bound": True, "memory.cache_mib": 128}
report = compile_file("samples:resnet50", backend="roofline", hardware="rtx2080ti", overrides=keys)
assert report.native["traffic_bound_exact"]
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_linear_program_and_its_bound() -> None:
    """Minimise -x - 2y where x + y <= 3, y <= 2: -5; any multiplier gives a bound below it."""
    program = linear.LinearProgram()
    both = program.variables(2, np.array([10.0, 2.0]), np.array([-1.0, -2.0]))
    row = program.rows(1, -np.inf, 3.0)
    program.put(np.repeat(row, 2), both, 1.0)
    found = linear.solve(program, purpose="a test")
    assert found is not None
    assert found.values is not None
    assert found.values.tolist() == pytest.approx([1.0, 2.0])
    assert found.bound == pytest.approx(-5.0)
    assert all(linear.dual_bound(program, np.array([m])) <= -5.0 + 1e-12 for m in (-3.0, -1.0, -0.5, 0.0, 1.0))
    program.put(program.rows(1, 4.0, np.inf), both[1:], 1.0)
    assert linear.solve(program, purpose="a test") is None
