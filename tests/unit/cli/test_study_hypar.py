"""`npuc study hypar`: the tables, rows, the picture, wrong usage."""

import csv
import json
from pathlib import Path

import pytest

from tests.unit.cli.test_commands import Npuc

KEYS = ["claim", "setting", "published", "ours", "tolerance", "reproduced", "note"]


def test_one_network_as_table_rows_and_picture(npuc: Npuc) -> None:
    pytest.importorskip("matplotlib")
    arguments = ("--network", "sfc", "--json", "rows.json", "--csv", "rows.csv", "--plot", "all.svg")
    outcome = npuc("study", "hypar", *arguments)
    assert outcome.status == 0
    assert outcome.err == ""
    lines = outcome.out.splitlines()
    assert lines[0].startswith("Hybrid parallelism (Song et al., HPCA 2019), 16 accelerators, convention published")
    assert lines[4].split() == ["SFC", "hypar", "mmmm", "mmmm", "dmmm", "mmmm"]
    assert "16.89 (16.9)" in outcome.out
    assert "0.7553 (0.723) !" in outcome.out
    assert any(line.startswith("verdict ") for line in lines)
    data = json.loads(Path("rows.json").read_text())
    assert (data["schema"], data["study"], data["preset"]) == ("npuc.study/1", "hypar", "published")
    assert all(set(KEYS) <= set(row) for row in data["rows"])
    assert [scale["devices"] for scale in data["scaling"]] == [1, 2, 4, 8, 16, 32, 64] * 2
    assert data["space"] == []
    assert {row["links"] for row in data["topology"]} == {"link", "accelerator", "array"}
    with open("rows.csv") as file:
        table = list(csv.DictReader(file))
    assert len(table) == len(data["rows"])
    assert "mmmm mmmm dmmm mmmm" in [row["ours"] for row in table]
    assert "communication of a step, GB" in Path("all.svg").read_text()


def test_other_accelerators(npuc: Npuc) -> None:
    """A step is faster on a larger array, and rows say on which."""
    found: dict[str, list[dict[str, object]]] = {}
    for hardware in ("hypar16", "igo-large"):
        outcome = npuc("study", "hypar", "--network", "samples:mlp", "--hw", hardware, "--json", "rows.json", "-q")
        assert outcome.status == 0
        data = json.loads(Path("rows.json").read_text())
        found[hardware] = data["scaling"]
        assert any(str(row["setting"]).endswith(f"--hw {hardware} --tolerance 0.000000001") for row in data["rows"])
    alone = {hardware: scales[0]["seconds"] for hardware, scales in found.items()}
    assert str(alone["hypar16"]) != str(alone["igo-large"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--preset", "table3"), "--preset table3: there is no such preset"),
        (
            ("-D", "batch=2"),
            "-D is an option of the studies crosscheck, igo, rasa, sparsity, thesis, training-methods and union",
        ),
        (
            ("--set", "clock_mhz=2"),
            "--set is an option of the studies congestion, crosscheck, flexion, sparsity, thesis and training-methods",
        ),
        (("--hw", "nowhere"), "unknown hardware 'nowhere'"),
        (("--hw", "igo-large", "--hw", "hypar16"), "--hw is given twice"),
        (("--network", "-"), "--network -: a study reads its networks several times"),
        (("--network", "nowhere.dsl"), "nowhere.dsl"),
        (("--plot", "all.gif"), "cannot tell the kind of picture"),
    ],
)
def test_wrong_usage_is_said_at_once(npuc: Npuc, arguments: tuple[str, ...], message: str) -> None:
    outcome = npuc("study", "hypar", *arguments)
    assert outcome.status == 2
    assert message in outcome.err
    assert outcome.out == ""
