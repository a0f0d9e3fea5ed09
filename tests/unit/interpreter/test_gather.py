"""Boxes that reach far outside of a tensor."""

import numpy as np
import pytest

from npuc.compiler.interpreter.contraction import View, gather
from npuc.compiler.layers.base import DataError
from npuc.dialects.npu.nest import Axis


def test_a_box_that_no_memory_holds_is_an_error_of_data() -> None:
    view = View((Axis((("m", 1),)),), np.ones(4), (0,))
    assert gather(view, {"m": (2, 6)}).tolist() == [1, 1, 0, 0]
    with pytest.raises(DataError, match="reach 1,152,921,504,606,846,976 elements"):
        gather(view, {"m": (0, 1 << 60)})
