"""The study of congestion control: its keys, the finding on a small fabric, tables, JSON and the picture."""

import csv
import io
import json
from dataclasses import fields
from itertools import pairwise

import numpy as np
import pytest

from npuc.compiler.analysis.interconnect.fluid.engine import run_fluid
from npuc.compiler.analysis.interconnect.fluid.laws.pfc import PfcOnly
from npuc.compiler.analysis.interconnect.fluid.routes import clos_routes
from npuc.compiler.analysis.interconnect.fluid.traffic import FlowTraffic
from npuc.compiler.core.drawing.figure import check_format
from npuc.compiler.core.errors import CapacityError, UsageError
from npuc.studies.congestion.patterns import ended
from npuc.studies.congestion.plot import draw
from npuc.studies.congestion.settings import SCHEMES, SOURCES, CongestionSetup, RunSetup, setup
from npuc.studies.congestion.study import CongestionResults, difference, model_seconds, points, run_study
from npuc.studies.congestion.view import to_csv, to_json
from tests.support.pictures import kept_figures, lines_of, texts_of

SMALL: dict[str, object] = {"fabric.leaves": 4, "fabric.spines": 8, "run.bytes": 1_000_000}


@pytest.fixture(scope="module")
def study() -> CongestionResults:
    return run_study(setup("64", SMALL))


def of(study: CongestionResults, claim: str, setting: str = "") -> float:
    (found,) = (row.ours for row in study.rows if row.claim == claim and row.setting.startswith(setting))
    return found


def test_every_constant_is_a_key_with_a_source() -> None:
    chosen = setup("64", {})
    parts = {"fabric": chosen.fabric, "run": chosen.run, **{law.name: law for law in chosen.laws}}
    assert {f"{name}.{one.name}" for name, part in parts.items() for one in fields(part)} == set(SOURCES)
    assert [law.name for law in chosen.laws] == [law.name for law in SCHEMES]
    assert chosen.run == RunSetup()
    values = chosen.values()
    assert list(values) == list(SOURCES)
    for key, value in values.items():
        assert setup("64", {key: value}) == chosen  # what is shown can be set
    assert (values["dcqcn.k_max"], values["dctcp.k"], values["timely.delta"]) == (500e3, 300e3, 12.5e6)
    assert setup("1024", {}).fabric.all_hosts == 1024


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"dcqcn.gain": 1}, "--set dcqcn.gain: there is no such key"),
        ({"dcqcn.g": 2}, r"dcqcn.g: found 2, expected a number above 0 to 1"),
        ({"dcqcn.g": 0}, "dcqcn.g: found 0, expected a number above 0 to 1"),
        ({"timely.hai": -1}, "timely.hai: found -1, expected a number from 0"),
        ({"timely.patched": 2}, "timely.patched: found 2, expected 0 or 1"),
        ({"hpcc.stages": 1.5}, "hpcc.stages: found 1.5, expected a whole number"),
        ({"hpcc.eta": "x"}, "hpcc.eta: found 'x', expected a number"),
        ({"hpcc.eta": True}, "hpcc.eta: found True, expected a number"),
        ({"hpcc.eta": float("nan")}, "hpcc.eta: found nan"),
        ({"fabric.leaves": 3}, "4 leaf switches with 8 hosts each and 2 spine switches, not 3 with 8 and 8"),
        ({"fabric.leaves": 0}, "fabric.leaves: found 0"),
        ({"fabric.hosts": 9}, "power of two of hosts, not 72"),
        ({"run.step_ns": 300}, "run.step_ns: found 300, expected a divisor of fabric.delay_ns, 1000"),
        ({"run.bytes": 63}, "run.bytes: found 63, expected a byte or more for each of 64 hosts"),
        ({"fabric.buffer": 10}, "fabric.buffer: 10 bytes for a link"),
        ({"run.bytes": 10**12}, "run.bytes: 2,000,000,000,000 bytes .* take 160,000,000 steps of 1,000 ns"),
        ({"fabric.bytes_per_s": 10**6, "run.bytes": 64}, "fabric.bytes_per_s: 32,000,000 bytes over a link of 1,000,0"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, object], error: str) -> None:
    with pytest.raises(UsageError, match=error):
        setup("64", settings)


