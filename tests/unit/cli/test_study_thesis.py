"""`npuc study thesis`: the table, other networks, figures, wrong usage."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from npuc.studies.base import Advance
from npuc.studies.thesis.figures import FIGURES
from npuc.studies.thesis.scores import Point
from npuc.studies.thesis.study import ThesisPlan, ThesisResults, plan_study
from tests.support.shared import run_thesis_once
from tests.unit.cli.test_commands import Npuc

FIXED = """\
network fixed(size=64) {
  input x: f32[size, 16]
  labels y: i32[size]
  loss cross_entropy(linear(relu(linear(x, 8)), 10), y)
  optimizer sgd(lr=0.1)
}
"""


@pytest.mark.heavy
def test_claims_as_a_table(npuc: Npuc, monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[ThesisPlan] = []

    def known(plan: ThesisPlan, points: Iterable[Point], done: Advance) -> ThesisResults:
        planned.append(plan)
        assert list(points) == []
        return run_thesis_once(plan, points, done)

    monkeypatch.setattr("npuc.studies.thesis.study.run_study", known)
    outcome = npuc("study", "thesis")
    assert outcome.status == 0
    lines = outcome.out.splitlines()
    assert lines[0] == "Roofline study (C.-Y. Tsai, NTU, 2021), preset thesis: claim, published, ours"
    assert lines[2].split() == ["claim", "published", "ours", "unit", "within", "reproduced"]
    assert [line.split()[0] for line in lines if line.startswith(" P")][:26] == [f"P{n:02}" for n in range(1, 27)]
    verdict = lines.index("verdict   24 of 25 claims reproduced; not P14")
    assert any(line.startswith("Gains: ") for line in lines[verdict:])
    networks = [line.strip() for line in lines[verdict:] if line.strip().startswith("samples:")]
    assert networks[1] == "samples:mobilenet_v2"
    assert sum(line.split()[:2] == ["belady", "lru"] for line in lines) == 4
    assert outcome.err == ""
    assert planned == [plan_study()]


def test_another_network_is_measured(npuc: Npuc) -> None:
    outcome = npuc("study", "thesis", "--network", "net.dsl", "-D", "batch=2", "--json", "rows.json")
    assert outcome.out.splitlines()[4].strip() == "net.dsl -D batch=2 on rtx2080ti, preset thesis"
    with open("rows.json") as file:
        data = json.load(file)
    _, measures, _, gains = outcome.out.strip("\n").replace("\n\n\n", "\n\n").split("\n\n")
    assert len(data["rows"]) == len(measures.splitlines()) - 3
    assert len(data["gains"]) == 3 * (len(gains.splitlines()) - 4)


def test_without_a_batch_there_is_no_figure_of_batches(npuc: Npuc) -> None:
    pytest.importorskip("matplotlib")
    Path("fixed.dsl").write_text(FIXED)
    outcome = npuc("study", "thesis", "--network", "fixed.dsl", "--plot", "all.svg")
    assert outcome.status == 2
    assert "figure 5.6 varies the parameter 'batch', which fixed.dsl does not have" in outcome.err
    assert "the others: --figure 5.1 --figure 5.2 --figure 5.3 --figure 5.4 --figure 5.5" in outcome.err
    assert npuc("study", "thesis", "--network", "fixed.dsl", "--plot", "one.svg", "--figure", "5.5").status == 0
    assert b"5.5" in Path("one.svg").read_bytes()


def test_a_folder_has_a_file_each(npuc: Npuc) -> None:
    pytest.importorskip("matplotlib")
    outcome = npuc("study", "thesis", "--network", "net.dsl", "--plot", "figures", "--figure", "5.5", "--figure", "5.1")
    assert outcome.status == 0
    names = {f"figure-{number}.{kind}" for number in ("5.1", "5.5") for kind in ("png", "svg")}
    assert {path.name for path in Path("figures").iterdir()} == names
    assert all(path.stat().st_size > 5000 for path in Path("figures").iterdir())


def test_one_sheet_has_all_figures(npuc: Npuc) -> None:
    pytest.importorskip("matplotlib")
    assert npuc("study", "thesis", "--network", "net.dsl", "--plot", "sheet.svg", "--json", "-").status == 0
    assert Path("sheet.svg").read_text().count('<g id="axes_') >= len(FIGURES)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--plot", "a.gif"), "--plot a.gif: cannot tell the kind of picture"),
        (("--plot", "nowhere/a.png"), "its folder does not exist"),
        (("--plot", "a.png", "--figure", "6"), "--figure 6: there is no such figure"),
        (("--preset", "lru"), "--preset lru: there is no such preset"),
        (("--set", "memory.cache_mib=8"), "the study varies this key itself"),
        (("--network", "net.dsl", "-D", "btch=2"), "unknown network parameter 'btch'"),
        (("--figure", "5.1"), "--figure chooses what --plot draws, and there is none"),
    ],
)
def test_wrong_usage_is_said_at_once(npuc: Npuc, arguments: tuple[str, ...], message: str) -> None:
    pytest.importorskip("matplotlib")
    outcome = npuc("study", "thesis", *arguments)
    assert outcome.status == 2
    assert message in outcome.err


def test_without_matplotlib_is_wrong_usage(npuc: Npuc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for target in ("a.png", "folder"):
        outcome = npuc("study", "thesis", "--plot", target)
        assert outcome.status == 2
        assert 'pip install "npuc[plot]"' in outcome.err
