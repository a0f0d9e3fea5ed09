"""Operations on bits at the limits of their types, as PyTorch has them."""

import numpy as np
import pytest
from xdsl.dialects.builtin import i8, i32

from npuc.compiler.interpreter.execute import execute
from npuc.compiler.layers.arguments import ArgumentError
from npuc.dialects.tensors import tensor_of
from tests.networks import Net


def shifted(function: str, x: int, by: list[int]) -> list[int]:
    net = Net()
    y = net.call(function, x, net.b.input("by", tensor_of(i8, (len(by),))))
    module = net.b.finish(loss=None, outputs=[("y", y)], optimizer=None)
    return execute(module, {"by": np.array(by, np.int8)}).outputs["y"].tolist()


def test_shifts_by_the_width_of_the_type_or_more() -> None:
    assert shifted("shift_left", 3, [0, 1, 7, 8, 100, -1]) == [3, 6, -128, 0, 0, 0]
    assert shifted("shift_right", -100, [0, 1, 7, 8, 100, -1]) == [-100, -50, -1, -1, -1, -1]
    assert shifted("shift_right", 100, [0, 1, 7, 8, -1]) == [100, 50, 0, 0, 0]


def test_remainders_by_zero_of_integers_are_refused() -> None:
    net = Net()
    y = net.call("remainder", 7, net.b.input("x", tensor_of(i32, (2,))))
    module = net.b.finish(loss=None, outputs=[("y", y)], optimizer=None)
    with pytest.raises(Exception, match="division of an integer by zero"):
        execute(module, {"x": np.array([3, 0], np.int32)})


def test_logical_xor_takes_booleans_only() -> None:
    net = Net()
    with pytest.raises(ArgumentError, match="found elements of f64, expected bool"):
        net.call("logical_xor", net.param("x", 2), net.param("y", 2))