def test_the_finding(study: CongestionResults) -> None:
    aware = [row for row in study.rows if row.published == "little" and row.bound is not None]
    assert len(aware) == 5
    assert all(row.reproduced for row in study.rows if row.bound is not None)
    for one in study.collectives:
        assert one.model_us == pytest.approx(1e6 * model_seconds(study.setup.fabric, one.algorithm, 1_000_000))
        if one.routing == "destination":
            assert one.pauses == 0
            assert one.us >= one.model_us * (1 - 1e-9)
            assert one.us <= one.model_us * (1 / 0.95 if one.scheme == "hpcc" else 1 + 1e-9)
    assert of(study, "slowest over fastest scheme, %", "ring, routes by hash") < 5
    assert difference([3.0, 4.0, 3.5]) == 25


def test_a_row_is_judged_by_its_bound(study: CongestionResults) -> None:
    for row in study.rows:
        if row.bound is None:
            assert row.reproduced is None
        else:
            assert row.reproduced == (row.ours <= row.bound if row.verdict == "at most" else row.ours > row.bound)


def test_pfc_alone_has_its_drawbacks(study: CongestionResults) -> None:
    alone, *others = study.patterns
    assert alone.scheme == "pfc"
    assert len(alone.deadlock) == 4
    assert all(one.pauses < alone.pauses and not one.deadlock for one in others)
    assert alone.local == pytest.approx(5 * alone.remote, rel=0.05)
    assert alone.victim == pytest.approx(alone.remote, rel=0.05)
    assert study.patterns[-1].victim > 0.5
    assert all(one.step_error < 2 for one in study.patterns)


def test_curves_are_the_incast_over_time(study: CongestionResults) -> None:
    for one in study.patterns:
        own = [point for point in study.curves if point.scheme == one.scheme]
        assert own[-1].us == pytest.approx(one.incast_us, abs=25)
        assert max(point.queue_kb for point in own) <= one.queue_kb + 1e-9
        gaps = [after.us - before.us for before, after in pairwise(own)]
        assert gaps == pytest.approx([20.0] * len(gaps))
        sent = sum(point.total_gbit_per_s for point in own) * 20e-6 * 1e9 / 8
        assert sent == pytest.approx(16 * 2e6, rel=0.02)


def test_json_and_csv_have_all_rows(study: CongestionResults) -> None:
    found = json.loads(to_json(study))
    assert (found["schema"], found["study"], found["preset"]) == ("npuc.study/1", "congestion", "64")
    rows = list(csv.DictReader(io.StringIO(to_csv(study))))
    assert [row["claim"] for row in rows] == [row["claim"] for row in found["rows"]]
    assert len(found["collectives"]) == 5 * 3 * 2
    assert points(study.setup) == 5 * (3 * 2 + 1)
    assert {one["key"]: one["value"] for one in found["constants"]} == study.setup.values()
    assert len(found["curves"]) == len(study.curves)


def test_the_picture_has_a_curve_for_each_scheme(study: CongestionResults) -> None:
    pytest.importorskip("matplotlib")
    with kept_figures() as figures:
        data = draw(study, check_format("figure.svg"))
    queue, _, collectives, shares = figures[0].axes
    drawn = {name: list(y) for _, y, name in lines_of(queue)}
    for law in study.setup.laws:
        assert drawn[law.name] == [one.queue_kb for one in study.curves if one.scheme == law.name]
    assert [bar.get_height() for bar in shares.containers[0]] == pytest.approx(
        [100 * share for share in (study.patterns[0].victim, study.patterns[0].local, study.patterns[0].remote)]
    )
    assert len(collectives.containers) == 5
    assert "KB that wait at the receiver's port" in texts_of(data)


def test_a_run_that_does_not_end_is_an_error() -> None:
    chosen = setup("64", {})
    routes = clos_routes(chosen.fabric, np.array([0]), np.array([9]))
    traffic = FlowTraffic(routes, np.array([1e9]), np.zeros(1), 1000)
    found = run_fluid(chosen.fabric, traffic, PfcOnly(), 1000, 20_000)
    with pytest.raises(CapacityError, match="a flow has not ended after 2e-05 s of the fabric's time"):
        ended(found, "a flow")


def test_a_seed_is_another_hash() -> None:
    chosen: CongestionSetup = setup("64", {"run.seed": 3})
    assert chosen.run.seed == 3
    assert chosen != setup("64", {})
