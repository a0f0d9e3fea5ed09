"""Sorting: its work, and elements that compare in no plain way."""

from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import TensorType, i1

from npuc.compiler.interpreter.execute import execute
from npuc.compiler.layers import get_layer
from npuc.compiler.transforms.lower_to_npu import LowerToNpuPass
from npuc.dialects.train.base import TrainOp
from tests.networks import Net


@pytest.mark.parametrize(
    ("function", "arguments", "comparisons"),
    [("sort", {}, 3), ("argsort", {"axis": 0}, 2), ("topk", {"k": 1}, 1), ("topk", {"k": 2}, 2), ("topk", {"k": 5}, 3)],
)
def test_comparisons_grow_with_the_logarithm(function: str, arguments: dict[str, Any], comparisons: int) -> None:
    net = Net()
    op = net.call_all(function, net.input("x", 4, 6), **arguments)[0].owner
    assert isinstance(op, TrainOp)
    assert get_layer(op).work(op).vector_ops == comparisons * 24


def test_nan_is_the_largest_and_equal_elements_keep_their_order() -> None:
    net = Net()
    x, m = net.input("x", 5), net.b.input("m", TensorType(i1, (3,)))
    found = [*net.call_all("sort", x, descending=True), *net.call_all("topk", x, 2, largest=False)]
    outputs = [*found, net.call("argsort", x), net.call("argsort", m, descending=True)]
    module = net.b.finish(loss=None, outputs=[(f"o{i}", y) for i, y in enumerate(outputs)], optimizer=None)
    module.verify()
    values = {"x": np.array([2.0, np.nan, 1.0, 2.0, -np.inf]), "m": np.array([False, True, False])}
    LowerToNpuPass().apply(Context(), module)
    run = execute(module, values, double=True).outputs
    np.testing.assert_array_equal(run["o0"], [np.nan, 2, 2, 1, -np.inf])
    np.testing.assert_array_equal(run["o1"], [1, 0, 3, 2, 4])
    np.testing.assert_array_equal(run["o2"], [-np.inf, 1])
    np.testing.assert_array_equal(run["o3"], [4, 2])
    np.testing.assert_array_equal(run["o4"], [4, 2, 0, 3, 1])
    np.testing.assert_array_equal(run["o5"], [1, 0, 2])
