"""Runs without data: what is made for them can be learnt, whatever the loss, and depends on nothing but the seed."""

import numpy as np
import pytest

from npuc.compiler import UsageError, run_file, run_source
from npuc.compiler.driver.read import read_program, texts_of
from npuc.compiler.driver.running.data import Data, made_data
from npuc.compiler.driver.running.options import RunKeywords, run_options
from npuc.compiler.layers import get_losses
from npuc.compiler.layers.base import Array
from npuc.frontends.source import text_source

TARGET = "input y: f32[batch, 4]"
CLASSES = "labels y: i32[batch]"
LOSSES = {
    "cross_entropy": (CLASSES, "cross_entropy(o, y)"),
    "cross_entropy, smooth": (CLASSES, "cross_entropy(o, y, label_smoothing=0.1, ignore_index=2)"),
    "nll_loss": (CLASSES, "nll_loss(log_softmax(o), y)"),
    "mse": (TARGET, "mse(o, y)"),
    "l1_loss": (TARGET, "l1_loss(o, y)"),
    "smooth_l1_loss": (TARGET, "smooth_l1_loss(o, y)"),
    "huber_loss": (TARGET, "huber_loss(o, y)"),
    "dot_loss": (TARGET, "dot_loss(tanh(o), y)"),
    "binary_cross_entropy": (TARGET, "binary_cross_entropy(sigmoid(o), y)"),
    "binary_cross_entropy_with_logits": (TARGET, "binary_cross_entropy_with_logits(o, y)"),
    "kl_div": (TARGET, "kl_div(log_softmax(o), y)"),
    "kl_div, logarithms": (TARGET, "kl_div(log_softmax(o), y, log_target=true)"),
}
"""Targets and losses of each kind; the bounded output of the linear loss is what keeps it from falling for ever."""


def net(target: str, loss: str, x: str = "x: f32[batch, 8]", body: str = "linear(relu(linear(x, 32)), 4)") -> str:
    return (
        f"network n(batch=16) {{\n  input {x}\n  {target}\n  o = {body}\n  loss {loss}\n  optimizer sgd(lr=0.1)\n}}\n"
    )


def data_of(text: str, seed: int = 0) -> Data:
    source = text_source(text, "dsl", "net.dsl")
    return made_data(read_program(source, run_options({}), texts_of(source)), seed)


def values(text: str, seed: int = 0) -> dict[str, Array]:
    return dict(data_of(text, seed).batch(0))


def test_each_loss_of_the_language_has_a_case() -> None:
    assert {name.partition(",")[0] for name in LOSSES} == set(get_losses())


@pytest.mark.parametrize("name", LOSSES)
def test_the_loss_falls(name: str) -> None:
    run = run_source(net(*LOSSES[name]), steps=40)
    assert np.isfinite(run.losses).all()
    assert run.losses[-1] < run.losses[0] - 0.1 * abs(run.losses[0])
    assert run.data is not None
    assert "seed 0: x " in run.data


def test_targets_are_those_that_a_loss_is_meant_for() -> None:
    shares = values(net(*LOSSES["kl_div"]))["y"]
    np.testing.assert_allclose(shares.sum(axis=-1), 1)
    assert (shares > 0).all()
    np.testing.assert_allclose(np.exp(values(net(*LOSSES["kl_div, logarithms"]))["y"]).sum(axis=-1), 1)
    assert set(np.unique(values(net(*LOSSES["binary_cross_entropy"]))["y"])) == {0, 1}
    assert set(np.unique(values(net(*LOSSES["cross_entropy"]))["y"])) <= set(range(4))
    inside = values(net(TARGET, "mse(o, log(y))"))["y"]
    assert 0 < inside.min() < inside.max() < 1
    mask = values(net("input y: bool[batch, 4]", "mse(where(y, o, 0.0), o * 2.0)"))["y"]
    assert mask.dtype == bool
    assert mask.mean() > 0.5


