"""The limit on operations is the same option wherever a network is read."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

LOOP = """network n(n=40) {
  input x: f32[2, 4]; w = param([4]); h = x * w
  for i in 0..n { h = relu(h) }
  loss dot_loss(h, h)
}
"""


@pytest.mark.parametrize("command", ["compile", "compile --check", "check", "run --inputs x.npz"])
def test_the_limit_stops_a_loop_and_can_be_raised(npuc: Callable[..., Any], command: str) -> None:
    Path("loop.dsl").write_text(LOOP)
    np.savez("x.npz", x=np.ones((2, 4)))
    verb, *options = command.split()
    stopped = npuc(verb, "loop.dsl", *options, "--max-ops", "20")
    assert stopped.status == 1
    assert "loop.dsl:3:3: error: the network has more than 20 operations (this loop has 40 iterations)" in stopped.err
    assert "hint: --max-ops raises the limit" in stopped.err
    assert npuc(verb, "loop.dsl", *options, "--max-ops", "50").status == 0
