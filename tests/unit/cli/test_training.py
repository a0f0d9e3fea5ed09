"""`npuc training`: what it prints, its files, and what it refuses."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Npuc

NET = """network net(batch=8) {
  input x: f32[batch, 12]
  labels y: i32[batch]
  loss cross_entropy(linear(x, 4), y)
  optimizer sgd(lr=0.1)
}
"""
PHASES = """samples_per_epoch = 80
[[programs]]
name = "low"
precision = "bf16"
[[phases]]
name = "begin"
epochs = 2
mix = { low = 3, step = 1 }
[[phases]]
name = "end"
epochs = 1
"""


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    monkeypatch.chdir(tmp_path)
    Path("own.dsl").write_text(NET)
    Path("p.toml").write_text(PHASES)


def test_phases_are_said_with_their_share_and_a_verdict(npuc: Npuc) -> None:
    outcome = npuc("training", "own.dsl", "--phases", "p.toml", "--set", "cost.usd_per_hour=2")
    assert (outcome.status, outcome.err) == (0, "")
    assert " begin  0 to 1  15 low, 5 step     20" in outcome.out
    assert " end    2       step               10" in outcome.out
    assert "times as fast as plain training: the same epochs of 'step' alone take" in outcome.out
    assert " USD" in outcome.out


def test_files_hold_all_that_is_said(npuc: Npuc) -> None:
    given = ("training", "own.dsl", "--phases", "p.toml", "-q")
    document = json.loads(npuc(*given, "--json", "-").out)
    assert document["schema"] == "npuc.training/1"
    (training,) = document["trainings"]
    assert [one["steps"] for one in training["phases"]] == [{"low": 15, "step": 5}, {"step": 10}]
    assert training["steps"] == 30
    rows = list(csv.DictReader(io.StringIO(npuc(*given, "--csv", "-").out)))
    assert [(row["phase"], row["program"], row["steps"]) for row in rows] == [
        ("begin", "low", "15"),
        ("begin", "step", "5"),
        ("end", "step", "10"),
    ]
    assert sum(float(row["seconds"]) for row in rows) == pytest.approx(training["seconds"])
    assert npuc(*given, "--json", "-", "--csv", "-").status == 2


def test_trainings_are_compared(npuc: Npuc) -> None:
    Path("q.toml").write_text("samples_per_epoch = 80\n[[phases]]\nepochs = 3\n")
    outcome = npuc("training", "own.dsl", "--phases", "p.toml", "--phases", "q.toml")
    assert outcome.status == 0
    assert "toml is the shortest: " in outcome.out
    assert " q.toml       30  3 epochs" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "message", "status"),
    [
        ((), "npuc: error: a training has phases", 2),
        (("--phases", "none"), "unknown phases 'none', expected a name (npuc list phases) or a .toml file", 2),
        (("--phases", "none.toml"), "cannot read file of phases 'none.toml'", 2),
        (("--phases", "p.toml", "-b", "cycle", "-b", "roofline"), "a training is priced by one cost model", 2),
        (("--phases", "p.toml", "--only", "x"), "npuc training has none: a step is priced as a whole", 2),
        (("--phases", "p.toml", "-o", "x.mlir"), "npuc training has none: programs are written by npuc compile", 2),
    ],
)
def test_what_is_refused(npuc: Npuc, arguments: tuple[str, ...], message: str, status: int) -> None:
    outcome = npuc("training", "own.dsl", *arguments)
    assert (outcome.status, outcome.out) == (status, "")
    assert message in outcome.err


def test_programs_of_unlike_batches_share_no_epoch(npuc: Npuc) -> None:
    Path("p.toml").write_text(PHASES.replace('precision = "bf16"', "defines = { batch = 4 }"))
    outcome = npuc("training", "own.dsl", "--phases", "p.toml")
    assert outcome.status == 2
    assert "the programs of phase 'begin' differ in the samples of a step: 'low' takes 4, 'step' takes 8" in outcome.err


def test_a_table_of_layers_says_no_batch(npuc: Npuc) -> None:
    Path("own.csv").write_text("layer,M,N,K\na,8,8,8\n")
    Path("p.toml").write_text("samples_per_epoch = 80\n[[phases]]\nepochs = 3\n")
    outcome = npuc("training", "own.csv", "--phases", "p.toml")
    assert outcome.status == 2
    assert "the network says no batch" in outcome.err
    Path("p.toml").write_text("steps_per_epoch = 80\n[[phases]]\nepochs = 3\n")
    assert npuc("training", "own.csv", "--phases", "p.toml", "-q").status == 0


def test_programs_for_unlike_devices_are_refused(npuc: Npuc) -> None:
    Path("p.toml").write_text(PHASES.replace('precision = "bf16"', "devices = 4"))
    outcome = npuc("training", "own.dsl", "--phases", "p.toml", "--hw", "hypar16")
    assert outcome.status == 2
    assert "program 'low' is for 4 devices, 'step' for 1" in outcome.err


def test_what_a_program_warns_of_is_said_with_its_name(npuc: Npuc) -> None:
    Path("p.toml").write_text(PHASES.replace('precision = "bf16"', "overrides = { 'maestro.num_pes' = 4 }"))
    outcome = npuc("training", "own.dsl", "--phases", "p.toml")
    assert outcome.status == 0
    assert "program low: warning: maestro.num_pes has no effect" in outcome.err
