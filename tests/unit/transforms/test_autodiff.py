"""The structure of what autodiff derives: no needless work, names kept, sums of contributions, optimizers, refusals."""

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, f64

from npuc.compiler import run_source
from npuc.compiler.core.builder import Optimizer
from npuc.compiler.core.errors import SourceError
from npuc.compiler.interpreter.execute import execute, the_function
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.compiler.transforms.lower_to_npu import LowerToNpuPass
from npuc.dialects.provenance import Role, layer_of, location_text, role_of
from npuc.dialects.train.arithmetic import AddOp
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.conv import Conv2dDxOp
from npuc.dialects.train.matmul import MatmulOp
from npuc.dialects.train.optimizer import AdamOp, SgdOp
from npuc.dialects.train.signature import arguments_of, results_of
from tests.networks import Net, dot_loss, integer_data


def differentiate(module: ModuleOp) -> list[TrainOp]:
    AutodiffPass().apply(Context(), module)
    module.verify()
    return [op for op in module.walk() if isinstance(op, TrainOp)]


def roles(ops: list[TrainOp]) -> list[tuple[str, str, str]]:
    return [
        (op.name.removeprefix("train."), layer_of(op), role_of(op)) for op in ops if role_of(op) is not Role.FORWARD
    ]


def test_a_linear_layer_gets_dw_but_no_dx_of_the_input() -> None:
    net = Net()
    y = net.call("linear", net.input("x", 6, 5), 4, layer="fc1")
    ops = differentiate(net.finish(dot_loss(net, y), Optimizer("sgd", {"lr": 0.1})))
    assert roles(ops) == [
        ("reduce", "fc1", "dw"),
        ("matmul", "fc1", "dw"),
        ("sgd", "fc1.weight", "update"),
        ("sgd", "fc1.bias", "update"),
    ]


def test_dx_comes_before_dw_and_both_read_the_same_dy() -> None:
    net = Net()
    h = net.call("linear", net.input("x", 6, 5), 8, bias=False, layer="fc1")
    y = net.call("linear", h, 4, bias=False, layer="fc2")
    ops = differentiate(net.finish(dot_loss(net, y)))
    dx, dw = (op for op in ops if layer_of(op) == "fc2" and role_of(op) is not Role.FORWARD)
    assert isinstance(dx, MatmulOp)
    assert isinstance(dw, MatmulOp)
    assert (role_of(dx), role_of(dw)) == (Role.DX, Role.DW)
    assert dx.lhs is dw.rhs
    assert dx.transpose_rhs is not None
    assert dw.transpose_lhs is not None


def test_contributions_to_a_shared_weight_are_added_in_reverse_program_order() -> None:
    net = Net()
    w = net.param("w", 4, 4)
    h = net.call("linear", net.input("x", 3, 4), weight=w, bias=False, layer="first")
    y = net.call("linear", h, weight=w, bias=False, layer="second")
    ops = differentiate(net.finish(dot_loss(net, y)))
    (total,) = [op for op in ops if isinstance(op, AddOp)]
    assert (layer_of(total), role_of(total)) == ("first", Role.DW)
    assert isinstance(total.lhs.owner, TrainOp)
    assert isinstance(total.rhs.owner, TrainOp)
    assert layer_of(total.lhs.owner) == "second"
    assert layer_of(total.rhs.owner) == "first"


def test_a_frozen_layer_passes_its_gradient_on_and_has_none() -> None:
    net = Net()
    x = net.call("conv2d", net.input("x", 1, 2, 4, 4), 3, 3, bias=False, layer="a")
    with net.b.at("b", None, frozen=True):
        weight = net.b.param("weight", [2, 3, 1, 1], f64)
    y = net.call("conv2d", x, weight=weight, bias=False, layer="b")
    ops = differentiate(net.finish(dot_loss(net, y), Optimizer("sgd", {"lr": 0.1})))
    assert [layer_of(op) for op in ops if isinstance(op, Conv2dDxOp)] == ["b"]
    assert [layer_of(op) for op in ops if isinstance(op, SgdOp)] == ["a.weight"]


@pytest.mark.parametrize("element", ["i32", "i64", "bool"])
def test_weights_of_integers_and_booleans_stay_as_they_are(element: str) -> None:
    text = f"""network t() {{
      input x: f32[3]
      w = param([3])
      k = param([3], type={element}, fill=1)
      loss sum((x * w + cast(k, f32)) ** 2)
      optimizer adam(lr=0.1)
    }}"""
    run = run_source(text, inputs={"x": np.ones(3)}, steps=2)
    assert list(run.gradients) == ["w"]
    assert not any(name == "k" or name.startswith("k.") for name in run.updated)


def test_a_network_below_frozen_parameters_computes_no_gradients_there() -> None:
    net = Net()
    with net.b.at("", None, frozen=True):
        h = net.call("linear", net.input("x", 3, 4), 4, layer="fixed")
    y = net.call("linear", net.call("relu", h), 2, layer="head")
    ops = differentiate(net.finish(dot_loss(net, y)))
    backward = {layer_of(op) for op in ops if role_of(op) in (Role.DX, Role.DW)}
    assert backward == {"head"}


