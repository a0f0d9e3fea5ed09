"""`npuc explain --op` and `--pass`: pages, names, widths, JSON, a pass of one's own."""

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
    for heading in ("operands", "properties", "results", "verified", "example"):
        assert f"\n{heading}\n" in full.out


def test_the_page_as_data(npuc: Npuc) -> None:
    page = json.loads(npuc("explain", "--op", "train.affine", "--json", "-").out)
    assert page["name"] == "train.affine"
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


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        (("--op", "reul"), "there is no operation 'reul'", "did you mean 'relu'?"),
        (("--op", "nosuch"), "there is no operation 'nosuch'", "like npu.contract"),
        (("--pass", "tyle"), "there is no pass 'tyle'", "did you mean 'tile'?"),
        ((), "missing argument SOURCE", "--op npu.contract"),
    ],
)
def test_wrong_names(npuc: Npuc, arguments: tuple[str, ...], error: str, hint: str) -> None:
    outcome = npuc("explain", *arguments)
    assert outcome.status == 2
    assert outcome.out == ""
    assert error in outcome.err
    assert hint in outcome.err
