"""`npuc study`: outputs and wrong usage; the study itself is cut to one network and one setting."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from npuc.studies.igo import settings
from tests.support.studies import short_study
from tests.unit.cli.test_commands import Npuc

NO_WEIGHTS = """
network plain(batch=2) {
  input x: f32[batch, 4]
  input y: f32[batch, 4]
  loss mse(layer_norm(x), y)
}
"""


MINE = """
from dataclasses import dataclass

from npuc.compiler.transforms.interleave import InterleavePass
from xdsl.passes import ModulePass


@dataclass(frozen=True)
class OneNest(ModulePass):
    name = "one-nest"

    def apply(self, ctx, op):
        InterleavePass("fused").apply(ctx, op)


PASSES = {"one-nest": OneNest}
"""


@pytest.fixture
def short() -> Iterator[None]:
    """A study of a moment."""
    with short_study((settings.LARGE,)):
        yield


@pytest.mark.usefixtures("short")
def test_study_prints_ours_beside_the_papers(npuc: Npuc) -> None:
    outcome = npuc("study", "igo")
    assert outcome.status == 0
    lines = outcome.out.splitlines()
    assert lines[3] == "large NPU, 1 core, 150 GB/s and batch 8 a core"
    assert lines[4].split() == ["ncf", "mean"]
    assert [line.split()[0] for line in lines[6:14:2]] == ["interleaving", "+", "best", "+"]
    assert lines[7].split() == ["published", "0.926"]
    assert outcome.err == "npuc: preset lru, 1 settings of 1 networks; this takes minutes, less with -j N\n"


@pytest.mark.usefixtures("short")
def test_study_writes_rows(npuc: Npuc) -> None:
    outcome = npuc("study", "igo", "--json", "-", "--csv", "rows.csv", "-q")
    data = json.loads(outcome.out)
    assert [row["model"] for row in data["rows"]] == ["ncf", "avg"] * 4
    assert outcome.err == ""


@pytest.mark.usefixtures("short")
def test_several_processes_write_the_same(npuc: Npuc) -> None:
    alone = npuc("study", "igo", "--json", "-", "-q")
    beside = npuc("study", "igo", "--json", "-", "-q", "--jobs", "2")
    assert (beside.status, beside.err, beside.out) == (0, "", alone.out)


@pytest.mark.usefixtures("short")
def test_ones_own_stands_beside_the_study(npuc: Npuc) -> None:
    """A network and a rewrite by a pass of one's own, in table, JSON and CSV."""
    Path("mine.py").write_text(MINE)
    passes = "mine=autodiff,lower-to-npu,one-nest,schedule"
    own = ("--network", "samples:mlp", "--rewrite", passes, "--load", "mine.py")
    outcome = npuc("study", "igo", *own, "--json", "rows.json", "--csv", "rows.csv", "-q")
    assert (outcome.status, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[4].split() == ["ncf", "mean", "mlp"]
    (mine,) = (line.split() for line in lines if line.startswith(" mine"))
    data = json.loads(Path("rows.json").read_text())
    with open("rows.csv") as file:
        table = list(csv.DictReader(file))
    found = [row for row in data["rows"] if row["step"] == "mine"]
    assert [row["model"] for row in found] == ["ncf", "avg", "mlp"]
    assert [f"{row['ours']:.3f}" for row in found] == mine[1:]
    assert [row["model"] for row in table if row["step"] == "mine"] == ["ncf", "avg", "mlp"]
    plain = npuc("study", "igo", "--json", "-", "-q")
    before = json.loads(plain.out)["rows"]
    assert data["rows"][: len(before)] == before
    assert "mlp" in [row["model"] for row in data["traffic"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("igoo",), "there is no study 'igoo'"),
        (("igo", "--preset", "lur"), "--preset lur: there is no such preset"),
        (("igo", "--json", "-", "--csv", "-"), "can go to standard output"),
        (
            ("igo", "--set", "clock_mhz=2"),
            "--set is an option of the studies congestion, crosscheck, flexion, sparsity, thesis and training-methods",
        ),
        (("igo", "--network", "nowhere.dsl"), "nowhere.dsl"),
        (("igo", "--network", "-"), "a study reads its networks several times"),
        (("igo", "--network", "plain.dsl"), "found no matrix products with weights"),
        (("igo", "--network", "samples:mlp", "-D", "hiden=3"), "unknown network parameter 'hiden'"),
        (("igo", "-D", "batch=2"), "-D sets parameters of the networks of --network, and there are none"),
        (("igo", "--rewrite", "schedule"), "--rewrite schedule: expected NAME=PASSES"),
        (("igo", "--rewrite", "=schedule"), "--rewrite =schedule: expected NAME=PASSES"),
        (("igo", "--rewrite", "schedule{tolerance=0}"), "expected NAME=PASSES"),
        (("igo", "--rewrite", "mine=scedule"), "unknown pass 'scedule'"),
        (("igo", "--rewrite", "mine=schedule{"), "does not parse"),
        (("igo", "--rewrite", "interleaving=schedule"), "'interleaving' is the name of a step of the study"),
        (("igo", "--rewrite", "a=schedule", "--rewrite", "a=schedule"), "'a' is the name of another"),
        (("igo", "--load", "mine.py"), "--load names passes for --rewrite, and there is none"),
        (("igo", "--rewrite", "mine=schedule", "--load", "nowhere.py"), "nowhere.py"),
        (("hypar", "--rewrite", "mine=schedule"), "--rewrite is an option of the study igo"),
        (("hypar", "--jobs", "2"), "--jobs is an option of the studies digamma and igo"),
        (("igo", "--jobs", "0"), "invalid value for '-j' / '--jobs'"),
        (("igo", "--csv", "nowhere/rows.csv"), "its folder does not exist"),
    ],
)
def test_wrong_usage_is_said_at_once(npuc: Npuc, arguments: tuple[str, ...], message: str) -> None:
    Path("plain.dsl").write_text(NO_WEIGHTS)
    outcome = npuc("study", *arguments)
    assert outcome.status == 2
    assert message in outcome.err
    assert outcome.out == ""
