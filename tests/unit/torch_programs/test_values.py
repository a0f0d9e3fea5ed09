"""Exported programs compute what PyTorch computes: the loss and every gradient."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npuc.compiler import describe_file, run_file
from npuc.compiler.core.errors import Location
from npuc.compiler.core.options import Options
from npuc.compiler.core.stages import remarks_to
from npuc.compiler.core.verify import location_of
from npuc.compiler.driver.read import read_program, texts_of
from npuc.frontends.source import open_source

DATA = Path(__file__).parents[2] / "oracle" / "data" / "torch"
INPUT = {"cnn": "x", "decoder": "ids", "writes": "x", "recurrent": "ids"}
TIED = {"fc.weight": "tied.weight", "fc.bias": "tied.bias"}


def _loss(name: str) -> str:
    return "mse" if name == "writes" else "cross_entropy"


def _operations(name: str, **options: Any) -> Counter[str]:
    source = open_source(str(DATA / f"{name}.pt2"))
    module = read_program(source, Options(loss=(_loss(name),), **options), texts_of(source))
    return Counter(op.name.removeprefix("train.") for op in module.walk())


@pytest.mark.parametrize("name", list(INPUT))
def test_loss_and_gradients_are_those_of_pytorch(name: str) -> None:
    stored = np.load(DATA / f"{name}.npz")
    labels = stored["y"] if stored["y"].dtype.kind == "f" else stored["y"].astype(np.int32)
    inputs = {INPUT[name]: stored["x"], "y": labels}
    run = run_file(DATA / f"{name}.pt2", inputs=inputs, dtype="float64", loss=_loss(name))
    assert run.losses[0] == pytest.approx(float(stored["loss"]), rel=1e-9)
    gradients: dict[str, Any] = {key[5:]: stored[key] for key in map(str, stored.files) if key.startswith("grad:")}
    renamed: dict[str, str] = TIED if name == "writes" else {}
    for key, expected in gradients.items():
        found: Any = run.gradients[renamed.get(key, key)]
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)
    assert {*map(str, run.gradients)} == {renamed.get(key, key) for key in gradients}


def test_what_a_model_spells_out_becomes_the_language_s_functions() -> None:
    found = _operations("decoder")
    assert found["rms_norm"] == 2
    assert found["silu"] == 1
    assert found["causal_mask"] == 1
    assert found["rsqrt"] == found["power"] == found["sigmoid"] == found["expand"] == 0
    assert _operations("recurrent")["gelu"] == 1


def test_a_rotary_embedding_keeps_no_table_of_the_file() -> None:
    assert "inv_freq" not in describe_file(DATA / "decoder.pt2")["params"]


def test_layers_are_named_as_modules_and_parameters_as_pytorch_names_them() -> None:
    source = open_source(str(DATA / "cnn.pt2"))
    module = read_program(source, Options(), texts_of(source))
    layers = {str(op.attributes["layer"]).strip('"') for op in module.walk() if "layer" in op.attributes}
    assert {"conv1", "bn1", "depthwise", "act", "fc"} <= layers
    described = describe_file(DATA / "cnn.pt2")
    assert described["params"]["fc.weight"]["shape"] == [5, 32]
    assert set(described["stats"]) == {"bn1.running_mean", "bn1.running_var"}


def test_a_run_says_which_loss_was_chosen() -> None:
    stored = np.load(DATA / "cnn.npz")
    told: list[str] = []
    with remarks_to(told.append):
        run_file(DATA / "cnn.pt2", inputs={"x": stored["x"], "y": stored["y"].astype(np.int32)})
    assert told == ["the loss is cross_entropy(output, y); --loss chooses another"]


def test_free_sizes_have_nothing_that_changes_from_run_to_run() -> None:
    source = open_source(str(DATA / "writes.pt2"))
    parameters = source.frontend.parameters(source)
    assert parameters is not None
    assert parameters.texts == ()


def test_a_place_is_the_number_of_a_node() -> None:
    source = open_source(str(DATA / "cnn.pt2"))
    module = read_program(source, Options(), texts_of(source))
    conv = next(op for op in module.walk() if op.name == "train.conv2d")
    assert location_of(conv) == Location(str(DATA / "cnn.pt2"), 1, 1)


@pytest.mark.parametrize("name", ["x.0", "s77", "s27", "s0"])
def test_a_free_size_takes_a_value(name: str) -> None:
    path = DATA / "writes.pt2"
    parameters = open_source(str(path)).frontend.parameters(open_source(str(path)))
    assert parameters is not None
    if name not in parameters.names:
        pytest.skip("the symbol of this file has another name")
    assert describe_file(path, defines={name: 9}, loss="mse")["inputs"]["x"]["shape"] == [9, 6]


def test_frozen_parameters_have_no_gradient() -> None:
    stored = np.load(DATA / "cnn.npz")
    inputs = {"x": stored["x"], "y": stored["y"].astype(np.int32)}
    run = run_file(DATA / "cnn.pt2", inputs=inputs, freeze=["conv1.*", "bn1.bias"])
    assert "conv1.weight" not in run.gradients
    assert "bn1.bias" not in run.gradients
    assert "bn1.weight" in run.gradients


def test_the_optimizer_updates_with_its_rate() -> None:
    stored = np.load(DATA / "cnn.npz")
    inputs = {"x": stored["x"], "y": stored["y"].astype(np.int32)}
    slow, fast = (
        run_file(DATA / "cnn.pt2", inputs=inputs, dtype="float64", optimizer=f"sgd(lr={rate})") for rate in (0.1, 0.2)
    )
    start = slow.updated["fc.bias"] + 0.1 * slow.gradients["fc.bias"]
    np.testing.assert_allclose(fast.updated["fc.bias"], start - 0.2 * stored["grad:fc.bias"], atol=1e-12)
