"""Splitting chains over accelerators: the reference, enumeration, and what the optimum must be no worse than."""

import json
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.compiler import UsageError, plan_parallel
from npuc.compiler.analysis.sharding.graph.chain import BASIC_TYPES, BasicType, Layer
from npuc.compiler.analysis.sharding.reference.chain_terms import chain_terms
from npuc.compiler.analysis.sharding.reference.joint import joint
from npuc.compiler.analysis.sharding.reference.level_by_level import Choices
from npuc.compiler.analysis.sharding.reference.strategies import chain_types
from npuc.compiler.analysis.sharding.search.least_movement import uniform
from npuc.compiler.analysis.sharding.search.planning import amounts_of, columns, plan_chain, total_of
from npuc.compiler.core.options import CONVENTIONS, STRATEGIES, Convention, Strategy
from tests.chains import LAYERS, chains, level_amounts

DATA = Path(__file__).parents[2] / "oracle" / "data" / "hypar" / "public.json"
NETWORKS = ("SFC", "SCONV", "Lenet-c", "AlexNet", "VGG-A", "VGG-C")
FIXED = {"dp": "all_dp", "mp": "all_mp", "owt": "owt"}


@cache
def reference() -> Any:
    return json.loads(DATA.read_text())["networks"]


def chain(name: str, batch: int) -> list[dict[str, object]]:
    """The layers of a network of the reference."""
    return [
        {
            "name": layer["name"],
            "kind": layer["kind"],
            "input": layer["input_elements_per_sample"] * batch,
            "weight": layer["weight_elements"],
            "output": layer["handed_on_elements_per_sample"] * batch,
        }
        for layer in reference()[name]["layers"]
    ]


def cost(layers: list[Layer], choices: Choices, convention: Convention) -> Fraction:
    """What types for a chain move."""
    terms = chain_terms(layers, convention)
    return total_of(amounts_of(terms, columns(choices, len(layers)), (2,) * len(choices)))


def number(value: object) -> Fraction:
    return Fraction(str(value))


@pytest.mark.oracle
@pytest.mark.parametrize("convention", ["published", "table2"])
@pytest.mark.parametrize("name", NETWORKS)
def test_choices_and_totals_are_the_reference(name: str, convention: str) -> None:
    network = reference()[name]
    expected, devices = network["conventions"][convention], network["accelerators"]
    layers = chain(name, network["batch"])
    plan = plan_parallel(layers, devices, "hypar", convention)
    for level, wanted in zip(plan.levels, expected["hypar"]["levels"], strict=True):
        assert (level.level, list(level.choices.values())) == (wanted["level"], wanted["choices"])
        assert number(level.elements) == number(wanted["elements"])
    for strategy, entry in (*FIXED.items(), ("hypar", "hypar"), ("joint", "joint_optimum")):
        plan = plan_parallel(layers, devices, strategy, convention)
        assert number(plan.total.elements) == number(expected[entry]["total"]["elements"])
        assert number(plan.total.bytes) == number(expected[entry]["total"]["bytes"])
        assert number(plan.lower_bound_elements) == number(expected["joint_optimum"]["total"]["elements"])
        if strategy in FIXED:
            wanted = [number(value) for value in expected[entry]["level_elements"]]
            assert [number(level.elements) for level in plan.levels] == wanted


@pytest.mark.oracle
@pytest.mark.parametrize("name", NETWORKS)
def test_three_types_are_the_reference(name: str) -> None:
    network = reference()[name]
    expected, layers = network["accpar_three_types"], chain(name, network["batch"])
    plan = plan_parallel(layers, network["accelerators"], "accpar")
    assert [list(level.choices.values()) for level in plan.levels] == [e["choices"] for e in expected["levels"]]
    assert [number(level.elements) for level in plan.levels] == [number(e["elements"]) for e in expected["levels"]]
    assert number(plan.total.elements) == number(expected["total"]["elements"])
    assert number(plan.lower_bound_elements) == number(expected["joint_optimum_total"]["elements"])


@pytest.mark.oracle
@pytest.mark.parametrize("name", NETWORKS)
def test_the_sweep_is_the_reference(name: str) -> None:
    for entry in reference()[name]["sweep_published"]:
        layers, devices = chain(name, entry["batch"]), 2 ** entry["levels"]
        for strategy in ("hypar", "dp", "owt", "joint"):
            plan = plan_parallel(layers, devices, strategy, "published")
            key = {"dp": "all_dp", "joint": "joint_optimum"}.get(strategy, strategy)
            assert number(plan.total.elements) == number(entry[f"{key}_elements"])
            if strategy == "hypar":
                shown = ["".join(kind[0] for kind in level.choices.values()) for level in plan.levels]
                assert shown == entry["hypar_choices"]


def every(layers: int, levels: int, types: tuple[BasicType, ...]) -> Iterator[Choices]:
    """All choices there are."""
    return product(list(product(types, repeat=layers)), repeat=levels)


PAPERS: tuple[Convention, ...] = ("table2", "published")


@given(chains(BASIC_TYPES), st.sampled_from(PAPERS))
def test_terms_of_a_chain_are_the_papers_amounts(case: tuple[list[Layer], Choices], convention: Convention) -> None:
    layers, choices = case
    terms, sizes = chain_terms(layers, convention), (2,) * len(choices)
    expected = level_amounts(layers, choices, convention)
    assert list(amounts_of(terms, columns(choices, len(layers)), sizes)) == expected


@given(chains(BASIC_TYPES[:2]))
def test_physical_amounts_are_those_of_halves_that_own_parts_of_sums(case: tuple[list[Layer], Choices]) -> None:
    layers, choices = case
    terms, sizes = chain_terms(layers, "physical"), (2,) * len(choices)
    assert list(amounts_of(terms, columns(choices, len(layers)), sizes)) == level_amounts(layers, choices, "physical")


