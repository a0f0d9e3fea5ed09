"""`--devices`, `--parallel` and the pass `parallelize`: what is refused, and how that is said."""

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest

from npuc.compiler import compile_source
from tests.unit.cli.conftest import Npuc

DEEP = """\
network deep(batch=8) {
  input  x: f32[batch, 16]
  labels y: i32[batch]
  h = x
  for i in 0..6 { h = gelu(linear(h, 16)) }
  loss cross_entropy(h, y)
  optimizer sgd(lr=0.1)
}
"""
NET = """\
network net(batch=8) {
  input  x: f32[batch, 12]
  labels y: i32[batch]
  h = relu(linear(x, 12, bias=false))
  logits = linear(h, 8)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1)
}
"""
RESIDUAL = NET.replace("linear(h, 8)", "linear(h + linear(h, 12), 8)")


@pytest.fixture
def net(folder: Path) -> str:
    """A network whose axes of 12 are divisible by 4 devices, not by 8."""
    (folder / "net.dsl").write_text(NET)
    return "net.dsl"


@pytest.mark.parametrize(
    ("arguments", "status", "error", "hint"),
    [
        ("--devices 16 --parallel dp", 3, "the batch has 8 elements, expected a multiple of 16", "-D batch=N"),
        (
            "--devices 8 --parallel mp",
            3,
            "net.dsl:4:12: error: layer 'h.linear' splits its input channels: "
            "found 12 in 8x12, expected a multiple of 8, the devices",
            "fewer --devices",
        ),
        ("--devices 6", 2, "--devices 6: expected a power of two", "2, 4, 8, 16"),
        ("--devices 8192", 2, "--devices 8,192: expected up to 4,096", ""),
        ("--parallel mp", 2, "--parallel mp needs --devices N", "--devices 16"),
        ("--devices 2 --parallel hyper", 2, "unknown strategy of parallelism 'hyper'", "hypar"),
        ("--devices 2 --convention table3", 2, "unknown convention 'table3'", "table2"),
        ("--devices 2 -p autodiff", 2, "--devices does not apply with -p", "parallelize{strategy=hypar devices=2}"),
        ("-p parallelize{strategy=hyper}", 2, "strategy is 'hyper', expected dp, mp, owt, hypar", ""),
        ("-p parallelize{convention=paper}", 2, "convention is 'paper', expected table2, published, physical", ""),
        ("-p parallelize{devices=6}", 2, "devices is 6, expected a power of two, at least 2", ""),
        ("-p parallelize{devices=1}", 2, "devices is 1, expected a power of two, at least 2", ""),
        ("-p autodiff,lower-to-npu,parallelize", 1, "parallelize: found npu.contract, expected train operations", ""),
        (
            "-p parallelize,parallelize,autodiff",
            1,
            "parallelize: found a program of 2 devices, expected one of one",
            "",
        ),
        (
            "-p parallelize,autodiff,parallelize",
            1,
            "parallelize: found a program of 2 devices, expected one of one",
            "",
        ),
    ],
)
def test_what_is_refused_is_said(npuc: Npuc, net: str, arguments: str, status: int, error: str, hint: str) -> None:
    outcome = npuc("compile", net, *arguments.split())
    assert outcome.status == status
    assert error in outcome.err
    assert hint in outcome.err
    assert outcome.out == ""


def test_a_batch_that_does_not_divide_is_shown_where_it_is_declared(npuc: Npuc, net: str) -> None:
    outcome = npuc("compile", net, "--devices", "16", "--parallel", "dp", "-q")
    assert outcome.status == 3
    assert outcome.err.splitlines()[:3] == [
        "net.dsl:2:10: error: the batch has 8 elements, expected a multiple of 16, the devices that split it",
        "      input  x: f32[batch, 12]",
        "             ^",
    ]


@pytest.mark.parametrize("verb", ["run", "check"])
def test_other_verbs_show_the_place_of_a_cut_too(npuc: Npuc, net: str, verb: str) -> None:
    outcome = npuc(verb, net, "-p", "parallelize{strategy=mp devices=8},autodiff")
    assert outcome.status == 3
    assert outcome.err.splitlines()[0].startswith("net.dsl:4:12: error: layer 'h.linear' splits its input channels")
    assert outcome.err.splitlines()[1:3] == ["      h = relu(linear(x, 12, bias=false))", " " * 15 + "^"]


def test_a_file_that_is_a_program_of_devices_is_not_shared_again(npuc: Npuc, folder: Path) -> None:
    source = (Path(__file__).parents[2] / "filecheck" / "transforms" / "dist.mlir").read_text()
    (folder / "spread.mlir").write_text(source)
    outcome = npuc("compile", "spread.mlir", "--devices", "2")
    assert outcome.status == 1
    assert "parallelize: found a program of 2 devices, expected one of one: run it once" in outcome.err


def test_a_step_that_a_pass_has_changed_is_refused(npuc: Npuc, folder: Path) -> None:
    (folder / "deep.dsl").write_text(DEEP)
    outcome = npuc("compile", "deep.dsl", "-p", "autodiff,recompute{policy=every-k k=2},parallelize{devices=2}")
    assert outcome.status == 1
    assert "parallelize: the step was changed since autodiff: run parallelize before it" in outcome.err


