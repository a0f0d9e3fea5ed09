"""Normalisations: exact examples, what they leave out, and their work."""

from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f64

from npuc.compiler.interpreter.execute import execute, the_function
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Array
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.signature import ArgumentKind, arguments_of
from tests.networks import Net, dot_loss


def network(function: str, shape: tuple[int, ...], *, training: bool = True, **arguments: Any) -> ModuleOp:
    """A network of one call with its result as output; with a loss, and its gradients, in training."""
    net = Net(training=training)
    y = net.call(function, net.input("x", *shape), layer="y", **arguments)
    loss = dot_loss(net, y) if training else None
    module = net.b.finish(loss=loss, outputs=[("y", y)], optimizer=None)
    if training:
        AutodiffPass().apply(Context(), module)
    module.verify()
    return module


def inference(function: str, x: Array, **arguments: Any) -> Array:
    module = network(function, x.shape, training=False, **arguments)
    return execute(module, {"x": x}, double=True).outputs["y"]


def test_running_statistics_normalise_in_inference_without_scale_and_shift() -> None:
    """Mean 0 and variance 1 at first; eps 3 makes the divisor 2."""
    assert inference("batch_norm", np.array([[2.0, -4.0]]), eps=3, affine=False).tolist() == [[1.0, -2.0]]


def test_a_row_of_several_axes() -> None:
    """Mean 3 and variance 4 over both axes together."""
    x = np.array([[[1.0, 1.0], [5.0, 5.0]]])
    assert inference("layer_norm", x, eps=0, axes=2).tolist() == [[[-1.0, -1.0], [1.0, 1.0]]]
    assert inference("rms_norm", x, eps=3, axes=2).tolist() == [[[0.25, 0.25], [1.25, 1.25]]]


@pytest.mark.parametrize(
    ("function", "x", "scale", "arguments", "expected"),
    [
        ("batch_norm", [[3.0], [-1.0]], 1, {"eps": 0.0, "running": False}, [[7.0], [3.0]]),
        ("group_norm", [[3.0, -1.0]], 2, {"eps": 0.0, "groups": 1}, [[7.0, 3.0]]),
        ("layer_norm", [[3.0, -1.0]], 2, {"eps": 0.0}, [[7.0, 3.0]]),
        ("rms_norm", [[5.0, -5.0]], 2, {"eps": 0.0}, [[2.0, -2.0]]),
    ],
)
def test_shared_scale_and_shift(function: str, x: Any, scale: int, arguments: Any, expected: Any) -> None:
    """A scale of 2 and a shift of 5 that a program makes once and two layers take."""
    net = Net()
    weight, bias = (net.b.param(name, [scale], f64, fill=fill) for name, fill in (("w", 2.0), ("b", 5.0)))
    shift = {} if function == "rms_norm" else {"bias": bias}
    given = net.input("x", *np.shape(x))
    y = net.call(function, given, layer="y", weight=weight, **shift, **arguments)
    again = net.call(function, given, layer="z", weight=weight, **shift, **arguments)
    module = net.b.finish(loss=dot_loss(net, net.call("add", y, again)), outputs=[("y", y)], optimizer=None)
    names = [one.name for one in arguments_of(the_function(module)) if one.kind is ArgumentKind.PARAM]
    assert names == [".w"] if function == "rms_norm" else [".w", ".b"]
    AutodiffPass().apply(Context(), module)
    module.verify()
    run = execute(module, {"x": np.array(x), "target": np.ones_like(x)}, double=True)
    assert run.outputs["y"].tolist() == expected
    assert run.gradients[".w"].shape == (scale,)


def test_groups_of_channels() -> None:
    x = np.array([[1.0, 5.0, -2.0, -2.0, 0.0, 8.0]]).reshape(1, 6, 1)
    assert inference("group_norm", x, groups=3, eps=0.0)[0, [0, 1, 4, 5], 0].tolist() == [-1.0, 1.0, -1.0, 1.0]
    assert inference("group_norm", x, groups=3, eps=1.0)[0, [2, 3], 0].tolist() == [0.0, 0.0]


def test_instances() -> None:
    x = np.array([[[1.0, 5.0], [0.0, 8.0]]])
    assert inference("instance_norm", x, eps=0.0).tolist() == [[[-1.0, 1.0], [-1.0, 1.0]]]


@pytest.mark.parametrize(
    ("size", "squares"),
    [(1, [1, 1, 1, 1]), (2, [1, 2, 2, 2]), (3, [2, 3, 3, 2]), (4, [2, 3, 4, 3]), (9, [4, 4, 4, 4])],
)
def test_the_channels_around_one(size: int, squares: list[int]) -> None:
    """An even window has one more channel before than behind."""
    y = inference("local_response_norm", np.ones((1, 4, 1)), size=size, alpha=size, beta=1, k=1)
    assert y.ravel().tolist() == [1 / (1 + count) for count in squares]


@pytest.mark.parametrize(
    ("function", "arguments", "params"),
    [
        ("batch_norm", {}, ["y.weight", "y.bias"]),
        ("batch_norm", {"affine": False}, []),
        ("layer_norm", {}, ["y.weight", "y.bias"]),
        ("layer_norm", {"bias": False}, ["y.weight"]),
        ("rms_norm", {}, ["y.weight"]),
        ("rms_norm", {"affine": False}, []),
        ("group_norm", {"groups": 2}, ["y.weight", "y.bias"]),
        ("group_norm", {"groups": 2, "affine": False}, []),
        ("instance_norm", {}, []),
        ("instance_norm", {"affine": True}, ["y.weight", "y.bias"]),
    ],
)
def test_the_parameters_of_a_layer(function: str, arguments: dict[str, Any], params: list[str]) -> None:
    module = network(function, (2, 4, 3), **arguments)
    found = [a.name for a in arguments_of(the_function(module)) if a.kind is ArgumentKind.PARAM]
    assert found == params
    run = execute(module, {"x": np.ones((2, 4, 3)), "target": np.ones((2, 4, 3))}, double=True)
    assert list(run.gradients) == params


def test_the_running_average_goes_on_without_scale_and_shift() -> None:
    module = network("batch_norm", (2, 1), affine=False, momentum=0.5)
    run = execute(module, {"x": np.array([[1.0], [5.0]]), "target": np.ones((2, 1))}, double=True)
    assert {name: value.tolist() for name, value in run.updated.items()} == {
        "y.running_mean": [1.5],
        "y.running_var": [4.5],
    }


def _work(module: ModuleOp) -> dict[str, int]:
    work = {op.name: get_layer(op).work(op).vector_ops for op in module.walk() if isinstance(op, TrainOp)}
    return {name.removeprefix("train."): ops for name, ops in work.items() if "norm" in name}


def test_work() -> None:
    """4 operations an element forward, 4 for dx, 4 for the parameters; a window sum has `size` more."""
    net = Net()
    x = net.param("x", 2, 4, 3)
    x = net.call("rms_norm", net.call("group_norm", x, groups=2))
    x = net.call("local_response_norm", net.call("layer_norm", x, axes=2), size=3)
    module = net.finish(dot_loss(net, x))
    AutodiffPass().apply(Context(), module)
    norms = ("group_norm", "rms_norm", "layer_norm")
    expected = {f"{norm}{part}": 4 * 24 for norm in norms for part in ("", "_dx", "_dw")}
    assert _work(module) == expected | {"local_response_norm": 7 * 24, "local_response_norm_grad": 10 * 24}
