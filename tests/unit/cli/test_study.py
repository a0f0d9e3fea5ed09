"""`npuc study`: outputs and wrong usage; the study itself is cut to one network and one setting."""

import json

import pytest

from npuc.studies.igo import networks, settings
from tests.unit.cli.test_commands import Npuc


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A study of a moment."""
    monkeypatch.setattr(settings, "SETTINGS", (settings.LARGE,))
    monkeypatch.setattr(networks, "MODELS", {"ncf": "ncf"})


@pytest.mark.usefixtures("short")
def test_study_prints_ours_beside_the_papers(npuc: Npuc) -> None:
    outcome = npuc("study", "igo")
    assert outcome.status == 0
    lines = outcome.out.splitlines()
    assert lines[3] == "large NPU, 1 core, 150 GB/s and batch 8 a core"
    assert lines[4].split() == ["ncf", "mean"]
    assert [line.split()[0] for line in lines[5:13:2]] == ["interleaving", "+", "best", "+"]
    assert lines[6].split() == ["published", "0.926"]
    assert outcome.err == "npuc: preset lru, 1 settings of 1 networks; this takes minutes\n"


@pytest.mark.usefixtures("short")
def test_study_writes_rows(npuc: Npuc) -> None:
    outcome = npuc("study", "igo", "--json", "-", "--csv", "rows.csv", "-q")
    data = json.loads(outcome.out)
    assert [row["model"] for row in data["rows"]] == ["ncf", "avg"] * 4
    assert outcome.err == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("igoo",), "there is no study 'igoo'"),
        (("igo", "--preset", "lur"), "--preset lur: there is no such preset"),
        (("igo", "--json", "-", "--csv", "-"), "both want standard output"),
        (("igo", "--network", "resnet50"), "--network is an option of the studies crosscheck, hypar and thesis"),
        (("igo", "--csv", "nowhere/rows.csv"), "its folder does not exist"),
    ],
)
def test_wrong_usage_is_said_at_once(npuc: Npuc, arguments: tuple[str, ...], message: str) -> None:
    outcome = npuc("study", *arguments)
    assert outcome.status == 2
    assert message in outcome.err
    assert outcome.out == ""
