"""Options are normalised once, where they come in: defaults, other names, and what follows from a name."""

from dataclasses import FrozenInstanceError, fields
from typing import Any, cast

import numpy as np
import pytest

from npuc.compiler import run_source
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import STRATEGIES, CompileKeywords, Options, is_joint, names_three_types
from npuc.compiler.driver.options import PLAN_OPTIONS, options_of
from npuc.compiler.driver.running.options import RunKeywords, RunOptions, run_options


def test_each_keyword_is_a_field_and_each_field_a_keyword() -> None:
    assert {option.name for option in fields(Options)} == set(CompileKeywords.__annotations__)
    assert set(RunKeywords.__annotations__) <= {option.name for option in fields(RunOptions)}


def test_nothing_said_is_the_default_and_nothing_can_be_changed() -> None:
    assert options_of({}) == Options()
    with pytest.raises(FrozenInstanceError):
        setattr(Options(), "objective", "energy")
    assert {name: getattr(Options(), name) for name in PLAN_OPTIONS} == PLAN_OPTIONS


def test_forms_of_a_keyword_are_one() -> None:
    assert options_of({"objective": "latency"}).objective == "time"
    assert options_of({"overrides": None, "defines": None}) == Options()
    assert options_of({"load": []}) == Options()
    assert type(options_of({"defines": {"batch": np.int64(8)}}).defines["batch"]) is int


def test_a_mesh_says_how_many_devices_there_are() -> None:
    assert options_of({"mesh": "3x2"}).devices == options_of({"mesh": "3x2", "devices": 6}).devices == 6
    with pytest.raises(UsageError, match="--mesh 3x2 has 6"):
        options_of({"mesh": "3x2", "devices": 4})


def test_what_follows_from_the_name_of_a_strategy() -> None:
    assert [name for name in STRATEGIES if is_joint(name)] == ["joint", "accpar-joint"]
    assert [name for name in STRATEGIES if names_three_types(name)] == ["accpar", "accpar-joint"]
    assert options_of({"devices": 2}).strategy == "hypar"


def test_a_run_has_the_options_of_compiling_and_its_own() -> None:
    options = run_options({"defines": {"batch": 2}, "steps": 3, "level": "npu", "inputs": None})
    assert options == RunOptions(defines={"batch": 2}, steps=3, level="npu")


@pytest.mark.parametrize("keyword", ["backend", "mapping", "stepps"])
def test_a_run_refuses_keywords_that_it_has_not(keyword: str) -> None:
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{keyword}'"):
        run_source("network n() {}", **cast(Any, {keyword: "x"}))


@pytest.mark.parametrize("keywords", [{"opt_level": 0}, {"objective": "traffic"}, {"tolerance": 0.1}])
def test_what_a_pipeline_says_itself_is_not_said_beside_it(keywords: dict[str, Any]) -> None:
    (name,) = keywords
    with pytest.raises(UsageError, match="does not apply with -p") as refused:
        options_of(cast("CompileKeywords", {"pipeline": "autodiff,lower-to-npu,schedule", **keywords}))
    assert refused.value.hint is not None
    if name != "opt_level":  # the driver adds the pass schedule, with these options
        assert (
            options_of(cast("CompileKeywords", {"pipeline": "autodiff,lower-to-npu", **keywords})).pipeline is not None
        )
