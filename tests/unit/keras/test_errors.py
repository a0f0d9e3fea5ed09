"""What is wrong in a file is said with the file and the layer, and no damaged file ends in a traceback."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from npuc.compiler import compile_source
from npuc.compiler.cli import run_command
from npuc.compiler.core.errors import SourceError, UsageError
from npuc.frontends.base import Request
from npuc.frontends.source import text_source
from tests.unit.keras.test_forms import dense_2, input_2, layer_2, model_2, tensor_2
from tests.unit.keras.test_oracle import stored

OTHERS = {
    "": "found no JSON",
    "{": "found no JSON",
    "[1, 2]": "found a list, expected a model of Keras",
    "3": "found a number, expected",
    "null": "found null",
    '{"npuc": "0.1", "totals": {}}': "found a report of npuc, expected a model of Keras",
    '{"npuc": "0.1"}': "found a result of npuc",
    '{"architectures": ["Bert"]}': "found a configuration of a transformers model, which has no graph",
    '{"traceEvents": []}': "found a timeline",
    '{"class_name": "Dense", "config": {}}': "found a part of Keras that is no model",
    '{"a": 1, "b": 2}': "found an object with the keys a, b",
    "[" * 100_000: "found",
    '{"class_name": "Functional", "config": {}}': "found a model without layers",
    '{"class_name": "Sequential", "config": []}': "found a sequential model without layers",
    '{"class_name": "Sequential", "config": {"layers": [1]}}': "found a layer without class_name",
}


@pytest.mark.parametrize("text", OTHERS, ids=range(len(OTHERS)))
def test_other_files_are_told(text: str) -> None:
    with pytest.raises(SourceError) as caught:
        compile_source(text, format="keras", filename="model.json")
    assert "model.json" in str(caught.value)
    assert OTHERS[text] in str(caught.value)


def test_a_report_of_npuc_is_no_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "report.json"
    assert run_command(["compile", "samples:mlp", "-b", "roofline", "--json", str(report), "-q"]) == 0
    capsys.readouterr()
    assert run_command(["compile", str(report)]) == 1
    assert "found a report of npuc, expected a model of Keras" in capsys.readouterr().err


def mistake(*layers: dict[str, Any], outputs: list[str] | None = None) -> str:
    model = model_2(input_2("x", 8, 8, 4), *layers, inputs=["x"], outputs=outputs or [layers[-1]["name"]])
    with pytest.raises(SourceError) as caught:
        compile_source(json.dumps(model), format="keras", filename="model.json", inference=True)
    return str(caught.value)


CASES: dict[str, tuple[dict[str, Any], str]] = {
    "units": (dense_2("d", "x", units=0), "model.json:2:1: error: layer 'd' (Dense): units: found 0, expected a whole"),
    "text": (layer_2("Dense", "d", "x", units="3"), "units: found '3', expected a whole number"),
    "large": (dense_2("d", "x", units=2**40), "expected a whole number"),
    "activation": (dense_2("d", "x", activation="foo"), "found the activation 'foo'"),
    "code": (
        layer_2("Dense", "d", "x", units=2, activation={"class_name": "Lambda"}),
        "Python code, which is not executed",
    ),
    "kernel": (layer_2("Conv2D", "c", "x", filters=2, kernel_size=[9, 9]), "layer 'c' (Conv2D): "),
    "rank": (layer_2("Conv1D", "c", "x", filters=2, kernel_size=3), "found a tensor of rank 4, expected rank 3"),
    "groups": (layer_2("Conv2D", "c", "x", filters=3, kernel_size=1, groups=3), "expected a divisor"),
    "padding": (layer_2("Conv2D", "c", "x", filters=3, kernel_size=1, padding="full"), "expected valid or same"),
    "reshape": (layer_2("Reshape", "r", "x", target_shape=[7]), "found [7] for 256 elements"),
    "rate": (layer_2("Dropout", "r", "x", rate=1.5), "expected from 0 to below 1"),
    "axis": (layer_2("Concatenate", "r", [tensor_2("x"), tensor_2("x")], axis=9), "expected an axis of a tensor"),
    "crop": (layer_2("Cropping2D", "r", "x", cropping=5), "found 5 and 5 of 8 elements"),
    "one": (layer_2("Add", "r", "x"), "expected at least 2"),
    "missing": (dense_2("d", "nobody"), "reads the layer 'nobody', which does not exist"),
    "call": (dense_2("d", [tensor_2("x", 3)]), "reads call 3 of 'x'"),
    "result": (dense_2("d", [tensor_2("x", 0, 2)]), "reads result 2 of 'x', which has 1"),
    "circle": (dense_2("d", "d"), "waits for its own result"),
    "nodes": (dense_2("d", [["x"]]), "found inbound_nodes that Keras does not write"),
    "listed": (layer_2("Rescaling", "r", "x", scale=[1.0] * 5000), "found 5,000 values, expected at most 4,096"),
    "resize": (
        layer_2("Resizing", "r", "x", height=2**31 - 1, width=9, interpolation="nearest"),
        "expected at most 4,096",
    ),
    "inner": (layer_2("TimeDistributed", "t", "x", layer=3), "found no layer, expected one"),
}


@pytest.mark.parametrize("name", CASES)
def test_mistakes_have_a_layer(name: str) -> None:
    layer, message = CASES[name]
    assert message in mistake(layer)


def test_names_are_told_once() -> None:
    assert "found two layers called 'd'" in mistake(dense_2("d", "x"), dense_2("d", "x"))


def test_all_layers_without_a_counterpart_are_named() -> None:
    layers = [layer_2("Lambda", f"l{k}", "x") for k in range(10)]
    other = layer_2("Foo", "f", "l0")
    said = mistake(*layers, other)
    assert "found 11 layers that have no counterpart: Lambda: l0, l1, l2, l3, l4, l5, l6, l7 and 2 more" in said
    assert "it holds Python code, which is not executed; Foo: f" in said


def test_layers_inside_of_others_are_named() -> None:
    inner = {"class_name": "Lambda", "config": {"name": "code"}}
    assert "Lambda: t.code" in mistake(layer_2("TimeDistributed", "t", "x", layer=inner))


def test_too_many_steps_are_refused_early() -> None:
    gru = layer_2("GRU", "g", "x", units=2, reset_after=False)
    model = model_2(input_2("x", 10**6, 3), gru, inputs=["x"], outputs=["g"])
    with pytest.raises(SourceError, match="1,000,000 steps, which are written one by one"):
        compile_source(json.dumps(model), format="keras", filename="model.json", inference=True)


def test_too_many_layers_are_refused_early() -> None:
    layers = [dense_2(f"d{k}", f"d{k - 1}" if k else "x") for k in range(10_001)]
    assert "found more than 10,000 layers" in mistake(*layers)


def test_models_nested_too_deep() -> None:
    model: dict[str, Any] = {"class_name": "Dense", "config": {"units": 1}}
    for _ in range(40):
        model = {"class_name": "Sequential", "config": {"layers": [model]}}
    with pytest.raises(SourceError, match="nested deeper than"):
        compile_source(json.dumps(model), format="keras", filename="model.json")


def _places(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    keys: list[Any] = []
    if isinstance(value, dict | list):
        keys = [*cast("dict[str, Any]", value)] if isinstance(value, dict) else [*range(len(cast("list[Any]", value)))]
    for key in keys:
        found.append((cast("Any", value), key))
        _places(cast("Any", value)[key], found)
    return found


NONE: dict[str, Any] = {}
LAMBDA: dict[str, Any] = {"class_name": "Lambda", "config": NONE}
EMPTY: list[Any] = []
WILD: list[Any] = [None, -1, 0, 1, 2**40, 1.5, "", "x", "same", EMPTY, NONE, [1, 2], [[1]], True, LAMBDA]


def _damage(model: Any, rng: random.Random) -> None:
    for _ in range(rng.randint(1, 3)):
        holder, key = rng.choice(_places(model, []))
        other, source = rng.choice(_places(model, []))
        kind = rng.randrange(4)
        if kind == 0:
            holder[key] = copy.deepcopy(rng.choice(WILD))
        elif kind == 1:
            holder[key] = copy.deepcopy(other[source])
        elif kind == 2 and isinstance(holder, dict):
            del holder[key]
        elif isinstance(holder[key], int) and not isinstance(holder[key], bool):
            holder[key] += rng.choice([-1, 1, 7])


def survives(models: Callable[[random.Random], Any], seed: int, count: int) -> int:
    rng, refused = random.Random(seed), 0
    for _ in range(count):
        model = copy.deepcopy(models(rng))
        _damage(model, rng)
        source = text_source(json.dumps(model), "keras", "model.json")
        try:
            source.frontend.read(source, Request(max_ops=3000, losses=("mse",), inference=rng.random() < 0.5 or None))
        except (SourceError, UsageError):
            refused += 1
    return refused


def test_damaged_layers_end_in_a_message() -> None:
    names = sorted(stored("layers"))
    assert survives(lambda rng: stored("layers")[rng.choice(names)]["model"], 1, 400) > 50


def test_damaged_networks_end_in_a_message() -> None:
    assert survives(lambda rng: stored(rng.choice(["VGG16", "MobileNet"]))["model"], 2, 40)


def test_damaged_texts_end_in_a_message() -> None:
    rng, text = random.Random(3), json.dumps(stored("VGG16")["model"])
    for _ in range(60):
        at = rng.randrange(len(text))
        damaged = text[:at] + rng.choice(["", "]", '"', "{", "9" * 400, "\\ud800"]) + text[at + rng.randrange(5) :]
        source = text_source(damaged, "keras", "model.json")
        try:
            source.frontend.read(source, Request(max_ops=3000))
        except (SourceError, UsageError):
            continue


def test_every_verb_takes_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.json"
    conv = layer_2("Conv2D", "c", "x", filters=4, kernel_size=3, padding="same", activation="relu")
    layers = (conv, layer_2("Flatten", "f", "c"), dense_2("d", "f", activation="softmax"))
    path.write_text(json.dumps(model_2(input_2("x", 4, 4, 2), *layers, inputs=["x"], outputs=["d"])))
    for words in (
        ["compile", "-b", "cycle", "-b", "roofline", "-b", "maestro"],
        ["check"],
        ["run"],
        ["import"],
        ["explain"],
        ["sweep", "--vary", "batch=1,2", "-b", "roofline"],
    ):
        assert run_command([words[0], str(path), *words[1:], "-D", "batch=2"][: 99 if words[0] != "sweep" else -2]) == 0
    capsys.readouterr()
