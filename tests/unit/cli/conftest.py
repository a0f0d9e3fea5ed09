"""Fixtures of the command line's tests."""

import sys
from collections.abc import Callable
from importlib import invalidate_caches
from pathlib import Path
from typing import NamedTuple

import pytest

from npuc.compiler.cli import run_command

OUTSIDE = Path(__file__).parent.parent / "driver" / "outside"

MLP = """\
# A small network.
network mlp(batch=4, hidden=6) {
  input  x: f32[batch, 5]
  labels y: i32[batch]
  h = relu(linear(x, hidden))
  logits = linear(h, 3)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1, momentum=0.9)
}
"""


class Outcome(NamedTuple):
    """What a command did: its exit status and what it wrote."""

    status: int
    out: str
    err: str


Npuc = Callable[..., Outcome]


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an installed distribution that has backends and a pass, on the import path."""
    monkeypatch.setattr(sys, "path", [str(OUTSIDE), *sys.path])
    invalidate_caches()
    return OUTSIDE


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder with the network `net.dsl`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.dsl").write_text(MLP)
    return tmp_path


@pytest.fixture
def npuc(folder: Path, outside: Path, capsys: pytest.CaptureFixture[str]) -> Npuc:
    """Run the command line in this process."""

    def run(*arguments: str) -> Outcome:
        status = run_command(list(arguments))
        captured = capsys.readouterr()
        return Outcome(status, captured.out, captured.err)

    return run
