"""`npuc explain NET --collective NAME`: one collective as text, as JSON and as a picture."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from npuc.compiler.report.explained import CollectiveStage
from npuc.compiler.report.text.collective import strip
from tests.unit.cli.conftest import Npuc

TWO_LEVELS = "[{kind='switch',size=4,gb_per_s=1},{kind='switch',size=4,gb_per_s=2}]"
NETWORK = ("--set", f"network.levels={TWO_LEVELS}", "--set", "network.latency=overlap")
EXAMPLE = """\
builtin.module {
  func.func @step(%x: tensor<64xf32> {train.input = "x"}) -> (tensor<64xf32> {train.output = "y"})
      attributes {dist.mesh = #dist.mesh<[4, 4]>} {
    %0 = dist.all_reduce %x over [0, 1] {layer = "w", role = "dw",
         dist.chunks = #dist.chunks<scf 1 x [1, 0], 1 x [0, 1], 2 x [1, 0]>} : (tensor<64xf32>) -> tensor<64xf32>
    func.return %0 : tensor<64xf32>
  }
}
"""


def test_the_example_of_the_paper(npuc: Npuc, folder: Path) -> None:
    """Four chunks on 4 x 4 devices (figure 5 of Themis): 7 units of a reduce-scatter along the inner level."""
    (folder / "w.mlir").write_text(EXAMPLE)
    network = (*NETWORK, "--set", "memory.element_bytes=4")
    done = npuc(
        "explain", "w.mlir", "--collective", "w", "--devices", "1", "--mesh", "4x4", *network, "--json", "w.json"
    )
    assert done.status == 2, "a program on devices is not shared again"
    done = npuc("explain", "w.mlir", "--collective", "w", *network, "--json", "w.json")
    assert done.status == 0, done.err
    found = json.loads((folder / "w.json").read_text())
    unit = 64 * 4 / 4 * 3 / 4 / 2e9
    assert found["schema"] == "npuc.collective/1"
    assert found["seconds"] / unit == pytest.approx(7)
    assert [(order["chunks"], order["levels"], order["back"]) for order in found["orders"]] == [
        (1, [1, 0], [0, 1]),
        (1, [0, 1], [1, 0]),
        (2, [1, 0], [0, 1]),
    ]
    assert {policy["policy"]: policy["seconds"] / unit for policy in found["policies"]} == pytest.approx(
        {"whole": 12, "baseline": 8, "themis-fifo": 8, "themis-scf": 7}
    )
    assert found["bound_seconds"] / unit == pytest.approx(20 / 3)
    assert found["utilisation"] == pytest.approx(20 / 21)
    assert [level["use"] for level in found["levels"]] == pytest.approx([1, 13 / 14])
    sent = sum(level["sent_bytes"] for level in found["levels"])
    assert sent == pytest.approx(2 * 64 * 4 * (1 - 1 / 16))
    for level in found["levels"]:
        own = [stage for stage in found["stages"] if stage["level"] == level["level"]]
        assert sum(stage["end"] - stage["begin"] for stage in own) == pytest.approx(level["busy_seconds"])
        assert all(one["end"] <= other["begin"] * (1 + 1e-12) for one, other in pairwise(own))
    assert len(found["stages"]) == 4 * 4
    assert "4; where several wait, the chunk with the least data goes first" in done.out
    assert "1 x 2-1, 1 x 1-2, 2 x 2-1" in done.out


SHARED = ("--devices", "4", "--parallel", "dp", "--hw", "hypar16")


def test_a_collective_of_a_step(npuc: Npuc, folder: Path) -> None:
    whole = npuc("explain", "net.dsl", "--collective", "h.linear", *SHARED)
    assert whole.status == 0, whole.err
    assert whole.out.startswith("all-reduce of h.linear (dw), ")
    assert "it moves whole, over the levels 4-3" in whole.out
    assert npuc("explain", "net.dsl", "--collective", "*", *SHARED, "--json", "every.json").status == 0
    longest = json.loads((folder / "every.json").read_text())
    assert len(longest["others"]) > 2
    assert all(other["seconds"] < longest["seconds"] for other in longest["others"])
    chunked = npuc("explain", "net.dsl", "--collective", "h.*", "--phase", "dw", *SHARED, "--collectives", "exact")
    assert chunked.status == 0, chunked.err
    assert "the stages go in the order of a search" in chunked.out


def test_what_has_no_effect_is_said(npuc: Npuc, folder: Path) -> None:
    done = npuc("explain", "net.dsl", "--collective", "h.linear", *SHARED, "--set", "maestro.num_pes=2")
    assert done.status == 0, done.err
    assert done.err == "npuc: warning: maestro.num_pes has no effect: the backend 'cycle' does not read it here\n"
    done = npuc("explain", "net.dsl", "--collective", "h.linear", *SHARED, "--set", "maestro.num_pes=2", "-q")
    assert done.err == ""


def test_a_backend_that_derives_the_backward_pass(npuc: Npuc, folder: Path) -> None:
    two = ("--devices", "16", "-D", "batch=16", "--parallel", "dp", *NETWORK)
    done = npuc("explain", "net.dsl", "--collective", "h.linear", *two, "-b", "roofline", "--chunks", "2")
    assert done.status == 0, done.err
    assert "chunks    2; where several wait" in done.out


def test_a_picture_of_a_collective(npuc: Npuc, folder: Path) -> None:
    pytest.importorskip("matplotlib")
    done = npuc("explain", "net.dsl", "--collective", "h.linear", *SHARED, "--chunks", "4", "--plot", "c.svg")
    assert done.status == 0, done.err
    drawn = (folder / "c.svg").read_text()
    assert "lower bound" in drawn
    assert "gathers" in drawn


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--collective", "h.lin"), "there is no such collective"),
        (("--collective", "h.linear", "--phase", "forward"), "--phase forward: no such collective"),
        (("--collective", "h.linear", "--phase", "dz"), "--phase dz: there is no such phase"),
    ],
)
def test_a_collective_that_there_is_not(npuc: Npuc, arguments: tuple[str, ...], message: str) -> None:
    done = npuc("explain", "net.dsl", *arguments, *SHARED)
    assert done.status == 2
    assert message in done.err


def test_a_strip_has_the_use_of_each_part_of_the_time() -> None:
    def stage(begin: float, end: float) -> CollectiveStage:
        return CollectiveStage(chunk=0, level=0, part="reduce", begin=begin, end=end, done=end)

    assert strip([stage(0, 2), stage(3, 4)], 4.0, 4) == "██ █"
    assert strip([stage(0, 0.5), stage(3.75, 4)], 4.0, 4) == "▄  ▂"
    assert strip([stage(1.5, 2.5)], 4.0, 4) == " ▄▄"
    assert strip([], 4.0, 4) == "·"
