"""Values that are no numbers before and after a pass are the same, also where rounding is amplified."""

import numpy as np
import pytest

from npuc.compiler.interpreter.compare import compare

NAN = float("nan")


@pytest.mark.parametrize(("after", "equal"), [([NAN, 1.5], True), ([0.0, 1.5], False), ([NAN, 9.0], False)])
def test_nan_where_rounding_is_amplified(after: list[float], equal: bool) -> None:
    before, moved = {"loss": np.array([NAN, 1.5])}, {"loss": np.array([NAN, 1.5 + 1e-9])}
    assert compare(before, {"loss": np.array(after)}, moved).equal is equal
