"""HyPar's networks have the weighted layers of the reference data: weights, inputs, sums, and what is handed on."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from xdsl.ir import Operation, SSAValue

from npuc.compiler import plan_parallel
from npuc.compiler.interpreter.execute import the_function
from npuc.compiler.layers.base import elements
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.signature import ArgumentKind, arguments_of
from npuc.studies.hypar.settings import published as labels
from tests.unit.samples.test_figures import module_of

pytestmark = pytest.mark.oracle

DATA = Path(__file__).parents[2] / "oracle" / "data" / "hypar"
NAMES = {
    "SFC": "sfc",
    "SCONV": "sconv",
    "Lenet-c": "lenet_c",
    "AlexNet": "alexnet_hypar",
    "VGG-A": "vgg_a",
    "VGG-C": "vgg_c",
}


@dataclass(frozen=True)
class Weighted:
    """The elements of a weighted layer: of its input, weights, sums, and of what the next one (or the loss) reads."""

    kind: str
    input: int
    weight: int
    sums: int
    handed_on: int


def weighted_layers(name: str) -> list[Weighted]:
    """The weighted layers of a network that is a chain, in order."""
    func = the_function(module_of(name))
    weights: set[SSAValue] = {func.body.block.args[a.index] for a in arguments_of(func) if a.kind is ArgumentKind.PARAM}
    ops = [op for op in func.body.block.ops if isinstance(op, TrainOp)]
    products = [op for op in ops if weights & set(op.operands)]
    read = [*(_data(op, weights) for op in products[1:]), ops[-1].operands[0]]
    return [
        Weighted(
            "conv" if "conv" in op.name else "fc",
            elements(_data(op, weights)),
            sum(elements(operand) for operand in op.operands if operand in weights),
            elements(op.results[0]),
            elements(following),
        )
        for op, following in zip(products, read, strict=True)
    ]


def _data(op: Operation, weights: set[SSAValue]) -> SSAValue:
    """What a layer reads beside its weights."""
    (found,) = (operand for operand in op.operands if operand not in weights)
    return found


@cache
def reference() -> dict[str, dict[str, Any]]:
    """The networks of the reference data."""
    return json.loads((DATA / "public.json").read_text(encoding="utf-8"))["networks"]


def test_every_reference_network_has_a_sample() -> None:
    assert set(reference()) == set(NAMES)


@pytest.mark.parametrize(("published", "sample"), NAMES.items())
def test_layers_are_those_of_the_reference(published: str, sample: str) -> None:
    entry = reference()[published]
    batch = entry["batch"]
    expected = [
        Weighted(
            layer["kind"],
            batch * layer["input_elements_per_sample"],
            layer["weight_elements"],
            batch * layer["partial_sum_elements_per_sample"],
            batch * layer["handed_on_elements_per_sample"],
        )
        for layer in entry["layers"]
    ]
    assert weighted_layers(sample) == expected


@pytest.mark.parametrize(("published", "sample"), NAMES.items())
@pytest.mark.parametrize("strategy", ["dp", "hypar"])
def test_communication_is_that_of_the_paper(published: str, sample: str, strategy: str) -> None:
    """As far as the labels of its figure tell, which have three digits."""
    chain = [
        {
            "name": f"layer{number}",
            "kind": layer.kind,
            "input": layer.input,
            "weight": layer.weight,
            "output": layer.handed_on,
        }
        for number, layer in enumerate(weighted_layers(sample))
    ]
    total = plan_parallel(chain, 16, strategy, "published").total
    label = labels()[published].communication_gb[strategy]
    assert float(total.bytes or 0) / 10**9 == pytest.approx(label, rel=5e-3)
