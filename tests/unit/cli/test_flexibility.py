"""`npuc flexibility`: classes, counts of the formalism's example, files, text of any width, and what is refused."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from npuc.compiler import flexibility_file, flexibility_source
from tests.unit.cli.conftest import Npuc, Outcome

NET = """\
network mlp(batch=8, hidden=24) {
  input x: f32[batch, 32]
  labels y: i32[batch]
  h = relu(linear(x, hidden))
  logits = linear(h, 10)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1)
}
"""
TABLE = "layer,M,N,K\nlarge,16,16,16\nsmall,8,16,4\n"
MACHINE = """\
name = "small"
clock_mhz = 100
[maestro]
num_pes = 64
noc_bw = 16
l2_size = 384
mapping = "kcp_ws"
[flexibility]
tiles = "hard"
"""
QUICK = ("--budget", "5", "-q")


@pytest.fixture(autouse=True)
def _files(folder: Path) -> None:
    Path("net.dsl").write_text(NET)
    Path("table.csv").write_text(TABLE)
    Path("small.toml").write_text(MACHINE)


def asked(npuc: Npuc, *options: str, source: str = "net.dsl", budget: int = 5) -> dict[str, Any]:
    given = ("--hw", "small.toml", "--budget", str(budget), "-q", "--json", "-")
    outcome = npuc("flexibility", source, *given, *options)
    assert outcome.status == 0, outcome.err
    return json.loads(outcome.out)


def test_the_figures_of_the_formalism(npuc: Npuc) -> None:
    large, small = asked(npuc, "--inference", source="table.csv")["contractions"]
    tiles = large["hardware_flexion"]["tiles"]
    assert (large["sizes"], large["buffer_elements"]) == ({"m": 16, "n": 16, "k": 16}, 192)
    assert (tiles["all"]["value"], tiles["supported"]["value"]) == (2078, 1109)
    assert tiles["share"] == {"value": 1109 / 2078, "error": 0.0}
    assert small["hardware_flexion"]["tiles"] == tiles  # of tiles up to the largest product of the program
    assert (small["workload_flexion"]["tiles"]["all"]["value"], small["exact"]) == (506, True)
    assert small["workload_flexion"]["tiles"]["share"]["value"] == 412 / 506
    order = large["hardware_flexion"]["order"]
    assert (order["all"]["value"], order["supported"]["value"]) == (6, 1)
    (fixed, _) = asked(npuc, "--inference", "--set", "flexibility.tiles=fixed", source="table.csv")["contractions"]
    assert fixed["hardware_flexion"]["tiles"]["share"]["value"] == pytest.approx(1 / 2078)


def test_samples_have_a_standard_error(npuc: Npuc) -> None:
    found = asked(npuc, "--inference", "--samples", "5000", source="table.csv")
    tiles = found["contractions"][0]["hardware_flexion"]["tiles"]["share"]
    assert 0 < tiles["error"] < 0.02
    assert abs(tiles["value"] - 1109 / 2078) < 3 * tiles["error"]
    assert not found["contractions"][0]["exact"]
    assert found["samples"] == 5000


def test_three_stationary_orders_of_a_convolution(npuc: Npuc) -> None:
    conv = "network c() {\n  input x: f32[1, 8, 9, 9]\n  output y = conv2d(x, 4, 3)\n}\n"
    Path("conv.dsl").write_text(conv)
    found = asked(npuc, "--inference", "--set", "flexibility.order=stationary", source="conv.dsl")
    order = found["contractions"][0]["hardware_flexion"]["order"]
    assert (order["supported"]["value"], order["all"]["value"]) == (3, 720)
    assert found["class"] == "1100"


def test_sixteen_classes_and_the_machine(npuc: Npuc) -> None:
    found = asked(npuc)
    assert [one["class"] for one in found["classes"]] == [f"{number:04b}" for number in range(16)]
    assert found["class"] == found["own"]["class"] == "1000"
    gains = {one["class"]: one["gain"] for one in found["classes"]}
    assert gains["0000"] == 1
    for name, gain in gains.items():
        for other, more in gains.items():
            if all(a <= b for a, b in zip(name, other, strict=True)):
                assert gain <= more
    assert gains["0000"] <= found["own"]["gain"] <= gains["1000"]
    for one in found["classes"]:
        assert sum(one["cycles_by_phase"].values()) == one["cycles"]
        assert one["seconds"] == pytest.approx(one["cycles"] / 1e8)
    assert set(found["classes"][0]["cycles_by_phase"]) == {"forward", "dx", "dw"}
    assert found["bound"] <= found["classes"][-1]["cycles"]


def test_objectives(npuc: Npuc) -> None:
    by_time, by_energy = (asked(npuc, *option, budget=200) for option in ((), ("--objective", "energy")))
    assert by_energy["objective"] == "energy"
    assert by_energy["classes"][-1]["energy_mac_units"] <= by_time["classes"][-1]["energy_mac_units"]
    assert asked(npuc, "--objective", "latency") == asked(npuc)


def test_rows_as_csv(npuc: Npuc) -> None:
    outcome = npuc("flexibility", "net.dsl", "--hw", "small.toml", *QUICK, "--csv", "-")
    rows = list(csv.DictReader(io.StringIO(outcome.out)))
    assert [(row["layer"], row["phase"]) for row in rows[:3]] == [
        ("h.linear", "forward"),
        ("logits", "forward"),
        ("logits", "dx"),
    ]
    assert all(float(row["cycles_1111"]) <= float(row["cycles_own"]) <= float(row["cycles_0000"]) for row in rows)
    total = asked(npuc)["classes"][-1]["cycles"]
    assert sum(int(row["repeat"]) * float(row["cycles_1111"]) for row in rows) == total


def test_python(npuc: Npuc) -> None:
    by_file = flexibility_file("net.dsl", hardware="small.toml", budget=5)
    by_text = flexibility_source(NET, filename="net.dsl", hardware="small.toml", budget=5)
    assert by_file.to_json() == by_text.to_json()
    assert json.loads(by_file.to_json()) == asked(npuc)
    assert by_file.flexible == "1000"


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_text_fits(npuc: Npuc, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    text = npuc("flexibility", "net.dsl", "--hw", "small.toml", *QUICK, "--set", "flexibility.order=stationary").out
    assert max(map(len, text.splitlines())) <= width
    assert "1100 <" in text
    assert "some tiles, some order" in text


def test_text(npuc: Npuc) -> None:
    lines = npuc("flexibility", "table.csv", "--hw", "small.toml", *QUICK, "--inference").out.splitlines()
    (tiles,) = (line for line in lines if line.startswith(" T tile sizes"))
    assert "that fit in equal parts" in tiles
    assert "0.534" in tiles
    assert any(line.startswith("verdict   The machine's flexibility gains 1") for line in lines)


def test_a_picture(npuc: Npuc) -> None:
    pytest.importorskip("matplotlib")
    for name in ("gains.svg", "gains.png", "again.svg"):
        assert npuc("flexibility", "net.dsl", "--hw", "small.toml", *QUICK, "--plot", name).status == 0
    assert Path("gains.svg").read_bytes() == Path("again.svg").read_bytes()
    assert Path("gains.png").read_bytes()[:4] == b"\x89PNG"


def refused(npuc: Npuc, *options: str) -> Outcome:
    outcome = npuc("flexibility", "net.dsl", "--hw", "small.toml", *QUICK, *options)
    assert outcome.out == ""
    return outcome


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--samples", "1"), "--samples 1: expected 2 or more"),
        (("--seed", "-1"), "--seed -1: expected 0 or more"),
        (("--objective", "traffic"), "--objective traffic: expected time, energy or edp"),
        (("--rows", "some"), "--rows some: expected folded or all"),
        (("--plot", "x.gif"), "--plot x.gif: cannot tell the kind of picture"),
        (("--json", "-", "--csv", "-"), "only one of --json, --csv and --statistics-json can go to standard output"),
        (("--set", "maestro.mode=parity"), "classes are compared by exact costs"),
        (("--set", "flexibility.shape=blocks"), "has shapes of blocks, and no flexibility.block"),
        (("--set", "flexibility.block=4"), "flexibility.block is the size of blocks, and flexibility.shape is 'fixed'"),
        (("--set", "flexibility.tiles=some"), "expected 'fixed' or 'hard' or 'soft'"),
        (("-o", "x.mlir"), "npuc flexibility has none"),
    ],
)
def test_what_is_refused(npuc: Npuc, options: tuple[str, ...], message: str) -> None:
    outcome = refused(npuc, *options)
    assert outcome.status == 2
    assert message in outcome.err


def test_a_budget_of_nothing(npuc: Npuc) -> None:
    outcome = npuc("flexibility", "net.dsl", "--hw", "small.toml", "--budget", "0")
    assert (outcome.status, outcome.out) == (2, "")
    assert "--budget 0: expected 1 or more" in outcome.err


def test_a_machine_that_can_run_nothing(npuc: Npuc) -> None:
    outcome = refused(npuc, "--set", "maestro.l2_size=1")
    assert outcome.status == 3
    assert "h.linear (forward): the machine cannot run its own dataflow" in outcome.err
    assert "net.dsl:4:" in outcome.err


def test_a_mapping_of_three_levels(npuc: Npuc) -> None:
    layer = "Layer h.linear { Type: CONV Dimensions { K: 24, C: 32, R: 1, S: 1, Y: 1, X: 1, N: 8 } Dataflow {"
    maps = "SpatialMap(1,1) K; Cluster(8, P); SpatialMap(1,1) C; Cluster(2, P); SpatialMap(1,1) N;"
    Path("three.m").write_text(f"Network n {{ {layer} {maps} }} }} }}\n")
    outcome = refused(npuc, "--mapping", "three.m")
    assert outcome.status in (1, 2), outcome.err
    assert "three.m" in outcome.err
