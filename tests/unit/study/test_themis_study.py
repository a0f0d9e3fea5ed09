"""The study of collectives in chunks: the worked example, the published figures, networks without anything to gain."""

import csv
import io
import json
from fractions import Fraction

import pytest

from npuc.compiler.analysis.interconnect.chunks.policies import POLICIES, orders_of
from npuc.compiler.analysis.interconnect.chunks.schedule import ChunkedCollective, scheduled
from npuc.compiler.analysis.interconnect.chunks.stages import LinkLevel
from npuc.studies.themis.settings import SIZES, TODAY, TOPOLOGIES
from npuc.studies.themis.study import EXAMPLE, FIRST, ThemisResults, levels_of, run_study
from npuc.studies.themis.view import to_csv, to_json


@pytest.fixture(scope="module")
def study() -> ThemisResults:
    return run_study()


def ours(study: ThemisResults, claim: str, setting: str = "") -> float:
    (found,) = (row.ours for row in study.rows if row.claim == claim and row.setting.endswith(setting))
    return found


def test_the_worked_example(study: ThemisResults) -> None:
    units = {row.setting: row.ours for row in study.rows if row.claim.startswith("worked example")}
    assert units == {"baseline": 8, "themis-fifo": 8, "themis-scf": 7, "exact": 7}
    orders = orders_of("themis-scf", "all_reduce", Fraction(4), 4, EXAMPLE)
    assert [order.scatter for order in orders] == [(0, 1), (1, 0), (0, 1), (0, 1)]
    assert all(order.gather == order.scatter[::-1] for order in orders)


def test_the_published_means(study: ThemisResults) -> None:
    setting = "64 chunks"
    for policy, published, within in (
        ("baseline", 56.31, 1.5),
        ("themis-fifo", 87.67, 3.0),
        ("themis-scf", 95.14, 4.0),
    ):
        assert ours(study, f"mean utilisation, %, {policy}", setting) == pytest.approx(published, abs=within)
    for policy, published, within in (("themis-fifo", 1.58, 0.06), ("themis-scf", 1.72, 0.1)):
        assert ours(study, f"mean speed-up, {policy}", setting) == pytest.approx(published, abs=within)
    assert ours(study, "greatest speed-up, themis-scf", setting) == pytest.approx(2.70, abs=0.1)
    for model, published in (("ResNet-50", 1.96), ("GNMT", 1.81)):
        claim = "greatest speed-up of a step, themis-scf"
        assert ours(study, claim, f"{model}, work x 0.26; {FIRST}") == pytest.approx(published, abs=0.03)


def test_a_row_is_judged_by_its_tolerance(study: ThemisResults) -> None:
    for row in study.rows:
        judged = row.published is not None and row.tolerance is not None
        assert (row.reproduced is None) == (not judged)
        if row.published is not None and row.tolerance is not None:
            assert row.reproduced == (abs(row.ours - row.published) <= row.tolerance)
        if "not those of the published" in row.note:
            assert FIRST in row.setting
            assert row.reproduced is None


def test_serial_latency_is_not_what_is_published() -> None:
    serial = run_study("serial")
    assert [round(ours(serial, f"mean utilisation, %, {one}", "64 chunks")) for one in POLICIES] == [53, 62, 71]


@pytest.mark.parametrize(("ratio", "use"), [(4, 0.985), (8, 0.551)])
def test_where_the_baseline_keeps_all_levels_busy_there_is_nothing_to_gain(ratio: int, use: float) -> None:
    """The inner level needs as many times the rate as it has devices; with more of it no order helps."""
    levels = (LinkLevel(4, Fraction(1, ratio)), LinkLevel(4, Fraction(1)))
    found = {policy: scheduled(ChunkedCollective("all_reduce", Fraction(1), 64, levels), policy) for policy in POLICIES}
    base = float(found["baseline"].utilisation)
    if ratio == 4:
        assert base == pytest.approx(use, abs=0.001)
        assert all(float(one.utilisation) == pytest.approx(base, rel=0.005) for one in found.values())
    else:
        assert base == pytest.approx(use, abs=0.005)


def test_one_chunk_uses_less_than_half_of_a_network() -> None:
    found = [
        float(scheduled(ChunkedCollective("all_reduce", Fraction(size), 1, levels_of(network)), "baseline").utilisation)
        for network in TOPOLOGIES.values()
        for size in SIZES
    ]
    assert sum(found) / len(found) == pytest.approx(0.44, abs=0.005)


def test_networks_are_those_of_the_paper() -> None:
    assert all(network.devices == 1024 for network in (*TOPOLOGIES.values(), TODAY))
    for name, network in TOPOLOGIES.items():
        letters = {"SW": "switch", "Ring": "ring", "FC": "fc"}
        inside_out = [letters[part] for part in name.split("-")[1].split("_") if part in letters]
        assert [level.kind for level in reversed(network.levels)] == inside_out
    one = levels_of(TOPOLOGIES["4D-Ring_SW_SW_SW"])
    assert [level.size for level in one] == [4, 4, 8, 8]
    assert [float(1 / level.byte_s) * 8e-9 for level in one] == pytest.approx([2000, 1600, 800, 400])
    assert [float(level.delay_s) * 1e9 for level in one] == pytest.approx([3 * 20, 2 * 700, 3 * 700, 3 * 1700])


def test_json_and_csv_have_all_rows(study: ThemisResults) -> None:
    found = json.loads(to_json(study))
    assert (found["schema"], found["study"], found["preset"]) == ("npuc.study/1", "themis", "overlap")
    rows = list(csv.DictReader(io.StringIO(to_csv(study))))
    assert [row["claim"] for row in rows] == [row["claim"] for row in found["rows"]]
    assert len(found["topologies"]) == 6 * 3
    assert all(one["gap"] >= 0 for one in found["topologies"])
