"""Both forms of JSON, models in models, shared layers, free sizes, and what a model was compiled with."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from npuc.compiler import describe_file, import_file, run_file
from npuc.compiler.core.errors import SourceError, UsageError
from npuc.frontends.base import Request, Source
from npuc.frontends.source import text_source


def source_of(model: object) -> Source:
    return text_source(json.dumps(model), "keras", "model.json")


def layer_2(kind: str, name: str, *nodes: object, **config: object) -> dict[str, Any]:
    """A layer as Keras 2 writes it; a node is a name, or the list of a call."""
    calls: list[Any] = [[[node, 0, 0, {}]] if isinstance(node, str) else node for node in nodes]
    return {"class_name": kind, "name": name, "config": {"name": name, **config}, "inbound_nodes": calls}


def model_2(*layers: dict[str, Any], inputs: list[str], outputs: list[str], name: str = "net") -> dict[str, Any]:
    ends = [[[one, 0, 0] for one in names] for names in (inputs, outputs)]
    config = {"name": name, "layers": list(layers), "input_layers": ends[0], "output_layers": ends[1]}
    return {"class_name": "Functional", "config": config, "keras_version": "2.15.0", "backend": "tensorflow"}


def input_2(name: str, *shape: int | None) -> dict[str, Any]:
    return layer_2("InputLayer", name, batch_input_shape=[None, *shape], dtype="float32")


def tensor_2(layer: str, call: int = 0, result: int = 0) -> list[Any]:
    return [layer, call, result, {}]


def tensor_3(layer: str, call: int = 0) -> dict[str, Any]:
    return {"class_name": "__keras_tensor__", "config": {"keras_history": [layer, call, 0]}}


def dense_2(name: str, *nodes: object, units: int = 3, activation: str = "linear") -> dict[str, Any]:
    return layer_2("Dense", name, *nodes, units=units, activation=activation)


def test_keras_2_lists() -> None:
    merged = layer_2("Concatenate", "join", [tensor_2("a"), tensor_2("b")], axis=-1)
    model = model_2(input_2("x", 4), dense_2("a", "x"), dense_2("b", "x"), merged, inputs=["x"], outputs=["join"])
    text = import_file(source_of(model), inference=True)
    assert "join = concat([a, b], axis=1)" in text
    assert "network net(batch=32)" in text


def test_keras_2_hard_sigmoid_is_another_one() -> None:
    model = model_2(
        input_2("x", 4), layer_2("Activation", "a", "x", activation="hard_sigmoid"), inputs=["x"], outputs=["a"]
    )
    x = np.linspace(-4, 4, 8).reshape(2, 4)
    run = run_file(source_of(model), inputs={"x": x}, inference=True, defines={"batch": 2})
    np.testing.assert_allclose(run.outputs["a"], np.clip(0.2 * x + 0.5, 0, 1), rtol=1e-6)


def test_sequential_models_without_an_input() -> None:
    layers = [
        {"class_name": "Dense", "config": {"name": "a", "units": 5, "batch_input_shape": [None, 4]}},
        {"class_name": "Dense", "config": {"name": "b", "units": 2, "activation": "softmax"}},
    ]
    for config in (layers, {"name": "chain", "layers": layers}):
        text = import_file(source_of({"class_name": "Sequential", "config": config, "keras_version": "2.2.4"}))
        assert "b = linear(a, 2)" in text
        assert "loss cross_entropy(b, y)" in text


def test_a_model_in_a_model_that_is_called_twice_shares_its_weights() -> None:
    inner = model_2(input_2("i", 4), dense_2("d", "i"), inputs=["i"], outputs=["d"], name="inner")
    inner |= {"name": "inner", "inbound_nodes": [[tensor_2("x")], [tensor_2("z")]]}
    joined = layer_2("Subtract", "s", [tensor_2("inner"), tensor_2("inner", 1)])
    model = model_2(input_2("x", 4), input_2("z", 4), inner, joined, inputs=["x", "z"], outputs=["s"])
    run = run_file(source_of(model), defines={"batch": 2}, loss="mse")
    assert sorted(run.gradients) == ["inner.d.bias", "inner.d.weight"]
    x = np.ones((2, 4))
    same = run_file(source_of(model), inputs={"x": x, "z": x}, defines={"batch": 2}, inference=True)
    assert not same.outputs["s"].any()


def test_layers_that_are_not_trainable_are_frozen() -> None:
    model = model_2(input_2("x", 4), dense_2("a", "x"), dense_2("b", "a"), inputs=["x"], outputs=["b"])
    model["config"]["layers"][1]["config"]["trainable"] = False
    assert sorted(run_file(source_of(model), loss="mse").gradients) == ["b.bias", "b.weight"]


def test_free_sizes() -> None:
    conv = layer_2("Conv2D", "c", "x", filters=2, kernel_size=[3, 3], padding="same")
    model = model_2(input_2("x", None, None, 3), conv, inputs=["x"], outputs=["c"])
    with pytest.raises(UsageError, match=r"axis 1 of input 'x' is free in the file"):
        import_file(source_of(model))
    text = import_file(source_of(model), defines={"batch": 4, "x.1": 8, "x.2": 6}, inference=True)
    assert "f32[batch, length, 6, 3]" in text or "f32[batch, length, x_2, 3]" in text
    with pytest.raises(UsageError, match="unknown network parameter"):
        describe_file(source_of(model), defines={"x.3": 3})
    with pytest.raises(UsageError, match="expected a size of at least 1"):
        describe_file(source_of(model), defines={"batch": 0})


@pytest.mark.parametrize(
    ("activation", "units", "loss"),
    [
        ("softmax", 3, "cross_entropy(d, y)"),
        ("sigmoid", 3, "binary_cross_entropy(d_2, y)"),
        ("linear", 1, "mse(d, y)"),
        ("linear", 3, "cross_entropy(d, y)"),
    ],
)
def test_the_loss_by_the_activation(activation: str, units: int, loss: str) -> None:
    model = model_2(input_2("x", 4), dense_2("d", "x", units=units, activation=activation), inputs=["x"], outputs=["d"])
    text = import_file(source_of(model))
    assert f"loss {loss.partition('(')[0]}(" in text
    assert "softmax" not in text
    assert "softmax" in import_file(source_of(model), loss="mse") or activation != "softmax"


def test_what_a_model_was_compiled_with() -> None:
    dense: dict[str, Any] = {
        **{"module": "keras.layers", "class_name": "Dense", "name": "d", "registered_name": None},
        "config": {"name": "d", "units": 3, "activation": "softmax"},
        "inbound_nodes": [{"args": [tensor_3("x")], "kwargs": {}}],
    }
    first = {"class_name": "InputLayer", "name": "x", "config": {"batch_shape": [None, 4], "dtype": "float32"}}
    config: dict[str, Any] = {
        "name": "n",
        "layers": [first, dense],
        "input_layers": ["x", 0, 0],
        "output_layers": ["d", 0, 0],
    }
    adam = {"class_name": "Adam", "config": {"learning_rate": 0.01, "beta_1": 0.8, "epsilon": 1e-7}}
    compiled = {"optimizer": adam, "loss": "sparse_categorical_crossentropy"}
    model: dict[str, Any] = {
        "module": "keras",
        "class_name": "Functional",
        "config": config,
        "compile_config": compiled,
    }
    text = import_file(source_of(model))
    assert "loss cross_entropy(d, y)" in text
    assert "optimizer adam(lr=0.01, beta1=0.8, eps=1e-07)" in text
    assert "sgd(lr=0.5)" in import_file(source_of(model), optimizer="sgd(lr=0.5)")


@pytest.mark.parametrize("key", ["modelTopology", "model_config"])
def test_models_inside_of_other_files(key: str) -> None:
    model = model_2(input_2("x", 4), dense_2("a", "x"), inputs=["x"], outputs=["a"])
    whole = {"modelTopology": {"model_config": model}} if key == "modelTopology" else {key: json.dumps(model)}
    assert "a = linear(x, 3)" in import_file(source_of(whole))


def test_what_is_left_out_is_said() -> None:
    noise = layer_2("GaussianNoise", "n", "x", stddev=0.1)
    dense = layer_2("Dense", "d", "n", units=3, kernel_regularizer={"class_name": "L2"}, colour=3)
    source = source_of(model_2(input_2("x", 4), noise, dense, inputs=["x"], outputs=["d"]))
    warnings = source.frontend.read(source, Request(losses=("mse",))).warnings
    assert warnings == (
        "layer n: its noise is left out: normal random numbers have no counterpart",
        "layer d: its regularizer adds nothing to the loss",
        "layer d: its option colour has no effect",
    )


def test_a_batch_norm_that_is_called_twice_is_refused_in_training() -> None:
    norm = layer_2("BatchNormalization", "n", "x", "z")
    joined = layer_2("Add", "s", [tensor_2("n"), tensor_2("n", 1)])
    model = source_of(model_2(input_2("x", 4), input_2("z", 4), norm, joined, inputs=["x", "z"], outputs=["s"]))
    with pytest.raises(SourceError, match=r"layer 'n' .BatchNormalization.: is called more than once"):
        import_file(model)
    assert "running_mean" in import_file(model, inference=True)
