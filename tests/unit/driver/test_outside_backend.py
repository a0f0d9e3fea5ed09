"""A backend from outside: its own hardware keys, explanations and words, and nothing of npuc's changed for it."""

import sys
from collections.abc import Iterator
from importlib import invalidate_caches
from pathlib import Path

import pytest

import npuc.backends
from npuc.backends.base import Backend
from npuc.backends.registry import built_in, get_all_backends, get_backend
from npuc.backends.roofline.backend import RooflineBackend
from npuc.compiler import compile_file, sweep_file
from npuc.compiler.cli import run_command
from npuc.compiler.core.errors import UsageError
from npuc.hardware import KEYS, load_hardware
from npuc.hardware.schema import TABLES, add_own_keys

MODEL = '''
"""Every operation takes as many seconds as the machine says."""

from npuc.backends.base import Answer, Backend
from npuc.compiler.report import OpRow, make_report
from npuc.compiler.report.text.words import Words
from npuc.dialects.provenance import layer_of, role_of
from npuc.dialects.train.base import TrainOp
from npuc.hardware import Key, Real, Text


class Slow(Backend):
    """As many seconds as the machine says."""

    name = "slow"
    level = "train"
    keys = (
        Key("slow.seconds", Real(1e3), "time of an operation, s"),
        Key("slow.mode", Text(("same", "twice")), "whether updates take twice as long", "same"),
    )
    words = Words(advice=lambda report, top: "a faster machine (--set slow.seconds=N)")

    def supports(self, op):
        return None if isinstance(op, TrainOp) else "it is not an operation of the train level"

    def score(self, module, hardware):
        each = hardware.require("slow.seconds", float, backend=self.name)
        twice = hardware.get("slow.mode", str) == "twice"
        rows = []
        for op in (op for op in module.walk() if isinstance(op, TrainOp)):
            role = role_of(op).value
            seconds = each * (2 if twice and role == "update" else 1)
            row = OpRow(index=len(rows), name=layer_of(op), op=op.name, phase=role, seconds=seconds, limit="mood")
            rows.append(row)
        return make_report(self.name, hardware.as_dict(), rows)

    def explain(self, question):
        lines = [f"{row.name} {row.phase}: the machine says {row.seconds} s" for row in question.rows]
        return Answer(text=lambda width: "\\n".join(lines) + "\\n")


class Broken:
    """No Backend by inheritance, and a defect."""

    name = "broken-slow"
    level = "train"

    def supports(self, op):
        return None

    def score(self, module, hardware):
        raise KeyError("a defect of its own")

    def explain(self, question):
        raise AssertionError("never asked")


class Taken(Slow):
    name = "taken"
    keys = (Key("clock_mhz", Real(1.0), "another clock"),)


BACKEND = Slow
'''

ENTRY_POINTS = """
[npuc.backends]
slow = slow_model:Slow
broken-slow = slow_model:Broken
taken = slow_model:Taken
"""
OPTIONS = ["--set", "slow.seconds=2"]


@pytest.fixture(autouse=True)
def known_keys() -> Iterator[None]:
    """The keys of before, after a test that has brought some."""
    keys, tables = dict(KEYS), list(TABLES)
    yield
    KEYS.clear()
    KEYS.update(keys)
    TABLES[:] = tables
    for name in ("slow_model", "npuc.backends.slow", "npuc.backends.slow.backend", "npuc.backends.slow.keys"):
        sys.modules.pop(name, None)


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mlp: str) -> Path:
    """An installed distribution with backends, and a folder with a network."""
    home = tmp_path / "installed"
    info = home / "slow_model-1.0.dist-info"
    info.mkdir(parents=True)
    (home / "slow_model.py").write_text(MODEL)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: slow_model\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.setattr(sys, "path", [str(home), *sys.path])
    monkeypatch.chdir(tmp_path)
    invalidate_caches()
    (tmp_path / "net.dsl").write_text(mlp)
    return tmp_path


