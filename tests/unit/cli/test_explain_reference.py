"""`npuc explain --op`, `--pass`, `--layer`, `--key`, `--report`: pages, names, widths, JSON, a pass of one's own."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.test_commands import Npuc

OWN = """
from dataclasses import dataclass

from xdsl.passes import ModulePass


@dataclass(frozen=True)
class Quiet(ModulePass):
    name = "quiet"
    times: int = 1


PASSES = {"quiet": Quiet}
"""


def test_an_operation_with_and_without_its_dialect(npuc: Npuc) -> None:
    short, full = npuc("explain", "--op", "contract"), npuc("explain", "--op", "npu.contract")
    assert short == full
    assert full.status == 0
    assert full.out.startswith("npu.contract: npuc.dialects.npu.contract.ContractOp\n")
    for heading in ("operands", "properties", "results", "verified", "example"):
        assert f"\n{heading}\n" in full.out


def test_the_page_as_data(npuc: Npuc) -> None:
    page = json.loads(npuc("explain", "--op", "train.affine", "--json", "-").out)
    assert (page["name"], page["class_name"]) == ("train.affine", "npuc.dialects.train.arithmetic.AffineOp")
    assert {field["name"]: field["default"] for field in page["properties"]} == {"scale": "1.0", "offset": "0.0"}


def test_a_pass_shows_its_options_and_what_it_changes(npuc: Npuc) -> None:
    out = npuc("explain", "--pass", "tile").out
    assert "steps: string (needed)" in out
    assert "\n  - %0 = npu.contract" in out
    assert "loops [m : 16, n : 8]" in out


def test_a_pass_of_ones_own(npuc: Npuc) -> None:
    Path("own.py").write_text(OWN)
    outcome = npuc("explain", "--pass", "quiet", "--load", "own.py")
    assert outcome.out == "quiet\n  It has no description.\n\noptions\n  times: integer = 1\n"


def test_a_layer_shows_its_arguments(npuc: Npuc) -> None:
    out = npuc("explain", "--layer", "conv2d").out
    assert out.startswith("conv2d\n  Convolution of x [batch, channels, height, width]")
    assert "\n  stride = 1       an integer or a list of integers\n" in out
    assert max(map(len, out.splitlines())) <= 100


def test_a_hardware_key_shows_the_presets(npuc: Npuc) -> None:
    out = npuc("explain", "--key", "array.dataflow").out
    assert '\n  default: "os"\n' in out
    assert '\n  tpu-v1         "ws"\n' in out


def test_a_report_key_by_its_end(npuc: Npuc) -> None:
    short, full = npuc("explain", "--report", "limit"), npuc("explain", "--report", "ops.limit")
    assert short == full
    assert full.out.startswith("ops.limit\n  what sets the time: `compute`")


def test_a_key_of_native(npuc: Npuc) -> None:
    short, full = npuc("explain", "--report", "folds"), npuc("explain", "--report", "ops.native.folds")
    assert short == full
    assert full.out.startswith("native.folds\n  Tiles and folds of all cores; ")


def test_keys_as_data(npuc: Npuc) -> None:
    key = json.loads(npuc("explain", "--key", "clock_mhz", "--json", "-").out)
    assert (key["name"], key["presets"]["nvdla"]) == ("clock_mhz", "1000.0")
    field = json.loads(npuc("explain", "--report", "ops.schedule", "--json", "-").out)
    assert field["keys"] == ["program", "order", "tile", "keep", "partition"]
    layer = json.loads(npuc("explain", "--layer", "sgd", "--json", "-").out)
    assert layer["kind"] == "optimizer"


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        (("--op", "reul"), "there is no operation 'reul'", "did you mean 'relu'?"),
        (("--op", "qqqqqq"), "there is no operation 'qqqqqq'", "like npu.contract"),
        (("--pass", "tyle"), "there is no pass 'tyle'", "did you mean 'tile'?"),
        (("--layer", "conv2"), "there is no layer 'conv2'", "did you mean 'conv2d'?"),
        (("--key", "spm_kib"), "there is no hardware key 'spm_kib'", "keys: memory.spm_kib"),
        (("--key", "array.row"), "there is no hardware key 'array.row'", "did you mean 'array.rows'?"),
        (("--report", "cycles"), "a report has several keys 'cycles'", "totals.cycles, ops.cycles"),
        (("--report", "ops.cycle"), "a report has no key 'ops.cycle'", "did you mean 'ops.cycles'?"),
        ((), "missing argument SOURCE", "--op npu.contract"),
    ],
)
def test_wrong_names(npuc: Npuc, arguments: tuple[str, ...], error: str, hint: str) -> None:
    outcome = npuc("explain", *arguments)
    assert outcome.status == 2
    assert outcome.out == ""
    assert error in outcome.err
    assert hint in outcome.err


def test_a_word_of_a_report(npuc: Npuc) -> None:
    assert (
        npuc("explain", "--term", "util %").out
        == "util (tables)\n  the share of the array's peak over the line's time\n"
    )
    assert npuc("explain", "--term", "SPM").out.startswith("scratchpad (SPM)\n")
    assert npuc("explain", "--term", "50% from MiB").out.startswith("N% from (reuse)\n")
    assert npuc("explain", "--term", "block").out.count("\nblock (") == 2


def test_an_unknown_word_has_the_nearest_or_all(npuc: Npuc) -> None:
    assert "did you mean 'util'?" in npuc("explain", "--term", "utl").err
    assert "did you mean 'level (of a mesh)'?" in npuc("explain", "--term", "level of mesh").err
    assert "; traffic; " in npuc("explain", "--term", "xyzzy").err
    assert npuc("explain", "--term", "xyzzy").status == 2


def test_all_words(npuc: Npuc) -> None:
    every = npuc("explain", "--term").out
    assert "\n  accumulator " in every
    words = json.loads(npuc("explain", "--term", "--json", "-").out)
    assert len(words) > 150
    assert {"term": "util", "where": "tables", "meaning": "the share of the array's peak over the line's time"} in words
