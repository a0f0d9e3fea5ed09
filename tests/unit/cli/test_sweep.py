"""`npuc sweep`: outputs, continuing after an interrupt, and errors."""

import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from npuc.compiler.explore.sweep.sweep import Sweep
from tests.unit.cli.conftest import Npuc

VARY = ("--vary", "memory.spm_kib=0.004,1,64", "--vary", "batch=2:8:2")


ROWS: dict[tuple[str, ...], bytes] = {}


def whole(npuc: Npuc, *vary: str, status: int = 3) -> bytes:
    """The rows of the sweep without an interrupt, computed once: `net.dsl` is always the same."""
    if vary not in ROWS:
        assert npuc("sweep", "net.dsl", *(vary or VARY), "--csv", "whole.csv", "-q").status == status
        path = Path("whole.csv")
        ROWS[vary] = path.read_bytes()
        path.unlink()
    return ROWS[vary]


def test_sweep_prints_a_table_with_a_verdict(npuc: Npuc) -> None:
    outcome = npuc("sweep", "net.dsl", "--vary", "array.rows=8,16,32", "--vary", "dram.gb_per_s=75:150:75")
    assert outcome.status == 0
    lines = outcome.out.splitlines()
    assert lines[0] == "net.dsl on igo-large, backend cycle: 6 points of array.rows (3) x dram.gb_per_s (2)"
    assert [line.split()[:2] for line in lines[5:11]] == [[r, d] for r in ("8", "16", "32") for d in ("75", "150")]
    assert lines[-2].startswith("effect    at most, on time")
    assert lines[-1].startswith("verdict   The least time is at array.rows=")
    assert outcome.err == ""


def test_csv_has_a_row_a_point(npuc: Npuc) -> None:
    outcome = npuc("sweep", "net.dsl", "--vary", "dram.gb_per_s=0.5:1:0.25", "--csv", "-", "-q")
    rows = list(csv.DictReader(outcome.out.splitlines()))
    assert [row["dram.gb_per_s"] for row in rows] == ["0.5", "0.75", "1.0"]
    compiled = npuc("compile", "net.dsl", "--set", "dram.gb_per_s=0.75", "--json", "-", "-q").out
    assert f'"seconds": {rows[1]["seconds"]}, ' in compiled
    assert f'"matrix": {rows[1]["seconds_by_kind.matrix"]}, ' in compiled
    assert list(rows[0])[-1] == "error"


def test_points_that_do_not_fit_are_told_and_kept(npuc: Npuc) -> None:
    outcome = npuc("sweep", "net.dsl", "--vary", "memory.spm_kib=0.004,64", "--csv", "rows.csv")
    assert outcome.status == 3
    assert "npuc: warning: memory.spm_kib=0.004: net.dsl:5:12: h.linear: the smallest tiles need" in outcome.err
    assert "failed    1 of 2 points, the first at memory.spm_kib=0.004" in outcome.out
    bad, good = csv.DictReader(Path("rows.csv").read_text().splitlines())
    assert bad["error"].startswith("net.dsl:5:12: h.linear: the smallest tiles need")
    assert bad["seconds"] == bad["seconds_by_kind.matrix"] == ""
    assert good["error"] == ""


def test_no_point_fits(npuc: Npuc) -> None:
    outcome = npuc("sweep", "net.dsl", "--vary", "memory.spm_kib=0.004,0.005", "-q")
    assert (outcome.status, outcome.err) == (3, "")
    assert outcome.out.splitlines()[-1] == "verdict   No point fits."


def test_messages_are_limited(npuc: Npuc) -> None:
    outcome = npuc("sweep", "net.dsl", "--vary", "memory.spm_kib=0.002:0.005:0.0001")
    assert outcome.err.count("warning: memory.spm_kib=") == 20
    assert outcome.err.splitlines()[-1] == "npuc: 11 more messages; 31 points failed"


def test_processes_write_the_same_bytes(npuc: Npuc) -> None:
    rows = whole(npuc)
    assert npuc("sweep", "net.dsl", *VARY, "--csv", "two.csv", "-q", "-j", "2").status == 3
    assert Path("two.csv").read_bytes() == rows
    assert npuc("sweep", "net.dsl", *VARY, "--csv", "-", "-q").out.encode() == rows
    assert sorted(os.listdir()) == ["net.dsl", "two.csv"]


