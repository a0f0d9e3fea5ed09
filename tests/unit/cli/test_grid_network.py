"""A torus or mesh between devices as a user meets it: reports, one collective, traces, splits of bandwidth, files."""

import json
from pathlib import Path
from typing import Any, cast

import pytest

from npuc.compiler import compile_file
from npuc.compiler.report.document import ReportData
from tests.unit.cli.conftest import Npuc
from tests.unit.cli.option_files import CLUSTER, NETWORK

LEVELS = """\
levels = [
    { kind = "switch", size = 4, gb_per_s = 2, link_usd_per_gb_per_s = 8, switch_usd_per_gb_per_s = 18 },
    { kind = "torus", sizes = [4, 4], gb_per_s = 8, link_usd_per_gb_per_s = 4 },
]
"""
DP = ("--devices", "64", "--parallel", "dp", "-D", "batch=64")


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    machine = CLUSTER[: CLUSTER.index("levels = [")] + LEVELS
    Path("pod.toml").write_text(machine)
    Path("mesh.toml").write_text(machine.replace('"torus"', '"mesh"'))
    Path("rings.toml").write_text(
        machine.replace(
            '{ kind = "torus", sizes = [4, 4], gb_per_s = 8, link_usd_per_gb_per_s = 4 }',
            '{ kind = "ring", size = 4, gb_per_s = 4 }, { kind = "ring", size = 4, gb_per_s = 4 }',
        )
    )
    Path("net.dsl").write_text(NETWORK)


def messages(hardware: str, **more: Any) -> list[Any]:
    options: Any = {"devices": 64, "parallel": "dp", "defines": {"batch": 64}, "opt_level": 0, **more}
    report = cast("ReportData", compile_file("net.dsl", hardware=hardware, **options))
    return [row for row in report.ops if row.phase == "comm"]


def test_rows_are_the_closed_form() -> None:
    """Bytes over the rate of a device on a torus; half of that rate on a mesh; rings one after the other: 2.5 rings."""
    rows = {name: messages(f"{name}.toml") for name in ("pod", "mesh", "rings")}
    for torus, mesh, rings in zip(*rows.values(), strict=True):
        size = torus.native["operand_bytes"]
        inner, outer = 2 * size * 15 / 16 / 8e9, 2 * size / 16 * 3 / 4 / 2e9
        assert torus.seconds == pytest.approx(inner + outer)
        assert mesh.seconds == pytest.approx(2 * inner + outer)
        assert rings.seconds == pytest.approx(2 * inner + outer)
        assert torus.native["sent_bytes"] == rings.native["sent_bytes"] == pytest.approx(2 * size * 63 / 64)


def test_chunks_overlap_the_torus_and_the_level_around_it(npuc: Npuc) -> None:
    for policy in ("baseline", "themis-scf", "exact"):
        chunked = messages("pod.toml", collectives=policy, chunks=4, overrides={"network.latency": "overlap"})
        assert sum("chunks" in row.native for row in chunked) >= 3
        for whole, row in zip(messages("pod.toml"), chunked, strict=True):
            assert row.seconds < whole.seconds or "chunks" not in row.native
            assert row.seconds >= row.native.get("bound_seconds", whole.seconds)
            assert row.native["sent_bytes"] == pytest.approx(whole.native["sent_bytes"])
    done = npuc("explain", "net.dsl", "--collective", "h.linear", "--hw", "pod.toml", *DP, "--json", "h.json")
    assert done.status == 0, done.err
    assert "1: switch of 4" in done.out
    assert "2: torus of 4 x 4" in done.out
    assert [level["sizes"] for level in json.loads(Path("h.json").read_text())["levels"]] == [[4], [4, 4]]
    pytest.importorskip("matplotlib")
    again = npuc("explain", "net.dsl", "--collective", "h.linear", "--hw", "pod.toml", *DP, "--plot", "h.svg")
    assert again.status == 0, again.err


def test_a_report_and_its_timeline_name_the_dimensions(npuc: Npuc) -> None:
    done = npuc(
        "compile", "net.dsl", "--hw", "pod.toml", *DP, "-q", "--json", "r.json", "--emit", "trace", "-o", "t.json"
    )
    assert done.status == 0, done.err
    levels = json.loads(Path("r.json").read_text())["hardware"]["network"]["levels"]
    assert levels[1]["sizes"] == [4, 4]
    assert "size" not in levels[1]
    assert "network level 2 (torus of 4 x 4)" in Path("t.json").read_text()


def test_bandwidth_is_split_over_a_torus(npuc: Npuc) -> None:
    given = ("network", "net.dsl", "--hw", "pod.toml", *DP, "--total-gb-per-s", "20", "-q")
    done = npuc(*given, "--shapes", "--json", "n.json")
    assert done.status == 0, done.err
    assert "4 x 4" in done.out
    data = json.loads(Path("n.json").read_text())
    assert [level["dimensions"] for level in data["levels"]] == [[4], [4, 4]]
    shapes: dict[Any, float] = {tuple(tuple(n) for n in one["dimensions"]): one["seconds"] for one in data["shapes"]}
    assert {((64,),), ((4,), (4, 4)), ((8,), (4, 2)), ((16,), (2, 2))} <= shapes.keys()
    best = next(one for one in data["splits"] if one["split"] == "best")
    assert shapes[(4,), (4, 4)] == pytest.approx(best["seconds"])
    assert all(one["seconds"] >= best["seconds"] * (1 - 1e-9) for one in data["splits"] if one["meets"])


def test_files_for_astra_sim(npuc: Npuc) -> None:
    done = npuc("compile", "net.dsl", "--hw", "pod.toml", *DP, "--emit", "astra-network", "-o", "out")
    assert done.status == 0, done.err
    text = Path("out/network.yml").read_text()
    assert "topology: [ Ring, Ring, Switch ]" in text
    assert "npus_count: [ 4, 4, 4 ]" in text
    assert "goes over the dimensions of a torus one after the other" in done.err
    assert npuc("compile", "net.dsl", "--hw", "pod.toml", *DP, "--emit", "chakra", "-o", "traces", "-q").status == 0
    refused = npuc("compile", "net.dsl", "--hw", "mesh.toml", *DP, "--emit", "astra-network", "-o", "no", "-q")
    assert refused.status == 2
    assert "level 2: ASTRA-sim has no topology for the kind 'mesh'" in refused.err


def test_devices_that_do_not_factor(npuc: Npuc) -> None:
    machine = Path("pod.toml").read_text().replace("[4, 4]", "[4, 6]")
    Path("odd.toml").write_text(machine)
    done = npuc("compile", "net.dsl", "--hw", "odd.toml", "--mesh", "6x4", "--parallel", "dp", "-D", "batch=24", "-q")
    assert done.status == 3
    message = "level 2 of 2: found torus 4 x 6, expected dimensions or factors of them for the 6 of the mesh 6 x 4"
    assert message in done.err


def test_tori_of_all_sizes_send_at_the_whole_rate() -> None:
    seconds = {
        messages("pod.toml", overrides={"network.levels": [{"kind": "torus", "sizes": sizes, "gb_per_s": 8.0}]})[
            0
        ].seconds
        for sizes in ([64], [8, 8], [4, 16], [2, 2, 16], [4, 4, 4], [2, 2, 2, 2, 2, 2])
    }
    assert len(seconds) == 1
