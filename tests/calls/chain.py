"""Random networks over all layers: random calls in a row, each result adapted to the first operand of the next call."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from hypothesis import strategies as st
from xdsl.dialects.builtin import AnyFloat, ModuleOp, TensorType, f64, i1, i32
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import Optimizer
from npuc.dialects.tensors import shape_of, tensor_type
from tests.calls import COUNTED, Call, Shape, all_calls
from tests.networks import Net

DEFAULT_RANGE = (-1.0, 1.0)


def adapted(net: Net, value: SSAValue, shape: Shape, limits: tuple[float, float]) -> SSAValue:
    """The elements of a tensor under another shape, as often as needed, within limits."""
    flat, count = net.call("reshape", value, [-1]), prod(shape)
    while shape_of(flat)[0] < count:
        flat = net.call("concat", [flat, flat], 0)
    if shape_of(flat)[0] > count:
        flat = net.call("slice", flat, 0, 0, count)
    if limits != DEFAULT_RANGE:
        low, high = limits
        flat = net.call(
            "add", net.call("mul", net.call("sigmoid", flat), (high - low) * 0.9), low + (high - low) * 0.05
        )
    return net.call("reshape", flat, list(shape)) if shape != (count,) else flat


def add_call(net: Net, call: Call, value: SSAValue, number: int) -> SSAValue:
    """Append a call whose first float operand is `value`; its first float result, else `value`."""
    operands: dict[str, Any] = {}
    for name, shape in call.tensors.items():
        shapes: Sequence[Shape] = shape if isinstance(shape, list) else [shape]
        made: list[SSAValue] = []
        for index, one in enumerate(shapes):
            if not operands and index == 0:
                made.append(adapted(net, value, one, call.ranges.get(name, DEFAULT_RANGE)))
            else:
                made.append(net.param(f"p{number}.{name}{index}", *one))
        operands[name] = made if isinstance(shape, list) else made[0]
    for name, index in call.indices.items():
        many = index if isinstance(index, list) else [index]
        given = [
            net.b.input(f"p{number}.{name}{i}", TensorType(i32, shape), labels=True)
            for i, (shape, _) in enumerate(many)
        ]
        operands[name] = given if isinstance(index, list) else given[0]
    for name, shape in call.masks.items():
        operands[name] = net.b.input(f"p{number}.{name}", TensorType(i1, shape))
    results = net.call_all(call.function, **operands, **call.arguments)
    floats = [r for r in results if isinstance(tensor_type(r).element_type, AnyFloat)]
    return floats[0] if floats else value


@st.composite
def chained_calls(draw: st.DrawFn, *, names: Sequence[str] | None = None, longest: int = 4) -> ModuleOp:
    """A network of one to `longest` random calls after a product, with a loss and an optimizer."""
    data = draw(st.data())
    net = Net()
    value = net.call("linear", net.input("x", draw(st.integers(1, 3)), 4), draw(st.integers(2, 6)))
    possible = [name for name in names or all_calls() if name not in COUNTED]
    drawn = draw(st.lists(st.sampled_from(possible), min_size=1, max_size=longest))
    for number, name in enumerate(drawn):
        value = add_call(net, all_calls()[name](data), value, number)
        value = value if tensor_type(value).element_type == f64 else net.call("cast", value, "f64")
    flat = net.call("reshape", value, [-1])
    loss = net.call("mse", flat, net.input("target", *shape_of(flat)), layer="loss")
    return net.finish(loss, Optimizer("sgd", {"lr": 0.5, "momentum": 0.0, "weight_decay": 0.0}))
