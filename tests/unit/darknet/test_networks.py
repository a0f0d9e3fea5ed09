"""Public networks of darknet have the parameters and operations that darknet and its files of weights tell."""

from __future__ import annotations

from math import prod
from pathlib import Path

import pytest
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, StringAttr
from xdsl.ir import Operation

from npuc.compiler import compile_file, import_file, run_file
from npuc.compiler.interpreter.execute import argument_type, the_function
from npuc.dialects.tensors import tensor_type
from npuc.dialects.train.signature import ArgumentKind, arguments_of
from npuc.frontends.base import Request
from npuc.frontends.source import open_source

FOLDER = Path(__file__).parents[2] / "oracle" / "data" / "darknet"
NAMES = sorted(path.stem for path in FOLDER.glob("*.cfg"))
RECURRENT = ("gru", "lstm", "rnn")

# The values in the published files of weights, rolling means and variances included: (bytes - head) / 4, the head
# being 16 or 20 bytes. vgg-16 and alexnet: the papers' networks, Keras and Krizhevsky's one tower.
WEIGHTS = {
    "yolov2-tiny-voc": (63_471_556 - 16) // 4,
    "yolov2-voc": 50_676_061,
    "yolov3": (248_007_048 - 20) // 4,
    "yolov3-tiny": (35_434_956 - 20) // 4,
    "yolov4": (257_717_640 - 20) // 4,
    "yolov4-tiny": (24_251_276 - 20) // 4,
    "vgg-16": 138_357_544,
    "alexnet": 62_378_344,
}
# What darknet prints as the sum of its layers, in 10^9 operations: two a MAC of convolutions and products, and one an
# element for shortcuts and for each element of the windows of poolings.
BFLOPS = {"yolov3": 65.879, "yolov3-tiny": 5.571, "yolov4": 128.459, "yolov4-tiny": 6.910}
# Convolutions and products alone, as the pages of darknet tell it.
PRODUCTS = {"darknet19": 5.58, "extraction": 8.52, "resnet50": 9.74, "vgg-16": 30.94, "yolov2-tiny-voc": 6.97}


def counted(module: ModuleOp, *kinds: ArgumentKind) -> int:
    function = the_function(module)
    return sum(prod(argument_type(function, one).get_shape()) for one in arguments_of(function) if one.kind in kinds)


def module_of(name: str, **defines: int) -> ModuleOp:
    source = open_source(FOLDER / f"{name}.cfg")
    return source.frontend.read(source, Request(defines=defines)).module


def operations(name: str) -> tuple[float, float]:
    """The 10^9 operations of products, and those that darknet counts besides."""
    source = open_source(FOLDER / f"{name}.cfg")
    module = source.frontend.read(source, Request(defines={"batch": 1}, inference=True)).module
    besides = 0
    for op in module.walk():
        layer = named.data if isinstance(named := op.attributes.get("layer"), StringAttr) else ""
        if layer.startswith("shortcut") and op.name == "train.add":
            besides += prod(tensor_type(op.results[0]).get_shape())
        elif layer.startswith("maxpool"):
            besides += _window(op) * prod(tensor_type(op.results[0]).get_shape())
    macs = compile_file(source, backend="roofline", defines={"batch": 1}, inference=True).totals.macs
    assert macs is not None
    return 2 * macs / 1e9, besides / 1e9


def _window(op: Operation) -> int:
    kernel = op.properties["kernel"]
    assert isinstance(kernel, DenseArrayBase)
    return prod(int(size) for size in kernel.get_values())


@pytest.mark.parametrize("name", WEIGHTS)
def test_parameters_are_those_of_the_published_weights(name: str) -> None:
    assert counted(module_of(name, batch=1), ArgumentKind.PARAM, ArgumentKind.STAT) == WEIGHTS[name]


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_are_the_published_ones(name: str) -> None:
    assert round(operations(name)[0], 2) == PRODUCTS[name]


@pytest.mark.parametrize("name", BFLOPS)
def test_operations_are_those_that_darknet_prints(name: str) -> None:
    assert round(sum(operations(name)), 3) == BFLOPS[name]


def test_tiny_yolo_is_the_sample() -> None:
    """Its layers are those of the sample, whose pooling of step 1 repeats the border in an operation of its own."""
    path, defines = FOLDER / "yolov2-tiny-voc.cfg", {"batch": 2}
    own = compile_file(path, backend="roofline", defines=defines, inference=True)
    sample = compile_file("samples:yolo_v2_tiny", backend="roofline", defines=defines, inference=True)
    assert own.totals == sample.totals
    assert [op.macs for op in own.ops if op.macs] == [op.macs for op in sample.ops if op.macs]
    parameters = counted(module_of("yolov2-tiny-voc"), ArgumentKind.PARAM)
    sampled = open_source("samples:yolo_v2_tiny")
    assert parameters == counted(sampled.frontend.read(sampled, Request()).module, ArgumentKind.PARAM) == 15_861_773


@pytest.mark.parametrize("name", NAMES)
def test_the_text_is_the_same_program(name: str) -> None:
    """`import` compares both."""
    text = import_file(FOLDER / f"{name}.cfg", defines={"batch": 2})
    assert "(batch=2" in text


@pytest.mark.parametrize("name", ["cifar", "yolov4-tiny", "lstm", "gru", "rnn"])
def test_a_step_runs(name: str) -> None:
    small = {} if name in RECURRENT or name == "cifar" else {"height": 64, "width": 32}
    run = run_file(FOLDER / f"{name}.cfg", defines={"batch": 1, **small})
    assert run.loss is not None
    assert run.loss > 0
    assert run.gradients


def test_the_optimizer_and_the_batch_are_those_of_the_file() -> None:
    text = import_file(FOLDER / "yolov4.cfg")
    assert "optimizer sgd(lr=0.0013, momentum=0.949, weight_decay=0.0005)" in text
    assert "input x: f32[batch, 3, 608, 608]" in text
    assert "(batch=64)" in text
    assert "optimizer adamw(lr=0.1)" in import_file(FOLDER / "cifar.cfg", optimizer="adamw(lr=0.1)")


def test_a_softmax_at_the_end_is_in_the_loss() -> None:
    assert "loss cross_entropy(global_avg" in import_file(FOLDER / "darknet19.cfg").replace("avgpool", "global_avg")
    assert "softmax" not in import_file(FOLDER / "darknet19.cfg")
    assert "softmax" in import_file(FOLDER / "darknet19.cfg", inference=True)
    assert "softmax" in import_file(FOLDER / "darknet19.cfg", loss="mse")
