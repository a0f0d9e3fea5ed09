"""The verbs' options agree: same names, short forms, type, group and text; what a verb lacks, it lacks for a reason."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, cast, get_args, get_type_hints

import pytest
from typer.core import TyperGroup, TyperOption
from typer.main import get_command

from npuc.compiler.cli import app
from npuc.compiler.cli.groups import Group
from npuc.compiler.cli.opt.arguments import TAKEN
from npuc.compiler.cli.options import Devices, Machine, Optimisation, Output, Program
from npuc.compiler.cli.verbs.absent import ABSENT
from tests.docs.pages import read_page
from tests.docs.verbs import with_verbs
from tests.unit.cli.conftest import Npuc

GROUPS: tuple[type[Group], ...] = (Program, Machine, Optimisation, Devices, Output)
COMMANDS = cast("TyperGroup", get_command(app())).commands
TYPER_VERBS = [verb for verb in ABSENT if verb != "opt"]
FIELDS = [option.name for group in GROUPS for option in fields(group) if option.name != "source"]
Said = Mapping[str, Mapping[str, str]]

SAID_OTHERWISE: Said = {
    "hw": {
        "run": "of its keys only the accumulators change what is computed",
        "check": "everything is compared in float64",
    },
    "mapping": {"explain": "a mapping is shown for one backend"},
    "objective": {
        "sweep": "it may be varied instead, so that it has no default",
        "optimize": "it may be varied instead, so that it has no default",
        "map": "mappings know other objectives than schedules",
        "design": "so do machines, of which --goals may say the first",
        "flexibility": "mappings know other objectives than schedules",
    },
    "json": {
        "diff": "the difference",
        "training": "whole trainings",
        "explain": "a plan or a name, not a report",
        "sweep": "points",
        "optimize": "the front and points",
        "map": "the result of the search",
        "flexibility": "counts and classes",
        "run": "the losses",
        "design": "the machines",
    },
    "csv": {
        "diff": "a row a layer and phase",
        "training": "a row for each program of a phase",
        "sweep": "a row a point, and resumed",
        "optimize": "a row a point of the front",
        "map": "a row a contraction",
        "design": "a row a machine",
        "flexibility": "a row a contraction",
        "reuse": "a row a scope",
    },
    "plot": {
        "training": "epochs over time",
        "compile": "the step",
        "explain": "a layer",
        "sweep": "points",
        "optimize": "the front",
        "map": "the curve of the search",
        "design": "the machines",
        "flexibility": "the gain of each class",
        "run": "the losses",
    },
    "output": {"map": "the program with its mappings", "design": "the best machine"},
}
"""By option the verbs whose help has words of their own for it, with the reason."""


def options_of(verb: str) -> dict[str, TyperOption]:
    return {str(one.name): one for one in COMMANDS[verb].params if isinstance(one, TyperOption)}


@pytest.mark.parametrize("verb", TYPER_VERBS)
def test_a_verb_has_an_option_or_a_reason(verb: str) -> None:
    taken = options_of(verb).keys()
    assert {name: name in taken for name in (*FIELDS, "backend")} == {
        name: name not in ABSENT[verb] for name in (*FIELDS, "backend")
    }


def test_opt_has_an_option_or_a_reason() -> None:
    taken = {name for names in TAKEN.values() for name in names}
    assert taken == {name for name in FIELDS if name not in ABSENT["opt"]}


def test_reasons_are_of_options_that_there_are() -> None:
    assert [name for absent in ABSENT.values() for name in absent if name not in (*FIELDS, "backend")] == []


@pytest.mark.parametrize("verb", COMMANDS)
def test_an_option_is_the_same_in_all_verbs(verb: str) -> None:
    """Whatever verb takes an option of a group, as one of the group or by itself."""
    own = options_of(verb)
    for group in GROUPS:
        hints = get_type_hints(group, include_extras=True)
        for name, spelt in group.names().items():
            option = own.get(name)
            if option is None or (verb == "study" and name in ("hw", "plot")):  # accelerators, and folders of figures
                continue
            kind, info = get_args(hints[name])
            assert {*option.opts, *option.secondary_opts} == {*spelt}, name
            assert option.multiple == ("list" in str(kind)), name
            assert option.is_flag == ("bool" in str(kind)), name
            if option.rich_help_panel is not None:
                assert option.rich_help_panel == group.title, name
            if verb not in SAID_OTHERWISE.get(name, {}) and verb in ABSENT:
                assert (option.help, option.metavar) == (info.help, info.metavar), name


def test_no_verb_has_words_of_its_own_without_need() -> None:
    for name, verbs in SAID_OTHERWISE.items():
        (info,) = [
            get_args(get_type_hints(group, include_extras=True)[name])[1] for group in GROUPS if name in group.names()
        ]
        for verb in verbs:
            option = options_of(verb).get(name)
            assert (
                option is None or (option.help, option.metavar) != (info.help, info.metavar) or option.default is None
            )


def test_options_of_one_name_have_one_short_form() -> None:
    forms: dict[str, set[tuple[str, ...]]] = {}
    for verb in COMMANDS:
        for option in options_of(verb).values():
            long = max(option.opts, key=len)
            forms.setdefault(long, set()).add(tuple(sorted(option.opts)))
    assert {name: found for name, found in forms.items() if len(found) > 1} == {}


def test_the_table_of_the_page_is_up_to_date() -> None:
    text = read_page("cli")
    assert with_verbs(text) == text, "run: python -m tests.docs.verbs"


@pytest.mark.parametrize("spelt", [("--zero",), ("--zero", "3"), ("--zero=3",)])
def test_a_stage_may_be_left_out(npuc: Npuc, spelt: tuple[str, ...]) -> None:
    for more in ((), ("net.dsl",)):
        arguments: Any = (
            "compile",
            *([] if more else ["net.dsl"]),
            "--devices",
            "2",
            "--parallel",
            "dp",
            *spelt,
            *more,
        )
        outcome = npuc(*arguments, "-v")
        assert outcome.status == 0, outcome.err
        assert "zero=true" in outcome.err


def test_a_former_name_is_warned_of(npuc: Npuc) -> None:
    outcome = npuc("study", "hypar", "--pipeline", "mine=schedule")
    assert outcome.status == 2
    assert "--rewrite is an option of the study igo" in outcome.err


def test_passes_of_options_are_put_where_they_belong_and_said(npuc: Npuc) -> None:
    options = ("net.dsl", "-p", "autodiff,lower-to-npu,schedule", "--devices", "2", "--parallel", "dp", "--zero=1")
    expected = 'parallelize{strategy="dp" devices=2},autodiff,shard-updates,recompute{k=1},lower-to-npu,schedule'
    assert f"passes: {expected}" in npuc("compile", *options, "--recompute", "every=1").err
    assert f"passes: {expected}" in npuc("opt", *options, "--recompute", "every=1").err
    lines = npuc("check", *options, "--recompute", "every=1").out
    assert [line.partition(":")[0] for line in lines.splitlines()[:-1]] == [
        'parallelize{strategy="dp" devices=2}',
        "autodiff",
        "shard-updates",
        "recompute{k=1}",
        "lower-to-npu",
        "schedule",
    ]
