"""Small networks and hypothesis strategies for programs, shared by the tests."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from xdsl.dialects.builtin import IntegerType, ModuleOp, TensorType, f64, i32
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder, Optimizer
from npuc.compiler.core.errors import Location
from npuc.compiler.driver.running.data import index_limit
from npuc.compiler.interpreter.execute import argument_type, the_function
from npuc.compiler.layers import get_functions
from npuc.compiler.layers.base import Array
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.signature import arguments_of


class Net:
    """A network under construction: `net.call("conv2d", x, 8, 3)` adds a layer and names it."""

    def __init__(self, name: str = "net", *, training: bool = True):
        self.b = GraphBuilder(name, training=training)
        self.count = 0

    def input(self, name: str, *shape: int) -> SSAValue:
        return self.b.input(name, TensorType(f64, shape))

    def labels(self, name: str, *shape: int) -> SSAValue:
        return self.b.input(name, TensorType(i32, shape), labels=True)

    def call(self, function: str, *args: Any, layer: str | None = None, **kwargs: Any) -> SSAValue:
        (result,) = self.call_all(function, *args, layer=layer, **kwargs)
        return result

    def call_all(self, function: str, *args: Any, layer: str | None = None, **kwargs: Any) -> tuple[SSAValue, ...]:
        """The results of a function that may have several."""
        self.count += 1
        with self.b.at(layer or f"{function}{self.count}", Location("net.dsl", self.count, 1)):
            result: SSAValue | Sequence[SSAValue] = get_functions()[function](self.b, *args, **kwargs)
        return (result,) if isinstance(result, SSAValue) else tuple(result)

    def param(self, name: str, *shape: int) -> SSAValue:
        with self.b.at(name, Location("net.dsl", 1, 1)):
            return self.b.param("", shape, f64)

    def finish(self, loss: SSAValue, optimizer: Optimizer | None = None) -> ModuleOp:
        return self.b.finish(loss=loss, outputs=[], optimizer=optimizer)


def dot_loss(net: Net, y: SSAValue) -> SSAValue:
    """A linear loss against a target input, so that integer data keeps integer gradients."""
    return net.call("dot_loss", y, net.input("target", *shape_of(y)), layer="loss")


def integer_data(module: ModuleOp, seed: int = 0, low: int = -3, high: int = 3) -> dict[str, Array]:
    """Small integers for every argument of the module's function; labels and indices within range."""
    func = the_function(module)
    random = np.random.default_rng(seed)
    data: dict[str, Array] = {}
    for argument in arguments_of(func):
        type = argument_type(func, argument)
        if isinstance(type.element_type, IntegerType):
            limit = index_limit(func.body.block.args[argument.index])
            data[argument.name] = random.integers(0, limit or 2, type.get_shape())
        else:
            data[argument.name] = random.integers(low, high + 1, type.get_shape()).astype(np.float64)
    return data


Step = Callable[[Net, SSAValue, st.DataObject], SSAValue]


