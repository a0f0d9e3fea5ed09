"""`npuc explain --devices` on heterogeneous devices: types and unequal shares."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from npuc.compiler import CapacityError, compile_file
from tests.unit.cli.conftest import Npuc

WIDE = """\
network wide(batch=8) {
  input  x: f32[batch, 64]
  labels y: i32[batch]
  h = relu(linear(x, 64, bias=false))
  logits = linear(h, 8, bias=false)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1)
}
"""
CROSS = """\
network cross(batch=4) {
  input  x: f32[batch, 6, 16]
  labels y: i32[batch]
  h = linear(x, 16, bias=false)
  q = linear(h, 16, bias=false)
  a = matmul(h, q, transpose_b=true)
  logits = linear(mean(a + 1.0, axis=1), 8, bias=false)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1)
}
"""
MIXED = """\
name = "mixed"
[network]
groups = [{ tflops = 0.03, gb_per_s = 10 }, { tflops = 0.01, gb_per_s = 10 }]
"""
FAST = "network.groups=[{tflops=3, gb_per_s=1e7}, {tflops=1, gb_per_s=1e7}]"


@pytest.fixture
def wide(folder: Path) -> str:
    """Two layers of many weights, and a machine of a fast and a slow half."""
    (folder / "wide.dsl").write_text(WIDE)
    (folder / "cross.dsl").write_text(CROSS)
    (folder / "mixed.toml").write_text(MIXED)
    return "wide.dsl"


def test_types_shares_and_times_are_shown(npuc: Npuc, wide: str) -> None:
    """155,648 operations at 0.08 TFLOPS, and 512 gradients of inputs and 64 logits at 20 GB/s a side: 2.061 us."""
    outcome = npuc("explain", wide, "--devices", "4", "--parallel", "accpar", "--hw", "mixed.toml")
    assert (outcome.status, outcome.err) == (0, "")
    assert (
        outcome.out
        == """\
wide (wide.dsl): 4 devices in 2 groups by accpar, movement counted as table2
a step takes 2.317 µs; in equal shares 4.186 µs (1.81 times that); by data parallelism in equal shares 6.656 µs \
(2.87 times that)

 group  devices  TFLOPS of one  GB/s of one
 ──────────────────────────────────────────
     0        2           0.03           10
     1        2           0.01           10

 layer     H1        H2 0  H2 1
 ──────────────────────────────
 h.linear  III 0.75  III   II
 logits    II 0.75   II    II
a number is the share of the first side; else both have as much

 level  groups  pairs  elements      time  first side  second side
 ─────────────────────────────────────────────────────────────────
 H1     0-1         1       576  2.061 µs    2.061 µs     2.061 µs
 H2     0           1       576  2.176 µs    2.176 µs     2.176 µs
 H2     1           1       256  2.048 µs    2.048 µs     2.048 µs