def test_momentum_adds_one_state_a_parameter_and_names_what_it_updates() -> None:
    net = Net()
    y = net.call("linear", net.input("x", 3, 4), 2, bias=False, layer="fc")
    module = net.finish(dot_loss(net, y), Optimizer("sgd", {"lr": 0.1, "momentum": 0.9}))
    differentiate(module)
    func = the_function(module)
    arguments = {a.index: (a.kind.value, a.name) for a in arguments_of(func)}
    updates = [arguments[r.updates] for r in results_of(func) if r.updates is not None]
    assert updates == [("param", "fc.weight"), ("state", "fc.weight.momentum")]
    assert "train.optimizer" not in func.attributes


def test_adam_shares_the_step_count_with_dropout() -> None:
    net = Net()
    y = net.call("dropout", net.call("linear", net.input("x", 3, 4), 2), 0.5)
    module = net.finish(dot_loss(net, y), Optimizer("adam", {"lr": 0.1}))
    ops = differentiate(module)
    assert sum(isinstance(op, AdamOp) for op in ops) == 2
    names = [a.name for a in arguments_of(the_function(module))]
    assert names.count("step") == 1
    run = execute(module, {"x": np.ones((3, 4)), "target": np.ones((3, 2))}, steps=3, double=True)
    assert run.updated["step"] == 3


def test_statistics_and_outputs_of_the_forward_function_stay_results() -> None:
    net = Net()
    y = net.call("batch_norm", net.call("conv2d", net.input("x", 2, 2, 4, 4), 2, 3), layer="bn")
    loss = dot_loss(net, y)
    module = net.b.finish(loss=loss, outputs=[("y", y)], optimizer=None)
    differentiate(module)
    func = the_function(module)
    names = {a.index: a.name for a in arguments_of(func)}
    assert [names[r.updates] for r in results_of(func) if r.updates is not None] == [
        "bn.running_mean",
        "bn.running_var",
    ]
    assert results_of(func)[0].loss
    assert results_of(func)[-1].output == "y"


def test_every_derived_operation_keeps_a_layer_and_a_place() -> None:
    net = Net()
    x = net.call("max_pool", net.call("relu", net.call("conv2d", net.input("x", 1, 2, 6, 6), 3, 3)), 2)
    y = net.call("linear", net.call("flatten", x), 3)
    ops = differentiate(net.finish(dot_loss(net, y), Optimizer("adamw", {"lr": 0.1})))
    assert all(layer_of(op) for op in ops)
    assert all(location_text(op) is not None for op in ops)


def test_autodiff_leaves_a_whole_training_step_as_it_is() -> None:
    net = Net()
    module = net.finish(dot_loss(net, net.call("linear", net.input("x", 3, 4), 2)))
    differentiate(module)
    text = str(module)
    differentiate(module)
    assert str(module) == text


def test_an_unknown_optimizer_is_refused_with_the_known_ones() -> None:
    net = Net()
    module = net.finish(dot_loss(net, net.call("linear", net.input("x", 3, 4), 2)), Optimizer("sgdd", {"lr": 0.1}))
    with pytest.raises(SourceError, match=r"unknown optimizer .*sgdd.*expected one of sgd, adam, adamw"):
        AutodiffPass().apply(Context(), module)


def test_an_operation_without_a_derivative_is_named() -> None:
    net = Net()
    x = net.call("linear", net.input("x", 3, 4), 4)
    y = net.call("relu", x)
    from npuc.dialects.train.activation import ReluGradOp

    with net.b.at("second", None):
        z = net.b.emit(ReluGradOp(x, y)).dx
    module = net.finish(dot_loss(net, z))
    with pytest.raises(SourceError, match=r"train\.relu_grad has no derivative"):
        AutodiffPass().apply(Context(), module)


def test_a_function_without_a_loss_is_refused() -> None:
    net = Net()
    y = net.call("linear", net.input("x", 3, 4), 2)
    module = net.b.finish(loss=None, outputs=[("y", y)], optimizer=None)
    with pytest.raises(SourceError, match="found a function without a loss, expected one"):
        AutodiffPass().apply(Context(), module)


def test_gradients_of_a_diamond_add_up() -> None:
    net = Net()
    w = net.param("w", 2, 2)
    y = net.call("add", net.call("mul", w, w), net.call("mul", w, 3))
    module = net.finish(dot_loss(net, y))
    differentiate(module)
    data = integer_data(module)
    run = execute(module, data, double=True)
    np.testing.assert_array_equal(run.gradients["w"], data["target"] * (2 * data["w"] + 3))


def test_the_seed_of_the_loss_is_not_an_operation_when_it_is_one() -> None:
    net = Net()
    ops = differentiate(net.finish(dot_loss(net, net.call("linear", net.input("x", 3, 4), 2))))
    assert "train.constant" not in {op.name for op in ops}
    assert StringAttr("loss") not in {op.attributes["layer"] for op in ops if role_of(op) is not Role.FORWARD}


def test_a_lowered_function_is_refused() -> None:
    net = Net()
    module = net.finish(dot_loss(net, net.call("linear", net.input("x", 3, 4), 2)))
    LowerToNpuPass().apply(Context(), module)
    with pytest.raises(SourceError, match=r"found npu\.contract, expected train operations"):
        AutodiffPass().apply(Context(), module)
