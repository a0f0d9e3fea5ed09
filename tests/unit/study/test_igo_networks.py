"""The samples of the study have the matrix products of its tables, but for differences that are listed with reasons."""

import csv
from collections import Counter
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import TypeAlias

import pytest
from xdsl.dialects.builtin import ModuleOp

from npuc.compiler.driver.running.lower import lowered_source
from npuc.compiler.driver.running.options import run_options
from npuc.frontends.source import open_source
from npuc.studies.igo.forward import ForwardProduct, ForwardSize, forward_products
from npuc.studies.igo.networks import BATCHES, MODELS, StudyNetwork, study_networks, workloads
from tests.unit.samples.test_documentation import rows as documented
from tests.unit.samples.test_figures import parameters_of

pytestmark = pytest.mark.oracle

Difference: TypeAlias = dict[str, str]

_FILE = Path(__file__).parents[2] / "oracle" / "data" / "igo" / "differences.csv"
DIFFERENCES: list[Difference] = list(csv.DictReader(_FILE.read_text(encoding="utf-8").splitlines()))
"""What only the samples or only the tables have, with the layers and the reason."""

EACH = pytest.mark.parametrize("network", study_networks(), ids=lambda network: f"{network.npu}-{network.model}")


@cache
def module_of(npu: str, model: str) -> ModuleOp:
    """The lowered training step of a network of the study."""
    (network,) = (n for n in study_networks() if (n.npu, n.model) == (npu, model))
    return lowered_source(
        open_source(network.source), run_options({"pipeline": "autodiff,lower-to-npu", "defines": network.defines})
    )


@cache
def products_of(npu: str, model: str) -> list[ForwardProduct]:
    """The products of the forward pass of a network of the study."""
    return forward_products(module_of(npu, model))


def sizes(found: Iterable[ForwardProduct]) -> Counter[ForwardSize]:
    """How often each size occurs."""
    total = Counter[ForwardSize]()
    for product in found:
        total[product.size] += product.times
    return total


def size_of(row: Difference) -> ForwardSize:
    """The size of a listed product."""
    return ForwardSize(int(row["M"]), int(row["N"]), int(row["K"]), row["has_dX"] == "1")


def differences(network: StudyNetwork, only_in: str, *, weights: bool) -> list[Difference]:
    """What the list gives to one side of a network."""
    wanted = (network.npu, network.model, only_in, str(int(weights)))
    return [row for row in DIFFERENCES if (row["npu"], row["model"], row["only_in"], row["weights"]) == wanted]


def listed(network: StudyNetwork, only_in: str, *, weights: bool) -> Counter[ForwardSize]:
    """How often each size occurs in what the list gives to one side of a network."""
    found = Counter[ForwardSize]()
    for row in differences(network, only_in, weights=weights):
        found[size_of(row)] += int(row["count"])
    return found


def test_every_network_is_there_once() -> None:
    expected = [(npu, model) for npu in BATCHES for model in MODELS]
    assert [(n.npu, n.model) for n in study_networks()] == expected
    assert list(workloads()) == expected


def test_the_tables_are_whole() -> None:
    """As many rows as the file has; the first layer has no dX, unless a table of embeddings is before it."""
    rows_of = {npu: sum(len(products) for (side, _), products in workloads().items() if side == npu) for npu in BATCHES}
    assert rows_of == {"large": 177, "small": 146}
    for (_, model), products in workloads().items():
        without = [i for i, product in enumerate(products) if not product.has_dx]
        assert without == ([] if model in ("ncf", "bert", "T5") else [0])


@EACH
def test_products_with_weights_are_those_of_the_tables(network: StudyNetwork) -> None:
    ours = sizes(found for found in products_of(network.npu, network.model) if found.weights)
    theirs = Counter[ForwardSize]()
    for p in workloads()[network.npu, network.model]:
        theirs[ForwardSize(p.m, p.n, p.k, p.has_dx)] += p.count
    assert ours - theirs == listed(network, "sample", weights=True)
    assert theirs - ours == listed(network, "table", weights=True)


@EACH
def test_products_without_weights_are_listed(network: StudyNetwork) -> None:
    others = sizes(found for found in products_of(network.npu, network.model) if not found.weights)
    assert others == listed(network, "sample", weights=False)


@EACH
@pytest.mark.parametrize("weights", [True, False])
def test_each_difference_is_that_of_the_layers_it_names(network: StudyNetwork, weights: bool) -> None:
    for row in differences(network, "sample", weights=weights):
        named = [p for p in products_of(network.npu, network.model) if fnmatchcase(p.layer, row["layers"])]
        assert sizes(named)[size_of(row)] == int(row["count"]), row


def command_of(network: StudyNetwork) -> str:
    """How the command line builds a network."""
    words = [network.source]
    for name, value in network.defines.items():
        text = str(value).lower() if isinstance(value, bool) else str(value).replace(" ", "")
        words.append(f"-D {name}={text}")
    return f"`{' '.join(words)}`"


def test_documented_networks() -> None:
    expected = [
        [n.npu, MODELS[n.model], command_of(n), f"{sum(parameters_of(module_of(n.npu, n.model)).values()):,}"]
        for n in study_networks()
    ]
    assert [row[:4] for row in documented("The networks of the interleaved-gradient study")] == expected


def test_documented_differences() -> None:
    expected = {(MODELS[row["model"]], row["what"], row["reason"]) for row in DIFFERENCES}
    found = [tuple(row) for row in documented("Where their products differ from the study's tables")]
    assert set(found) == expected
    assert len(found) == len(expected)
