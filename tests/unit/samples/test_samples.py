"""The networks that ship with npuc differentiate, lower, run and learn; their layers have the names meant."""

import re
from collections import Counter

import numpy as np
import pytest
from typing_extensions import Unpack
from xdsl.dialects.builtin import IntegerType

from npuc.compiler.core.errors import SourceError
from npuc.compiler.driver.run import run_file
from npuc.compiler.driver.running.lower import lowered_source
from npuc.compiler.driver.running.options import RunKeywords, run_options
from npuc.compiler.interpreter.execute import Run, argument_type, the_function
from npuc.compiler.layers.base import Array
from npuc.dialects.npu import ContractOp
from npuc.dialects.provenance import Role, layer_of, role_of
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.signature import ArgumentKind, arguments_of, results_of
from npuc.frontends import read_source, read_text, sample_names
from npuc.frontends.dsl.values import Value
from npuc.frontends.source import open_source
from tests.support.shared import forward_program

ALL = pytest.mark.parametrize("name", sample_names())

SMALL_IMAGES: dict[str, Value] = {"batch": 2, "image": 32, "classes": 10}
SMALL_VGG: dict[str, Value] = {"batch": 2, "image": 32, "hidden": 64, "classes": 10}
SMALL_BERT: dict[str, Value] = {
    "batch": 2,
    "length": 6,
    "layers": 2,
    "width": 16,
    "heads": 4,
    "hidden": 32,
    "vocabulary": 20,
    "max_length": 8,
}
SMALL: dict[str, dict[str, Value]] = {
    "mlp": {"batch": 4, "hidden": 16},
    "lenet": {"batch": 4},
    "alexnet": SMALL_IMAGES | {"image": 63},
    "vgg16": SMALL_IMAGES,
    "resnet18": SMALL_IMAGES,
    "resnet50": SMALL_IMAGES,
    "mobilenet_v1": SMALL_IMAGES,
    "mobilenet_v2": SMALL_IMAGES,
    "mnasnet": SMALL_IMAGES,
    "faster_rcnn": {"image": 32, "classes": 3, "regions": 4},
    "yolo_v2_tiny": {"batch": 2, "image": 64, "classes": 3, "hidden": 16},
    "yolo_v5": {"batch": 2, "image": 64, "classes": 3, "width": 4, "depth": 1},
    "bert_base": SMALL_BERT,
    "bert_large": SMALL_BERT,
    "transformer": {"batch": 2, "length": 5, "layers": 2, "width": 16, "heads": 4, "hidden": 32},
    "googlenet": SMALL_IMAGES | {"image": 80, "auxiliary_dropout": 0.0},
    "squeezenet": SMALL_IMAGES | {"image": 49},
    "densenet121": {**SMALL_IMAGES, "depths": [2, 2, 2, 2]},
    "shufflenet_v2": SMALL_IMAGES,
    "efficientnet_b0": SMALL_IMAGES,
    "unet": {"image": 32, "width": 16, "padding": 1, "dropout": 0.0},
    "lstm_lm": {"batch": 2, "length": 4, "hidden": 6, "vocabulary": 20},
    "gnmt": {"batch": 2, "length": 3, "hidden": 6},
    "gpt2": {"batch": 2, "length": 5, "layers": 2, "width": 16, "heads": 4, "vocabulary": 20, "max_length": 5},
    "t5_small": {
        "batch": 2,
        "length": 5,
        "target_length": 4,
        "layers": 2,
        "width": 16,
        "heads": 2,
        "size": 4,
        "hidden": 32,
        "vocabulary": 20,
    },
    "llama_block": {"length": 5, "width": 16, "heads": 4, "kv_heads": 2, "hidden": 24},
    "dlrm": {"batch": 4, "size": 4, "bottom": [8], "top": [8], "tables": [2, 3, 2]},
    "ncf": {"batch": 4, "users": 2, "items": 2, "factors": 4, "widths": [8, 8, 4]},
    "revnet": {"batch": 4, "image": 16, "widths": [4, 4, 8, 14], "depth": 2},
    "camel": {"batch": 2, "image": 32, "classes": 3, "width": 4, "depth": 1},
    "sfc": {"batch": 4, "hidden": 16},
    "sconv": {"batch": 2},
    "lenet_c": {"batch": 2},
    "cifar_c": {"batch": 2},
    "alexnet_hypar": SMALL_VGG | {"image": 67},
    **{f"vgg_{letter}": SMALL_VGG for letter in "abcde"},
}
LONG_SEARCHES = ("mobilenet_v2", "mnasnet", "shufflenet_v2", "unet", "yolo_v5")
"""What merging of contractions takes long for, and is tested with other networks."""
LATER = (
    "unet",
    "lstm_lm",
    "gnmt",
    "gpt2",
    "t5_small",
    "llama_block",
    "dlrm",
    "ncf",
    "shufflenet_v2",
    "yolo_v2_tiny",
    "yolo_v5",
    "revnet",
    "camel",
)


