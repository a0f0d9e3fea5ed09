"""Products of groups of rows: values for any sizes of the groups, work for the stated balance, mistakes."""

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, i64

from npuc.compiler.interpreter.execute import execute
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.arguments import ArgumentError
from npuc.dialects.tensors import tensor_of
from npuc.dialects.train.base import TrainOp
from tests.networks import Net

RANDOM = np.random.default_rng(0)
X, W = RANDOM.standard_normal((8, 3)), RANDOM.standard_normal((4, 3, 5))


def network(capacity: int | None) -> ModuleOp:
    net = Net()
    ends = net.b.input("ends", tensor_of(i64, (4,)))
    y = net.call("grouped_mm", net.input("x", 8, 3), net.input("w", 4, 3, 5), ends, capacity=capacity)
    return net.b.finish(loss=None, outputs=[("y", y)], optimizer=None)


@pytest.mark.parametrize(("ends", "capacity"), [([2, 4, 6, 8], None), ([0, 3, 3, 8], 5), ([8, 8, 8, 8], 8)])
def test_rows_meet_the_matrix_of_their_group(ends: list[int], capacity: int | None) -> None:
    found = execute(network(capacity), {"ends": np.array(ends), "x": X, "w": W}, double=True).outputs["y"]
    parts = [X[start:end] @ w for start, end, w in zip([0, *ends[:-1]], ends, W, strict=True)]
    np.testing.assert_allclose(found, np.concatenate(parts), rtol=1e-12)


@pytest.mark.parametrize("ends", [[3, 4, 6, 8], [2, 4, 6, 7]], ids=["too large", "rows left"])
def test_rows_without_a_place_are_an_error(ends: list[int]) -> None:
    with pytest.raises(Exception, match="argument 'index' holds"):
        execute(network(None), {"ends": np.array(ends), "x": X, "w": W}, double=True)


@pytest.mark.parametrize(("capacity", "macs"), [(None, 8 * 3 * 5), (5, 20 * 3 * 5)])
def test_the_work_is_that_of_the_stated_balance(capacity: int | None, macs: int) -> None:
    ops = [op for op in network(capacity).walk() if isinstance(op, TrainOp)]
    assert sum(get_layer(op).work(op).macs for op in ops) == macs


def test_mistakes() -> None:
    net = Net()
    x, w = net.input("x", 8, 3), net.input("w", 4, 3, 5)
    for arguments, message in (
        ((x, w, [2, 4, 8]), "found 3 i32, expected 4 integers, the end of each group of rows"),
        ((x, w, [2, 4, 6, 8], 1), "found 1, expected 2 to 8 for 8 rows in 4 groups"),
        ((x, net.input("v", 4, 2, 5), [2, 4, 6, 8]), "found 4x2x5, expected"),
        ((w, w, [2, 4, 6, 8]), "found a tensor of rank 3, expected"),
    ):
        with pytest.raises(ArgumentError, match=message):
            net.call("grouped_mm", *arguments)
