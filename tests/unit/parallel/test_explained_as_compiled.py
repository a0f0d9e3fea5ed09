"""The plan that is explained is the one that compiling takes with the same options, limits of memory included."""

import pytest
from typing_extensions import Unpack

from npuc.compiler import compile_source
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.explain.plan import explain_plan
from npuc.compiler.report import Report
from npuc.frontends.source import text_source
from tests.unit.parallel.test_memory import NET, peak

UNEVEN = NET.replace("c = relu(linear(b, 1024))", "c = relu(linear(b, 1020)) + relu(linear(b, 1020))")
"""1,020 divides among 4 devices, not among 8."""


def compiled(text: str, **options: Unpack[CompileKeywords]) -> Report:
    return compile_source(text, **{"opt_level": 0, **options})


def check_explained(text: str, report: Report, **options: Unpack[CompileKeywords]) -> None:
    """That the plan of a report is explained."""
    plan = report.parallel
    assert plan is not None
    explained = explain_plan(text_source(text, "dsl", "net.dsl"), options)
    assert explained.total == plan.total
    assert explained.lower_bound_elements == plan.lower_bound_elements
    assert {layer.layer: layer.choices for layer in explained.layers if layer.weights} == {
        name: [level.choices[name] for level in plan.levels] for name in plan.levels[0].choices
    }


@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.parametrize("strategy", ["hypar", "joint", "dp"])
def test_explained_as_compiled(strategy: str, zero: bool) -> None:
    options: CompileKeywords = {"devices": 4, "parallel": strategy, "convention": "physical", "zero": zero}
    check_explained(UNEVEN, compiled(UNEVEN, **options), **options)


def test_a_joint_plan_takes_only_what_goes_even() -> None:
    options: CompileKeywords = {"devices": 8, "parallel": "joint"}
    report = compiled(UNEVEN, **options)
    check_explained(UNEVEN, report, **options)


def test_what_is_not_compiled_is_not_explained() -> None:
    """The same message, the same exit status, of a plan with indivisible cuts."""
    options: CompileKeywords = {"devices": 8, "parallel": "hypar"}
    with pytest.raises(CapacityError) as by_compile:
        compiled(UNEVEN, **options)
    with pytest.raises(CapacityError) as by_explain:
        explain_plan(text_source(UNEVEN, "dsl", "net.dsl"), options)
    assert by_explain.value.message == by_compile.value.message
    assert by_explain.value.exit_code == 3


def test_a_plan_within_the_memory_of_a_device() -> None:
    options: CompileKeywords = {
        "devices": 4,
        "parallel": "joint",
        "convention": "physical",
        "defines": {"batch": 1024},
        "hardware": "hypar16",
    }
    free = compiled(NET, **options)
    options["overrides"] = {"dram.capacity_mib": peak(free) - 3}
    tight = compiled(NET, **options)
    assert free.parallel is not None
    assert tight.parallel is not None
    assert tight.parallel.total != free.parallel.total
    check_explained(NET, tight, **options)


def test_a_plan_for_the_least_memory() -> None:
    options: CompileKeywords = {"devices": 4, "parallel": "joint", "plan_objective": "memory"}
    check_explained(NET, compiled(NET, **options), **options)