def test_a_row_says_of_which_class_it_is() -> None:
    """The nearest mean of a class is that of the label, though noise is as large as what tells classes apart."""
    made = values(net(CLASSES, "cross_entropy(o, y)", "x: f32[batch, 256]"))
    x, y = made["x"], made["y"]
    known = [label for label in range(4) if (y == label).sum() > 1]
    means = np.stack([x[y == label].mean(axis=0) for label in known])
    right = [known[int(((means - row) ** 2).sum(axis=1).argmin())] == label for row, label in zip(x, y, strict=True)]
    assert np.mean(right) > 0.9
    assert 0.7 < x.std() < 1.3


def test_the_label_of_a_token_follows_from_it() -> None:
    text = net("labels y: i32[batch, 6]", "cross_entropy(o, y)", "x: i32[batch, 6]", "linear(embedding(x, 9, 8), 5)")
    made = values(text)
    assert made["x"].max() <= 8
    assert made["y"].max() <= 4
    pairs = set(zip(made["x"].flat, made["y"].flat, strict=True))
    assert len(pairs) == len({token for token, _ in pairs})
    run = run_source(text, steps=80)
    assert run.losses[-1] < 0.8 * run.losses[0]
    assert run.data is not None
    assert "x 0 to 8; y 0 to 4 by x" in run.data


def test_the_seed_decides_and_nothing_else() -> None:
    text = net(*LOSSES["cross_entropy"])
    first, again, other = values(text), values(text), values(text, 1)
    for name in ("x", "y"):
        np.testing.assert_array_equal(first[name], again[name])
        assert (first[name] != other[name]).any()
    assert run_source(text, seed=3, steps=3).losses == run_source(text, seed=3, steps=3).losses


@pytest.mark.parametrize("asked", [{"level": "npu"}, {"level": "tiles"}, {"opt_level": 3}, {"devices": 4}])
def test_data_and_accuracy_are_the_same_at_every_level(asked: RunKeywords) -> None:
    text = net(*LOSSES["cross_entropy, smooth"])
    common: RunKeywords = {"steps": 6, "dtype": "float64"}
    base = run_source(text, **common)
    run = run_source(text, **{**common, **asked})
    np.testing.assert_allclose(run.losses, base.losses, rtol=1e-9)
    assert run.accuracies == base.accuracies
    assert run.data == base.data


def test_accuracy_counts_rows_whose_label_has_the_largest_score() -> None:
    text = net("labels y: i32[batch]", "cross_entropy(o, y, ignore_index=2)")
    made = values(text)
    run = run_source(text, inputs=made, dtype="float64")
    counted = made["y"] != 2
    assert 0 < counted.sum() < 16
    assert run.data is None
    assert run.accuracies == [float((run.outputs["o"].argmax(axis=1) == made["y"])[counted].mean())]
    assert run_source(net(*LOSSES["mse"])).accuracies == []


def test_a_part_of_the_data_is_not_made_up_for() -> None:
    with pytest.raises(UsageError, match="no value for input 'y'"):
        run_source(net(*LOSSES["mse"]), inputs={"x": np.zeros((16, 8))})


def test_parameters_may_be_given_beside_made_data() -> None:
    run = run_source(net(*LOSSES["mse"]), inputs={"o.bias": np.ones(4)})
    np.testing.assert_array_equal(run.params["o.bias"], np.ones(4))
    assert run.data is not None


def test_inference_makes_no_labels() -> None:
    run = run_source(net(*LOSSES["cross_entropy"]), inference=True)
    assert run.losses == run.accuracies == []
    assert run.outputs["o"].shape == (16, 4)


SAMPLES: dict[str, dict[str, int]] = {
    "mlp": {"batch": 8},
    "lenet": {"batch": 4},
    "lstm_lm": {"batch": 3, "length": 4, "hidden": 16, "vocabulary": 20},
    "transformer": {"batch": 2, "length": 6, "layers": 1, "width": 16, "heads": 2, "hidden": 32},
    "gpt2": {"batch": 2, "length": 8, "layers": 1, "width": 16, "heads": 2, "vocabulary": 30},
}


@pytest.mark.parametrize("sample", SAMPLES)
def test_samples_learn_without_data(sample: str) -> None:
    run = run_file(f"samples:{sample}", defines=SAMPLES[sample], steps=20)
    assert run.losses[-1] < run.losses[0]
