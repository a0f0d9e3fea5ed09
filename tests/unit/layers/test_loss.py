"""Losses: mistakes in their arguments, exact examples, large numbers, rows that are ignored."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context

from npuc.compiler.core.errors import NpucError, SourceError
from npuc.compiler.interpreter.execute import Run, execute
from npuc.compiler.layers import get_layer, get_losses
from npuc.compiler.layers.base import Array
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.dialects.train.arithmetic import AffineOp
from npuc.dialects.train.base import TrainOp
from npuc.frontends import read_source
from tests.networks import Net

HEAD = "network t() { input x: f32[4, 3]; labels y: i32[4]; input s: f32[]; z = cast(y, f32)\n"
CROSS = 'signature: cross_entropy(logits, labels, label_smoothing=0.0, ignore_index=none, reduction="mean", axis=-1)'
SMOOTH = 'signature: smooth_l1_loss(x, target, beta=1.0, reduction="mean")'


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (
            "cross_entropy(x, y, reduction=none)",
            f"argument 'reduction' of cross_entropy: found none, expected a string | {CROSS}",
        ),
        (
            "cross_entropy(x, y, reduction=max)",
            "argument 'reduction' of cross_entropy (layer 'cross_entropy'): found 'max', expected 'mean' or 'sum' | "
            f"{CROSS}",
        ),
        (
            "cross_entropy(x, y, label_smoothing=1.5)",
            "argument 'label_smoothing' of cross_entropy (layer 'cross_entropy'): found 1.5, expected 0 to 1 | "
            f"{CROSS}",
        ),
        (
            "cross_entropy(x, y, ignore_index=0.5)",
            f"argument 'ignore_index' of cross_entropy: found float 0.5, expected an integer or none | {CROSS}",
        ),
        (
            "nll_loss(x, z)",
            "the labels have element type f32, expected i32 or i64 (layer 'nll_loss': nll_loss of f32[4, 3], f32[4])",
        ),
        (
            "smooth_l1_loss(x, x, beta=-1)",
            f"argument 'beta' of smooth_l1_loss (layer 'smooth_l1_loss'): found -1.0, expected at least 0 | {SMOOTH}",
        ),
        (
            "huber_loss(x, x, delta=0)",
            "argument 'delta' of huber_loss (layer 'huber_loss'): found 0.0, expected more than 0 | "
            'signature: huber_loss(x, target, delta=1.0, reduction="mean")',
        ),
        (
            "l1_loss(x, z)",
            "prediction is tensor<4x3xf32>, target is tensor<4xf32>: expected equal types "
            "(layer 'l1_loss': l1_loss of f32[4, 3], f32[4])",
        ),
        (
            "mse(y, y)",
            "elements are i32, expected floating point for the mean: cast them first, or take reduction=sum "
            "(layer 'mse': mse of i32[4], i32[4])",
        ),
        (
            "l1_loss(y, y)",
            "elements are i32, expected floating point for the mean: cast them first, or take reduction=sum "
            "(layer 'l1_loss': l1_loss of i32[4], i32[4])",
        ),
        (
            "binary_cross_entropy_with_logits(x, x, pos_weight=-2)",
            "argument 'pos_weight' of binary_cross_entropy_with_logits (layer 'binary_cross_entropy_with_logits'): "
            "found -2.0, expected at least 0 | signature: "
            'binary_cross_entropy_with_logits(x, target, pos_weight=none, reduction="mean")',
        ),
        (
            "binary_cross_entropy(y, y)",
            "prediction and target have element type i32, expected a float type "
            "(layer 'binary_cross_entropy': binary_cross_entropy of i32[4], i32[4])",
        ),
        (
            "kl_div(x, x, reduction=batch)",
            "argument 'reduction' of kl_div (layer 'kl_div'): found 'batch', expected 'mean', 'sum' or 'batchmean' | "
            'signature: kl_div(x, target, reduction="mean", log_target=false)',
        ),
        (
            "kl_div(s, s, reduction=batchmean)",
            "reduction 'batchmean' needs a first axis, the prediction is a scalar "
            "(layer 'kl_div': kl_div of f32[], f32[], \"batchmean\")",
        ),
    ],
)
def test_a_wrong_argument_is_reported(call: str, expected: str) -> None:
    with pytest.raises(NpucError) as caught:
        read_source(f"{HEAD}loss {call}; loss mse(x, x) + cross_entropy(x, y) + mse(z, z) + s }}", filename="f")
    assert caught.value.message + (f" | {caught.value.hint}" if caught.value.hint else "") == expected


def run_loss(function: str, values: Mapping[str, Array], **arguments: Any) -> Run:
    """One step of a network that is one loss; float operands are parameters, integer ones labels."""
    net = Net()
    operands = [
        net.labels(name, *value.shape) if value.dtype.kind == "i" else net.param(name, *value.shape)
        for name, value in values.items()
    ]
    module = net.finish(net.call(function, *operands, **arguments))
    AutodiffPass().apply(Context(), module)
    return execute(module, values, double=True)


def test_the_sum_of_squares_and_of_distances_keeps_integers() -> None:
    y, target = np.array([[3.0, -1.0], [0.0, 5.0]]), np.array([[1.0, 1.0], [0.0, 6.0]])
    squares = run_loss("mse", {"y": y, "target": target}, reduction="sum")
    assert squares.loss == 9.0
    np.testing.assert_array_equal(squares.gradients["y"], [[4, -4], [0, -2]])
    np.testing.assert_array_equal(squares.gradients["target"], [[-4, 4], [0, 2]])
    distances = run_loss("l1_loss", {"y": y, "target": target}, reduction="sum")
    assert distances.loss == 5.0
    np.testing.assert_array_equal(distances.gradients["y"], [[1, -1], [0, -1]])
    np.testing.assert_array_equal(distances.gradients["target"], [[-1, 1], [0, 1]])


@pytest.mark.parametrize(
    ("function", "y", "target", "loss", "gradient"),
    [
        ("binary_cross_entropy_with_logits", 1000.0, 0.0, 1000.0, 1.0),
        ("binary_cross_entropy_with_logits", -1000.0, 1.0, 1000.0, -1.0),
        ("binary_cross_entropy_with_logits", -1000.0, 0.0, 0.0, 0.0),
        ("binary_cross_entropy", 1.0, 0.0, 100.0, 1e12),
        ("binary_cross_entropy", 0.0, 0.0, 0.0, 0.0),
        ("huber_loss", 1e200, 0.0, 1e200, 1.0),
        ("smooth_l1_loss", 1e200, 0.0, 1e200, 1.0),
        ("kl_div", -2.0, 0.0, 0.0, 0.0),
    ],
)
def test_large_numbers_stay_finite(function: str, y: float, target: float, loss: float, gradient: float) -> None:
    run = run_loss(function, {"y": np.array([y]), "target": np.array([target])})
    assert run.loss == loss
    assert run.gradients["y"] == [gradient]
    assert np.isfinite(run.gradients["target"]).all()


@pytest.mark.parametrize("label_smoothing", [0.0, 0.5])
def test_large_logits_stay_finite(label_smoothing: float) -> None:
    logits, labels = np.array([[1000.0, 0.0], [0.0, -1000.0]]), np.array([0, 0])
    run = run_loss("cross_entropy", {"logits": logits, "labels": labels}, label_smoothing=label_smoothing)
    assert run.loss == 500.0 * label_smoothing
    half = label_smoothing / 4
    np.testing.assert_allclose(run.gradients["logits"], [[half, -half], [half, -half]], atol=1e-15)


@pytest.mark.parametrize("offset", [0.0, 1e16, 1e38, -1e300])
@pytest.mark.parametrize("label_smoothing", [0.0, 0.1, 1.0])
def test_what_all_logits_have_in_common_cancels(offset: float, label_smoothing: float) -> None:
    values = {"logits": np.full((2, 4), offset), "labels": np.array([0, 3])}
    run = run_loss("cross_entropy", values, label_smoothing=label_smoothing)
    assert run.loss == pytest.approx(np.log(4.0), rel=1e-15)


@pytest.mark.parametrize(("function", "expected"), [("mse", 9), ("l1_loss", 5)])
def test_the_sum_over_integers_is_an_integer(function: str, expected: int) -> None:
    net = Net(training=False)
    loss = net.call(function, net.labels("y", 3), net.labels("target", 3), reduction="sum")
    module = net.b.finish(loss=None, outputs=[("loss", loss)], optimizer=None)
    out = execute(module, {"y": np.array([3, -1, 5]), "target": np.array([1, 1, 6])}).outputs["loss"]
    assert out.dtype == np.int32
    assert out == expected


def test_a_loss_of_ignored_rows_alone_has_no_value_but_a_gradient_of_zero() -> None:
    values = {"scores": np.ones((2, 3)), "labels": np.array([-7, -7])}
    for function in ("cross_entropy", "nll_loss"):
        mean = run_loss(function, values, ignore_index=-7)
        assert np.isnan(mean.losses).all()
        np.testing.assert_array_equal(mean.gradients["scores"], np.zeros((2, 3)))
        assert run_loss(function, values, ignore_index=-7, reduction="sum").loss == 0.0


def test_an_ignored_label_needs_no_class() -> None:
    values = {"scores": np.array([[1.0, 2.0], [3.0, 4.0]]), "labels": np.array([1, 255])}
    assert run_loss("nll_loss", values, ignore_index=255).loss == -2.0
    with pytest.raises(SourceError, match="a label is 255, the logits have 2 classes"):
        run_loss("nll_loss", values)


def test_a_probability_beyond_one_is_refused() -> None:
    with pytest.raises(SourceError, match=r"an input of binary_cross_entropy is 1\.5, expected 0 to 1"):
        run_loss("binary_cross_entropy", {"y": np.array([1.5]), "target": np.array([1.0])})


def test_a_target_that_is_an_input_gets_no_gradient_operation() -> None:
    net = Net()
    y, target = net.param("y", 2), net.input("target", 2)
    module = net.finish(net.call("l1_loss", y, target))
    AutodiffPass().apply(Context(), module)
    assert not any(isinstance(op, AffineOp) for op in module.walk())


def test_a_weight_of_positives_is_work() -> None:
    """Two vector operations for each logit, where the weight is not 1: in the loss and in both gradients."""
    works: list[list[int]] = []
    for weight in (1.0, 3.0):
        net = Net()
        y, target = net.param("y", 4), net.param("target", 4)
        module = net.finish(net.call("binary_cross_entropy_with_logits", y, target, pos_weight=weight))
        AutodiffPass().apply(Context(), module)
        ops = [op for op in module.walk() if isinstance(op, TrainOp) and "with_logits" in op.name]
        works.append([get_layer(op).work(op).vector_ops for op in ops])
    assert [more - less for less, more in zip(*works, strict=True)] == [2 * 4] * 3


def test_every_loss_is_known_as_one() -> None:
    assert get_losses() == {
        "binary_cross_entropy",
        "binary_cross_entropy_with_logits",
        "cross_entropy",
        "dot_loss",
        "huber_loss",
        "kl_div",
        "l1_loss",
        "mse",
        "nll_loss",
        "smooth_l1_loss",
    }
