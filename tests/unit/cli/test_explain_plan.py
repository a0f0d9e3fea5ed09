"""`npuc explain --devices`: a plan for many devices, layer by layer."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from npuc.compiler import compile_source
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


@pytest.fixture
def wide(folder: Path) -> str:
    """Two layers of many weights."""
    (folder / "wide.dsl").write_text(WIDE)
    return "wide.dsl"


def test_a_layer_says_where_its_movement_comes_from(npuc: Npuc, wide: str) -> None:
    """Gradients of half of 8 x 64 inputs; addends of 8 x 8 outputs."""
    outcome = npuc("explain", wide, "logits", "--devices", "2", "--parallel", "mp")
    assert (outcome.status, outcome.err) == (0, "")
    assert (
        outcome.out
        == """\
wide (wide.dsl): 2 devices by mp, movement counted as table2
a step moves 832 elements one way, 3.25 KiB both ways: no plan of types dp and mp moves fewer elements

 logits                  H1  elements     bytes
 ──────────────────────────────────────────────
 type                    mp
 sum of outputs          64        64  256.00 B
 gradients to h.linear  256       256  1.00 KiB
 ──────────────────────────────────────────────
 together               320       320  1.25 KiB

best other types, all else as planned: dp, a step moves 1.28 k elements one way, 5.00 KiB both ways, +53.85%
best other types, all else free: dp, a step moves 1.28 k elements one way, 5.00 KiB both ways, +53.85%
"""
    )


def test_all_layers_have_a_line_with_their_next_best_types(npuc: Npuc, wide: str) -> None:
    outcome = npuc("explain", wide, "--devices", "2", "--parallel", "dp")
    assert (
        outcome.out
        == """\
wide (wide.dsl): 2 devices by dp, movement counted as table2
a step moves 4.608 k elements one way, 18.00 KiB both ways; 453.8% above the proved bound of types dp and mp, 832

 layer     types  elements      %  most of it                 another type     more  all else free     more
 ──────────────────────────────────────────────────────────────────────────────────────────────────────────
 h.linear  dp      4.096 k  88.9%  sum of weights' gradients  mp            -72.22%  mp             -81.94%
 logits    dp          512  11.1%  sum of weights' gradients  mp             -4.17%  mp             -81.94%

 all layers                       H1  elements       %      bytes
 ────────────────────────────────────────────────────────────────
 sums of weights' gradients  4.608 k   4.608 k  100.0%  18.00 KiB
 ────────────────────────────────────────────────────────────────
 together                    4.608 k   4.608 k          18.00 KiB
"""
    )


LONG = """\
block stage(x) {
  h = relu(linear(x, 64))
  return linear(h, 64) + x
}

network long(batch=8, stages=30) {
  input  x: f32[batch, 64]
  labels y: i32[batch]
  for i in 0..stages { x = stage(x) }
  logits = linear(x, 8)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1)
}
"""


def test_layers_that_read_alike_are_one_line(npuc: Npuc, folder: Path) -> None:
    """Weights of 64 x 64 and biases of 64, two layers a stage; the first layer's input has no gradient."""
    (folder / "long.dsl").write_text(LONG)
    command = ("explain", "long.dsl", "--devices", "2", "--parallel", "dp", "--convention", "physical")
    lines = npuc(*command).out.splitlines()
    folded = {line.split("  ")[0]: line.split()[2:4] for line in lines if " x" in line.split("  ")[0]}
    assert folded == {" 0-29.linear x30": ["dp", "124.8"], " 1-29.h.linear x29": ["dp", "120.6"]}
    assert 30 * (64 * 64 + 64) == 124_800
    assert "61 layers folded into 4 lines: --rows all shows each" in lines
    everything = npuc(*command, "--rows", "all").out.splitlines()
    assert sum("linear  " in line for line in everything) == 60
    assert everything[-3:] == lines[-3:]


def test_what_moves_in_all_adds_up(npuc: Npuc, wide: str) -> None:
    document = json.loads(npuc("explain", wide, "--devices", "4", "--convention", "physical", "--json", "-").out)
    amounts = [Fraction(part["total"]["elements"]) for part in document["sources"]]
    assert amounts == sorted(amounts, reverse=True)
    assert sum(amounts) == Fraction(document["total"]["elements"])
    for part in document["sources"]:
        own = [p for layer in document["layers"] for p in layer["parts"] if p["what"] == part["what"]]
        levels = [sum(Fraction(p["levels"][h]) for p in own) for h in range(2)]
        assert [Fraction(amount) for amount in part["levels"]] == levels


