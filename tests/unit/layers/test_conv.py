"""Convolutions: what wrong calls say, small examples by hand, the nests of transposed ones."""

from math import prod
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context

from npuc.compiler.analysis.nest.gemm import forward_sizes
from npuc.compiler.interpreter.execute import execute, the_function
from npuc.compiler.layers.base import Array
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.compiler.transforms.lower_to_npu import LowerToNpuPass
from npuc.dialects.npu import Col2ImOp, ContractOp, Im2ColOp
from npuc.dialects.provenance import layer_of, role_of
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.signature import arguments_of
from tests.networks import Net, dot_loss
from tests.unit.layers.wrong_call import message_of

GROUPS = "expected a divisor of 6 input and 4 output channels"
PADDING = "expected an integer, [left, right], 'same' or 'valid'"


BEFORE = "network t() { input v: f32[2, 6, 9]; input x: f32[2, 6, 9, 9]; input u: f32[2, 6, 9, 9, 9]"
AFTER = "loss mse(h, x); use = v; also = u }"


@pytest.mark.parametrize(
    ("call", "argument", "expected"),
    [
        ("conv1d(x, 4)", "x", "found a tensor of rank 4, expected [batch, channels, length]"),
        ("conv2d(v, 4)", "x", "found a tensor of rank 3, expected [batch, channels, height, width]"),
        ("conv3d(x, 4)", "x", "found a tensor of rank 4, expected [batch, channels, depth, height, width]"),
        ("conv1d(v)", "channels", "missing, expected the number of output channels, or weight="),
        ("conv1d(v, 0)", "channels", "found 0, expected at least 1"),
        ("conv1d(v, 4, groups=4)", "groups", f"found 4, {GROUPS}"),
        ("conv1d(v, 4, groups=0)", "groups", f"found 0, {GROUPS}"),
        ("conv1d(v, 4, kernel=0)", "kernel", "found 0, expected at least 1"),
        ("conv1d(v, 4, kernel=[3, 3])", "kernel", "found a list of 2, expected an integer or a list of one"),
        ("conv3d(u, 4, kernel=[3, 3])", "kernel", "found a list of 2, expected an integer or a list of three"),
        ("conv2d(x, 4, stride=[1, 0])", "stride", "found [1, 0], expected at least 1"),
        ("conv1d(v, 4, dilation=0)", "dilation", "found 0, expected at least 1"),
        ("conv1d(v, 4, padding=-1)", "padding", "found -1, expected at least 0"),
        ("conv2d(x, 4, padding=[0, -1])", "padding", "found [0, -1], expected at least 0"),
        ('conv1d(v, 4, padding="full")', "padding", f"found 'full', {PADDING}"),
        ("conv1d(v, 4, padding=[1, 1, 1])", "padding", "found a list of 3, expected [left, right]"),
        ("conv1d(v, weight=x)", "weight", "found a tensor of rank 4, expected [out, in / groups, kernel]"),
        ("conv_transpose1d(x, 4)", "x", "found a tensor of rank 4, expected [batch, channels, length]"),
        ("conv_transpose2d(x)", "channels", "missing, expected the number of output channels, or weight="),
        ("conv_transpose2d(x, 4, groups=3)", "groups", f"found 3, {GROUPS}"),
        (
            "conv_transpose2d(x, weight=v)",
            "weight",
            "found a tensor of rank 3, expected [in, out / groups, kernel, kernel]",
        ),
        ("conv_transpose2d(x, 4, kernel=-2)", "kernel", "found -2, expected at least 1"),
        ("conv_transpose2d(x, 4, stride=0)", "stride", "found 0, expected at least 1"),
        ("conv_transpose2d(x, 4, dilation=[1, 0])", "dilation", "found [1, 0], expected at least 1"),
        (
            "conv_transpose2d(x, 4, output_padding=1)",
            "output_padding",
            "found 1, expected less than the stride or the dilation",
        ),
        (
            "conv_transpose2d(x, 4, stride=2, output_padding=[0, -1])",
            "output_padding",
            "found [0, -1], expected at least 0",
        ),
        ("conv_transpose1d(v, 4, padding=5)", "padding", "found 5, which leaves nothing of the output: -1"),
    ],
)
def test_a_wrong_argument_is_named(call: str, argument: str, expected: str) -> None:
    assert f"argument '{argument}' of {call.split('(')[0]} (layer 'h'): {expected}" in message_of(
        f"h = {call}", before=BEFORE, after=AFTER
    )


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("conv1d(v, weight=w, channels=3)", "argument 'channels' of conv1d (layer 'h'): found 3, the weight has 4"),
        ("conv1d(v, weight=w, kernel=2)", "argument 'kernel' of conv1d (layer 'h'): found 2, the weight has [3]"),
        ("conv1d(v, weight=w, groups=2)", "the input has 6 channels, the weight 4x6x3 in 2 groups reads 12"),
        ("conv1d(v, weight=w, dilation=5)", "a window of 3 does not fit into 9 with padding [0, 0] and dilation [5]"),
        ("conv_transpose1d(v, weight=w)", "the input has 6 channels, the weight 4x6x3 reads 4"),
        (
            "conv_transpose1d(v, weight=w, channels=3)",
            "argument 'channels' of conv_transpose1d (layer 'h'): found 3, the weight has 6",
        ),
    ],
)
def test_a_shared_weight_must_fit(call: str, expected: str) -> None:
    assert expected in message_of(f"w = param([4, 6, 3]); h = {call}", before=BEFORE, after=AFTER)


