"""
Parameters and forward multiply-accumulates of the networks that ship with npuc, against published figures.

Counts are exact at the defaults of each network; a published figure must be the count rounded to its digits.
"""

from decimal import Decimal
from functools import cache
from math import prod

import pytest
from xdsl.dialects.builtin import ModuleOp

from npuc.compiler.interpreter.execute import argument_type, the_function
from npuc.compiler.layers import get_layer
from npuc.dialects.provenance import Role, layer_of, role_of
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.signature import ArgumentKind, arguments_of
from npuc.frontends import read_source, read_text, sample_names
from tests.support.shared import forward_program
from tests.unit.samples.figures import FIGURES, Published

ALL = pytest.mark.parametrize("name", FIGURES)


@cache
def module_of(name: str) -> ModuleOp:
    """The forward graph of a network of the table."""
    file = f"samples:{name.split()[0]}"
    if not FIGURES[name].defines:
        return forward_program(name.split()[0])
    return read_source(read_text(file), filename=file, defines=dict(FIGURES[name].defines))


def parameters_of(module: ModuleOp) -> dict[str, int]:
    """The number of elements of each parameter."""
    func = the_function(module)
    found = (a for a in arguments_of(func) if a.kind is ArgumentKind.PARAM)
    return {a.name: prod(argument_type(func, a).get_shape()) for a in found}


def macs_of(module: ModuleOp) -> int:
    """The multiply-accumulates of the forward operations."""
    ops = (op for op in module.walk() if isinstance(op, TrainOp) and role_of(op) is Role.FORWARD)
    return sum(get_layer(op).work(op).macs for op in ops)


def layers_of(module: ModuleOp) -> set[str]:
    """The names of the layers."""
    return {layer_of(op) for op in module.walk() if isinstance(op, TrainOp)}


def rounded(count: int, figure: Published) -> Decimal:
    """A count with the unit and the digits of a published figure."""
    return (Decimal(count) / figure.unit).quantize(Decimal(figure.digits))


def test_every_sample_has_figures() -> None:
    assert {name.split()[0] for name in FIGURES} == set(sample_names())


@ALL
def test_parameters(name: str) -> None:
    figures, counts = FIGURES[name], parameters_of(module_of(name))
    assert sum(counts.values()) == figures.parameters
    if figures.extra_parameters:
        assert figures.extra_parameters == counts["logits.weight"] + counts["logits.bias"]
    for figure in figures.published_parameters:
        assert rounded(figures.parameters - figures.extra_parameters, figure) == Decimal(figure.digits), figure.source


@ALL
def test_macs(name: str) -> None:
    figures, macs = FIGURES[name], macs_of(module_of(name))
    assert macs == figures.macs
    for figure in figures.published_macs:
        count = macs if figure.of_batch else macs // figures.batch
        assert count * (1 if figure.of_batch else figures.batch) == macs
        assert rounded(count, figure) == Decimal(figure.digits), figure.source


@pytest.mark.parametrize(("name", "layers"), [("resnet50", 175), ("resnet50 v1_5", 175), ("mobilenet_v2", 152)])
def test_layers_of_the_study(name: str, layers: int) -> None:
    """Convolutions, normalisations, activations, sums, pooling, fc and softmax, each a layer."""
    assert len(layers_of(module_of(name))) == layers


@pytest.mark.parametrize("name", ["resnet18", "resnet50", "mobilenet_v2"])
def test_convolutions_have_no_biases(name: str) -> None:
    biases = [p.removesuffix(".bias") for p in parameters_of(module_of(name)) if p.endswith(".bias")]
    norms = {layer_of(op) for op in module_of(name).walk() if op.name == "train.batch_norm"}
    assert set(biases) == norms | {"logits"}


def layer_macs(length: int, width: int, attentions: int) -> int:
    """
    Forward MACs of a transformer layer on one sequence, with a hidden layer of 4 x width.

    Half of the 24 B s h^2 + 4 B s^2 h operations of Narayanan et al., "Efficient Large-Scale Language Model Training on
    GPU Clusters", SC 2021, appendix; a second attention adds its share.
    """
    once = (24 * length * width**2 + 4 * length**2 * width) // 2
    return once + (attentions - 1) * (8 * length * width**2 + 4 * length**2 * width) // 2


@pytest.mark.parametrize(("name", "layers", "width"), [("bert_base", 12, 768), ("bert_large", 24, 1024)])
def test_bert_against_the_closed_forms(name: str, layers: int, width: int) -> None:
    """Embeddings of 30,522 words, 512 positions and 2 segments; a layer's hidden one is 4 x as wide; the pooler."""
    head = width * width + width * 2
    assert macs_of(module_of(name)) == 32 * (layers * layer_macs(128, width, 1) + head)
    layer = 4 * (width**2 + width) + 8 * width**2 + 5 * width + 2 * 2 * width
    parameters = (30_522 + 512 + 2) * width + 2 * width + layers * layer + width**2 + width
    assert sum(parameters_of(module_of(name)).values()) == parameters + 2 * width + 2


def test_transformer_against_the_closed_forms() -> None:
    macs = 6 * layer_macs(50, 1024, 1) + 6 * layer_macs(50, 1024, 2)
    assert macs_of(module_of("transformer")) == 128 * macs
    attention, norm = 4 * (1024**2 + 1024), 2 * 1024
    feed_forward = 2 * 1024 * 4096 + 4096 + 1024
    encoder, decoder = attention + feed_forward + 2 * norm, 2 * attention + feed_forward + 3 * norm
    assert sum(parameters_of(module_of("transformer")).values()) == 6 * (encoder + decoder)


def test_transformer_is_the_big_model_of_the_paper() -> None:
    """Vaswani et al. 2017, table 3: 213 M with the shared embedding of about 37,000 tokens of 1,024."""
    assert 176_357_376 + 37_000 * 1_024 == pytest.approx(213e6, rel=0.01)


def test_lenet_and_mlp_layer_by_layer() -> None:
    """Outputs x weights of each: convolutions of 28 x 28 and 10 x 10 outputs, full layers."""
    assert macs_of(module_of("lenet")) == 64 * (784 * 6 * 25 + 100 * 16 * 150 + 400 * 120 + 120 * 84 + 84 * 10)
    assert macs_of(module_of("mlp")) == 64 * (784 * 512 + 512 * 10)
