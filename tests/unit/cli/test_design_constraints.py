"""`npuc design --constraints`: mappings of designs meet them, and what no machine meets is said with its place."""

import json
from pathlib import Path
from typing import Any

import pytest

from npuc.backends.maestro.machine import mapped_machine
from npuc.backends.registry import get_backend
from npuc.compiler.analysis.mapping.constraints.rules import MapRules
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.driver.compile import lowered_module
from npuc.compiler.explore.mapping.constrained.demands import Demands
from npuc.compiler.explore.mapping.task import exact_task
from npuc.dialects.mapping import Clusters
from npuc.dialects.npu import ContractOp
from npuc.frontends.source import open_source
from npuc.hardware import load_constraints, load_hardware
from tests.unit.cli.test_commands import Npuc
from tests.unit.cli.test_map import CONV

OPTIONS = ("--budget", "2000", "-q", "--area-mm2", "0.2", "--set", "technology.model=gamma-int8")
RULES = """\
[[constraints.rules]]
level = 1
order = "K * C"
spread = "K N"
tiles = "K<=2"

[[constraints.rules]]
level = 2
layers = "a"
must = "C"
utilization = 0.5
"""


@pytest.fixture(autouse=True)
def network(npuc: Npuc) -> None:
    Path("conv.dsl").write_text(CONV)
    Path("own.toml").write_text(RULES)


def found(npuc: Npuc, *options: str) -> dict[str, Any]:
    outcome = npuc("design", "conv.dsl", *OPTIONS, "--json", "-", *options)
    assert (outcome.status, outcome.err) == (0, "")
    return json.loads(outcome.out)


def check_mappings(rules: MapRules) -> None:
    """The program `m.mlir` meets rules on the machine `m.toml`, as `npuc map` understands them."""
    asked: CompileKeywords = {"hardware": "m.toml"}
    module, hardware = lowered_module(open_source("m.mlir"), get_backend("maestro"), asked, print, [])
    machine, demands = mapped_machine(hardware), Demands(rules)
    contracts = [op for op in module.walk() if isinstance(op, ContractOp)]
    assert contracts
    for op in contracts:
        task = exact_task(op.nest, op.mapping_attr, machine.for_contraction(op), 2, 1, divisors=True)
        assert op.mapping_attr is not None
        mapping = op.mapping_attr.data
        assert isinstance(mapping, Clusters)
        assert demands.applied(task, op).allows(mapping)


@pytest.mark.parametrize("goals", ["time", "energy,area"])
@pytest.mark.parametrize("name", ["own.toml", "nvdla", "shidiannao"])
def test_mappings_of_a_design_meet_them(npuc: Npuc, name: str, goals: str) -> None:
    files = ("-o", "m.toml", "--mapped", "m.mlir")
    data = found(npuc, "--constraints", name, "--goals", goals, *files)
    rules = load_constraints(name)
    assert [rule["level"] for rule in data["constraints"]["rules"]] == [rule.row["level"] for rule in rules.rules]
    check_mappings(rules)
    assert name != "nvdla" or {one["clusters"][1] for one in data["designs"]} == {64}


def test_constraints_cost_time_and_are_said(npuc: Npuc) -> None:
    free = found(npuc)
    assert free["constraints"] == {"divisors": False, "rules": []}
    assert found(npuc, "--constraints", "own.toml")["designs"][0]["cycles"] > free["designs"][0]["cycles"]
    text = npuc("design", "conv.dsl", *OPTIONS, "--constraints", "own.toml").out
    assert "rules     2 rules of own.toml, which all mappings meet" in text


def test_those_of_the_machine_hold_too_and_stay_in_its_file(npuc: Npuc) -> None:
    machine = "[maestro]\nnum_pes = 16\nl1_size = 60\n"
    Path("plain.toml").write_text(machine)
    Path("machine.toml").write_text(machine + RULES)
    alone = found(npuc, "--hw", "machine.toml", "-o", "m.toml", "--mapped", "m.mlir")
    beside = found(npuc, "--hw", "plain.toml", "--constraints", "own.toml")
    assert alone["designs"] == beside["designs"]
    check_mappings(load_constraints("own.toml"))
    assert load_hardware("m.toml").get("constraints.rules") == load_hardware("machine.toml").get("constraints.rules")


def test_each_contraction_has_its_own_clusters_where_the_shape_is_free(npuc: Npuc) -> None:
    rules = "".join(
        f"[[constraints.rules]]\nlevel = 1\nlayers = '{layer}'\nfanout = {size}\n"
        for layer, size in (("a", 5), ("c", 7))
    )
    Path("two.toml").write_text(rules)
    outcome = npuc("design", "conv.dsl", *OPTIONS, "--constraints", "two.toml")
    assert outcome.status == 3
    assert outcome.err == (
        "two.toml:4:1: error: no clusters can meet, for all contractions together, fanout 5 at level 1 and fanout 7 at "
        "level 1 (line 8)\n    fanout = 5\n    ^\n"
        "  hint: --class 1111, where each contraction has clusters of its own\n"
    )
    data = found(npuc, "--constraints", "two.toml", "--class", "1111", "-o", "m.toml", "--mapped", "m.mlir")
    for row in data["designs"][0]["mappings"]:
        if row["layer"] in ("a", "c"):
            assert row["mapping"].startswith({"a": "5 ", "c": "7 "}[row["layer"]])