def data(name: str, defines: dict[str, Value]) -> dict[str, Array]:
    """Random inputs; integers are 0 or 1, positions count, regions are in the first image."""
    module = read_source(read_text(f"samples:{name}"), filename=f"samples:{name}", defines=defines)
    func, random = the_function(module), np.random.default_rng(0)
    found: dict[str, Array] = {}
    for argument in arguments_of(func):
        type = argument_type(func, argument)
        if argument.kind is ArgumentKind.INPUT:
            integers = isinstance(type.element_type, IntegerType)
            shape = type.get_shape()
            found[argument.name] = random.integers(0, 2, shape) if integers else random.standard_normal(shape)
    if "positions" in found:
        found["positions"] = np.arange(len(found["positions"]))
    if "rois" in found:
        found["rois"] = np.array([[0.0, 1.0, 2.0, 20.0, 25.0]] * len(found["rois"]))
    return found


def run(name: str, sizes: dict[str, Value], **options: Unpack[RunKeywords]) -> Run:
    """Training steps of a network on random data."""
    complete: RunKeywords = {"inputs": data(name, sizes), **options, "defines": sizes}
    return run_file(f"samples:{name}", **complete)


def test_each_has_a_small_version() -> None:
    assert set(SMALL) == set(sample_names())


# names of layers


@ALL
def test_layer_names_are_not_numbered(name: str) -> None:
    names = {layer_of(op) for op in forward_program(name).walk() if isinstance(op, TrainOp)}
    assert {n for n in names if re.search(r"_\d+$", n)} <= {"embeddings.norm.add_2"}


def resnet18_names() -> list[str]:
    """The layers of ResNet-18 in order."""
    names = ["conv1", "bn1", "relu1", "pool1"]
    block = ["conv1", "bn1", "relu1", "conv2", "bn2", "relu2.add", "relu2"]
    for stage in range(1, 5):
        for number in range(2):
            projected = ["project", "shortcut"] if stage > 1 and number == 0 else []
            names += [f"stage{stage}.{number}.{layer}" for layer in [*projected, *block]]
    return [*names, "features", "logits", "cross_entropy"]


