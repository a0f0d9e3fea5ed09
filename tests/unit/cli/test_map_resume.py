"""Searches of mappings that are interrupted, killed and resumed, and those of several processes."""

import base64
import json
import os
import pickle
import random
import signal
import subprocess
import sys
import time
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npuc.compiler.core.interrupts import Terminated
from npuc.compiler.explore.mapping import searcher
from npuc.compiler.explore.mapping.record import head_of, read_costs
from tests.unit.cli.conftest import Npuc

ON_16 = ("--set", "maestro.num_pes=16", "--tiles", "any")
BUDGET = 5_000
MAPPERS = ("random", "genetic", "exact", "exhaustive", "cma-es")
NET = """network two(batch = 12) {
  input x: f32[batch, 18]
  labels t: i32[batch]
  loss cross_entropy(linear(relu(linear(x, 24)), 10), t)
  optimizer sgd(lr=0.1)
}
"""
COMMAND = [sys.executable, "-c", "from npuc.compiler.entry import main; main()"]


@pytest.fixture(autouse=True)
def network(npuc: Npuc) -> None:
    Path("two.dsl").write_text(NET)


def options(mapper: str, *more: str) -> tuple[str, ...]:
    if mapper == "cma-es":
        pytest.importorskip("cmaes")
    space = ("--levels", "1", "--budget", "100000") if mapper == "exhaustive" else ("--budget", str(BUDGET))
    return ("map", "two.dsl", *ON_16, "--mapper", mapper, "-q", *space, *more)


def result(npuc: Npuc, *arguments: str) -> str:
    outcome = npuc(*arguments, "--json", "-")
    assert (outcome.status, outcome.err) == (0, "")
    return outcome.out


def interrupt(patch: pytest.MonkeyPatch, after: int, error: type[KeyboardInterrupt] = KeyboardInterrupt) -> None:
    """The search is interrupted when it has told the costs of so many batches."""
    append, told = searcher.append_costs, [0]

    def note(path: str, search: str, start: int, costs: Any) -> None:
        if told[0] == after:
            raise error
        told[0] += 1
        append(path, search, start, costs)

    patch.setattr(searcher, "append_costs", note)


@pytest.mark.parametrize("mapper", MAPPERS)
def test_processes_find_the_same(npuc: Npuc, mapper: str) -> None:
    assert result(npuc, *options(mapper, "-j", "2")) == result(npuc, *options(mapper))


@pytest.mark.parametrize("mapper", MAPPERS)
@pytest.mark.parametrize("after", [0, 1, 4, 9])
def test_an_interrupted_search_says_the_best_so_far_and_goes_on(
    npuc: Npuc, monkeypatch: pytest.MonkeyPatch, mapper: str, after: int
) -> None:
    whole = json.loads(result(npuc, *options(mapper)))
    with monkeypatch.context() as patch:
        interrupt(patch, after)
        outcome = npuc(*options(mapper, "--resume", "two.costs", "--json", "part.json", "-o", "part.mlir"))
    assert outcome.status == 130
    assert "so far " in outcome.out
    part = json.loads(Path("part.json").read_text())
    count = sum(one["evaluations"] for one in part["contractions"])
    said = f"npuc: interrupted; the result is the best of {count:,} mappings; the same command goes on\n"
    assert outcome.err == said
    assert part["interrupted"]
    assert not whole["interrupted"]
    for one, every in zip(part["contractions"], whole["contractions"], strict=True):
        assert one["evaluations"] <= every["evaluations"]
        assert one["curve"] == every["curve"][: len(one["curve"])]
    assert npuc("compile", "part.mlir", "-b", "maestro", "--set", "maestro.num_pes=16", "-q").status == 0
    kept = Path("two.costs").read_bytes()
    assert json.loads(result(npuc, *options(mapper, "--resume", "two.costs", "-j", "2"))) == whole
    assert Path("two.costs").read_bytes().startswith(kept)
    assert json.loads(result(npuc, *options(mapper, "--resume", "two.costs"))) == whole


