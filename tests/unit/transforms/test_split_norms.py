"""Batch normalisations and dropouts in steps that can be shared: the training step stays what it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, bf16, f16, f32, f64
from xdsl.ir import Attribute, SSAValue

from npuc.compiler.core.builder import Optimizer
from npuc.compiler.interpreter.compare import compare
from npuc.compiler.interpreter.execute import Run, execute, the_function
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Array
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.compiler.transforms.named_pattern import sweep
from npuc.compiler.transforms.parallelize.split_norms import PlaceDropout, SplitBatchNorm
from npuc.dialects.provenance import layer_of
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.base import TrainOp
from tests.networks import Net


def names(module: ModuleOp, layer: str) -> list[str]:
    return [op.name.removeprefix("train.") for op in the_function(module).body.block.ops if layer_of(op) == layer]


def split(module: ModuleOp) -> ModuleOp:
    new = module.clone()
    sweep(new.body, SplitBatchNorm(), PlaceDropout())
    new.verify()
    return new


def run(module: ModuleOp, data: dict[str, Array], *, double: bool = True) -> Run:
    """Two training steps."""
    step = module.clone()
    AutodiffPass().apply(Context(), step)
    return execute(step, data, double=double, steps=2)


def values(run: Run) -> dict[str, Array]:
    """All that a run computed, by name."""
    found: dict[str, Array] = {"losses": np.array(run.losses)}
    for kind in ("outputs", "gradients", "updated"):
        arrays: dict[str, Array] = getattr(run, kind)
        found |= {f"{kind} {name}": array for name, array in arrays.items()}
    return found


def _convolution(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    return net.call("conv2d", x, data.draw(st.integers(1, 3)), [2, 1])


def _norm(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    momentum = data.draw(st.sampled_from([0.1, 0.5]))
    return net.call("batch_norm", x, eps=0.01, momentum=momentum, affine=data.draw(st.booleans()))


def _dropout(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    return net.call("dropout", x, data.draw(st.sampled_from([0.1, 0.5])))


def _residual(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    return net.call("add", x, net.call("tanh", x))


STEPS = [_convolution, _norm, _norm, _dropout, _residual]


@settings(max_examples=25)
@given(data=st.data())
def test_the_training_step_stays_the_same(data: st.DataObject) -> None:
    net = Net()
    x = net.input("x", 4, data.draw(st.integers(1, 3)), 5, data.draw(st.integers(2, 3)))
    for step in data.draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=3)):
        x = step(net, x, data)
    x = _norm(net, net.call("conv2d", x, 2, 1), data)
    loss = net.call("mse", net.call("tanh", x), net.input("target", *shape_of(x)))
    module = net.b.finish(loss=loss, outputs=[("y", x)], optimizer=Optimizer("sgd", {"lr": 0.5, "momentum": 0.5}))
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    arrays = {"x": random.uniform(-1, 1, shape_of(net_input(module))), "target": random.uniform(-1, 1, shape_of(x))}
    before, after = run(module, arrays), run(split(module), arrays)
    outcome = compare(values(before), values(after))
    assert outcome.equal, f"{outcome}: {outcome.error}"


def net_input(module: ModuleOp) -> SSAValue:
    return the_function(module).body.block.args[0]


def test_what_stands_in_place_of_a_batch_norm() -> None:
    net = Net()
    y = net.call("batch_norm", net.input("x", 4, 2), layer="norm")
    module = split(net.finish(net.call("sum", y)))
    assert names(module, "norm") == ["channel_mean", "detach", "channel_var", "normalize", "ema", "ema"]
    means, known, var, y, *averages = (op for op in the_function(module).body.block.ops if layer_of(op) == "norm")
    assert list(y.operands[-2:]) == [means.results[0], var.results[0]]
    assert list(var.operands[1:]) == list(known.results)
    assert [op.operands[1] for op in averages] == [means.results[0], var.results[0]]


def test_all_of_a_split_batch_norm_can_be_shared_along_the_batch() -> None:
    net = Net()
    module = net.finish(net.call("sum", net.call("batch_norm", net.input("x", 4, 2), layer="norm")))
    for found, expected in ((module, set[str]()), (split(module), {"channel_mean", "channel_var", "normalize"})):
        shared = {
            op.name.removeprefix("train.")
            for op in the_function(found).body.block.ops
            if isinstance(op, TrainOp) and layer_of(op) == "norm"
            for cut in get_layer(op).cuts(op)
            if cut.operands[0] == 0 and shape_of(op.operands[0])[0] == 4
        }
        assert shared == expected


def dropout(element: Attribute, p: float) -> ModuleOp:
    net = Net()
    x = net.b.input("x", TensorType(element, [64]))
    with net.b.at("drop", None):
        w = net.b.param("", [64], element)
    y = net.call("dropout", net.call("mul", x, w), p, layer="drop")
    loss = net.call("dot_loss", y, net.b.input("target", TensorType(element, [64])))
    return net.b.finish(loss=loss, outputs=[("y", y)], optimizer=None)


@pytest.mark.parametrize("element", [f64, f32, f16, bf16], ids=str)
@pytest.mark.parametrize("p", [0.1, 0.3, 0.5])
def test_a_dropout_that_knows_its_places_gives_the_same_bits(element: Attribute, p: float) -> None:
    module = dropout(element, p)
    random = np.random.default_rng(3)
    data: dict[str, Any] = {name: random.uniform(-1, 1, 64) for name in ("x", "target", "drop")}
    before, after = values(run(module, data, double=False)), values(run(split(module), data, double=False))
    assert before.keys() == after.keys()
    assert all(np.array_equal(before[name], after[name]) for name in before)
    assert 0 < np.count_nonzero(before["outputs y"]) < 64


def test_places_are_said_once() -> None:
    module = split(dropout(bf16, 0.5))
    assert names(module, "drop") == ["arange", "dropout"]
    assert str(split(module)) == str(module)