def test_names_of_resnet18() -> None:
    names = [layer_of(op) for op in forward_program("resnet18").walk() if isinstance(op, TrainOp)]
    assert list(dict.fromkeys(names)) == resnet18_names()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("resnet50", {"stage1.0.project", "stage2.1.conv3", "stage4.2.bn3"}),
        ("mobilenet_v2", {"stage1.0.depthwise", "stage2.1.expand", "stage7.0.project_bn", "conv8"}),
        ("mobilenet_v1", {"stage1.depthwise", "stage4.5.pointwise_bn"}),
        ("faster_rcnn", {"stage3.5.conv3", "rpn.conv2d", "scores", "stage4.2.conv3", "region_boxes"}),
        ("yolo_v2_tiny", {"4.layer.conv", "layer8.conv", "conv9"}),
        ("yolo_v5", {"stage3.cv1.conv", "stage3.8.expand.conv", "sppf.cv2.conv", "narrow32.conv", "found8.conv"}),
        ("vgg16", {"stage1.0.conv", "stage5.2.relu", "stage5.pool", "fc6"}),
        ("bert_base", {"embeddings.word", "encoder.3.attention.q", "encoder.11.fc2", "pooler"}),
        ("bert_large", {"embeddings.norm", "encoder.23.attention.q", "encoder.23.fc2", "pooler"}),
        ("gpt2", {"h.3.attention.q", "h.11.fc2", "word", "logits"}),
        ("t5_small", {"encoder.bias.shifted", "decoder.5.cross_attention.scores"}),
        ("lstm_lm", {"lstm.0.34.gates", "lstm.1.0.recurrent", "logits"}),
        ("gnmt", {"encoder.backward.49.0.input", "encoder.above.0.2.x", "decoder.49.3.c", "decoder.1.0.context.sum"}),
        ("transformer", {"encoder.3.attention.q", "decoder.5.cross_attention.scores", "decoder.0.feed_forward.fc1"}),
    ],
)
def test_names_of_layers(name: str, expected: set[str]) -> None:
    assert expected <= {layer_of(op) for op in forward_program(name).walk() if isinstance(op, TrainOp)}


# compiling and running


def frozen_weights(name: str) -> set[str]:
    """The weights of a network that are not trained."""
    return {argument.name for argument in arguments_of(the_function(forward_program(name))) if argument.frozen}


def test_frozen_backbone_has_no_backward_pass() -> None:
    """Of camel: neither gradients nor optimizer states of the backbone, nor dX in it; the branch has them all."""
    module = lowered_source(open_source("samples:camel"), run_options({"pipeline": "autodiff"}))
    frozen, func = frozen_weights("camel"), the_function(module)
    backbone = {re.sub(r"\.(weight|bias)$", "", weight) for weight in frozen}
    assert len(backbone) == 1 + 4 * 4 + 3
    states = {argument.name for argument in arguments_of(func) if argument.kind is ArgumentKind.STATE}
    assert not {state for state in states if state.removesuffix(".momentum") in frozen}
    later = {layer_of(op) for op in module.walk() if isinstance(op, TrainOp) and role_of(op) is not Role.FORWARD}
    assert not {layer for layer in later if re.sub(r"\.(weight|bias)$", "", layer) in backbone}
    assert {"3.seen", "0.seen", "0.1.y2.function.conv1.conv2d"} <= later


@ALL
def test_whole_network_differentiates_and_lowers(name: str) -> None:
    module = lowered_source(open_source(f"samples:{name}"), run_options({"pipeline": "autodiff,lower-to-npu"}))
    module.verify()
    func = the_function(module)
    parameters = {a.index for a in arguments_of(func) if a.kind is ArgumentKind.PARAM and not a.frozen}
    assert parameters <= {r.updates for r in results_of(func)}
    assert any(isinstance(op, ContractOp) for op in module.walk())


@ALL
def test_small_version_trains_every_weight(name: str) -> None:
    """Frozen weights stay, and some biases: one in front of another normalisation has no effect."""
    result, frozen = run(name, SMALL[name]), frozen_weights(name)
    assert set(result.gradients) == set(result.params) - frozen
    assert all(np.isfinite(array).all() for array in result.updated.values())
    assert not frozen & set(result.updated)
    trained = {name: array for name, array in result.params.items() if name not in frozen}
    still = {p for p, array in trained.items() if np.array_equal(array, result.updated[p])}
    assert not any(p.endswith(".weight") for p in still)