@pytest.mark.parametrize(
    ("function", "axes", "weight"),
    [
        ("conv1d", 1, (6, 2, 5)),
        ("conv2d", 2, (6, 2, 5, 5)),
        ("conv3d", 3, (6, 2, 5, 5, 5)),
        ("conv_transpose1d", 1, (4, 3, 5)),
        ("conv_transpose2d", 2, (4, 3, 5, 5)),
    ],
)
def test_weight_and_bias_start_within_one_over_the_root_of_the_fan_in(
    function: str, axes: int, weight: tuple[int, ...]
) -> None:
    net = Net()
    y = net.call(function, net.input("x", 2, 4, *(6,) * axes), 6, 5, groups=2, layer="y")
    module = net.finish(dot_loss(net, y))
    func = the_function(module)
    shapes = {a.name: shape_of(func.body.block.args[a.index]) for a in arguments_of(func)}
    assert (shapes["y.weight"], shapes["y.bias"]) == (weight, (6,))
    bound = prod(weight[1:]) ** -0.5
    assert {a.name: a.bound for a in arguments_of(func) if a.bound is not None} == {"y.weight": bound, "y.bias": bound}


def run(function: str, x: list[float], w: list[float], **arguments: Any) -> list[float]:
    """The output of a call on one channel of a line."""
    net = Net()
    weight = net.param("w", 1, 1, len(w))
    y = net.call(function, net.input("x", 1, 1, len(x)), weight=weight, bias=False, **arguments)
    module = net.b.finish(loss=None, outputs=[("y", y)], optimizer=None)
    values: dict[str, Array] = {"x": np.array([[x]]), "w": np.array([[w]])}
    return execute(module, values, double=True).outputs["y"].ravel().tolist()


def test_small_examples() -> None:
    assert run("conv1d", [1, 2, 3, 4], [1, 10]) == [21, 32, 43]
    assert run("conv1d", [1, 2, 3, 4], [1, 10], padding="same") == [21, 32, 43, 4]
    assert run("conv1d", [1, 2, 3, 4], [1, 10], stride=2, padding=[1, 0]) == [10, 32]
    assert run("conv_transpose1d", [1, 2, 3], [1, 10]) == [1, 12, 23, 30]
    assert run("conv_transpose1d", [1, 2, 3], [1, 10], stride=3) == [1, 10, 0, 2, 20, 0, 3, 30]
    assert run("conv_transpose1d", [1, 2, 3], [1, 10], stride=3, output_padding=2) == [1, 10, 0, 2, 20, 0, 3, 30, 0, 0]
    assert run("conv_transpose1d", [1, 2, 3], [1, 10], padding=[1, 2]) == [12]
    assert run("conv_transpose1d", [1, 2], [1, 10], dilation=3, output_padding=1) == [1, 2, 0, 10, 20, 0]


