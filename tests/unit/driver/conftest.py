"""Fixtures of the driver's tests."""

import sys
from importlib import invalidate_caches
from pathlib import Path

import pytest

OUTSIDE = Path(__file__).parent / "outside"

MLP = """\
network mlp(batch=4, hidden=6) {
  input  x: f32[batch, 5]
  labels y: i32[batch]
  h = relu(linear(x, hidden))
  logits = linear(h, 3)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1, momentum=0.9)
}
"""


@pytest.fixture
def mlp() -> str:
    """A network of two layers."""
    return MLP


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an installed distribution that has backends and a pass, on the import path."""
    monkeypatch.setattr(sys, "path", [str(OUTSIDE), *sys.path])
    invalidate_caches()
    return OUTSIDE
