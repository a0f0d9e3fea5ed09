"""Phases of trainings: steps in turns, spans without gaps, costs that are sums, and any text as a file."""

from __future__ import annotations

from fractions import Fraction
from itertools import cycle, islice
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.compiler import compile_file, training_file
from npuc.compiler.core.errors import NpucError, UsageError
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.explore.training.phases import programs_in_turn, steps_by_program
from npuc.compiler.explore.training.phases_file import parse_phases
from npuc.compiler.report import Totals

NET = """network net(batch=8) {
  input x: f32[batch, 12]
  labels y: i32[batch]
  loss cross_entropy(linear(x, 5), y)
  optimizer sgd(lr=0.1)
}
"""
SAME: CompileKeywords = {"hardware": "igo-small", "overrides": {"array.rows": 8, "array.cols": 8}}


@given(st.dictionaries(st.sampled_from("abcd"), st.integers(1, 6), min_size=1), st.integers(0, 60))
def test_steps_are_those_of_programs_in_turn(mix: dict[str, int], steps: int) -> None:
    turn = [name for name, share in mix.items() for _ in range(share)]
    walked = list(islice(cycle(turn), steps))
    assert steps_by_program(mix, steps) == {name: walked.count(name) for name in mix}
    assert [name for name, count in programs_in_turn(mix, steps) for _ in range(count)] == walked


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(1, 9)), min_size=1, max_size=4), st.integers(1, 9))
def test_spans_are_taken_where_each_step_is_in_one_phase(spans: list[tuple[int, int]], steps: int) -> None:
    text = f"steps = {steps}\n" + "".join(f"[[phases]]\nsteps = [{first}, {end}]\n" for first, end in spans)
    covered = [step for first, end in spans for step in range(first, end)]
    right = covered == list(range(steps)) and all(first < end for first, end in spans)
    try:
        found = parse_phases(text, "t.toml")
    except UsageError:
        assert not right
    else:
        assert right
        assert [(one.first, one.end) for one in found.phases] == spans


VALUES = st.recursive(
    st.one_of(st.integers(-3, 9), st.booleans(), st.just("step"), st.just("low"), st.just("bf16"), st.floats()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["step", "low", "batch"]), inner, max_size=2)
    ),
    max_leaves=4,
)
KEYS = (
    "name",
    "epochs",
    "steps",
    "program",
    "mix",
    "precision",
    "defines",
    "overrides",
    "opt_level",
    "devices",
    "zero",
)
ROWS = st.lists(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4), max_size=3)


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        entries = cast("dict[str, object]", value).items()
        return "{" + ", ".join(f"{key} = {_written(one)}" for key, one in entries) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_written, cast("list[object]", value))) + "]"
    return f"'{value}'" if isinstance(value, str) else str(value)


@given(ROWS, ROWS, st.dictionaries(st.sampled_from(["samples_per_epoch", "epochs", "steps"]), VALUES))
def test_any_values_are_phases_or_one_message(
    programs: list[dict[str, object]], phases: list[dict[str, object]], top: dict[str, object]
) -> None:
    lines = [f"{key} = {_written(value)}" for key, value in top.items()]
    for table, rows in (("programs", programs), ("phases", phases)):
        for row in rows:
            lines += [f"[[{table}]]", *(f"{key} = {_written(value)}" for key, value in row.items())]
    try:
        parse_phases("\n".join(lines), "t.toml")
    except NpucError as error:
        error.render()


@given(st.text(max_size=60))
def test_any_text_is_phases_or_one_message(text: str) -> None:
    with pytest.raises(UsageError):
        parse_phases(text, "t.toml")


def _moved(totals: Totals) -> int:
    return int(totals["dram_read_bytes"]) + int(totals["dram_write_bytes"])


def test_a_training_costs_the_sum_of_its_steps(tmp_path: Path) -> None:
    source, phases = tmp_path / "net.dsl", tmp_path / "p.toml"
    source.write_text(NET)
    phases.write_text(
        "samples_per_epoch = 50\n[[programs]]\nname = 'forward'\ninference = true\n"
        "[[programs]]\nname = 'large'\ndefines = {batch = 16}\n"
        "[[phases]]\nepochs = 3\nmix = {forward = 2, step = 1}\n[[phases]]\nepochs = 2\nprogram = 'large'\n"
    )
    (found,) = training_file(source, [phases], **SAME).trainings
    forms: tuple[CompileKeywords, ...] = ({}, {"inference": True}, {"defines": {"batch": 16}})
    step, forward, large = (compile_file(source, **{**SAME, **own}).totals for own in forms)
    # 7 steps of 8 samples an epoch: 21 in turns of three; 4 of 16 samples: 8.
    assert [dict(one.steps) for one in found.phases] == [{"forward": 14, "step": 7}, {"large": 8}]
    for name, value in (("seconds", found.seconds), ("energy_j", found.energy_j)):
        parts = [Fraction(one[name]) * count for one, count in ((forward, 14), (step, 7), (large, 8))]
        assert value == pytest.approx(float(sum(parts)), rel=1e-15)
    moved = [_moved(one) for one in (forward, step, large)]
    assert found.dram_bytes == moved[0] * 14 + moved[1] * 7 + moved[2] * 8
    assert found.plain_seconds == pytest.approx(35 * step["seconds"], rel=1e-15)
    assert found.gain == pytest.approx(found.plain_seconds / found.seconds)
    assert (found.device_hours, found.usd) == (found.seconds / 3600, None)


def test_devices_and_money(tmp_path: Path) -> None:
    source, phases = tmp_path / "net.dsl", tmp_path / "p.toml"
    source.write_text(NET)
    phases.write_text("[[phases]]\nsteps = 10\n")
    machine = {"cost.usd_per_hour": 36}
    one, four = (
        training_file(source, [phases], hardware="hypar16", devices=devices, overrides=machine).trainings[0]
        for devices in (1, 4)
    )
    step = compile_file(source, hardware="hypar16", devices=4).totals
    assert four.seconds == pytest.approx(10 * step["seconds"])
    assert four.usd == pytest.approx(four.seconds * 4 / 100)
    assert one.usd == pytest.approx(one.seconds / 100)
    assert four.programs[0].samples == one.programs[0].samples == 8
    assert four.dram_bytes == 10 * 4 * _moved(step)
