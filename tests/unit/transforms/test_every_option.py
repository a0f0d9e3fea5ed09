"""Every option of every pass has an effect in some program; where it has none, this is refused or told."""

from dataclasses import fields
from functools import cache

import pytest

from npuc.compiler import compile_source
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.stages import remarks_to
from npuc.compiler.core.verify import SourceTexts
from npuc.compiler.driver.passes import own_passes, read_pipeline, run_pipeline
from npuc.compiler.transforms import get_all_passes
from npuc.frontends import read_source
from npuc.frontends.mlir import make_context
from tests.unit.transforms.option_cases import (
    EFFECTS,
    ENERGIES,
    FACTS,
    IDLE,
    MLP,
    NO_EFFECT,
    NORMS,
    NPU,
    QUIET,
    REFUSED,
    SIBLINGS,
    TARGET,
)

OPTIONS = [
    f"{name} {one.name.replace('_', '-')}"
    for name, factory in get_all_passes().items()
    for one in fields(factory())
    if one.name != "name" and one.init
]
SET_TARGET = "set-target "


@cache
def after(pipeline: str, network: str = MLP, target: str = TARGET % (512, ENERGIES)) -> tuple[str, tuple[str, ...]]:
    """A network after passes for a machine, and what they remark."""
    module, remarks = read_source(network, format="dsl"), list[str]()
    steps = read_pipeline(f"{target},{pipeline}" if pipeline else target, own_passes())
    with remarks_to(remarks.append):
        run_pipeline(module, steps, make_context(), SourceTexts())
    return str(module), tuple(remarks)


@pytest.mark.parametrize("option", [one for one in OPTIONS if not one.startswith(SET_TARGET)])
def test_an_option_has_an_effect(option: str) -> None:
    if option in NO_EFFECT:
        return
    name, key = option.split()
    case = EFFECTS[option]
    assert case.given.startswith(f"{key}=")
    programs = set[str]()
    for own in (case.given, case.instead):
        options = " ".join(filter(None, (case.beside, own)))
        pipeline = ",".join(filter(None, (case.before, f"{name}{{{options}}}" if options else name)))
        program, remarks = after(pipeline, case.network, TARGET % (case.spm, case.target))
        assert all(text.endswith("changed nothing") for text in remarks)  # such as the type that a program has
        programs.add(program)
    assert len(programs) == 2


@pytest.mark.parametrize("fact", [one.removeprefix(SET_TARGET) for one in OPTIONS if one.startswith(SET_TARGET)])
def test_a_fact_of_the_machine_is_written(fact: str) -> None:
    base = {"rows": "4", "cols": "4", "spm-bytes": "512", "clock-mhz": "1000", "gb-per-s": "4", "lanes": "4"}
    if fact.endswith(("-words", "-port")):
        base |= {"dataflow": "rs", "ifmap-words": "24", "filter-words": "224", "psum-words": "12"}
        base |= {"ifmap-port": "2", "filter-port": "2", "psum-port": "2"}
    elif fact != "dataflow":
        base["dataflow"] = "ws"
    facts = (base, base | {fact: FACTS[fact]})
    both = [f"set-target{{{' '.join(f'{k}={v}' for k, v in one.items())}}}" for one in facts]
    assert after("", target=both[0]) != after("", target=both[1])


@pytest.mark.parametrize("pipeline", IDLE)
def test_what_has_no_effect_is_told(pipeline: str) -> None:
    _, remarks = after(pipeline)
    assert [text for text in remarks if IDLE[pipeline] in text], remarks


@pytest.mark.parametrize("pipeline", QUIET)
def test_passes_that_have_something_to_do_remark_nothing(pipeline: str) -> None:
    assert after(pipeline)[1] == ()


@pytest.mark.parametrize("text", REFUSED)
def test_options_that_mean_nothing_together_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match=REFUSED[text]):
        read_pipeline(text, own_passes())


def test_parameters_of_which_norms_are_taken_are_kept_whole() -> None:
    passes = "parallelize{strategy=dp zero=true}"
    assert after(passes)[1] == ()
    (remark,) = after("parallelize{strategy=mp zero=true}")[1]
    assert "zero=true has no effect: no parameter is read by all devices" in remark
    (remark,) = after(passes, NORMS)[1]
    assert "zero=true has no effect: the optimizer takes norms of whole parameters" in remark


def test_contractions_in_turn_are_on_one_core() -> None:
    passes = "lower-to-npu,interleave{mode=zip what=siblings},partition{rule=best over=cores}"
    (remark,) = after(passes, SIBLINGS, TARGET % (512, f"{ENERGIES} cores=2"))[1]
    assert "over=cores has no effect: contractions that run round-robin are on one core" in remark


def test_a_report_warns_of_passes_that_were_named_and_not_of_those_of_a_level() -> None:
    report = compile_source(MLP, pipeline=f"{NPU},schedule,schedule")
    assert report.warnings == ["pass 'schedule' has nothing to do: all contractions have schedules"]
    shared = compile_source(MLP, backend="roofline", devices=2, parallel="mp", zero=True)
    assert "pass 'parallelize': zero=true has no effect: no parameter is read by all devices" in shared.warnings
    for level in range(4):
        assert compile_source(MLP, opt_level=level, inference=True, objective="energy").warnings == []