def test_tiles_divide_where_the_machine_says_so(npuc: Npuc) -> None:
    files = ("-o", "m.toml", "--mapped", "m.mlir")
    found(npuc, "--tiles", "any", "--set", "constraints.divisors=true", *files)
    check_mappings(MapRules(divisors=True))
    found(npuc, "--tiles", "any", *files)
    with pytest.raises(AssertionError):
        check_mappings(MapRules(divisors=True))


ERRORS = {
    "level = 3\nspread = 'K'": ("no.toml:3:1", "level 3 of mappings that have 2\n", "--levels 3", 2),
    "level = 1\nmust = 'K C'": ("no.toml:3:1", "no mapping on any clusters can", "a level of a design spreads one", 3),
    "level = 1\nmust = 'K'\ntiles = 'K=all'": ("no.toml:3:1", "can together meet must 'K'", "contraction has K =", 3),
    "spread = 'oo'": ("no.toml:2:1", "no contraction has a dimension 'oo'", "did you mean 'o'?", 2),
    "l1_size = 64": ("no.toml:2:1", "unknown key 'l1_size'", "", 2),
    "level = 2\nfanout = 5000": ("no.toml:3:1", "no machine of 0.2 mm2 meets fanout 5000", "of more than 1.4", 3),
    "tiles = 'K=all C=all Y=all X=all'\n[[constraints.rules]]\nlevel = 1\nfanout = 300": (
        "no.toml:2:1",
        "no machine of 0.2 mm2 meets tiles",
        "an --area-mm2 of more than",
        3,
    ),
}


@pytest.mark.parametrize("text", ERRORS)
def test_errors(npuc: Npuc, text: str) -> None:
    place, said, hint, status = ERRORS[text]
    Path("no.toml").write_text(f"[[constraints.rules]]\n{text}\n")
    outcome = npuc("design", "conv.dsl", *OPTIONS, "--constraints", "no.toml", "-o", "m.toml")
    assert outcome.status == status
    assert outcome.err.startswith(f"{place}: error: ")
    assert said in outcome.err
    assert hint in outcome.err.partition("hint: ")[2]
    assert not Path("m.toml").exists()


def test_a_key_of_the_machine_is_no_constraint(npuc: Npuc) -> None:
    """A design finds elements and buffers; what it is given is written in the hardware file."""
    Path("no.toml").write_text("[maestro]\nl1_size = 64\n")
    outcome = npuc("design", "conv.dsl", *OPTIONS, "--constraints", "no.toml")
    assert outcome.status == 2
    assert outcome.err.startswith("no.toml:2:1: error: maestro.l1_size is no constraint")


def test_a_dataflow_takes_no_constraints(npuc: Npuc) -> None:
    outcome = npuc("design", "conv.dsl", *OPTIONS, "--constraints", "own.toml", "--class", "any")
    assert outcome.status == 2
    assert "2 rules of own.toml: a machine of class 0000 has the mappings of its dataflow" in outcome.err
    assert "hint: --class 1110 or 1111" in outcome.err


def test_an_area_that_is_too_small_for_anything_is_not_blamed_on_them(npuc: Npuc) -> None:
    small = ("0.0001" if one == "0.2" else one for one in OPTIONS)
    outcome = npuc("design", "conv.dsl", *small, "--constraints", "own.toml")
    assert outcome.status == 3
    assert "no machine of 0.0001 mm2 runs the step" in outcome.err


def test_rules_for_no_contraction_are_warned_of(npuc: Npuc) -> None:
    Path("other.toml").write_text("[[constraints.rules]]\nlayers = 'zz'\nspread = 'K'\n")
    options = tuple(one for one in OPTIONS if one != "-q")
    outcome = npuc("design", "conv.dsl", *options, "--constraints", "other.toml", "--json", "d.json")
    assert "warning: rule 1 of other.toml is for no contraction of this program" in outcome.err


def test_a_record_is_of_its_constraints(npuc: Npuc) -> None:
    resume = ("--resume", "r.rec")
    first = found(npuc, "--constraints", "own.toml", *resume)
    outcome = npuc("design", "conv.dsl", *OPTIONS, "--constraints", "own.toml", *resume, "--json", "-")
    assert json.loads(outcome.out) == first
    other = npuc("design", "conv.dsl", *OPTIONS, *resume)
    assert other.status == 2
    assert "'r.rec' was begun with another" in other.err
    assert "constraints" in other.err