def _conv(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    _, c, h, w = shape_of(x)
    kernel = [data.draw(st.integers(1, min(3, h))), data.draw(st.integers(1, min(3, w)))]
    groups = data.draw(st.sampled_from([g for g in range(1, c + 1) if c % g == 0]))
    out = groups * data.draw(st.integers(1, 2))
    return net.call(
        "conv2d",
        x,
        out,
        kernel,
        stride=data.draw(st.integers(1, 2)),
        padding=[data.draw(st.integers(0, 1)) for _ in range(4)],
        groups=groups,
        bias=data.draw(st.booleans()),
    )


def _residual(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    other = net.call("conv2d", x, shape_of(x)[1], 1, bias=False)
    return net.call("add", other, x)


def _pool(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    _, _, h, w = shape_of(x)
    return net.call("max_pool", x, [min(2, h), min(2, w)], stride=data.draw(st.integers(1, 2)))


def _relu(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    return net.call(data.draw(st.sampled_from(["relu", "relu6"])), x)


def _scale(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    return net.call("mul", x, data.draw(st.integers(-2, 2)))


def _swap(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    return net.call("transpose", x, [0, 1, 3, 2])


def _join(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    return net.call("concat", [x, net.call("relu", x)], axis=data.draw(st.integers(1, 3)))


def _transposed(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    return net.call("conv_transpose2d", x, data.draw(st.integers(1, 2)), 2, stride=data.draw(st.integers(1, 2)))


def _rows(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    b, c, h, w = shape_of(x)
    y = net.call("conv1d", net.call("reshape", x, [b, c, h * w]), c, data.draw(st.integers(1, 2)), padding="same")
    return net.call("reshape", y, [b, c, h, w])


def _parts(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    axis = data.draw(st.integers(1, 3))
    parts = net.call_all("split", x, data.draw(st.integers(1, 3)), axis)
    return net.call("concat", data.draw(st.permutations(parts)), axis)


def _pieces(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    parts = net.call_all("unbind", x, data.draw(st.integers(1, 3)))
    return net.call("stack", data.draw(st.permutations(parts)), data.draw(st.integers(1, 3)))


def _chosen(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    condition = net.call(data.draw(st.sampled_from(["less", "equal", "greater_equal"])), x, 1)
    return net.call("where", condition, x, data.draw(st.integers(-2, 2)))


def _masked(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    _, _, h, w = shape_of(x)
    return net.call("where", net.call("causal_mask", h, w), x, 0)


def _places(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    axis = data.draw(st.integers(1, 3))
    places = data.draw(st.lists(st.integers(0, shape_of(x)[axis] - 1), min_size=1, max_size=4))
    return net.call("index_select", x, places, axis)


def _cut(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    axis = data.draw(st.integers(1, 3))
    start = data.draw(st.integers(0, shape_of(x)[axis] - 1))
    cut = net.call("slice", x, axis, start, step=data.draw(st.integers(1, 2)))
    return net.call("pad", cut, [data.draw(st.integers(0, 1)) for _ in range(4)])


def _summed(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    total = net.call("sum", x, data.draw(st.integers(1, 3)), keepdim=True)
    return net.call(data.draw(st.sampled_from(["add", "sub", "mul"])), x, total)


def _moved(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    if data.draw(st.booleans()):
        return net.call("flip", x, data.draw(st.integers(1, 3)))
    return net.call("roll", x, data.draw(st.integers(-2, 2)), data.draw(st.integers(1, 3)))


def _elementwise(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    return net.call(data.draw(st.sampled_from(["abs", "neg", "tril", "triu"])), x)


IMAGE_STEPS: list[Step] = [
    *(_conv, _conv, _residual, _pool, _relu, _scale, _swap, _join, _transposed, _rows),
    *(_parts, _pieces, _chosen, _masked, _places, _cut, _summed, _moved, _elementwise),
]


@st.composite
def integer_networks(draw: st.DrawFn) -> ModuleOp:
    """A random network whose operations keep integers, with a linear loss and momentum."""
    data = draw(st.data())
    net = Net()
    shape = [draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(2, 6)), draw(st.integers(2, 6))]
    x = net.input("x", *shape)
    for step in draw(st.lists(st.sampled_from(IMAGE_STEPS), min_size=1, max_size=4)):
        x = step(net, x, data)
    if draw(st.booleans()):
        x = net.call("linear", net.call("flatten", x), draw(st.integers(1, 4)))
        if draw(st.booleans()):
            w = net.param("shared", shape_of(x)[1], shape_of(x)[1])
            x = net.call("linear", net.call("linear", x, weight=w), weight=w, bias=False)
    momentum = draw(st.sampled_from([0.0, 1.0]))
    return net.finish(dot_loss(net, x), Optimizer("sgd", {"lr": 1.0, "momentum": momentum}))