def contracts(conv: str) -> dict[str, ContractOp]:
    """The products of a transposed convolution by role; only im2col has matrices of windows."""
    net = Net()
    x = net.call("conv2d", net.input("x", 2, 4, 5, 5), 4, 1)
    y = net.call("conv_transpose2d", x, 6, 3, stride=2, padding=1, output_padding=1, groups=2, layer="y")
    module = net.finish(dot_loss(net, y))
    AutodiffPass().apply(Context(), module)
    LowerToNpuPass(conv=conv).apply(Context(), module)
    module.verify()
    assert bool([op for op in module.walk() if isinstance(op, Im2ColOp | Col2ImOp)]) == (conv == "im2col")
    return {role_of(op).value: op for op in module.walk() if isinstance(op, ContractOp) and layer_of(op) == "y"}


def test_the_products_of_a_transposed_convolution_run_over_its_own_dimensions() -> None:
    products = contracts("native")
    window = "y * 2 + r - 1, x * 2 + s - 1]"
    texts = {role: [str(t) for t in (*op.nest.ins, *op.nest.outs)] for role, op in products.items()}
    assert texts == {
        "forward": ["X[b, g * 2 + i, y, x]", "W[g * 2 + i, o, r, s]", f"Y[b, g * 3 + o, {window}"],
        "dx": [f"dY[b, g * 3 + o, {window}", "W[g * 2 + i, o, r, s]", "dX[b, g * 2 + i, y, x]"],
        "dw": ["X[b, g * 2 + i, y, x]", f"dY[b, g * 3 + o, {window}", "dW[g * 2 + i, o, r, s]"],
    }
    assert str(products["forward"].nest.starts[0]) == "Y0[g * 3 + o]"
    sizes = {"b": 2, "g": 2, "o": 3, "i": 2, "y": 5, "x": 5, "r": 3, "s": 3}
    assert all(op.nest.sizes == sizes for op in products.values())
    assert {forward_sizes(op.nest) for op in products.values()} == {(2, 50, 27, 2)}


def test_im2col_of_a_transposed_convolution_multiplies_the_same_matrices() -> None:
    products = contracts("im2col")
    texts = {role: [str(t) for t in (*op.nest.ins, *op.nest.outs)] for role, op in products.items()}
    assert texts == {
        "forward": ["X[b, g, k, m]", "W[g, k, n]", "Y[g, b, m, n]"],
        "dx": ["dY[g, b, m, n]", "W[g, k, n]", "dX[b, g, k, m]"],
        "dw": ["X[b, g, k, m]", "dY[g, b, m, n]", "dW[g, k, n]"],
    }
    assert {forward_sizes(op.nest) for op in products.values()} == {(2, 50, 27, 2)}


@pytest.mark.parametrize(
    ("channels", "out", "groups", "weight"),
    [(4, 4, 4, "W[i, 0, s]"), (4, 8, 4, "W[i, o, s]"), (4, 2, 2, "W[g * 2 + i, 0, s]"), (4, 3, 1, "W[i, o, s]")],
)
def test_groups_of_a_transposed_convolution(channels: int, out: int, groups: int, weight: str) -> None:
    net = Net()
    y = net.call("conv_transpose1d", net.input("x", 2, channels, 6), out, 3, groups=groups, layer="y")
    module = net.finish(dot_loss(net, y))
    LowerToNpuPass().apply(Context(), module)
    (contract,) = [op for op in module.walk() if isinstance(op, ContractOp)]
    assert str(contract.nest.ins[1]) == weight
    assert contract.nest.points == 2 * channels * 6 * 3 * (out // groups)
