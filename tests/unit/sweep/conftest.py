"""Networks and backends of the sweep's tests."""

import sys
from importlib import invalidate_caches
from pathlib import Path

import pytest

OUTSIDE = Path(__file__).parent.parent / "driver" / "outside"

NET = """\
network net(batch=4, hidden=6, rate=0.5) {
  input  x: f32[batch, 5]
  labels y: i32[batch]
  h = relu(linear(x, hidden))
  loss cross_entropy(linear(h, 3), y)
  optimizer sgd(lr=rate)
}
"""


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed distribution with the backends `tick` and `npu-tick`."""
    monkeypatch.setattr(sys, "path", [str(OUTSIDE), *sys.path])
    invalidate_caches()