def test_without_a_record_the_best_so_far_is_kept_too(npuc: Npuc, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(monkeypatch, 2, Terminated)
    outcome = npuc(*options("genetic", "--csv", "part.csv"))
    assert outcome.status == 143
    assert outcome.err.startswith("npuc: terminated; the result is the best of ")
    assert outcome.err.endswith("; --resume FILE would go on\n")
    assert Path("part.csv").exists()


def test_an_interrupt_before_anything_fits_has_no_result(npuc: Npuc, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(monkeypatch, 0)
    outcome = npuc(*options("random", "--set", "maestro.l1_size=1", "--csv", "part.csv"))
    assert (outcome.status, outcome.out) == (130, "")
    assert "no mapping of " in outcome.err
    assert not Path("part.csv").exists()


def begin(*arguments: str) -> subprocess.Popen[str]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the tests have it ignored
    try:
        pipe = subprocess.PIPE
        return subprocess.Popen([*COMMAND, *arguments], stdout=pipe, stderr=pipe, text=True, start_new_session=True)
    finally:
        signal.signal(signal.SIGINT, before)


def wait_for(process: subprocess.Popen[str], record: Path, size: int) -> None:
    """Wait until the record has so many bytes, or the process has ended."""
    while process.poll() is None and not (record.exists() and record.stat().st_size > size):
        time.sleep(0.005)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_search_that_is_killed_again_and_again(npuc: Npuc, jobs: str) -> None:
    """By a signal that nobody can answer, at random moments, in processes of its own."""
    drawn, record = random.Random(7), Path("two.costs")
    asked = options("genetic", "--resume", "two.costs", "-j", jobs, "--json", "end.json")
    sizes = [0]
    for _ in range(2):
        process = begin(*asked)
        wait_for(process, record, sizes[-1] + drawn.randrange(10_000, 60_000))
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        sizes.append(record.stat().st_size)
    assert sizes == sorted(set(sizes))
    assert npuc(*asked).status == 0
    assert Path("end.json").read_text() == result(npuc, *options("genetic"))


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("size", [100, 90_000])
def test_a_signal_in_the_middle(npuc: Npuc, jobs: str, size: int) -> None:
    process = begin(*options("genetic", "--resume", "two.costs", "-j", jobs, "--json", "part.json"))
    wait_for(process, Path("two.costs"), size)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert err.startswith("npuc: interrupted; the result is the best of ")
    assert "so far " in out
    assert json.loads(Path("part.json").read_text())["interrupted"]
    whole = result(npuc, *options("genetic"))
    assert result(npuc, *options("genetic", "--resume", "two.costs")) == whole


def test_a_record_cut_anywhere(npuc: Npuc) -> None:
    asked = options("genetic", "--resume", "two.costs", "--only", "linear")
    whole = result(npuc, *asked)
    data, keys, drawn = Path("two.costs").read_bytes(), read_costs("two.costs").keys(), random.Random(3)
    for end in (0, 3, len(head_of("map")), *sorted(drawn.sample(range(len(data)), 8))):
        Path("two.costs").write_bytes(data[:end])
        assert result(npuc, *asked) == whole
        assert read_costs("two.costs").keys() == keys


def test_a_larger_budget_goes_on(npuc: Npuc) -> None:
    ask = ("map", "two.dsl", *ON_16, "--mapper", "genetic")
    small = npuc(*ask, "--budget", "1000", "--resume", "two.costs", "--json", "-")
    large = npuc(*ask, "--budget", "3000", "--resume", "two.costs", "--json", "-")
    count = len(json.loads(small.out)["contractions"])
    assert f"'two.costs' had {1000 * count:,} mappings and was continued" in large.err
    assert large.out == result(npuc, *ask, "-q", "--budget", "3000")
    assert result(npuc, *ask, "-q", "--budget", "1000", "--resume", "two.costs") == small.out


@pytest.mark.parametrize(
    "change",
    [("--seed", "1"), ("--mapper", "random"), ("--levels", "1"), ("--set", "maestro.noc_bw=8"), ("-D", "batch=8")],
)
def test_a_record_of_another_search_is_refused(npuc: Npuc, change: tuple[str, str]) -> None:
    ask = ("map", "two.dsl", *ON_16, "--budget", "20", "--resume", "two.costs", "-q")
    assert npuc(*ask).status == 0
    before = Path("two.costs").read_bytes()
    outcome = npuc(*ask, *change)
    assert (outcome.status, outcome.out) == (2, "")
    assert "'two.costs' was begun with another source, machine, constraints, mapper, seed or space" in outcome.err
    assert Path("two.costs").read_bytes() == before


def test_files_that_are_no_record(npuc: Npuc) -> None:
    ask = ("map", "two.dsl", *ON_16, "--budget", "20", "-q", "--resume")
    outcome = npuc(*ask, "two.dsl")
    assert outcome.status == 2
    assert "'two.dsl' is no record of a search: its first line is not '# npuc map 1'" in outcome.err
    assert Path("two.dsl").read_text() == NET
    os.mkdir("folder")
    for path in ("folder", "none/two.costs"):
        outcome = npuc(*ask, path)
        assert (outcome.status, outcome.out) == (2, "")
        assert f"cannot write '{path}': " in outcome.err


def test_a_record_with_wrong_costs(npuc: Npuc) -> None:
    ask = ("map", "two.dsl", *ON_16, "--budget", "20", "--resume", "two.costs", "-q")
    assert npuc(*ask).status == 0
    key, costs = next(iter(read_costs("two.costs").items()))
    Path("two.costs").write_text(head_of("map"))
    searcher.append_costs("two.costs", key, 0, costs / 2)
    outcome = npuc(*ask)
    assert outcome.status == 2
    assert "the record of --resume is damaged: the cost of a mapping is another" in outcome.err


@pytest.mark.skipif(sys.platform == "win32", reason="there are no locks")
def test_one_search_at_a_time_writes_a_record(npuc: Npuc) -> None:
    import fcntl

    ask = ("map", "two.dsl", *ON_16, "--budget", "20", "--resume", "two.costs", "-q")
    assert npuc(*ask).status == 0
    with open("two.costs", "ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        outcome = npuc(*ask)
    assert outcome.status == 2
    assert "another search is writing 'two.costs'" in outcome.err


def test_what_workers_get_can_be_sent(npuc: Npuc, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where processes are no copies of the one that starts them."""
    kept: list[searcher.Searcher] = []
    run = searcher.Searcher.run

    def keep(self: searcher.Searcher, *arguments: Any) -> Any:
        kept.append(self)
        return run(self, *arguments)

    monkeypatch.setattr(searcher.Searcher, "run", keep)
    assert npuc(*options("genetic")).status == 0
    (one,) = kept
    again = pickle.loads(pickle.dumps(one))
    assert [searcher.key_of(task, again.settings) for task in again.tasks] == [
        searcher.key_of(task, one.settings) for task in one.tasks
    ]


@pytest.mark.parametrize("change", ["costs", "from", "search", "crc", "infinity", "nested"])
def test_damaged_lines_are_evaluated_again(npuc: Npuc, change: str) -> None:
    expected = result(npuc, *options("random"))
    assert result(npuc, *options("random", "--resume", "a.record")) == expected
    lines = Path("a.record").read_text().splitlines()
    row: dict[str, Any] = json.loads(lines[2])
    more_costs = base64.b64encode(np.full(len(base64.b64decode(row["costs"])) // 8, np.inf).tobytes()).decode()
    other = {"costs": more_costs, "from": row["from"] + 1, "search": lines[1][12:44], "crc": row["crc"] ^ 1}
    if change == "infinity":
        row |= {"from": float("inf"), "crc": zlib.crc32(f"{row['search']} inf {row['costs']}".encode())}
    elif change != "nested":
        row[change] = other[change]
    lines[2] = '{"a": ' + "[" * 100_000 if change == "nested" else json.dumps(row)
    Path("a.record").write_text("\n".join(lines) + "\n")
    for _ in range(2):
        assert result(npuc, *options("random", "--resume", "a.record")) == expected


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("-", "--resume -: a record needs a file"),
        ("/dev/null", "--resume /dev/null: a record needs a file"),
        ("a\0b", r"cannot write 'a\x00b': embedded null byte"),
        (".", "cannot write '.': it is a folder"),
        ("no/a", "cannot write 'no/a': its folder does not exist"),
        ("two.dsl", "'two.dsl' is no record of a search"),
        ("a.json", "two results would be written to 'a.json'"),
    ],
)
def test_names_that_no_record_can_have(npuc: Npuc, name: str, message: str) -> None:
    before = sorted(Path().iterdir())
    outcome = npuc(*options("random", "--resume", name, "--json", "a.json"))
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith(f"npuc: error: {message}")
    assert sorted(Path().iterdir()) == before
    assert Path("two.dsl").read_text() == NET