def test_its_hardware_keys_are_read_in_files_overrides_and_sweeps(published: Path) -> None:
    (published / "own.toml").write_text('name = "own"\n[slow]\nseconds = 3\nmode = "twice"\n')
    report = compile_file("net.dsl", backend="slow", hardware="own.toml")
    assert {row.seconds for row in report.ops} == {3.0, 6.0}
    assert report.hardware["slow"] == {"seconds": 3.0, "mode": "twice"}
    assert list(report.hardware) == ["name", "slow"]
    assert {row.seconds for row in compile_file("net.dsl", backend="slow", overrides={"slow.seconds": 5}).ops} == {5.0}
    points = list(sweep_file("net.dsl", vary={"slow.seconds": [1, 2]}, backend="slow"))
    first, second = (point.totals.seconds for point in points if point.totals is not None)
    assert second == 2 * (first or 0)


def test_its_keys_are_checked_as_ours(published: Path) -> None:
    for hardware, error in (
        ({"slow": {"seconds": "x"}}, r"slow\.seconds: expected a number above 0 to 1,000, got the string 'x'"),
        ({"slow.mode": "thrice"}, r"slow\.mode: expected 'same' or 'twice', got 'thrice'"),
        ({"slow": {"second": 1}}, r"unknown key 'slow\.second'"),
        ({"slow": 3}, "slow: expected a table"),
    ):
        with pytest.raises(UsageError, match=error):
            load_hardware(hardware)
    with pytest.raises(UsageError, match=r"has no slow\.seconds \(time of an operation, s\), which the backend 'slow'"):
        compile_file("net.dsl", backend="slow")
    with pytest.raises(UsageError, match="backend 'taken': the hardware key 'clock_mhz' is taken"):
        get_backend("taken")


def test_it_explains_layers_and_speaks_in_reports(
    published: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_command(["explain", "net.dsl", "logits", "-b", "slow", *OPTIONS]) == 0
    assert capsys.readouterr().out.startswith(
        "net.dsl on igo-large, backend slow\nlogits forward: the machine says 2.0 s\n"
    )
    pytest.importorskip("matplotlib")
    assert run_command(["explain", "net.dsl", "logits", "-b", "slow", "--plot", "a.svg", *OPTIONS]) == 2
    assert "the backend 'slow' draws no picture of a layer" in capsys.readouterr().err
    monkeypatch.setattr(RooflineBackend, "explain", Backend.explain)
    assert run_command(["explain", "net.dsl", "logits", "-b", "roofline"]) == 2
    assert "does not explain layers; 'broken-slow', 'cycle', 'maestro' and 'slow' do" in capsys.readouterr().err
    assert run_command(["compile", "net.dsl", "-b", "slow", *OPTIONS]) == 0
    assert "Try a faster machine (--set slow.seconds=N)." in capsys.readouterr().out
    assert run_command(["explain", "net.dsl", "logits", "-b", "broken-slow"]) == 1
    assert "backend 'broken-slow' failed: KeyError" in capsys.readouterr().err


def test_it_is_gone_with_its_distribution(mlp: str) -> None:
    with pytest.raises(UsageError, match=r"unknown key 'slow\.seconds'"):
        load_hardware({"slow.seconds": 1})
    assert "slow" not in get_all_backends()


def test_a_folder_is_all_that_one_of_our_own_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mlp: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "slow").mkdir()
    (tmp_path / "slow" / "backend.py").write_text(MODEL)
    (tmp_path / "slow" / "keys.py").write_text("from npuc.backends.slow.backend import Slow\n\nKEYS = Slow.keys\n")
    (tmp_path / "net.dsl").write_text(mlp)
    with monkeypatch.context() as patched:
        patched.setattr(npuc.backends, "__path__", [*npuc.backends.__path__, str(tmp_path)])
        built_in.cache_clear()
        add_own_keys()
        arguments = ["compile", str(tmp_path / "net.dsl"), "-b", "slow", *OPTIONS, "-q", "--csv", "-"]
        assert run_command(["list", "backends"]) == 0
        assert "slow      train  As many seconds as the machine says." in capsys.readouterr().out
        assert run_command(arguments) == 0
    built_in.cache_clear()
    assert run_command(arguments) == 2
