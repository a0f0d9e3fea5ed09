"""Optimizers: their options in the language and in a program's text, their states, exact examples."""

from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from npuc.compiler.core.builder import Optimizer
from npuc.compiler.core.errors import NpucError, SourceError
from npuc.compiler.interpreter.execute import Run, execute, the_function
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Array
from npuc.compiler.layers.optimizer import OPTIMIZERS
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.compiler.transforms.lower_to_npu import LowerToNpuPass
from npuc.dialects.provenance import Role, role_of
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.signature import ArgumentKind, arguments_of
from npuc.frontends import read_source
from tests.networks import Net, dot_loss

SGD = "signature: sgd(lr, momentum=0.0, weight_decay=0.0, dampening=0.0, nesterov=false)"
NETWORK = "network t() { input x: f32[2, 3]; loss mse(linear(x, 3), x); optimizer OPTIMIZER }"


@pytest.mark.parametrize(
    ("optimizer", "expected"),
    [
        (
            "sgd(lr=1, momentum=0.5, nesterov=1)",
            f"argument 'nesterov' of sgd: found integer 1, expected a boolean | {SGD}",
        ),
        (
            "sgd(lr=1, nesterov=true)",
            f"argument 'nesterov' of sgd: found true without momentum, expected a momentum above 0 | {SGD}",
        ),
        (
            "sgd(lr=1, momentum=0.5, nesterov=true, dampening=0.5)",
            f"argument 'nesterov' of sgd: found true with dampening, expected no dampening | {SGD}",
        ),
        ("sgd(lr=1, dampening=-1)", f"argument 'dampening' of sgd: found -1.0, expected at least 0 | {SGD}"),
        ("sgd(lr=1, momentum=true)", f"argument 'momentum' of sgd: found boolean true, expected a number | {SGD}"),
        (
            "adadelta(rho=2)",
            "argument 'rho' of adadelta: found 2.0, expected 0 to 1 | "
            "signature: adadelta(lr=1.0, rho=0.9, eps=1e-06, weight_decay=0.0)",
        ),
        (
            "lion(beta2=1)",
            "argument 'beta2' of lion: found 1.0, expected at least 0 and below 1 | "
            "signature: lion(lr=0.0001, beta1=0.9, beta2=0.99, weight_decay=0.0)",
        ),
        ("rmsprob(lr=1)", "found the unknown optimizer 'rmsprob' | did you mean 'rmsprop'?"),
    ],
)
def test_a_wrong_option_is_reported(optimizer: str, expected: str) -> None:
    with pytest.raises(NpucError) as caught:
        read_source(NETWORK.replace("OPTIMIZER", optimizer), filename="f")
    assert f"{caught.value.message} | {caught.value.hint}" == expected


@pytest.mark.parametrize(
    ("optimizer", "attribute"),
    [
        ("sgd(lr=1)", '{kind = "sgd", lr = 1.000000e+00 : f64, momentum = 0.000000e+00 : f64, weight_decay = 0.0'),
        (
            "sgd(lr=1, momentum=0.5, nesterov=true)",
            '{kind = "sgd", lr = 1.000000e+00 : f64, momentum = 5.000000e-01 : f64, nesterov, weight_decay = 0.0',
        ),
        ("sgd(lr=1, momentum=0.5, dampening=0.25)", '{dampening = 2.500000e-01 : f64, kind = "sgd", lr = 1.0'),
        ("sgd(lr=1, nesterov=false)", '{kind = "sgd", lr = 1.000000e+00 : f64, momentum = 0.000000e+00 : f64, weight'),
        ("rmsprop(centered=true)", '{alpha = 9.900000e-01 : f64, centered, eps = 1.000000e-08 : f64, kind = "rmsprop"'),
    ],
)
def test_flags_are_units_and_only_there_when_set(optimizer: str, attribute: str) -> None:
    text = str(read_source(NETWORK.replace("OPTIMIZER", optimizer), filename="f"))
    kind, *rest = attribute.strip("{").split(", ")
    stated = text.partition("train.optimizer = {")[2].partition("}")[0]
    assert all(part in stated for part in (kind, *rest))
    assert ("nesterov" in stated, "dampening" in stated) == ("nesterov" in attribute, "dampening" in attribute)


