"""`npuc map --constraints`: mappings meet them, mistakes and what cannot be met are said with their place."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.test_commands import Npuc
from tests.unit.cli.test_map import CONV, ON_16

RULES = """\
# A test.
[[constraints.rules]]
level = 1
order = "K * C"
spread = "K"
tiles = "K<=2"

[[constraints.rules]]
level = 2
layers = "a"
must = "C"
"""


@pytest.fixture(autouse=True)
def network(npuc: Npuc) -> None:
    Path("conv.dsl").write_text(CONV)
    Path("own.toml").write_text(RULES)


def found(npuc: Npuc, *options: str) -> dict[str, Any]:
    outcome = npuc("map", "conv.dsl", *ON_16, "--json", "-", "--only", "a", "--only", "c", *options)
    assert (outcome.status, outcome.err) == (0, "")
    return json.loads(outcome.out)


@pytest.mark.parametrize("mapper", ["random", "genetic", "exact", "cma-es"])
def test_mappings_meet_them(npuc: Npuc, mapper: str) -> None:
    """Read from what is written: the outer level spreads output channels alone, layer `a` input channels inside."""
    if mapper == "cma-es":
        pytest.importorskip("cmaes")
    data = found(npuc, "--constraints", "own.toml", "--mapper", mapper, "--budget", "400")
    assert [rule["level"] for rule in data["constraints"]["rules"]] == [1, 2]
    for row in data["rows"]:
        outer, inner = data["contractions"][row["contraction"]]["mapping"].split("], ")
        channels = {"forward": "oi", "dx": "io", "dw": "oi"}[row["phase"]]
        loops = [loop.strip().split(" : ") for loop in outer.partition("[")[2].split(",")]
        assert all("/" not in tile or dim == channels[0] for dim, tile in loops)
        assert int(dict(loops)[channels[0]].rpartition("/")[2]) <= 2
        order = [dim for dim, _ in loops]
        assert order[0] == channels[0]
        assert channels[1] not in order[:-1]
        if row["layer"] == "a":
            assert re.search(rf"\b{channels[1]} : \d+ / 1", inner)


def test_adding_constraints_never_gains(npuc: Npuc) -> None:
    """By what is proved: the best of the space, of a part of it, and of a part of that."""
    Path("more.toml").write_text(RULES + "\n[constraints]\ndivisors = true\n[[constraints.rules]]\ntiles = 'Y=1'\n")
    costs = [
        found(npuc, *options, "--mapper", "exact", "--budget", "30000")["totals"]["best"]["cycles"]
        for options in ((), ("--constraints", "own.toml"), ("--constraints", "more.toml"))
    ]
    assert costs[0] < costs[1] < costs[2]


def test_those_of_the_machine_hold_too(npuc: Npuc) -> None:
    """A table of the hardware file, in its file, and both together."""
    machine = "[maestro]\nnum_pes = 16\nl1_size = 60\n"
    Path("plain.toml").write_text(machine)
    Path("machine.toml").write_text(machine + RULES)
    options = ("map", "conv.dsl", "-q", "--only", "a", "--budget", "300", "--json", "-")
    alone = json.loads(npuc(*options, "--hw", "machine.toml").out)
    beside = json.loads(npuc(*options, "--hw", "plain.toml", "--constraints", "own.toml").out)
    for data in (alone, beside):
        data.pop("hardware")
    assert alone == beside
    Path("no.toml").write_text("[[constraints.rules]]\nlevel = 1\norder = 'C K'\n")
    both = npuc(*options, "--hw", "machine.toml", "--constraints", "no.toml")
    assert both.status == 3
    assert "machine.toml:7:1: error: a (forward): no mapping on 16 elements can together meet" in both.err
    assert "order 'K * C' at level 1 and order 'C K' at level 1 (no.toml:3:1)" in both.err


BROKEN = {
    "level = 2\nspread = 'K Y'": "spread 'K Y' at level 2",
    "level = 1\nmust = 'X'": "must 'X' at level 1",
    "level = 1\norder = 'Y K'": "order 'Y K' at level 1",
    "level = 1\ntiles = 'K<=8 C=2'": "tiles 'C=2' at level 1",
    "level = 2\nfanout = 3": "fanout 3 at level 2",
    "level = 3\nmust = 'C'": "must 'C' at level 3",
    "utilization = 1": "utilization 1",
}


@pytest.mark.parametrize("mode", ["exact", "parity"])
@pytest.mark.parametrize("rule", BROKEN)
def test_compile_says_what_the_mapping_breaks_of_the_machines_own(npuc: Npuc, rule: str, mode: str) -> None:
    """A dataflow with C side by side in the only cluster; a rule of another layer is none of this one."""
    text = f"[maestro]\nnum_pes = 16\nmode = '{mode}'\nmapping = 'kcp_ws'\n"
    for layer, told in (("a", True), ("c", False)):
        Path("machine.toml").write_text(f"{text}[[constraints.rules]]\nlayers = '{layer}'\n{rule}\n")
        options = ("conv.dsl", "-b", "maestro", "--hw", "machine.toml", "--inference", "--only", "a")
        breaking = [line for line in npuc("compile", *options).err.splitlines() if "breaks" in line]
        what = f"a (forward): its mapping breaks {BROKEN[rule]} (rule 1) of the machine's constraints"
        assert breaking == [f"npuc: warning: {what}"] * told


@pytest.mark.parametrize("mode", ["exact", "parity"])
@pytest.mark.parametrize("tiles", ["divisors", "any"])
def test_what_a_search_finds_breaks_no_rule_of_its_own(npuc: Npuc, mode: str, tiles: str) -> None:
    """Written by `map`, read by `compile`: nothing under the rules of the search, something under others."""
    machine = f"[maestro]\nnum_pes = 16\nmode = '{mode}'\n"
    Path("machine.toml").write_text(machine + RULES.replace("K<=2", "K=3"))
    Path("other.toml").write_text(machine + RULES.replace("spread = 'K'".replace("'", '"'), 'spread = "none"'))
    options = ("--hw", "machine.toml", "--budget", "300", "--tiles", tiles, "--mode", mode)
    assert npuc("map", "conv.dsl", *options, "-o", "best.mlir").status == 0
    own = npuc("compile", "best.mlir", "-b", "maestro", "--hw", "machine.toml")
    assert own.status == 0
    assert "its mapping" not in own.err
    assert (
        "its mapping breaks spread 'none' at level 1 (rule 1)"
        in npuc("compile", "best.mlir", "-b", "maestro", "--hw", "other.toml").err
    )


def test_equal_layers_are_told_of_by_their_own_rules(npuc: Npuc) -> None:
    """Layers `c` and `d` are one contraction twice."""
    options = ("conv.dsl", "-b", "maestro", "--hw", "machine.toml", "--inference")
    for layers, told in (("c", "c (forward):"), ("d", "d (forward):"), ("[cd]", "c (forward) and 1 more:")):
        rule = f"[[constraints.rules]]\nlayers = '{layers}'\nlevel = 1\nmust = 'X'\n"
        Path("machine.toml").write_text(f"[maestro]\nnum_pes = 16\n{rule}")
        (line,) = (line for line in npuc("compile", *options).err.splitlines() if "breaks" in line)
        assert line.startswith(f"npuc: warning: {told} its mapping breaks must 'X' at level 1 (rule 1)")


def test_the_rules_of_a_machine_change_no_number(npuc: Npuc) -> None:
    Path("plain.toml").write_text("[maestro]\nnum_pes = 16\n")
    Path("machine.toml").write_text("[maestro]\nnum_pes = 16\n" + RULES)
    rows = [
        json.loads(npuc("compile", "conv.dsl", "-b", "maestro", "--hw", name, "--json", "-").out)["ops"]
        for name in ("plain.toml", "machine.toml")
    ]
    assert rows[0] == rows[1]


def test_what_no_mapping_meets(npuc: Npuc) -> None:
    Path("no.toml").write_text("[[constraints.rules]]\nlevel = 1\nmust = 'K'\ntiles = 'C=1 K=all'\n")
    outcome = npuc("map", "conv.dsl", *ON_16, "--only", "a", "--constraints", "no.toml", "--json", "r.json")
    assert outcome.status == 3
    assert outcome.err == (
        "no.toml:3:1: error: a (forward): no mapping on 16 elements can together meet must 'K' at level 1 and tiles "
        "'K=all' at level 1 (line 4)\n    must = 'K'\n    ^\n  hint: the contraction has K = 8\n"
    )
    assert not Path("r.json").exists()


WRONG = {
    "[[constraints.rules]]\nordr = 'K'\n": ("no.toml:2:1", "unknown key 'ordr'"),
    "[[constraints.rules]]\nlevel = 1\n": ("no.toml:1:1", "expected an order, spread, must, tiles, fanout"),
    "[[constraints.rules]]\nspread = 'Q'\n": ("no.toml:2:1", "spread: expected K, C, R, S, Y, X, N or G, or a"),
    "[[constraints.rules]]\nlevel = 1\ntiles = 'K<3'\n": ("no.toml:3:1", "tiles: expected tiles like K=16"),
    "[[constraints.rules]]\nfanout = 3\n": ("no.toml:2:1", "fanout: a number of sub-clusters needs a level"),
    "[[constraints.rules]]\nlevel = 4\nspread = 'K'\n": ("no.toml:2:1", "expected an integer from 1 to 3"),
    "[[constraints.rules]]\nutilization = 2\n": ("no.toml:2:1", "expected a number from 0 to 1"),
    "[[constraints.rules]]\norder = 'K'\n[[constraints.rules]]\nlevel = 2\n": (
        "no.toml:3:1",
        "rule 2: expected an order",
    ),
    "[[constraints.rules]]\ntiles = ''\n": (
        "no.toml:2:1",
        "rule 1: tiles: expected tiles like K=16, C<=64, Y=R or X=all",
    ),
    "[[constraints.rules]]\nspread = ' '\n": (
        "no.toml:2:1",
        "expected dimensions like 'K C', or 'none', got an empty s",
    ),
    "[[constraints.rules]]\nspread = 'zz'\n": ("no.toml:2:1", "spread: no contraction has a dimension 'zz'"),
    "[[constraints.rules]]\nmust = 'K zz'\n": ("no.toml:2:1", "must: no contraction has a dimension 'zz'"),
    "[[constraints.rules]]\nlevel = 1\ntiles = 'K=zz'\n": ("no.toml:3:1", "tiles: no contraction has a dimension 'zz'"),
    "[[constraints.rules]]\norder = 'K * zz'\n": ("no.toml:2:1", "order: no contraction has a dimension 'zz'"),
    "[array]\nrows = 3\n": ("no.toml:2:1", "array.rows is no constraint"),
    "[constraints]\ndivisor = true\n": ("no.toml:2:1", "unknown key 'constraints.divisor'"),
}


@pytest.mark.parametrize("text", WRONG)
def test_mistakes_in_a_file(npuc: Npuc, text: str) -> None:
    place, said = WRONG[text]
    Path("no.toml").write_text(text)
    outcome = npuc("map", "conv.dsl", *ON_16, "--constraints", "no.toml")
    assert outcome.status == 2
    assert outcome.err.startswith(f"{place}: error: ")
    assert said in outcome.err


def test_names_that_no_contraction_has(npuc: Npuc) -> None:
    """The nearest of the names that there are, else all; in mode parity those of layers."""
    for text, hint in (
        ("spread = 'oo'", "did you mean 'o'?"),
        (
            "spread = 'q'",
            "roles are K, C, R, S, Y, X, N, G; the dimensions of this program's contractions are b, i, o,",
        ),
    ):
        Path("no.toml").write_text(f"[[constraints.rules]]\n{text}\n")
        for mode in ("exact", "parity"):
            outcome = npuc("map", "conv.dsl", *ON_16, "--only", "a", "--constraints", "no.toml", "--mode", mode)
            assert outcome.status == 2
            if mode == "exact" or "did you" in hint:
                assert f"\n  hint: {hint}" in outcome.err


@pytest.mark.parametrize("text", ["", "# none\n", "[constraints]\nrules = []\n", "[constraints]\ndivisors = false\n"])
def test_a_file_without_constraints(npuc: Npuc, text: str) -> None:
    Path("no.toml").write_text(text)
    outcome = npuc("map", "conv.dsl", *ON_16, "--constraints", "no.toml")
    assert (outcome.status, outcome.err) == (
        2,
        "npuc: error: no.toml: a file of constraints has rules ([[constraints.rules]]), or constraints.divisors = "
        "true; this has neither\n",
    )


def test_the_divisors_of_the_machine_hold_beside_rules(npuc: Npuc) -> None:
    """Whatever --tiles says, and whatever file has the rules."""
    Path("machine.toml").write_text("[maestro]\nnum_pes = 16\n[constraints]\ndivisors = true\n")
    Path("plain.toml").write_text("[maestro]\nnum_pes = 16\n")
    Path("five.toml").write_text("[[constraints.rules]]\nlevel = 1\ntiles = 'o=5'\n")
    options = ("map", "conv.dsl", "-q", "--only", "c", "--inference", "--budget", "200", "--json", "-")
    for hw, tile in (("plain.toml", 5), ("machine.toml", 4)):
        outcome = npuc(*options, "--tiles", "any", "--hw", hw, "--constraints", "five.toml")
        data = json.loads(outcome.out)
        assert data["constraints"]["divisors"] == (tile == 4)
        assert re.search(rf"\bo : (\d+ / )?{tile}\b", data["contractions"][0]["mapping"])


@pytest.mark.parametrize("text", ["divisors = true\n", "[[constraints.rules]]\ntiles = 'K=4 C=2'\n"])
def test_classes_under_constraints_of_the_machine_and_of_a_file(npuc: Npuc, text: str) -> None:
    """They are the same, whoever has them, and leave less than all that there is."""
    Path("machine.toml").write_text("[maestro]\nnum_pes = 16\n")
    Path("bound.toml").write_text(f"[maestro]\nnum_pes = 16\n[constraints]\n{text}")
    Path("rules.toml").write_text(f"[constraints]\n{text}")
    asked = ("flexibility", "conv.dsl", "--budget", "20", "--json", "-", "-q")
    free, own, given = (
        json.loads(npuc(*asked, *more).out)
        for more in (
            ("--hw", "machine.toml"),
            ("--hw", "bound.toml"),
            ("--hw", "machine.toml", "--constraints", "rules.toml"),
        )
    )
    assert own["constraints"] == given["constraints"] != free["constraints"]
    assert own["contractions"] == given["contractions"]
    for one, other in zip(own["contractions"], free["contractions"], strict=True):
        tiles, every = (found["workload_flexion"]["tiles"] for found in (one, other))
        assert tiles["all"] == every["all"]
        assert tiles["supported"]["value"] < every["supported"]["value"] or "divisors" in text


def test_classes_that_constraints_leave_nothing_of(npuc: Npuc) -> None:
    """Of columns that share rows alone; those of the dataflow share channels."""
    Path("rows.toml").write_text("[[constraints.rules]]\nlevel = 2\nspread = 'Y'\nmust = 'Y'\n")
    asked = ("flexibility", "conv.dsl", *ON_16, "--mapping", "kcp_ws", "--constraints", "rows.toml", "--budget", "50")
    found = json.loads(npuc(*asked, "--json", "-", "-q").out)
    gains = {one["class"]: one["gain"] for one in found["classes"]}
    assert {name for name in gains if name[2] == "0"} <= {name for name, gain in gains.items() if gain is None}
    assert gains["1111"] > 0
    assert found["own"]["cycles"] is None
    assert found["contractions"][0]["workload_flexion"]["parallel"]["supported"]["value"] == 0
    text = npuc(*asked, "-q").out
    assert " 1000 <  tiles " in text
    assert "The machine has no mappings of its class that meet the constraints" in text
    pytest.importorskip("matplotlib")
    assert npuc(*asked, "-q", "--plot", "gains.svg").status == 0


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("level = 3\nspread = 'K'", "level 3 of mappings that have 2"),
        ("level = 2\nfanout = 5", "no mapping on 16 elements can meet fanout 5 at level 2"),
        ("level = 1\nmust = 'K C'", "rows share one dimension, columns another one"),
        ("spread = 'q'", "no contraction has a dimension 'q'"),
    ],
)
def test_classes_under_constraints_that_cannot_be_met(npuc: Npuc, rule: str, said: str) -> None:
    Path("bad.toml").write_text(f"[[constraints.rules]]\n{rule}\n")
    outcome = npuc("flexibility", "conv.dsl", *ON_16, "--constraints", "bad.toml", "--budget", "5")
    assert outcome.status in (2, 3)
    assert said in outcome.err
    assert "bad.toml:" in outcome.err


def test_names_and_verbs(npuc: Npuc) -> None:
    outcome = npuc("map", "conv.dsl", "--constraints", "nvdlaa")
    assert (outcome.status, "did you mean 'nvdla'?" in outcome.err) == (2, True)
    for verb in ("compile", "sweep"):
        assert npuc(verb, "conv.dsl", "--constraints", "nvdla").status == 2
    outcome = npuc("list", "constraints")
    assert [line.split()[0] for line in outcome.out.splitlines()] == ["eyeriss", "nvdla", "shidiannao", "tpu"]


def test_files_that_cannot_be_read(npuc: Npuc) -> None:
    Path("folder.toml").mkdir()
    for name, said in (
        ("none.toml", "cannot read file of constraints 'none.toml': No such file or directory"),
        ("folder.toml", "file of constraints 'folder.toml' is no regular file"),
    ):
        outcome = npuc("map", "conv.dsl", *ON_16, "--constraints", name)
        assert (outcome.status, said in outcome.err) == (2, True)


@pytest.mark.parametrize("mapper", ["random", "genetic", "exact", "cma-es"])
def test_buffers_that_hold_no_mapping_under_any_constraints(npuc: Npuc, mapper: str) -> None:
    if mapper == "cma-es":
        pytest.importorskip("cmaes")
    Path("all.toml").write_text("[[constraints.rules]]\nspread = 'none'\nutilization = 1\n")
    tiny = ("--set", "maestro.num_pes=16", "--set", "maestro.l1_size=2", "--set", "maestro.l2_size=100")
    outcome = npuc(
        "map", "conv.dsl", *tiny, "-q", "--only", "a", "--budget", "99", "--constraints", "all.toml", "--mapper", mapper
    )
    assert outcome.status == 3
    assert "a (forward): no mapping fits the machine's buffers" in outcome.err
    assert "a larger maestro.l1_size or maestro.l2_size\n" in outcome.err


def test_rules_without_an_effect_are_told(npuc: Npuc) -> None:
    Path("no.toml").write_text(
        "[[constraints.rules]]\nlayers = 'z*'\nspread = 'q'\n[[constraints.rules]]\norder = 'N K'\n"
    )
    options = (
        "map",
        "conv.dsl",
        "--set",
        "maestro.num_pes=16",
        "--only",
        "a",
        "--budget",
        "9",
        "--constraints",
        "no.toml",
    )
    outcome = npuc(*options)
    assert outcome.status == 0
    assert "warning: rule 1 of no.toml is for no contraction of this program" in outcome.err
    assert "rule 2" not in outcome.err


def test_a_record_is_that_of_its_constraints(npuc: Npuc) -> None:
    options = ("map", "conv.dsl", *ON_16, "--only", "a", "--budget", "100", "--resume", "r.costs")
    assert npuc(*options, "--constraints", "own.toml").status == 0
    assert npuc(*options, "--constraints", "own.toml").status == 0
    outcome = npuc(*options)
    assert (outcome.status, "r.costs" in outcome.err) == (2, True)


def test_directives_meet_them_too(npuc: Npuc) -> None:
    """In mode parity, where taps are whole."""
    Path("own.toml").write_text("[[constraints.rules]]\nlevel = 1\nspread = 'Y'\nmust = 'Y'\ntiles = 'Y=1'\n")
    data = found(npuc, "--constraints", "own.toml", "--mode", "parity", "--budget", "200")
    for row in data["rows"]:
        mapping = data["contractions"][row["contraction"]]["mapping"]
        first = mapping.partition("Cluster")[0]
        spread = "M" if re.search(r"\bM\b", first) else "Y"
        assert "SpatialMap" in first
        assert [part.split()[-1] for part in first.split(";") if "SpatialMap" in part] == [spread], mapping
