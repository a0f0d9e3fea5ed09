"""Searches for machines that are interrupted, resumed and made by several processes, and records that are damaged."""

import base64
import json
import random
import signal
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npuc.compiler.core.interrupts import Terminated
from npuc.compiler.explore.design import evaluation
from npuc.compiler.explore.mapping.record import head_of, read_costs
from tests.unit.cli.conftest import Npuc
from tests.unit.cli.test_map_resume import NET, begin, wait_for

ASKED = ("design", "two.dsl", "--area-mm2", "0.05", "--set", "technology.model=gamma-int8", "--budget", "3000", "-q")
FRONT = ("--goals", "time,energy,area")
CLASSES = ("--class", "any")
RESUME = ("--resume", "two.costs")


@pytest.fixture(autouse=True)
def network(npuc: Npuc) -> None:
    Path("two.dsl").write_text(NET)


def result(npuc: Npuc, *arguments: str) -> str:
    outcome = npuc(*ASKED, *arguments, "--json", "-")
    assert (outcome.status, outcome.err) == (0, "")
    return outcome.out


def interrupt(patch: pytest.MonkeyPatch, after: int, error: type[KeyboardInterrupt] = KeyboardInterrupt) -> None:
    """The search is interrupted when it has evaluated so many broods."""
    own, asked = evaluation.Evaluation.__call__, [0]

    def evaluate(self: evaluation.Evaluation, brood: evaluation.Brood) -> Any:
        if asked[0] == after:
            raise error
        asked[0] += 1
        return own(self, brood)

    patch.setattr(evaluation.Evaluation, "__call__", evaluate)


@pytest.mark.parametrize("goals", [(), FRONT, CLASSES])
def test_processes_find_the_same(npuc: Npuc, goals: tuple[str, ...]) -> None:
    assert result(npuc, *goals, "-j", "2") == result(npuc, *goals)


@pytest.mark.parametrize("goals", [(), FRONT, CLASSES])
@pytest.mark.parametrize("after", [7, 40])
def test_an_interrupted_search_says_the_best_so_far_and_goes_on(
    npuc: Npuc, monkeypatch: pytest.MonkeyPatch, goals: tuple[str, ...], after: int
) -> None:
    whole = json.loads(result(npuc, *goals))
    with monkeypatch.context() as patch:
        interrupt(patch, after)
        files = ("--json", "part.json", "-o", "part.toml", "--mapped", "part.mlir")
        outcome = npuc(*ASKED, *goals, *RESUME, *files)
    assert outcome.status == 130
    assert "so far " in outcome.out
    part = json.loads(Path("part.json").read_text())
    assert part["interrupted"]
    assert not whole["interrupted"]
    count = part["evaluations"]
    assert outcome.err == f"npuc: interrupted; the result is the best of {count:,} mappings; the same command goes on\n"
    assert part["curve"] == whole["curve"][: len(part["curve"])]
    scored = npuc("compile", "part.mlir", "-b", "maestro", "--hw", "part.toml", "--json", "-")
    assert json.loads(scored.out)["totals"]["cycles"] == part["designs"][0]["cycles"]
    kept = Path("two.costs").read_bytes()
    assert json.loads(result(npuc, *goals, *RESUME, "-j", "2")) == whole
    assert Path("two.costs").read_bytes().startswith(kept)
    assert json.loads(result(npuc, *goals, *RESUME)) == whole


def test_an_interrupt_before_any_machine_has_no_result(npuc: Npuc, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(monkeypatch, 0, Terminated)
    outcome = npuc(*ASKED, "--json", "part.json", "-o", "part.toml")
    assert (outcome.status, outcome.out) == (143, "")
    assert "no machine was found yet" in outcome.err
    assert not Path("part.json").exists()


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_signal_in_the_middle(npuc: Npuc, jobs: str) -> None:
    asked = [*ASKED[:-3], "--budget", "20000", "-q"]
    process = begin(*asked, *RESUME, "-j", jobs, "--json", "part.json")
    wait_for(process, Path("two.costs"), 100_000)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert err.startswith("npuc: interrupted; the result is the best of ")
    assert "so far " in out
    assert npuc(*asked, *RESUME, "--json", "whole.json").status == 0
    assert npuc(*asked, "--json", "alone.json").status == 0
    assert Path("whole.json").read_text() == Path("alone.json").read_text()


def test_a_larger_budget_goes_on_from_a_search_for_one_goal(npuc: Npuc) -> None:
    result(npuc, *RESUME)
    longer = [*ASKED[:-3], "--budget", "4000"]
    outcome = npuc(*longer, *RESUME, "--json", "longer.json")
    assert "'two.costs' had 3," in outcome.err
    assert npuc(*longer, "-q", "--json", "alone.json").status == 0
    assert Path("longer.json").read_text() == Path("alone.json").read_text()


def test_a_record_of_another_search_is_refused(npuc: Npuc) -> None:
    result(npuc, *RESUME)
    kept = Path("two.costs").read_bytes()
    for other in (("--seed", "1"), ("--goals", "energy"), ("--tiles", "any"), ("--power-w", "9"), FRONT):
        outcome = npuc(*ASKED, *other, *RESUME)
        assert outcome.status == 2
        assert "'two.costs' was begun with another source, machine, budget of area or power, goals" in outcome.err
    assert Path("two.costs").read_bytes() == kept
    assert "--budget, -j and outputs may differ" in npuc(*ASKED, "--seed", "1", *RESUME).err
    Path("map.costs").write_text(head_of("map"))
    outcome = npuc(*ASKED, "--resume", "map.costs")
    assert outcome.status == 2
    assert "its first line is not '# npuc design 1'" in outcome.err
    assert "--resume -: a record needs a file" in npuc(*ASKED, "--resume", "-").err


def test_another_budget_for_several_goals_is_refused_for_that(npuc: Npuc) -> None:
    result(npuc, *FRONT, *RESUME)
    outcome = npuc(*ASKED[:-3], "--budget", "4000", *FRONT, *RESUME)
    assert outcome.status == 2
    assert "seed or space, or --budget, which several goals or classes divide" in outcome.err
    assert "give --resume a new name; -j and outputs may differ" in outcome.err


def test_a_record_cut_anywhere(npuc: Npuc) -> None:
    whole, drawn = result(npuc, *RESUME), random.Random(3)
    data = Path("two.costs").read_bytes()
    for end in (0, 3, len(head_of("design")), *sorted(drawn.sample(range(len(data)), 3))):
        Path("two.costs").write_bytes(data[:end])
        assert result(npuc, *RESUME) == whole


def test_costs_of_other_mappings_are_noticed(npuc: Npuc) -> None:
    """A record whose lines are whole, and say that all mappings take one cycle."""
    result(npuc, *RESUME)
    ((key, costs),) = read_costs("two.costs").items()
    text = base64.b64encode(np.ones(len(costs)).astype("<f8").tobytes()).decode()
    crc = zlib.crc32(f"{key} 0 {text}".encode())
    Path("two.costs").write_text(
        head_of("design") + json.dumps({"search": key, "from": 0, "costs": text, "crc": crc}) + "\n"
    )
    outcome = npuc(*ASKED, *RESUME)
    assert outcome.status == 2
    assert "the record of --resume is damaged" in outcome.err
