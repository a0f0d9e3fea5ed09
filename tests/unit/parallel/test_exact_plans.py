"""`--exact-plan`: an integer program goes on where elimination leaves a gap between a plan and its bound."""

import sys
from fractions import Fraction
from functools import cache

import pytest

from npuc.compiler import UsageError, compile_file
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.explain.plan import explain_plan
from npuc.compiler.report import Parallel
from npuc.frontends.source import open_source

GNMT = "samples:gnmt"
SMALL: dict[str, int] = {"batch": 64, "length": 6, "hidden": 64, "layers": 2}
"""LSTM layers with attention over six steps: weights are shared over time, so that no order of nodes is narrow."""


@cache
def planned(strategy: str, *, exact: bool) -> tuple[Parallel, str]:
    options: CompileKeywords = {"defines": SMALL, "devices": 8, "parallel": strategy, "exact_plan": exact}
    options["overrides"] = {"roofline.plan": "single"}
    report = compile_file(GNMT, backend="roofline", **options)
    assert report.parallel is not None
    return report.parallel, report.pipeline


def bound_of(plan: Parallel) -> Fraction:
    """What no plan goes below."""
    assert plan.lower_bound_elements is not None
    return Fraction(plan.lower_bound_elements)


def test_the_program_closes_what_elimination_leaves_open() -> None:
    (found, passes), (proved, exact_passes) = (planned("joint", exact=exact) for exact in (False, True))
    assert proved.total.elements == proved.lower_bound_elements
    assert bound_of(found) <= Fraction(proved.total.elements) <= Fraction(found.total.elements)
    assert bound_of(found) < Fraction(found.total.elements)
    assert "exact" not in passes
    assert "exact=true" in exact_passes


def test_the_bound_of_another_strategy_is_that_of_the_exact_plan() -> None:
    exact, _ = planned("joint", exact=True)
    hypar, _ = planned("hypar", exact=True)
    assert hypar.lower_bound_elements == exact.total.elements


def test_what_is_explained_is_the_exact_plan() -> None:
    exact, _ = planned("joint", exact=True)
    options: CompileKeywords = {
        "devices": 8,
        "parallel": "joint",
        "defines": SMALL,
        "exact_plan": True,
        "hardware": "rtx2080ti",
    }
    report = explain_plan(open_source(GNMT), options)
    assert report.total == exact.total
    assert report.lower_bound_elements == exact.lower_bound_elements


def test_without_a_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    planned.cache_clear()
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(UsageError, match="the exact search for the best choices needs HiGHS") as caught:
        planned("joint", exact=True)
    assert caught.value.hint == 'pip install "npuc[solver]"'


def test_one_device_has_no_plan() -> None:
    with pytest.raises(UsageError, match="--exact-plan needs --devices N"):
        compile_file("samples:mlp", exact_plan=True)