def step_of(optimizer: Optimizer) -> ModuleOp:
    """The training step of a linear layer under a linear loss: the gradient of w is x transposed times target."""
    net = Net()
    y = net.call("linear", net.input("x", 2, 3), weight=net.param("w", 3, 2), bias=False)
    module = net.finish(dot_loss(net, y), optimizer)
    AutodiffPass().apply(Context(), module)
    module.verify()
    return module


DATA: dict[str, Array] = {
    "x": np.array([[1.0, 2.0, 0.0], [0.0, -1.0, 0.0]]),
    "target": np.array([[1.0, 0.0], [2.0, 1.0]]),
    "w": np.array([[8.0, 8.0], [8.0, 8.0], [8.0, 8.0]]),
}
GRADIENT = np.array([[1.0, 0.0], [0.0, -1.0], [0.0, 0.0]])


def run(kind: str, steps: int = 1, **options: Any) -> Run:
    return execute(step_of(Optimizer(kind, options)), DATA, steps=steps, double=True)


def test_dampening_spares_the_first_step() -> None:
    first = run("sgd", lr=1.0, momentum=0.5, dampening=0.75)
    np.testing.assert_array_equal(first.updated["w"], DATA["w"] - GRADIENT)
    second = run("sgd", 2, lr=1.0, momentum=0.5, dampening=0.75)
    np.testing.assert_array_equal(second.updated["w.momentum"], 0.75 * GRADIENT)
    np.testing.assert_array_equal(second.updated["w"], DATA["w"] - 1.75 * GRADIENT)


def test_lion_steps_by_the_sign_of_a_mean() -> None:
    first = run("lion", lr=0.5, beta1=0.5, beta2=0.75, weight_decay=0.25)
    np.testing.assert_array_equal(first.updated["w"], DATA["w"] - 0.5 * (np.sign(GRADIENT) + 2.0))
    np.testing.assert_array_equal(first.updated["w.mean"], 0.25 * GRADIENT)
    second = run("lion", 2, lr=0.5, beta1=0.5, beta2=0.75)
    np.testing.assert_array_equal(second.updated["w"], DATA["w"] - np.sign(GRADIENT))
    np.testing.assert_array_equal(second.updated["w.mean"], 0.4375 * GRADIENT)


