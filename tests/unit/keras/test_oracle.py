"""Models compute what Keras computes, and have its parameters."""

from __future__ import annotations

import gzip
import json
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from npuc.compiler import import_file, run_file
from npuc.compiler.interpreter.execute import argument_type, the_function
from npuc.dialects.train.signature import ArgumentKind, arguments_of
from npuc.frontends.base import Request, Source
from npuc.frontends.source import text_source

FOLDER = Path(__file__).parents[2] / "oracle" / "data" / "keras"


@cache
def stored(name: str) -> dict[str, Any]:
    """A file of the folder."""
    return json.loads(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes()))


LAYERS = sorted(stored("layers"))
NETWORKS = sorted(path.name.removesuffix(".json.gz") for path in FOLDER.glob("[A-Z]*.json.gz"))
# As https://keras.io/api/applications and `model.count_params()` have them, statistics of batch norms included.
PUBLISHED = {
    "VGG16": 138_357_544,
    "ResNet50": 25_636_712,
    "MobileNet": 4_253_864,
    "MobileNetV2": 3_538_984,
    "DenseNet121": 8_062_504,
    "InceptionV3": 23_851_784,
    "Xception": 22_910_480,
    "EfficientNetB0": 5_330_571,
    "NASNetMobile": 5_326_716,
}


def source_of(model: object, name: str = "model.json") -> Source:
    return text_source(json.dumps(model), "keras", name)


def counted(module: ModuleOp) -> int:
    """The elements of all weights and statistics."""
    function, kinds = the_function(module), (ArgumentKind.PARAM, ArgumentKind.STAT)
    return sum(prod(argument_type(function, one).get_shape()) for one in arguments_of(function) if one.kind in kinds)


def module_of(source: Source, **request: Any) -> ModuleOp:
    return source.frontend.read(source, Request(**request)).module


@pytest.mark.parametrize("name", LAYERS)
def test_layers_compute_what_keras_computes(name: str) -> None:
    case = stored("layers")[name]
    inputs = {key: np.array(value) for key, value in (case["inputs"] | case["weights"]).items()}
    run = run_file(source_of(case["model"]), inputs=inputs, inference=True, defines={"batch": 2})
    assert len(run.outputs) == len(case["outputs"])
    for found, expected in zip(run.outputs.values(), case["outputs"], strict=True):
        assert found.shape == np.array(expected).shape
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", LAYERS)
def test_layers_have_the_parameters_of_keras(name: str) -> None:
    """A Normalization that adapts also counts its samples, one number, which nothing computes with."""
    case = stored("layers")[name]
    counts = 1 if name == "normalization" else 0
    module = module_of(source_of(case["model"]), inference=True, defines={"batch": 2})
    assert counted(module) + counts == case["parameters"]


@pytest.mark.parametrize("name", PUBLISHED)
def test_networks_have_the_published_parameters(name: str) -> None:
    case = stored(name)
    counts = 1 if name == "EfficientNetB0" else 0
    assert counted(module_of(source_of(case["model"]))) + counts == case["parameters"] == PUBLISHED[name]


@pytest.mark.parametrize("name", NETWORKS)
def test_the_text_of_a_network_is_the_same_program(name: str) -> None:
    """`import` compares both."""
    text = import_file(source_of(stored(name)["model"]))
    assert "batch=32" in text
    assert "loss cross_entropy(" in text
    assert "softmax" not in text


@pytest.mark.parametrize("name", LAYERS)
def test_the_text_of_a_layer_is_the_same_program(name: str) -> None:
    case = stored("layers")[name]
    losses = ["mse"] * len(case["outputs"])
    assert "loss mse(" in import_file(source_of(case["model"]), loss=losses)
