"""Statistics of channels and normalisation by given ones: values, derivatives along every operand, and work."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Block, SSAValue

from npuc.compiler.interpreter.numbers import Numbers
from npuc.compiler.interpreter.train import evaluate
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Array
from npuc.dialects.tensors import shape_of, tensor_of
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.normalize import (
    ChannelMeanOp,
    ChannelVarDxOp,
    ChannelVarOp,
    NormalizeDstatsOp,
    NormalizeDxOp,
    NormalizeOp,
)
from tests.gradients import assert_gradients
from tests.networks import Net

X, C = (4, 3, 2), (3,)
Build = Callable[..., TrainOp]


def normalize(*operands: SSAValue) -> NormalizeOp:
    return NormalizeOp(*operands, eps=0.1)


def block(*shapes: Sequence[int]) -> Sequence[SSAValue]:
    return Block(arg_types=[tensor_of(f64, shape) for shape in shapes]).args


def results(op: TrainOp, *arrays: Array) -> list[list[float]]:
    return [array.tolist() for array in evaluate(Numbers(), op, arrays)]


def test_mean_and_mean_of_squared_distances() -> None:
    x = np.array([[1.0, 2.0], [5.0, 4.0]])
    assert results(ChannelMeanOp(*block((2, 2))), x) == [[3.0, 3.0]]
    assert results(ChannelVarOp(*block((2, 2), (2,))), x, np.array([3.0, 3.0])) == [[4.0, 1.0]]
    assert results(ChannelVarOp(*block((2, 2), (2,))), x, np.array([1.0, 4.0])) == [[8.0, 2.0]]


def test_a_variance_beside_a_large_mean_does_not_cancel() -> None:
    """The mean of squares in f32 would be 2^24 with a spacing of 2: no digit of the variance would be left."""
    x = np.array([[4095.75], [4096.25]], dtype=np.float32)
    args = Block(arg_types=[tensor_of(f32, (2, 1)), tensor_of(f32, (1,))]).args
    (var,) = evaluate(Numbers(), ChannelVarOp(*args), (x, np.array([4096.0], dtype=np.float32)))
    assert var.tolist() == [0.0625]


@pytest.mark.parametrize(
    ("affine", "expected"),
    [([], [[1.5, -2.0]]), ([[2.0, 3.0]], [[3.0, -6.0]]), ([[2.0, 3.0], [1.0, 2.0]], [[4.0, -4.0]])],
)
def test_scale_and_shift_are_optional(affine: list[list[float]], expected: list[list[float]]) -> None:
    operands = [np.array(values) for values in ([[4.0, -3.0]], *affine, [1.0, 1.0], [3.0, 3.0])]
    op = NormalizeOp(*block(*(array.shape for array in operands)), eps=1.0)
    assert results(op, *operands) == [expected]


@pytest.mark.parametrize(
    ("build", "shapes"),
    [
        (ChannelMeanOp, [X]),
        (ChannelMeanOp, [(4, 3)]),
        (ChannelVarOp, [X, C]),
        (normalize, [X, C, C]),
        (normalize, [X, C, C, C]),
        (normalize, [X, C, C, C, C]),
    ],
    ids=["mean", "mean of rows", "var", "normalize", "with a scale", "with a shift"],
)
@settings(max_examples=6)
@given(data=st.data())
def test_every_operand_has_the_slope_of_central_differences(
    build: Build, shapes: list[tuple[int, ...]], data: st.DataObject
) -> None:
    net = Net()
    params = [net.param(f"p{i}", *shape) for i, shape in enumerate(shapes)]
    with net.b.at("y", None):
        y = net.b.emit(build(*params)).results[0]
    module = net.finish(net.call("mse", y, net.input("target", *shape_of(y))))
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    values = {f"p{i}": random.uniform(0.5, 1.5, shape) for i, shape in enumerate(shapes)}
    assert_gradients(module, values | {"target": random.uniform(-1, 1, shape_of(y))}, set(values), data)


@pytest.mark.parametrize(
    ("op", "steps"),
    [
        (ChannelMeanOp(*block(X)), 1),
        (ChannelVarOp(*block(X, C)), 3),
        (ChannelVarDxOp(*block(C, X, C)), 2),
        (NormalizeOp(*block(X, C, C)), 4),
        (NormalizeDxOp(*block(X, C)), 1),
        (NormalizeDstatsOp(*block(X, X, C, C)), 4),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_work_is_so_many_steps_an_element(op: TrainOp, steps: int) -> None:
    assert get_layer(op).work(op).vector_ops == steps * 24
