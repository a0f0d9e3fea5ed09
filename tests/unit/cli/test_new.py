"""`npuc new`: what it writes works as it is, and it overwrites nothing."""

import re
import tomllib
from pathlib import Path

import pytest

from npuc.compiler.cli import run_command


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_tests_of_a_new_pass_pass(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_command(["new", "pass", "join-scalings", "-o", "made"]) == 0
    assert capfd.readouterr().out.startswith("made: pyproject.toml, README.md, join_scalings.py")
    project = tomllib.loads((place / "made/pyproject.toml").read_text())
    assert project["project"]["entry-points"]["npuc.passes"] == {"join-scalings": "join_scalings:JoinScalingsPass"}
    texts = [path.read_text() for path in (place / "made").rglob("*.*")]
    assert not [text for text in texts if re.search("@[A-Z]+@", text)]
    status = pytest.main(
        ["-q", "-p", "no:cacheprovider", "--rootdir", "made", "-c", "made/pyproject.toml", "made/tests"]
    )
    assert status == 0, capfd.readouterr().out


@pytest.mark.parametrize("name", ["Join", "join_scalings", "-x", "2x", "a--b", "tile", "pass", "docs", "a/b", ""])
def test_a_name_that_is_none_is_refused(name: str, place: Path) -> None:
    assert run_command(["new", "pass", "-o", "made", "--", name]) == 2
    assert list(place.iterdir()) == []


def test_nothing_is_overwritten(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (place / "mine").mkdir()
    (place / "mine/a.txt").write_text("mine")
    for arguments, message in (
        (["mine"], "exists"),
        (["other", "-o", "mine"], "exists"),
        (["x", "-o", "no/x"], "does not"),
    ):
        assert run_command(["new", "pass", *arguments]) == 2
        assert message in capfd.readouterr().err
    assert [path.name for path in place.rglob("*")] == ["mine", "a.txt"]
    assert run_command(["new", "backend", "x"]) == 2