def test_json_adds_up_to_what_compiling_says(npuc: Npuc, wide: str) -> None:
    document = json.loads(npuc("explain", wide, "--devices", "4", "--json", "-").out)
    report = compile_source(WIDE, devices=4, parallel="hypar", backend="cycle")
    assert report.parallel is not None
    total = Fraction(report.parallel.total.elements)
    layers = document["layers"]
    assert sum(Fraction(part["total"]["elements"]) for layer in layers for part in layer["parts"]) == total
    assert document["total"] == {"elements": report.parallel.total.elements, "bytes": report.parallel.total.bytes}
    assert {layer["layer"]: layer["choices"] for layer in layers} == {
        name: [level.choices[name] for level in report.parallel.levels] for name in report.parallel.levels[0].choices
    }
    for layer in layers:
        assert layer["other"]["choices"] != layer["choices"]
        assert Fraction(layer["adapted"]["total"]["elements"]) >= Fraction(document["lower_bound_elements"])


def test_json_to_a_file_leaves_the_text(npuc: Npuc, wide: str, folder: Path) -> None:
    outcome = npuc("explain", wide, "#1", "--devices", "2", "--json", "plan.json")
    assert [layer["layer"] for layer in json.loads((folder / "plan.json").read_text())["layers"]] == ["logits"]
    assert "best other types, all else free: " in outcome.out


def test_a_step_is_explained_as_its_forward_pass_is(npuc: Npuc, wide: str) -> None:
    npuc("compile", wide, "-b", "roofline", "-p", "autodiff", "-o", "step.mlir", "-q")
    of_step, of_network = (npuc("explain", source, "--devices", "2").out for source in ("step.mlir", wide))
    assert of_step.splitlines()[1:] == of_network.splitlines()[1:]


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["logits", "--rows", "all"], "--rows applies only to a plan for several devices", "add --devices N"),
        (["--devices", "2", "--rows", "some"], "--rows some: there are no such rows", "known: all, folded"),
        (
            ["--devices", "3"],
            "--devices 3: expected a power of two",
            "2, 4, 8, 16 … are split by halves; other numbers need their levels, as in --mesh 3x2",
        ),
        (["--parallel", "mp"], "--parallel mp needs --devices N", "--devices 16"),
        (["nope", "--devices", "2"], "no layer is called 'nope'", "known: h.linear, logits"),
        (["*l*", "--devices", "2"], "'*l*' matches 2 layers: h.linear (#0), logits (#1)", "name one of them"),
        (
            ["--devices", "2", "--mapping", "rs"],
            "--mapping does not apply with --devices: a plan covers the whole step, before any backend",
            "leave out --mapping, or add -b cycle, which explains what the step of a device costs",
        ),
        (
            ["--devices", "2", "--parallel", "joint", "--plan-objective", "time"],
            "a plan for time is searched by npuc compile: explained are plans for bytes and for memory",
            "--plan-objective bytes",
        ),
        (["logits", "--zero"], "--zero needs --devices N", "--devices 16"),
        (["logits", "--exact-plan"], "--exact-plan needs --devices N", "--devices 16"),
        (["logits", "--plan-objective", "memory"], "--plan-objective memory needs --devices N", "--devices 16"),
    ],
)
def test_wrong_usage(npuc: Npuc, wide: str, arguments: list[str], message: str, hint: str) -> None:
    outcome = npuc("explain", wide, *arguments)
    assert outcome.status == 2
    assert outcome.err == f"npuc: error: {message}\n  hint: {hint}\n"


@pytest.mark.parametrize(
    ("passes", "message"),
    [
        ("parallelize{devices=2}", "found a program of 2 devices, expected one of one"),
        ("autodiff,lower-to-npu,schedule", "found npu.contract, expected train operations"),
    ],
)
def test_what_is_no_network_of_one_device(npuc: Npuc, wide: str, passes: str, message: str) -> None:
    backend = "cycle" if "schedule" in passes else "roofline"
    npuc("compile", wide, "-b", backend, "-p", passes, "-o", "other.mlir", "-q")
    outcome = npuc("explain", "other.mlir", "--devices", "2")
    assert outcome.status == 1
    assert message in outcome.err.splitlines()[0]
    assert outcome.err.startswith("other.mlir:")
