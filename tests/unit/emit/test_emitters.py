"""Emitters are found: npuc's own by their files, others by what installed distributions publish."""

import sys
from collections.abc import Iterator
from importlib import invalidate_caches
from pathlib import Path

import pytest

import npuc.compiler.emit
from npuc.compiler.cli import run_command
from npuc.compiler.core.errors import UsageError
from npuc.compiler.emit.base import emitter_names, get_emitter, own_emitters

COUNT = '''
"""How many operations a program has."""

from npuc.compiler.emit.base import Emitted, Emitter


class Count(Emitter):
    """The number of operations, and the time."""

    printed = True

    def emit(self, compiled):
        count = sum(1 for _ in compiled.module.walk())
        return Emitted(f"{count} operations on {compiled.machine.name}\\n", ("counts are whole",))


class Folder(Emitter):
    folder = True
    backend = "roofline"
    refusal = "folders come from the roofline alone"

    def emit(self, compiled):
        return Emitted({"a.txt": "a", "b.txt": compiled.report.backend})


class Fails(Emitter):
    def emit(self, compiled):
        raise KeyError("a defect of its own")


class Wrong(Emitter):
    def emit(self, compiled):
        return "text"


EMITTER = Count()
'''

ENTRY_POINTS = """
[npuc.emitters]
count = count_model:Count
folder = count_model:Folder
fails = count_model:Fails
wrong = count_model:Wrong
absent = count_model:Nobody
none = builtins:dict
mlir = count_model:Count
"""


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An installed distribution with emitters; a folder to work in."""
    home = tmp_path / "installed"
    info = home / "count_model-1.0.dist-info"
    info.mkdir(parents=True)
    (home / "count_model.py").write_text(COUNT)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: count_model\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.setattr(sys, "path", [str(home), *sys.path])
    monkeypatch.chdir(tmp_path)
    invalidate_caches()
    yield tmp_path
    sys.modules.pop("count_model", None)


def emit(*options: str) -> int:
    return run_command(["compile", "samples:mlp", "-q", *options])


def test_own_emitters_have_a_file_each() -> None:
    assert own_emitters() == (
        *("mlir", "astra-network", "chakra", "dot", "linalg", "scalesim", "stablehlo", "svg", "trace"),
    )
    assert emitter_names()[:9] == own_emitters()


def test_one_from_outside_is_used(published: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert emit("--emit", "count", "-b", "roofline") == 0
    out, err = capsys.readouterr()
    assert out.endswith(" operations on rtx2080ti\n")
    assert err == ""
    assert run_command(["compile", "samples:mlp", "--emit", "count", "-o", "n.txt"]) == 0
    assert "npuc: warning: counts are whole" in capsys.readouterr().err
    assert (published / "n.txt").read_text().endswith(" operations on igo-large\n")


def test_a_folder_of_files(published: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert emit("--emit", "folder", "-b", "roofline", "-o", "made") == 0
    assert {file.name: file.read_text() for file in (published / "made").iterdir()} == {
        "a.txt": "a",
        "b.txt": "roofline",
    }
    capsys.readouterr()
    for options, error in (
        (["-b", "roofline"], "--emit folder needs -o FOLDER"),
        (["-b", "cycle", "-o", "other"], "folders come from the roofline alone"),
        (["-b", "roofline", "-o", "-"], "several files cannot go to standard output"),
    ):
        assert emit("--emit", "folder", *options) == 2
        assert error in capsys.readouterr().err
    assert not (published / "other").exists()


@pytest.mark.parametrize(
    ("name", "status", "error"),
    [
        ("fails", 1, "emitter 'fails' failed: KeyError"),
        ("wrong", 1, "emitter 'wrong' returned str, expected Emitted"),
        ("absent", 2, "emitter 'absent' cannot be loaded from count_model:Nobody"),
        ("none", 2, "builtins:dict: 'none' is not an emitter"),
        (
            "mlri",
            2,
            "mlri: expected mlir, astra-network, chakra, dot, linalg, scalesim, stablehlo, svg, trace, absent, count, ",
        ),
    ],
)
def test_errors(published: Path, capsys: pytest.CaptureFixture[str], name: str, status: int, error: str) -> None:
    assert emit("--emit", name, "-o", "n.txt") == status
    assert error in capsys.readouterr().err
    assert not (published / "n.txt").exists()


def test_own_emitters_win(published: Path) -> None:
    assert type(get_emitter("mlir")).__module__ == "npuc.compiler.emit.mlir"


def test_a_file_is_all_that_one_of_our_own_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "count.py").write_text(COUNT)
    with monkeypatch.context() as patched:
        patched.setattr(npuc.compiler.emit, "__path__", [*npuc.compiler.emit.__path__, str(tmp_path)])
        assert emit("--emit", "count", "-o", str(tmp_path / "n.txt")) == 0
    sys.modules.pop("npuc.compiler.emit.count", None)
    with pytest.raises(UsageError):
        get_emitter("count")