@pytest.mark.parametrize("after", [0, 1, 5, 11])
def test_an_interrupted_sweep_continues(npuc: Npuc, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    rows = whole(npuc)
    points = Sweep.points

    def interrupted(self: Sweep, start: int = 0, *, jobs: int | None = None, dask: str | None = None):
        for number, point in enumerate(points(self, start, jobs=jobs, dask=dask)):
            if number == after:
                raise KeyboardInterrupt
            yield point

    with monkeypatch.context() as patch:
        patch.setattr(Sweep, "points", interrupted)
        outcome = npuc("sweep", "net.dsl", *VARY, "--csv", "rows.csv")
    assert outcome.status == 130
    assert outcome.out == ""
    assert not Path("rows.csv").exists()
    assert Path("rows.csv.partial").exists() == (after > 0)
    if after:
        assert (
            f"npuc: interrupted; rows.csv.partial has {after} of 12 points; the same command continues" in outcome.err
        )
    outcome = npuc("sweep", "net.dsl", *VARY, "--csv", "rows.csv", "-j", "2")
    assert outcome.status == 3
    assert (f"rows.csv.partial had {after} of 12 points and was continued" in outcome.err) == (after > 0)
    assert Path("rows.csv").read_bytes() == rows
    assert not Path("rows.csv.partial").exists()
    assert "12 points" in outcome.out


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_killed_sweep_continues(npuc: Npuc, jobs: str) -> None:
    """By a signal, in the middle, in a process of its own."""
    vary = ("--vary", "memory.spm_kib=1:40:1", "-O1")
    rows = whole(npuc, *vary, status=0)
    # a process that was started in the background ignores the signal unless it says otherwise
    heeding = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{heeding}; from npuc.compiler.cli import main; main()"
    arguments = [sys.executable, "-c", code, "sweep", "net.dsl", *vary, "--csv", "rows.csv", "-j", jobs]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
        partial = Path("rows.csv.partial")
        while process.poll() is None and not (partial.exists() and partial.read_bytes().count(b"\n") > 10):
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out == b""
    assert b"Traceback" not in err
    assert 10 < partial.read_bytes().count(b"\n") < 42
    assert npuc("sweep", "net.dsl", *vary, "--csv", "rows.csv", "-q").status == 0
    assert Path("rows.csv").read_bytes() == rows


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_terminal_shows_progress(folder: Path) -> None:
    code = "from npuc.compiler.cli import main; main()"
    arguments = [sys.executable, "-c", code, "sweep", "net.dsl", "--vary", "memory.spm_kib=0.004,64"]
    ours, theirs = os.openpty()
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=theirs) as process:
        out, _ = process.communicate(timeout=60)
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert process.returncode == 3
    assert "0/2" in shown
    assert "2/2" in shown
    assert "warning: memory.spm_kib=0.004: net.dsl:5:12" in shown
    assert b"sweep" not in out


def begin(npuc: Npuc, monkeypatch: pytest.MonkeyPatch, *arguments: str, after: int = 3) -> Path:
    """A sweep that ended after some points; its file."""
    add = Sweep.points

    def some(self: Sweep, start: int = 0, *, jobs: int | None = None, dask: str | None = None):
        for number, point in enumerate(add(self, start, jobs=jobs, dask=dask)):
            if number == after:
                raise KeyboardInterrupt
            yield point

    with monkeypatch.context() as patch:
        patch.setattr(Sweep, "points", some)
        assert npuc("sweep", "net.dsl", *(arguments or VARY), "--csv", "rows.csv", "-q").status == 130
    return Path("rows.csv.partial")


@pytest.mark.parametrize(
    "change",
    [("-O", "0"), ("--set", "dram.gb_per_s=75"), ("--hw", "igo-small"), ("-D", "hidden=7"), ("--vary", "array.rows=8")],
)
def test_other_options_do_not_continue(npuc: Npuc, monkeypatch: pytest.MonkeyPatch, change: tuple[str, str]) -> None:
    partial = begin(npuc, monkeypatch)
    before = partial.read_bytes()
    outcome = npuc("sweep", "net.dsl", *VARY, *change, "--csv", "rows.csv", "-q")
    assert outcome.status == 2
    assert "'rows.csv.partial' was begun with another source, other points or other options" in outcome.err
    assert "hint: --restart begins anew" in outcome.err
    assert partial.read_bytes() == before
    assert npuc("sweep", "net.dsl", *VARY, *change, "--csv", "rows.csv", "-q", "--restart").status == 3
    expected = npuc("sweep", "net.dsl", *VARY, *change, "--csv", "-", "-q").out
    assert Path("rows.csv").read_text() == expected
    assert not partial.exists()


def test_another_source_does_not_continue(npuc: Npuc, monkeypatch: pytest.MonkeyPatch) -> None:
    begin(npuc, monkeypatch)
    Path("net.dsl").write_text(Path("net.dsl").read_text().replace("hidden=6", "hidden=7"))
    assert npuc("sweep", "net.dsl", *VARY, "--csv", "rows.csv", "-q").status == 2


def test_a_truncated_last_line_is_dropped(npuc: Npuc, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = whole(npuc)
    partial = begin(npuc, monkeypatch)
    data = partial.read_bytes()
    for cut in (1, 2, 30, len(data.splitlines()[-1])):
        partial.write_bytes(data[:-cut])
        outcome = npuc("sweep", "net.dsl", *VARY, "--csv", "rows.csv")
        assert "rows.csv.partial had 2 of 12 points and was continued" in outcome.err
        assert Path("rows.csv").read_bytes() == rows


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "there is nothing to vary"),
        (("--vary", "batch"), "--vary batch: expected KEY=A,B,C or KEY=LO:HI:STEP"),
        (("--vary", "batch=1:8"), "--vary batch: range 1:8: expected LO:HI:STEP"),
        (("--vary", "batch=1", "--vary", "batch=2"), "--vary batch: the key is varied twice"),
        (("--vary", "bacth=1"), "--vary bacth: unknown key 'bacth'\n  hint: did you mean 'batch'?"),
        (("--vary", "batch=1", "--rows", "some"), "--rows some: expected folded or all"),
        (("--vary", "batch=1", "--restart"), "--restart needs a file to start over"),
        (("--vary", "batch=1", "--restart", "--csv", "-"), "--restart needs a file to start over"),
        (("--vary", "batch=1", "--csv", "nowhere/rows.csv"), "its folder does not exist"),
        (("--vary", "batch=1", "--plot", "picture.gif"), "cannot tell the kind of picture"),
        (("--vary", "batch=1", "--jobs", "0"), "invalid value for '-j' / '--jobs'"),
    ],
)
def test_wrong_usage_is_said_at_once(npuc: Npuc, arguments: tuple[str, ...], message: str) -> None:
    outcome = npuc("sweep", "net.dsl", *arguments, "-q")
    assert outcome.status == 2
    assert message in outcome.err
    assert outcome.out == ""
    assert os.listdir() == ["net.dsl"]
