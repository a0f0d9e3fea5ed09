"""What counts as PyTorch's result."""

import numpy as np

from npuc.compiler.layers.base import Array


def assert_close(ours: Array, theirs: Array, what: str) -> None:
    """Equal to 1e-9 of the largest value."""
    assert ours.shape == theirs.shape, what
    scale = max(float(np.abs(theirs).max(initial=0.0)), 1e-3)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * scale, err_msg=what)