@given(st.lists(LAYERS, min_size=1, max_size=3), st.integers(0, 2), st.sampled_from(CONVENTIONS))
def test_the_joint_optimum_is_that_of_enumeration(layers: list[Layer], levels: int, convention: Convention) -> None:
    best = min(cost(layers, choices, convention) for choices in every(len(layers), levels, ("I", "II")))
    plans = {s: plan_chain(layers, s, convention, levels) for s in STRATEGIES[:5]}
    assert plans["joint"].total == best == min(plan.total for plan in plans.values())
    assert all(plan.bound == best for plan in plans.values())


@given(st.lists(LAYERS, min_size=1, max_size=3), st.integers(0, 2), st.sampled_from(CONVENTIONS))
def test_the_joint_optimum_of_three_types_is_that_of_enumeration(
    layers: list[Layer], levels: int, convention: Convention
) -> None:
    best = min(cost(layers, choices, convention) for choices in every(len(layers), levels, BASIC_TYPES))
    found = plan_chain(layers, "accpar-joint", convention, levels)
    assert found.total == best <= plan_chain(layers, "joint", convention, levels).total
    level_by_level = plan_chain(layers, "accpar", convention, levels)
    assert level_by_level.bound == found.bound == best <= level_by_level.total


@given(st.lists(LAYERS, min_size=1, max_size=4), st.sampled_from(("hypar", "accpar")), st.integers(1, 3))
def test_level_by_level_each_is_the_best_for_what_those_above_have_left(
    layers: list[Layer], strategy: Strategy, levels: int
) -> None:
    plan = plan_chain(layers, strategy, "physical", levels)
    above = [own[:-1] for own in plan.sequences]
    rows = product(chain_types(strategy), repeat=len(layers))
    others = [tuple(p + uniform(kind, 1) for p, kind in zip(above, row, strict=True)) for row in rows]
    terms, sizes = chain_terms(layers, "physical"), (2,) * levels
    assert plan.levels == amounts_of(terms, plan.sequences, sizes)
    # what moves above may depend on what is chosen below: it is the sum that is least
    assert plan.total == min(total_of(amounts_of(terms, other, sizes)) for other in others)


@given(st.lists(LAYERS, min_size=1, max_size=4), st.lists(st.lists(st.booleans(), min_size=4, max_size=4), max_size=4))
def test_physical_amounts_add_up_to_the_count_of_a_lowered_program(layers: list[Layer], rows: list[list[bool]]) -> None:
    """W (2^d - 1) + O (2^m - 1) for each layer, I / 2 (q + 2^m - 1) for each boundary, m that of the layer before."""
    choices: Choices = tuple(tuple("II" if row[n] else "I" for n in range(len(layers))) for row in rows)
    expected = Fraction(0)
    for n, layer in enumerate(layers):
        split = sum(row[n] for row in rows)
        expected += layer.weight * (2 ** (len(rows) - split) - 1) + layer.output * (2**split - 1)
        if n:
            before = sum(row[n - 1] for row in rows)
            turned = sum(row[n] and not row[n - 1] for row in rows)
            expected += Fraction(layer.input, 2) * (turned + 2**before - 1)
    assert cost(layers, choices, "physical") == expected


def test_amounts_beyond_64_bits_are_exact() -> None:
    huge = [Layer("a", "fc", 10**18, 10**17, 10**18), Layer("b", "fc", 10**18, 3, 10**18)]
    found = joint(huge, 3, ("I", "II"), "table2")
    assert cost(huge, found, "table2") == min(cost(huge, c, "table2") for c in every(2, 3, ("I", "II")))


def test_halves_of_elements_are_exact_texts() -> None:
    layer = {"name": "fc", "kind": "fc", "input": 3, "weight": 10**6, "output": 1}
    plan = plan_parallel([layer, layer, layer], 4, "mp", "published")
    assert [level.elements for level in plan.levels] == [3, 3]
    plan = plan_parallel([layer, layer], 2, "mp", "table2")
    assert plan.levels[0].elements == "7/2"
    assert list(plan.levels[0].choices) == ["fc", "fc.2"]
    assert plan["levels"][0]["elements"] == "7/2"
    with pytest.raises(KeyError):
        plan["level"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"devices": 12}, "devices 12: expected a power of two"),
        ({"devices": 0}, "devices 0: expected a power of two"),
        ({"strategy": "hyper"}, "unknown strategy 'hyper'"),
        ({"convention": "table3"}, "unknown convention 'table3'"),
        ({"strategy": "accpar-joint", "devices": 1 << 13}, "accpar-joint: found 8,192 devices, expected at most 4,096"),
        ({"layers": []}, "expected at least one layer"),
        ({"layers": [{"name": "a", "kind": "fc", "input": 1, "weight": 1}]}, "layer 0: missing 'output'"),
        ({"layers": [{"name": "a", "kind": "cnn", "input": 1, "weight": 1, "output": 1}]}, "unknown kind 'cnn'"),
        ({"layers": [{"name": "a", "kind": "fc", "input": 0, "weight": 1, "output": 1}]}, "integer from 1, got 0"),
        ({"layers": [{"name": "a", "kind": "fc", "input": 1.5, "weight": 1, "output": 1}]}, "integer from 1, got 1.5"),
    ],
)
def test_wrong_arguments_are_said(changed: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"layers": chain("Lenet-c", 8), "devices": 4, "strategy": "hypar"} | changed
    with pytest.raises(UsageError, match=message):
        plan_parallel(**arguments)