@pytest.mark.parametrize("name", ["mlp", "lenet", "resnet18", "bert_base", "transformer"])
def test_loss_goes_down(name: str) -> None:
    steady: dict[str, Value] = {"dropout": 0.0} if name in ("bert_base", "transformer") else {}
    losses = run(name, SMALL[name] | steady, steps=4).losses
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("name", ["mlp", "lenet", "resnet18", "mobilenet_v2", "bert_base", "transformer", *LATER])
def test_levels_compute_the_same(name: str) -> None:
    """In float64: normalising two images whose last maps are one pixel magnifies rounding."""
    level = 0 if name in LONG_SEARCHES else None
    train = run(name, SMALL[name], level="train", dtype="float64")
    npu = run(name, SMALL[name], level="npu", dtype="float64", opt_level=level)
    assert npu.loss == pytest.approx(train.loss, rel=1e-8)
    largest = max(np.abs(gradient).max() for gradient in train.gradients.values())
    for parameter, gradient in train.gradients.items():
        np.testing.assert_allclose(npu.gradients[parameter], gradient, atol=1e-5 * largest)


def test_unknown_variant_of_resnet50() -> None:
    with pytest.raises(SourceError) as caught:
        read_source(read_text("samples:resnet50"), filename="samples:resnet50", defines={"variant": "v2"})
    assert "variant: v1 or v1_5" in caught.value.render()
    assert "did you mean 'variant'?" in caught.value.render()


def test_gnmt_prototype_has_the_layers_of_the_prototype() -> None:
    """In each first step a forget gate that no later layer reads, and no product with the state c that is not there."""
    text = read_text("samples:gnmt")
    module = read_source(text, filename="samples:gnmt", defines={"variant": "prototype"})
    found = Counter(op.name for op in module.walk() if isinstance(op, TrainOp))
    cells, steps = 9, 50
    layers = {
        "train.matmul": cells * steps * 4 + 1 + 3 * steps,
        "train.sigmoid": cells * steps * 3,
        "train.tanh": cells * steps * 2,
        "train.mul": cells * (steps * 3 - 1),
        "train.add": cells * (steps - 1) + steps + 3 * steps,
        "train.softmax": steps,
    }
    assert {name: found[name] for name in layers} == layers
    assert sum(layers.values()) == 6233


def test_gnmt_prototype_computes_unused_gates_for_nothing() -> None:
    """The forget gates of first steps change nothing: with one step, no gradient reaches their weights."""
    gradients = run("gnmt", SMALL["gnmt"] | {"length": 1, "variant": "prototype"}).gradients
    assert {name for name, array in gradients.items() if not array.any()} >= {n for n in gradients if "forget" in n}


@pytest.mark.parametrize(
    ("name", "expected"), [("gnmt", "standard or prototype"), ("transformer", "standard or thesis_fit")]
)
def test_unknown_variant(name: str, expected: str) -> None:
    with pytest.raises(SourceError, match=f"variant is {expected}"):
        read_source(read_text(f"samples:{name}"), filename=f"samples:{name}", defines={"variant": "thesis"})


def test_transformer_thesis_fit_has_steps_for_scale_and_mask() -> None:
    """In all 18 attentions; relu on q, k and v of each beside the 12 of the feed-forward layers."""
    text = read_text("samples:transformer")
    module = read_source(text, filename="samples:transformer", defines={"variant": "thesis_fit"})
    found = Counter(op.name for op in module.walk() if isinstance(op, TrainOp))
    expected = {"train.affine": 18, "train.where": 18, "train.relu": 3 * 18 + 12, "train.dropout": 18 + 12 + 30}
    assert {name: found[name] for name in expected} == expected


def test_bert_classifies_by_the_first_token() -> None:
    sizes = SMALL["bert_base"] | {"layers": 0, "dropout": 0.0}
    inputs = data("bert_base", sizes)

    def logits(tokens: Array) -> Array:
        return run("bert_base", sizes, inputs=inputs | {"tokens": tokens}).outputs["logits"]

    others, first = inputs["tokens"].copy(), inputs["tokens"].copy()
    others[:, 1:] += 5
    first[:, 0] += 5
    np.testing.assert_array_equal(logits(others), logits(inputs["tokens"]))
    assert not np.array_equal(logits(first), logits(inputs["tokens"]))
