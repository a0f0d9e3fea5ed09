"""Files of phases: what they mean, and each mistake with its place."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from npuc.compiler.core.errors import UsageError
from npuc.compiler.explore.training.phases import Phase, PhaseProgram, Training
from npuc.compiler.explore.training.phases_file import parse_phases, phases_names, read_phases

WHOLE = """\
samples_per_epoch = 100
epochs = 12

[[programs]]
name = "low"
precision = "bf16"

[[phases]]
name = "first"
epochs = 5

[[phases]]
epochs = [5, 12]
mix = { low = 4, step = 1 }
"""


def test_what_a_file_means() -> None:
    assert parse_phases(WHOLE, "t.toml") == Training(
        "t.toml",
        (PhaseProgram("low", {"precision": "bf16"}),),
        (Phase("first", "epochs", 0, 5, {"step": 1}), Phase("phase 2", "epochs", 5, 12, {"low": 4, "step": 1})),
        samples_per_epoch=100,
    )


def test_a_table_below_a_phase_is_its_mix() -> None:
    text = WHOLE.replace("mix = { low = 4, step = 1 }", "[phases.mix]\nlow = 4\nstep = 1")
    assert replace(parse_phases(text, "t.toml")) == parse_phases(WHOLE, "t.toml")


def test_phases_that_ship_are_read() -> None:
    for name in phases_names():
        assert read_phases(name).phases[-1].end == (10_000 if name.startswith("nm-") else 90)


@pytest.mark.parametrize(
    ("old", "new", "message", "hint"),
    [
        ("epochs = 12", "epochs = 12\nepoch = 3", "3:1: error: unknown key 'epoch'", "did you mean 'epochs'?"),
        ("epochs = 12", "epochs = 14", "2:1: error: epochs 12 to 13 are in no phase", None),
        ("epochs = 12", "epochs = 11", "2:1: error: epoch 11 is in phases, of 11", None),
        ("epochs = 12", "steps = 12", "2:1: error: found steps, expected epochs as in the phases", None),
        ("[5, 12]", "[6, 12]", "13:1: error: epoch 5 is in no phase", None),
        ("[5, 12]", "[3, 12]", "13:1: error: epochs 3 to 4 are in the phase 'first', too", None),
        ("[5, 12]", "[5, 5]", "13:1: error: epochs: found the span [5, 5], expected an end above its first", None),
        ("[5, 12]", "[5]", "13:1: error: epochs: expected a number or a span [first, end], got [5]", None),
        ("[5, 12]", "0", "13:1: error: epochs: expected an integer from 1 to", None),
        ("[5, 12]", "'x'", "13:1: error: epochs: expected an integer from 1 to", None),
        ("epochs = [5, 12]", "steps = 7", "13:1: error: found steps, expected epochs as in the phases before", None),
        ("epochs = 5", "", "8:1: error: a phase has epochs or steps; this has neither", "epochs = 10, or steps = 1000"),
        ("epochs = 5", "epochs = 5\nsteps = 5", "8:1: error: a phase has epochs or steps; this has both", None),
        ("epochs = 5", "epochs = 5\nsetps = 5", "11:1: error: unknown key 'setps'", "did you mean 'steps'?"),
        ("low = 4", "lo = 4", "14:1: error: unknown program 'lo'", "did you mean 'low'?"),
        ("low = 4", "low = 0", "14:1: error: mix, low: expected an integer from 1 to", None),
        ("{ low = 4, step = 1 }", "{}", "14:1: error: mix: expected programs with steps, got {}", None),
        ("mix =", "program = 'low'\nmix =", "15:1: error: a phase has a program or a mix, not both", None),
        ("mix = { low = 4, step = 1 }", "program = 3", "14:1: error: program: expected a name, got 3", None),
        ("mix = { low = 4, step = 1 }", "", "5:1: error: no phase runs the program 'low'", None),
        ('name = "low"', 'name = "step"', "5:1: error: 'step' is the program of the call", None),
        ('name = "low"', "", "4:1: error: a program has a name", 'name = "low"'),
        ('name = "low"', "name = 1", "5:1: error: name: expected a name, got 1", None),
        ("bf16", "bf17", "6:1: error: unknown precision 'bf17'", "known: as-written, f32, f16, bf16, mixed"),
        ("precision", "precison", "6:1: error: unknown key 'precison'", "did you mean 'precision'?"),
        ("precision", "hardware", "6:1: error: hardware is that of the call for all programs", None),
        ('precision = "bf16"', "devices = 'x'", "6:1: error: devices: expected an integer, got the str 'x'", None),
        ("samples_per_epoch = 100", "", "10:1: error: an epoch has no length", "samples_per_epoch = 1281167"),
        ("samples_per_epoch", "steps_per_epoch = 3\nsamples_per_epoch", "1:1: error: found steps_per_epoch", None),
        ("= 100", "= 1e3", "1:1: error: samples_per_epoch: expected an integer from 1 to", None),
        ("= 100", "= = 100", "1:21: error: Invalid value", None),
        ("[[programs]]", "[programs]", "4:2: error: programs: expected tables [[programs]], got", None),
    ],
)
def test_a_mistake_is_named_with_its_place(old: str, new: str, message: str, hint: str | None) -> None:
    assert old in WHOLE
    with pytest.raises(UsageError) as caught:
        parse_phases(WHOLE.replace(old, new, 1), "t.toml")
    text = caught.value.render()
    assert text.startswith(f"t.toml:{message}")
    assert hint is None or f"hint: {hint}" in text


def test_two_programs_of_a_name_and_no_phases() -> None:
    with pytest.raises(UsageError, match="there are two programs 'low'"):
        parse_phases(WHOLE + '[[programs]]\nname = "low"\n', "t.toml")
    with pytest.raises(UsageError, match=re.escape("t.toml: a file of phases has phases ([[phases]]); this has none")):
        parse_phases("samples_per_epoch = 3\n", "t.toml")
    with pytest.raises(UsageError, match="too many digits"):
        parse_phases("epochs = " + "1" * 5000, "t.toml")
    with pytest.raises(UsageError, match="nested too deeply"):
        parse_phases("a = " + "[" * 5000, "t.toml")