@pytest.mark.parametrize(("text", "devices"), [(RESIDUAL, 64), (NET, 512)], ids=["graph", "chain"])
def test_three_types_take_many_levels_and_know_how_little_they_could_move(text: str, devices: int) -> None:
    text = text.replace("12", str(devices)).replace("8", str(devices))
    plans = [
        compile_source(text, devices=devices, parallel=strategy, opt_level=0).parallel
        for strategy in ("accpar-joint", "accpar")
    ]
    best, level_by_level = (plan for plan in plans if plan is not None)
    assert len(best.levels) == len(level_by_level.levels) == devices.bit_length() - 1
    assert best.lower_bound_elements == level_by_level.lower_bound_elements
    assert Fraction(best.lower_bound_elements or "nan") <= Fraction(best.total.elements)
    assert Fraction(best.total.elements) <= Fraction(level_by_level.total.elements)


@pytest.mark.parametrize("strategy", ["dp", "hypar", "joint", "accpar-joint"])
def test_a_bound_says_which_plans_it_is_of_in_both_verbs(npuc: Npuc, folder: Path, strategy: str) -> None:
    """Other types may move less, and a plan of fewer elements may have more bytes."""
    (folder / "wide.dsl").write_text(
        DEEP.replace("batch=8", "batch=4").replace("loss cross", "h = h + x\n  loss cross")
    )
    options = ["wide.dsl", "--devices", "4", "--parallel", strategy, "--convention", "physical", "-q"]
    (compiled,) = [line for line in npuc("compile", *options).out.splitlines() if line.startswith("a step moves")]
    explained = npuc("explain", *options).out.splitlines()[1]
    ends = {
        "dp": r"% above the proved bound of types dp and mp, [\d.]+",
        "hypar": "no plan of these types with divisible channel cuts moves fewer elements",
        "joint": "no plan of these types with divisible cuts moves fewer elements",
        "accpar-joint": "no plan of these types with divisible cuts moves fewer elements",
    }
    for line in (compiled, explained):
        assert re.search(f"{ends[strategy]}$", line), line


def test_sums_over_devices_are_said_in_a_unit_that_shows_them(npuc: Npuc, net: str) -> None:
    """Weights of 12 x 12 and 12 x 8 and 8 biases, two bytes each; of two devices each reads as many."""
    out = npuc("compile", net, "--devices", "2", "--parallel", "dp", "-q").out
    assert "sums      a device reads 496.00 B to sum 496.00 B of weights' gradients, and 2.00 B for all else\n" in out


def test_the_table_says_which_channels_of_a_layer_in_mp_are_cut(npuc: Npuc, folder: Path) -> None:
    (folder / "deep.dsl").write_text(DEEP)
    options = ["deep.dsl", "--devices", "4", "--parallel", "mp", "-q"]
    for verb in ("compile", "explain"):
        text, before = (npuc(verb, *options, "--convention", c).out for c in ("physical", "table2"))
        assert "mp out" in text
        assert "mp cuts a layer along its input's channels, mp out along its output's\n" in text
        assert "mp out" not in before
    layers = json.loads(npuc("explain", *options, "--convention", "physical", "--json", "-").out)["layers"]
    weighted = [layer for layer in layers if layer["weights"]]
    assert all(set(layer["choices"]) == {"mp"} for layer in weighted)
    assert {cut for layer in weighted for cut in layer["cuts"]} == {"input", "output"}
    assert all(layer["cuts"] is None for layer in layers if not layer["weights"])


@pytest.mark.parametrize("verb", ["compile", "explain", "sweep"])
@pytest.mark.parametrize(
    "option",
    ["--parallel dp", "--convention table2", "--convention physical", "--plan-objective bytes", "--zero"],
)
def test_what_says_nothing_of_one_device_is_refused(npuc: Npuc, net: str, verb: str, option: str) -> None:
    """Also where it is the default, since it was said."""
    more = ["--vary", "batch=8"] if verb == "sweep" else ["logits"] if verb == "explain" else []
    for devices in ([], ["--devices", "1"]):
        outcome = npuc(verb, net, *more, *option.split(), *devices, "-q")
        assert outcome.status == 2
        assert outcome.err == f"npuc: error: {option} needs --devices N\n  hint: --devices 16\n"


@pytest.mark.parametrize("verb", ["run", "check"])
@pytest.mark.parametrize("option", ["--parallel", "--convention", "--plan-objective", "--zero", "--mesh", "--devices"])
def test_verbs_of_one_device_know_no_plans(npuc: Npuc, net: str, verb: str, option: str) -> None:
    outcome = npuc(verb, net, option)
    assert outcome.status == 2
    assert f"no such option: {option}" in outcome.err


def test_one_device_is_no_mesh(npuc: Npuc, net: str) -> None:
    outcome = npuc("compile", net, "--devices", "1", "--mesh", "2x2")
    assert outcome.status == 2
    assert "--devices 1: --mesh 2x2 has several" in outcome.err
    assert npuc("compile", net, "--mesh", "1").status == 2
    passes = npuc("compile", net, "--zero", "-p", "autodiff,lower-to-npu")
    assert "hint: add the pass parallelize{…} to -p" in passes.err


def test_a_sweep_may_begin_at_one_device(npuc: Npuc, net: str) -> None:
    out = npuc("sweep", net, "--vary", "devices=1,2", "--parallel", "joint", "--zero", "-q", "--csv", "-")
    assert out.status == 0
    assert len(out.out.splitlines()) == 3
    refused = npuc("sweep", net, "--vary", "devices=1,2", "--devices", "1")
    assert refused.status == 2
    assert "--vary devices: --devices says what it is" in refused.err
