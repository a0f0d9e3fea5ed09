"""`npuc optimize`: its table, files, statuses and errors."""

import json
from pathlib import Path

import pytest

from npuc.compiler.cli import run_command
from tests.unit.optimize.conftest import NET

ROWS = ("--vary", "dram.gb_per_s=1:9:2", "--goals", "time,memory", "-b", "roofline", "--hw", "igo-small")


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.dsl").write_text(NET)


@pytest.mark.usefixtures("network")
def test_the_table_says_what_was_priced_and_proved(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert run_command(["optimize", "net.dsl", *ROWS, "--csv", "f.csv", "--json", "f.json", "--plot", "f.svg"]) == 0
    text = capsys.readouterr().out
    assert "least time, least peak memory" in text
    assert "points    5: 5 priced" in text
    assert "exact: every point was priced" in " ".join(text.split())
    (head, row) = Path("f.csv").read_text().splitlines()
    assert head.startswith("dram.gb_per_s,time,memory,cycles,seconds")
    assert row.startswith("9.0,") or row.startswith("9,")
    document = json.loads(Path("f.json").read_text())
    assert (document["schema"], document["proved"], len(document["points"])) == ("npuc.optimize/1", True, 5)
    assert b"<svg" in Path("f.svg").read_bytes()
    assert run_command(["plot", "f.json", "-o", "again.svg"]) == 0
    assert Path("again.svg").read_bytes() == Path("f.svg").read_bytes()


@pytest.mark.usefixtures("network")
def test_what_is_left_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["optimize", "net.dsl", *ROWS, "--budget", "2", "-q"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "points 5: 2 priced; 3 left" in text
    assert "not proved: 3 points are left at a budget of 2" in text


@pytest.mark.usefixtures("network")
@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (("--goals", "tme"), 2, "--goals: there is no metric 'tme'"),
        (("--constraint", "time << 3"), 2, "--constraint:1:7: error: found '<', expected a number"),
        (("--constraint", "memory < 1"), 3, "No point that was priced fits and meets the constraints."),
        (("--budget", "0"), 2, "--budget 0: expected 1 or more"),
        (("--resume", "-"), 2, "--resume -: a record needs a file"),
        (("--csv", "-", "--json", "-"), 2, "only one of --json and --csv"),
        (("--rows", "some"), 2, "--rows some: expected folded or all"),
        (("--plot", "f.gif"), 2, "cannot tell the kind of picture"),
    ],
)
def test_what_is_wrong_is_told(
    options: tuple[str, ...], status: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [one for one in ROWS] if "--goals" not in options else [one for one in ROWS if one not in ROWS[2:4]]
    assert run_command(["optimize", "net.dsl", *given, *options, "-q"]) == status
    shown = capsys.readouterr()
    assert message in " ".join((shown.out + shown.err).split())