a pair's time has no movement but its own
"""
    )


def test_work_is_two_or_three_products_a_layer(npuc: Npuc, wide: str) -> None:
    """Where nothing takes time to move, the work goes by the speeds; the first layer needs no gradient of its input."""
    arguments = ("--devices", "2", "--parallel", "accpar", "--set", FAST, "--json", "-")
    plan = json.loads(npuc("explain", wide, *arguments).out)
    assert set(plan["parallel"]["levels"][0]["shares"].values()) == {"3/4"}
    work = 2 * (8 * 64 * 64 * 2 + 8 * 64 * 8 * 3)
    assert plan["parallel"]["seconds"] == pytest.approx(work / 4e12, rel=1e-2)
    once = json.loads(npuc("explain", wide, *arguments, "--set", "compute.ops_per_mac=1").out)
    assert once["parallel"]["seconds"] == pytest.approx(work / 8e12, rel=2e-2)


def test_products_of_values_are_work_of_joins(npuc: Npuc, wide: str) -> None:
    """The product of attention has no weights: its node is shared as others are."""
    arguments = ("--devices", "2", "--parallel", "accpar", "--set", FAST, "--json", "-")
    plan = json.loads(npuc("explain", "cross.dsl", *arguments, "-D", "batch=400").out)
    rows = 400 * 6
    work = 2 * (rows * 16 * 16 * (2 + 3) + rows * 16 * 6 * 3 + 400 * 6 * 8 * 3)
    assert plan["parallel"]["seconds"] == pytest.approx(work / 4e12, rel=1e-2)
    assert plan["layers"] == ["h", "q", "logits"]
    assert len(plan["parallel"]["levels"][0]["choices"]) > 3


def test_json_is_the_plan_with_what_others_take(npuc: Npuc, wide: str, folder: Path) -> None:
    arguments = (wide, "--devices", "4", "--parallel", "accpar", "--hw", "mixed.toml", "--json")
    outcome = npuc("explain", *arguments, "plan.json")
    assert outcome.out.startswith("wide (wide.dsl): 4 devices in 2 groups by accpar")
    document = json.loads((folder / "plan.json").read_text())
    assert document["groups"] == [
        {"devices": 2, "tflops": 0.03, "gb_per_s": 10.0},
        {"devices": 2, "tflops": 0.01, "gb_per_s": 10.0},
    ]
    plan = document["parallel"]
    assert plan["seconds"] < document["equal_seconds"] <= document["data_parallel_seconds"]
    assert [[pair["groups"] for pair in level["pairs"]] for level in plan["levels"]] == [[[0, 1]], [[0, 0], [1, 1]]]
    moved = sum(pair["count"] * Fraction(pair["elements"]) for level in plan["levels"] for pair in level["pairs"])
    assert Fraction(plan["total"]["elements"]) == moved
    assert Fraction(plan["total"]["bytes"]) == 8 * moved
    narrow = json.loads(npuc("explain", *arguments, "-", "--set", "memory.element_bytes=2").out)
    assert narrow["parallel"]["seconds"] < plan["seconds"]


def test_one_layer_is_shown_alone(npuc: Npuc, wide: str) -> None:
    outcome = npuc("explain", wide, "#1", "--devices", "2", "--parallel", "accpar", "--hw", "mixed.toml")
    assert outcome.status == 0
    assert " logits " in outcome.out
    assert "h.linear" not in outcome.out


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (
            ["--hw", "mixed.toml"],
            "hypar: found network.groups, expected homogeneous devices: it knows equal parts only",
            "accpar takes unequal shares",
        ),
        (
            ["--parallel", "accpar", "--hw", "mixed.toml", "--convention", "published"],
            "--convention published says nothing of unequal shares",
            "use table2",
        ),
        (
            ["--parallel", "accpar", "--set", "network.groups=[{tflops=1, gb_per_s=1}]", "--phase", "dx"],
            "--phase does not apply with --devices: a plan covers the whole step, before any backend",
            "leave out --phase, or add -b cycle, which explains what the step of a device costs",
        ),
        (
            ["--parallel", "accpar", "--hw", "mixed.toml", "--zero"],
            "--zero does not apply with network.groups: it needs equal shares",
            "leave out --zero, or network.groups",
        ),
    ],
)
def test_wrong_usage(npuc: Npuc, wide: str, arguments: list[str], message: str, hint: str) -> None:
    outcome = npuc("explain", wide, "--devices", "2", *arguments)
    assert outcome.status == 2
    assert outcome.err == f"npuc: error: {message}\n  hint: {hint}\n"


def test_a_mesh_is_refused(npuc: Npuc, wide: str) -> None:
    outcome = npuc("explain", wide, "--mesh", "3", "--parallel", "accpar", "--hw", "mixed.toml")
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith("npuc: error: --mesh 3: found network.groups, expected --devices N")


def test_a_group_without_a_speed_is_refused(npuc: Npuc, wide: str) -> None:
    outcome = npuc("explain", wide, "--devices", "2", "--parallel", "accpar", "--set", "network.groups=[{gb_per_s=1}]")
    assert outcome.status == 2
    assert "network.groups: entry 1: missing key 'tflops'" in outcome.err


def test_unequal_parts_are_not_lowered(wide: str) -> None:
    groups: dict[str, object] = {"network.groups": [{"tflops": 1, "gb_per_s": 1}] * 2}
    with pytest.raises(CapacityError, match="unequal shares cannot be lowered") as caught:
        compile_file(wide, backend="roofline", hardware="rtx2080ti", overrides=groups, devices=2, parallel="accpar")
    assert "explain SOURCE --devices N --parallel accpar" in str(caught.value.hint)
    passes = "parallelize{devices=2},autodiff"
    with pytest.raises(CapacityError, match="unequal shares cannot be lowered"):
        compile_file(wide, backend="roofline", hardware="rtx2080ti", overrides=groups, pipeline=passes)
    assert compile_file(wide, backend="roofline", hardware="rtx2080ti", overrides=groups).parallel is None
