"""Every layer's derivative against central differences, in float64, over random shapes and arguments."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from npuc.compiler.interpreter.execute import execute, the_function
from npuc.compiler.layers import get_functions
from npuc.compiler.layers.base import Array
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.signature import ArgumentKind, arguments_of
from tests.networks import Net

Build = Callable[[Net, st.DataObject], SSAValue]
STEP = 1e-5


def _sizes(data: st.DataObject, *ranges: tuple[int, int]) -> list[int]:
    return [data.draw(st.integers(low, high)) for low, high in ranges]


def _image(net: Net, data: st.DataObject) -> SSAValue:
    return net.param("x", *_sizes(data, (1, 2), (1, 4), (3, 6), (3, 6)))


def _vectors(net: Net, data: st.DataObject) -> SSAValue:
    return net.param("x", *_sizes(data, (1, 3), (2, 4), (2, 5)))


def _broadcast_pair(net: Net, data: st.DataObject) -> tuple[SSAValue, SSAValue]:
    shape = _sizes(data, (1, 3), (1, 3), (1, 3))
    other = [1 if data.draw(st.booleans()) else s for s in shape][data.draw(st.integers(0, 2)) :]
    return net.param("x", *shape), net.param("y", *other)


def _binary(function: str) -> Build:
    def build(net: Net, data: st.DataObject) -> SSAValue:
        x, y = _broadcast_pair(net, data)
        if function == "div":
            y = net.call("add", net.call("mul", y, y), 1.5)
        return net.call(function, *((x, y) if data.draw(st.booleans()) or function == "div" else (y, x)))

    return build


def _number(function: str) -> Build:
    def build(net: Net, data: st.DataObject) -> SSAValue:
        x, number = _vectors(net, data), data.draw(st.sampled_from([-2.0, 0.5, 3.0]))
        if function == "div" and data.draw(st.booleans()):
            return net.call("div", number, net.call("add", net.call("mul", x, x), 1.0))
        return net.call(function, *((x, number) if function == "div" or data.draw(st.booleans()) else (number, x)))

    return build


def _unary(function: str, **kwargs: Any) -> Build:
    return lambda net, data: net.call(function, _vectors(net, data), **kwargs)


def _conv2d(net: Net, data: st.DataObject) -> SSAValue:
    x = _image(net, data)
    channels = shape_of(x)[1]
    groups = data.draw(st.sampled_from([g for g in range(1, channels + 1) if channels % g == 0]))
    return net.call(
        "conv2d",
        x,
        groups * data.draw(st.integers(1, 2)),
        _sizes(data, (1, 3), (1, 3)),
        stride=_sizes(data, (1, 2), (1, 3)),
        padding=_sizes(data, (0, 2), (0, 2), (0, 2), (0, 2)),
        dilation=_sizes(data, (1, 1), (1, 1)) if min(shape_of(x)[2:]) < 5 else _sizes(data, (1, 2), (1, 2)),
        groups=groups,
        bias=data.draw(st.booleans()),
    )


def _linear(net: Net, data: st.DataObject) -> SSAValue:
    x = net.param("x", *_sizes(data, *[(1, 3)] * data.draw(st.integers(2, 4))))
    return net.call("linear", x, data.draw(st.integers(1, 4)), bias=data.draw(st.booleans()))


def _matmul(net: Net, data: st.DataObject) -> SSAValue:
    m, n, k = _sizes(data, (1, 3), (1, 4), (1, 3))
    batch = _sizes(data, *[(1, 3)] * data.draw(st.integers(0, 2)))
    cut = [1 if data.draw(st.booleans()) else s for s in batch][data.draw(st.integers(0, len(batch))) :]
    ta, tb = data.draw(st.booleans()), data.draw(st.booleans())
    a = net.param("a", *batch, *((k, m) if ta else (m, k)))
    b = net.param("b", *cut, *((n, k) if tb else (k, n)))
    if data.draw(st.booleans()):
        a, b, ta, tb = b, a, not tb, not ta
    return net.call("matmul", a, b, transpose_a=ta, transpose_b=tb)


def _pool(function: str) -> Build:
    def build(net: Net, data: st.DataObject) -> SSAValue:
        kernel = _sizes(data, (1, 3), (1, 3))
        padding = [data.draw(st.integers(0, k // 2)) for k in (kernel[0], kernel[0], kernel[1], kernel[1])]
        return net.call(function, _image(net, data), kernel, stride=_sizes(data, (1, 2), (1, 3)), padding=padding)

    return build


def _embedding(net: Net, data: st.DataObject) -> SSAValue:
    return net.call(
        "embedding", net.labels("ids", *_sizes(data, (1, 3), (1, 3))), 2, data.draw(st.integers(1, 3)), dtype="f64"
    )


def _concat(net: Net, data: st.DataObject) -> SSAValue:
    x = _vectors(net, data)
    axis = data.draw(st.integers(-3, 2))
    shape = list(shape_of(x))
    shape[axis] = data.draw(st.integers(1, 3))
    return net.call("concat", [x, net.param("y", *shape), x], axis=axis)


def _cross_entropy(net: Net, data: st.DataObject) -> SSAValue:
    x = _vectors(net, data)
    return net.call("cross_entropy", x, net.labels("classes", *shape_of(x)[:-1]))


def _loss(function: str) -> Build:
    def build(net: Net, data: st.DataObject) -> SSAValue:
        x = _vectors(net, data)
        return net.call(function, x, net.param("target", *shape_of(x)))

    return build


CASES: dict[str, Build] = {
    "add": _binary("add"),
    "sub": _binary("sub"),
    "mul": _binary("mul"),
    "div": _binary("div"),
    "add number": _number("add"),
    "sub number": _number("sub"),
    "mul number": _number("mul"),
    "div number": _number("div"),
    "cast": _unary("cast", to="f64"),
    "relu": _unary("relu"),
    "relu6": _unary("relu6"),
    "clip": _unary("clip", low=-0.4, high=0.6),
    "gelu": _unary("gelu"),
    "gelu tanh": _unary("gelu", approximate="tanh"),
    "softmax": lambda net, data: net.call("softmax", _vectors(net, data), axis=data.draw(st.integers(-3, 2))),
    "dropout": _unary("dropout", p=0.4),
    "flatten": _unary("flatten", start=1),
    "reshape": _unary("reshape", shape=[-1]),
    "transpose": _unary("transpose", axes=[2, 0, 1]),
    "layer_norm": _unary("layer_norm"),
    "batch_norm": lambda net, data: net.call("batch_norm", _image(net, data)),
    "batch_norm rows": lambda net, data: net.call("batch_norm", net.param("x", *_sizes(data, (2, 5), (1, 3)))),
    "conv2d": _conv2d,
    "linear": _linear,
    "matmul": _matmul,
    "max_pool": _pool("max_pool"),
    "avg_pool": _pool("avg_pool"),
    "global_avg_pool": lambda net, data: net.call("global_avg_pool", _image(net, data)),
    "global_max_pool": lambda net, data: net.call("global_max_pool", _image(net, data)),
    "embedding": _embedding,
    "concat": _concat,
    "cross_entropy": _cross_entropy,
    "mse": _loss("mse"),
    "dot_loss": _loss("dot_loss"),
}


def test_every_function_of_the_language_has_a_case() -> None:
    covered = {name.split()[0] for name in CASES}
    assert covered == set(get_functions())


def _random_values(module: ModuleOp, seed: int) -> dict[str, Array]:
    func = the_function(module)
    random = np.random.default_rng(seed)
    values: dict[str, Array] = {}
    for argument in arguments_of(func):
        shape = shape_of(func.body.block.args[argument.index])
        if argument.labels:
            values[argument.name] = random.integers(0, 2, shape)
        elif argument.kind in (ArgumentKind.PARAM, ArgumentKind.INPUT):
            # Distinct multiples of an odd step keep clear of the kinks of relu, clip and max pooling.
            count = int(np.prod(shape))
            values[argument.name] = (random.permutation(count).reshape(shape) - count / 2 + 0.25) * (2.02 / count)
    return values


def _numeric_gradient(module: ModuleOp, values: dict[str, Array], name: str, at: tuple[int, ...]) -> float:
    losses: list[float] = []
    for sign in (1, -1):
        moved = {**values, name: values[name].copy()}
        moved[name][at] += sign * STEP
        losses += execute(module, moved, double=True).losses
    return (losses[0] - losses[1]) / (2 * STEP)


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_gradient_equals_central_differences(case: str, data: st.DataObject) -> None:
    net = Net()
    y = CASES[case](net, data)
    if shape_of(y):
        weights = net.input("weights", *shape_of(y))
        y = net.call("mse", y, weights, layer="loss")
    else:
        y = net.call("mul", y, 1.7, layer="loss")
    forward = net.finish(y)
    step = forward.clone()
    AutodiffPass().apply(Context(), step)
    step.verify()
    values = _random_values(forward, seed=data.draw(st.integers(0, 1000)))
    gradients = execute(step, values, double=True).gradients
    params = {a.name for a in arguments_of(the_function(forward)) if a.kind is ArgumentKind.PARAM}
    assert set(gradients) == params
    scale = max(float(np.abs(g).max()) for g in gradients.values())
    for name, gradient in gradients.items():
        places = list(np.ndindex(gradient.shape))
        for at in data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=3)):
            numeric = _numeric_gradient(forward, values, name, at)
            assert gradient[at] == pytest.approx(numeric, rel=1e-6, abs=2e-8 * max(scale, 1.0)), (name, at)
