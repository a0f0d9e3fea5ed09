"""Training on the digits of scikit-learn: what inputs take, what is held out, and what is refused."""

import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest

from npuc.compiler import UsageError, run_source
from npuc.compiler.driver.read import read_program, texts_of
from npuc.compiler.driver.running.dataset import Dataset, dataset
from npuc.compiler.driver.running.options import run_options
from npuc.frontends.source import text_source

BODY = "linear(relu(linear(flatten(x), 32)), 10)"


def net(
    x: str = "x: f32[batch, 64]", body: str = BODY, y: str = "labels y: i32[batch]", loss: str = "cross_entropy(o, y)"
) -> str:
    return f"network n(batch=24) {{\n  input {x}\n  {y}\n  o = {body}\n  loss {loss}\n  optimizer sgd(lr=0.2)\n}}\n"


def digits(text: str, seed: int = 0) -> Dataset:
    source = text_source(text, "dsl", "net.dsl")
    return dataset("digits", read_program(source, run_options({}), texts_of(source)), seed)


def test_a_network_learns_digits_that_it_has_not_seen() -> None:
    pytest.importorskip("sklearn")
    run = run_source(net(), dataset="digits", steps=200)
    assert np.mean(run.losses[-20:]) < 0.4
    assert run.held_out is not None
    assert run.held_out > 0.85
    assert run.held_out * 359 == pytest.approx(round(run.held_out * 359)), "a share of the held-out images"
    assert run.data is not None
    assert "1,438 of 1,797 images in random batches, seed 0" in run.data


def test_held_out_accuracy_is_that_of_the_trained_parameters() -> None:
    pytest.importorskip("sklearn")
    text = net(body="linear(flatten(x), 10)")
    run = run_source(text, dataset="digits", steps=5, dtype="float64")
    images, classes = digits(text).held_out
    scores = images @ run.updated["o.weight"] + run.updated["o.bias"]
    assert run.held_out == float((scores.argmax(axis=1) == classes).mean())


@pytest.mark.parametrize("rows", [1, 7, 24, 359, 1000])
def test_each_held_out_image_is_asked_once(rows: int) -> None:
    pytest.importorskip("sklearn")
    data = digits(net())
    found = list(data.tests(rows))
    assert all(len(batch["x"]) == rows for batch, _ in found)
    asked = np.concatenate([batch["x"][: len(classes)] for batch, classes in found])
    np.testing.assert_array_equal(asked, data.held_out[0])
    np.testing.assert_array_equal(np.concatenate([classes for _, classes in found]), data.held_out[1])


def test_each_image_comes_once_before_any_comes_again() -> None:
    pytest.importorskip("sklearn")
    data = digits(net())
    rows = np.concatenate([data.batch(step)["x"] for step in range(120)])
    held = {row.tobytes() for row in data.held_out[0]}
    counts = Counter(row.tobytes() for row in rows[:1438])
    assert len(rows) > 2 * 1438 - 24
    assert max(counts.values()) <= 2, "two images of the set may be equal"
    assert len(counts.keys() - held) > 1400
    again = np.concatenate([digits(net()).batch(step)["x"] for step in range(1)])
    np.testing.assert_array_equal(again, rows[:24])
    assert (digits(net(), 1).batch(0)["x"] != rows[:24]).any()


@pytest.mark.parametrize(
    ("x", "told"),
    [
        ("x: f32[batch, 64]", None),
        ("x: f32[batch, 784]", "scaled from 8x8 to 28x28"),
        ("x: f32[batch, 192]", "3 equal channels"),
        ("x: f32[batch, 8, 8]", None),
        ("x: f32[batch, 3, 5]", "scaled from 8x8 to 3x5"),
        ("x: f32[batch, 3, 16, 32]", "scaled from 8x8 to 16x32, 3 equal channels"),
    ],
)
def test_images_are_scaled_to_the_input(x: str, told: str | None) -> None:
    """A pixel is the one of the original at the same share of the height and width."""
    pytest.importorskip("sklearn")
    data, plain = digits(net(x)), digits(net()).held_out[0].reshape(-1, 8, 8)
    assert data.said.endswith(told or "seed 0")
    shape = data.held_out[0].shape[1:]
    if len(shape) == 1:
        channels, rows = (3, 8) if shape[0] == 192 else (1, int(shape[0] ** 0.5))
        shape = (channels, rows, rows)
    channels, rows, columns = shape if len(shape) == 3 else (1, *shape)
    images = data.held_out[0].reshape(-1, channels, rows, columns)
    for channel, row, column in ((0, 0, 0), (channels - 1, rows - 1, columns - 1), (0, rows // 2, columns // 3)):
        np.testing.assert_array_equal(images[:, channel, row, column], plain[:, row * 8 // rows, column * 8 // columns])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (net("x: f32[batch, 50]"), "the input x is 24x50, which is no image"),
        (net("x: i32[batch, 64]", "linear(flatten(embedding(x, 9, 2)), 10)"), "is for a program with images"),
        (net(y="input y: f32[batch, 10]", loss="mse(o, y)"), "is for a program with images"),
        (net(body="linear(x, 9)"), "the program has 9 classes, expected at least 10"),
        (net(y="labels y: i32[batch]\n  input z: f32[batch, 10]", loss="cross_entropy(o * z, y)"), "inputs x: 24x64"),
    ],
)
def test_a_program_that_is_not_for_images_is_told_what_fits(text: str, message: str) -> None:
    pytest.importorskip("sklearn")
    with pytest.raises(UsageError, match=message):
        run_source(text, dataset="digits")


def test_without_outputs_of_classes_nothing_is_said_of_held_out_images() -> None:
    pytest.importorskip("sklearn")
    text = net(body="linear(flatten(x), 10)", loss="cross_entropy(relu(o), y)")
    both = text.replace("  loss", "  other = linear(flatten(x), 12)\n  output o\n  output other\n  loss")
    both = both.replace("cross_entropy(relu(o), y)", "cross_entropy(o, y) + mean(other * other)")
    assert run_source(text, dataset="digits").held_out is not None
    assert run_source(both, dataset="digits").held_out is None


def test_what_does_not_go_with_a_data_set_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for given, message in (
        ({"dataset": "digit"}, "there is no such data set"),
        ({"dataset": "digits", "inference": True}, "--dataset digits does not apply with --inference"),
        ({"dataset": "digits", "inputs": {"x": np.zeros((24, 64))}}, "has data for input 'x', which is given, too"),
    ):
        if message != "there is no such data set":
            pytest.importorskip("sklearn")
        keywords: dict[str, Any] = given
        with pytest.raises(UsageError, match=message):
            run_source(net(), **keywords)
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(UsageError, match="needs scikit-learn, which is not installed") as caught:
        run_source(net(), dataset="digits")
    assert caught.value.hint == 'pip install "npuc[datasets]"'
