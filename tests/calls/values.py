"""A call as a network of float64, and values for its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import AnyFloat, ModuleOp, TensorType, f64, i1, i32
from xdsl.ir import SSAValue

from npuc.compiler.interpreter.execute import the_function
from npuc.compiler.layers.base import Array
from npuc.dialects.tensors import shape_of, tensor_type
from npuc.dialects.train.signature import ArgumentKind, arguments_of
from tests.calls import Call, Index, Shape
from tests.networks import Net

CALLED = "y"
"""The layer of the call: its parameters are `y.weight`, …"""


@dataclass(frozen=True)
class CalledNet:
    """
    A network of one call.

    The loss is the sum of mse(result, w) over the results that are floats, each with an input w of its own; None if
    there are none. `operands` are the names of the network's arguments for each operand of the call.
    """

    module: ModuleOp
    operands: Mapping[str, str | list[str]]
    results: int
    has_loss: bool


def build(call: Call) -> CalledNet:
    """The network of a call; its float operands are parameters, so that their gradients are results."""
    net = Net()
    operands: dict[str, str | list[str]] = {}
    values: dict[str, Any] = {}
    for name, shape in call.tensors.items():
        if isinstance(shape, list):
            operands[name] = [f"{name}_{i}" for i in range(len(shape))]
            values[name] = [net.param(f"{name}_{i}", *one) for i, one in enumerate(shape)]
        else:
            operands[name], values[name] = name, net.param(name, *shape)
    for name, index in call.indices.items():
        if isinstance(index, list):
            operands[name] = [f"{name}_{i}" for i in range(len(index))]
            values[name] = [_index(net, f"{name}_{i}", one) for i, one in enumerate(index)]
        else:
            operands[name], values[name] = name, _index(net, name, index)
    for name, shape in call.masks.items():
        operands[name], values[name] = name, net.b.input(name, TensorType(i1, shape))
    results = net.call_all(call.function, layer=CALLED, **values, **call.arguments)
    losses = [_loss(net, r, number) for number, r in enumerate(results) if _is_float(r)]
    total = losses[0] if losses else None
    for loss in losses[1:]:
        assert total is not None
        total = net.call("add", total, loss, layer="total")
    outputs = [(f"out{i}", r) for i, r in enumerate(results)]
    module = net.b.finish(loss=total, outputs=outputs, optimizer=None)
    return CalledNet(module, operands, len(results), total is not None)


def _index(net: Net, name: str, index: Index) -> SSAValue:
    return net.b.input(name, TensorType(i32, index[0]), labels=True)


def _is_float(value: SSAValue) -> bool:
    return isinstance(tensor_type(value).element_type, AnyFloat)


def _loss(net: Net, y: SSAValue, number: int) -> SSAValue:
    if not shape_of(y):
        return net.call("mul", y, 1.7 + number, layer="loss")
    y = y if tensor_type(y).element_type == f64 else net.call("cast", y, "f64")
    return net.call("mse", y, net.input(f"expected{number}", *shape_of(y)), layer="loss")


def random_values(call: Call, net: CalledNet, seed: int) -> dict[str, Array]:
    """
    Values for the arguments of a call's network.

    Floats are distinct multiples of an odd step within their range, clear of the kinks of relu, clip and max pooling.
    """
    random = np.random.default_rng(seed)
    ranges: dict[str, tuple[float, float]] = {}
    for operand, names in net.operands.items():
        for name in [names] if isinstance(names, str) else names:
            ranges[name] = call.ranges.get(operand, (-1.0, 1.0))
    limits: dict[str, int] = {}
    for name, index in call.indices.items():
        for number, (_, limit) in enumerate(index if isinstance(index, list) else [index]):
            limits[f"{name}_{number}" if isinstance(index, list) else name] = limit
    values: dict[str, Array] = {}
    for argument in arguments_of(the_function(net.module)):
        shape, name = argument_shape(net.module, argument.index), argument.name
        if name in limits:
            values[name] = random.integers(0, limits[name], shape)
        elif name in call.masks:
            values[name] = random.integers(0, 2, shape).astype(bool)
        elif argument.kind in (ArgumentKind.PARAM, ArgumentKind.INPUT):
            values[name] = _spread(random, shape, ranges.get(name, (-1.0, 1.0)))
    return values


def argument_shape(module: ModuleOp, index: int) -> Shape:
    """The shape of an argument of the module's function."""
    return shape_of(the_function(module).body.block.args[index])


def _spread(random: np.random.Generator, shape: Shape, limits: tuple[float, float]) -> Array:
    low, high = limits
    count = int(np.prod(shape))
    places = (random.permutation(count).reshape(shape) - count / 2 + 0.25) / count
    return np.asarray((low + high) / 2 + places * (high - low) * 0.99)