@pytest.mark.parametrize("weight_decay", [0.0, 0.25])
def test_lamb_steps_where_adam_does_as_far_as_a_share_of_the_parameter(weight_decay: float) -> None:
    options = {"lr": 0.5, "beta1": 0.5, "beta2": 0.75, "eps": 1e-3}
    before = DATA["w"]
    for steps in (1, 2):
        adam, earlier = run("adam", steps, **options), run("adam", steps - 1, **options).updated
        lamb = run("lamb", steps, **options, weight_decay=weight_decay)
        direction = adam.updated["w"] - (earlier["w"] if steps > 1 else DATA["w"]) - 0.5 * weight_decay * before
        change = lamb.updated["w"] - before
        expected = direction * (0.5 * np.linalg.norm(before) / np.linalg.norm(direction))
        np.testing.assert_allclose(change, expected, rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(lamb.updated["w.square"], adam.updated["w.square"])
        before = lamb.updated["w"]


def test_lamb_leaves_a_parameter_without_decay_and_gradient() -> None:
    still = {**DATA, "target": np.zeros((2, 2))}
    updated = execute(step_of(Optimizer("lamb", {})), still, double=True).updated
    np.testing.assert_array_equal(updated["w"], DATA["w"])


def states(kind: str, **options: Any) -> list[tuple[str, float | None]]:
    arguments = arguments_of(the_function(step_of(Optimizer(kind, {"lr": 1.0} | options))))
    return [(a.name, a.fill) for a in arguments if a.kind is ArgumentKind.STATE]


def test_states_are_those_that_the_options_need() -> None:
    assert states("sgd", dampening=0.5) == []
    assert states("sgd", momentum=0.5, dampening=0.5) == [("step", 0.0), ("w.momentum", 0.0)]
    assert states("adam", amsgrad=True) == [("step", 0.0), ("w.mean", 0.0), ("w.square", 0.0), ("w.largest", 0.0)]
    assert states("rmsprop") == [("w.square", 0.0)]
    centered = [("w.square", 0.0), ("w.mean", 0.0), ("w.momentum", 0.0)]
    assert states("rmsprop", centered=True, momentum=0.5) == centered
    assert states("adagrad", initial_accumulator_value=0.25) == [("w.sum", 0.25)]
    assert states("adagrad", lr_decay=0.5) == [("step", 0.0), ("w.sum", 0.0)]


SOME: dict[str, float] = {"momentum": 0.5, "weight_decay": 0.25, "lr_decay": 0.5, "lr": 0.5}


@pytest.mark.parametrize("flags", [False, True])
@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_lowered_updates_compute_the_same(kind: str, flags: bool) -> None:
    rule = OPTIMIZERS[kind]
    options: dict[str, float | bool] = {name: value for name, value in SOME.items() if name in rule.defaults}
    # values of the test's own are not drawn from a seed
    options |= {name: flags for name in rule.defaults if rule.takes_flag(name) and name != "regenerate"}
    module = step_of(Optimizer(kind, options))
    before = execute(module, DATA, steps=2, double=True)
    LowerToNpuPass().apply(Context(), module)
    after = execute(module, DATA, steps=2, double=True)
    assert before.updated.keys() == after.updated.keys()
    for name, value in before.updated.items():
        np.testing.assert_array_equal(after.updated[name], value)
    np.testing.assert_array_equal(after.gradients["w"], GRADIENT)


@pytest.mark.parametrize(
    ("kind", "options", "steps"),
    [
        ("sgd", {}, 2),
        ("sgd", {"momentum": 0.5, "weight_decay": 0.5}, 6),
        ("sgd", {"momentum": 0.5, "nesterov": True}, 6),
        ("sgd", {"momentum": 0.5, "dampening": 0.5}, 5),
        ("adam", {"amsgrad": True}, 13),
        ("rmsprop", {"centered": True, "momentum": 0.5}, 16),
        ("adagrad", {"weight_decay": 0.5}, 9),
        ("nadam", {}, 15),
    ],
)
def test_work_counts_what_the_options_add(kind: str, options: dict[str, float | bool], steps: int) -> None:
    module = step_of(Optimizer(kind, {"lr": 1.0} | options))
    (update, *_) = [op for op in module.walk() if isinstance(op, TrainOp) and role_of(op) is Role.UPDATE]
    assert get_layer(update).work(update).vector_ops == 6 * steps


def refusal(text: str) -> str:
    """What autodiff says of a program whose attribute `train.optimizer` is the text."""
    module = read_source(
        f"""
func.func @f(%x: tensor<2xf32> {{train.input = "x"}}, %w: tensor<2xf32> {{train.param = "w"}})
    -> (tensor<f32> {{train.loss}}) attributes {{train.optimizer = {text}}} {{
  %l = train.dot_loss %w, %x {{layer = "l"}} : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  func.return %l : tensor<f32>
}}
""",
        format="mlir",
    )
    with pytest.raises(SourceError) as caught:
        AutodiffPass().apply(Context(), module)
    return caught.value.message


SGD_OPTIONS = "expected floats among lr, momentum, weight_decay, dampening and units among nesterov"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{kind = "sgd"}', f"train.optimizer lacks lr, {SGD_OPTIONS}"),
        ('{kind = "sgd", lr}', f"train.optimizer has a wrong option 'lr', {SGD_OPTIONS}"),
        (
            '{kind = "sgd", lr = 1.0 : f64, nesterov = 1.0 : f64}',
            f"train.optimizer has a wrong option 'nesterov', {SGD_OPTIONS}",
        ),
        (
            '{kind = "lion", mass = 1.0 : f64}',
            "train.optimizer has a wrong option 'mass', expected floats among lr, beta1, beta2, weight_decay",
        ),
        ('{kind = "adam", lr = -1.0 : f64}', "train.optimizer, option 'lr': found -1.0, expected at least 0"),
        (
            '{kind = "sgd", lr = 1.0 : f64, nesterov}',
            "train.optimizer, option 'nesterov': found true without momentum, expected a momentum above 0",
        ),
    ],
)
def test_a_wrong_attribute_is_refused(text: str, expected: str) -> None:
    assert refusal(text) == f"autodiff: {expected}"


def test_defaults_hold_for_an_attribute_that_lacks_them() -> None:
    stated = run("adamw", lr=1e-3, weight_decay=0.01)
    np.testing.assert_array_equal(run("adamw").updated["w"], stated.updated["w"])
    assert (run("adamw", weight_decay=0.0).updated["w"] != stated.updated["w"]).all()
