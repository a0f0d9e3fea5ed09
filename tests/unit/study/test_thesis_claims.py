"""The roofline study: its claims against the reference data, rows, conventions, what is wrong usage."""

import csv
import json
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from npuc.compiler.core.errors import UsageError
from npuc.studies.thesis.claims import MEASURES, ClaimRow, reproduced
from npuc.studies.thesis.networks import STUDIED
from npuc.studies.thesis.scores import Point
from npuc.studies.thesis.settings import CAPACITIES, Claim, claims
from npuc.studies.thesis.study import plan_study, run_study
from npuc.studies.thesis.view import claim_lines, to_csv, to_json, verdict
from tests.support.shared import thesis_at_own_sizes, thesis_results

DATA = Path(__file__).parents[2] / "oracle" / "data" / "roofline" / "published.json"
KEYS = ["id", "claim", "setting", "published", "ours", "tolerance", "reproduced", "note", "unit"]
NETWORK = """\
network net(batch=4) {
  input x: f32[batch, 16]
  labels y: i32[batch]
  loss cross_entropy(linear(relu(linear(x, 32)), 10), y)
  optimizer sgd(lr=0.1)
}
"""


def reference() -> list[dict[str, Any]]:
    return json.loads(DATA.read_text(encoding="utf-8"))["claims"]


def is_observation(name: str) -> bool:
    """Whether a claim is of a sweep: it needs the whole study."""
    return name > "P20"


CLAIMS = [
    pytest.param(claim, id=claim["id"], marks=[pytest.mark.heavy] * is_observation(claim["id"]))
    for claim in reference()
]


def row(name: str) -> ClaimRow:
    study = thesis_results() if is_observation(name) else thesis_at_own_sizes()
    (found,) = [row for row in study.rows if row.id == name]
    return found


@pytest.mark.oracle
def test_published_values_are_those_of_the_reference_data() -> None:
    for ours, theirs in zip(claims(), reference(), strict=True):
        assert (ours.id, ours.claim, ours.section, ours.published, ours.tolerance) == (
            *(theirs[key] for key in ("id", "claim", "section", "published", "tolerance_abs")),
        )


@pytest.mark.oracle
@pytest.mark.parametrize("claim", CLAIMS)
def test_a_claim_is_within_its_tolerance(claim: dict[str, Any]) -> None:
    found = row(claim["id"])
    assert found.reproduced is (None if claim["id"] == "P26" else claim["kind"] != "not_reproduced")
    assert found.published == claim["published"]
    assert found.tolerance == claim["tolerance_abs"]
    assert found.claim == f"{claim['id']} {claim['claim']}"
    if claim["kind"] == "numeric":
        assert isinstance(found.ours, float | int)
        assert abs(found.ours - claim["published"]) <= claim["tolerance_abs"]


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["P01", "P02", "P03", "P04", "P05", "P06", "P08", "P10", "P11", "P13", "P14"])
def test_a_claim_is_what_the_prototype_gave(name: str) -> None:
    """As far as it was rounded; the transformer of the prototype is not known layer by layer."""
    (claim,) = [claim for claim in reference() if claim["id"] == name]
    assert row(name).ours == pytest.approx(claim["prototype"], abs=0.05)


@pytest.mark.oracle
@pytest.mark.heavy
@pytest.mark.parametrize("name", ["P21", "P22", "P23", "P24", "P25"])
def test_an_observation_is_what_a_sweep_gave(name: str) -> None:
    """As far as it was rounded; GNMT and the Transformer of that sweep were not those of the preset."""
    (claim,) = [claim for claim in reference() if claim["id"] == name]
    seen, ours = claim["ours_seen"], row(name).ours
    assert isinstance(ours, dict)
    if name == "P25":
        assert ours["traffic reduction"] == pytest.approx(seen, abs=0.5)
        return
    for network, value in seen.items():
        assert ours[network] == pytest.approx(value, abs=0.3 if name == "P22" else 0.006)


@pytest.mark.oracle
def test_shares_above_the_ridge_are_the_prototypes() -> None:
    (claim,) = [claim for claim in reference() if claim["id"] == "P12"]
    for name, share in claim["prototype"]["share of type-I steps with rf > ridge"].items():
        assert f"{name} {share:.3f}" in row("P12").note


def test_rows_are_those_of_the_contract() -> None:
    data = json.loads(to_json(thesis_at_own_sizes()))
    assert (data["schema"], data["study"], data["preset"]) == ("npuc.study/1", "thesis", "thesis")
    assert all(list(row) == KEYS for row in data["rows"])
    assert [row["published"] for row in data["rows"]] == [claim["published"] for claim in reference()]


@pytest.mark.heavy
def test_csv_holds_what_json_holds() -> None:
    data = json.loads(to_json(thesis_results()))
    rows, gains = data["rows"], data["gains"]
    lines = [*csv.DictReader(StringIO(to_csv(thesis_results())))]
    values = [value for gain in gains for value in (gain["time_ms"], gain["traffic_mib"])]
    assert [float(line["ours"]) for line in lines[len(rows) :]] == values
    for found, row in zip(lines[: len(rows)], rows, strict=True):
        assert list(found) == KEYS
        for key, value in row.items():
            if isinstance(value, float | int) and not isinstance(value, bool):
                assert float(found[key]) == value
            elif not isinstance(value, dict):
                assert found[key] == ("" if value is None else str(value))
    assert "compute: resnet50, transformer; memory: mobilenetv2, gnmt" in to_csv(thesis_results())


def test_the_verdict_says_which_claims_are_missed_and_why() -> None:
    first, *missed = verdict(thesis_at_own_sizes().rows)
    assert first == ("verdict", "24 of 25 claims reproduced; not P14")
    line, last = missed
    assert line[0] == "P14"
    assert line[1].startswith("3.062 MB in place of 6 MB: ")
    assert last == ("P26", "is not judged: the study has a figure of it, and no value")
    cells = {row.id: next(claim_lines(row))[1::4] for row in thesis_at_own_sizes().rows}
    assert [cells[id] for id in ("P01", "P12", "P25", "P26")] == [
        ("48.1", "yes"),
        ("", "yes"),
        ("in words", "yes"),
        ("a figure", "not judged"),
    ]


@pytest.mark.parametrize(
    ("kind", "tolerance", "ours", "expected"),
    [
        ("numeric", 2.0, 12.0, True),
        ("numeric", 2.0, 12.1, False),
        ("numeric", None, 10.4, True),
        ("numeric", None, 9.4, False),
        ("upper_limit", None, 9.9, True),
        ("upper_limit", None, 10.0, False),
        ("order_of_magnitude", None, 20.0, True),
        ("order_of_magnitude", None, 40.0, False),
        ("order_of_magnitude", None, 0.0, False),
    ],
)
def test_what_counts_as_reproduced(kind: Any, tolerance: float | None, ours: float, expected: bool) -> None:
    assert reproduced(Claim("P", "", "", None, 10.0, "", tolerance, kind), ours) is expected


def test_classes_are_reproduced_where_they_are_the_same() -> None:
    claim = Claim("P", "", "", None, {"compute": ["a"], "memory": ["b"]}, "", None, "qualitative")
    assert reproduced(claim, {"compute": ["a"], "memory": ["b"]})
    assert not reproduced(claim, {"compute": ["a", "b"], "memory": []})


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("P21", {"resnet50": 0.96, "mobilenet_v2": 0.6}, True),
        ("P21", {"resnet50": 0.9, "mobilenet_v2": 0.6}, False),
        ("P21", {"resnet50": 0.96, "mobilenet_v2": 0.97}, False),
        ("P22", {"resnet50": 4.9, "transformer": 1.0}, True),
        ("P22", {"resnet50": 4.9, "transformer": 5.1}, False),
        ("P23", {"resnet50": (1.4, 1.1), "gnmt": (2.0, 1.0)}, True),
        ("P23", {"resnet50": (1.4, 1.1), "gnmt": (1.0, 1.2)}, False),
        ("P24", {"resnet50": 1.05, "mobilenet_v2": 1.4}, True),
        ("P24", {"resnet50": 1.2, "mobilenet_v2": 1.4}, False),
        ("P25", {"traffic reduction": 71.0, "captured": 96.0}, True),
        ("P25", {"traffic reduction": 71.0, "captured": 90.0}, False),
        ("P26", {"resnet50": (8, 8)}, None),
        ("P21", None, False),
        ("P26", None, None),
    ],
)
def test_when_an_observation_holds(name: str, value: Any, expected: bool | None) -> None:
    assert reproduced(Claim(name, "", "", None, None, "", None, "qualitative"), value) is expected


@pytest.mark.heavy
def test_other_conventions_give_other_numbers() -> None:
    """With `retain`, what the prototype gave with it; the key may as well be set by hand."""
    plan = plan_study("retain")
    assert plan.keys == plan_study(overrides={"roofline.oversize": "retain"}).keys
    expected = {c["id"]: c["prototype_retain"] for c in reference() if "prototype_retain" in c}
    points = tuple(point for point in plan.points if point.batch is None and not point.keys)
    ours = {row.id: row.ours for row in run_study(replace(plan, points=points)).rows}
    assert {name: ours[name] for name in expected} == pytest.approx(expected, abs=0.06)


def test_networks_may_be_those_of_their_papers() -> None:
    for preset, expected in (
        ("thesis", ["variant=prototype", "variant=thesis_fit"]),
        ("networks", ["variant=standard"] * 2),
    ):
        plan = plan_study(preset)
        assert [f"{key}={value}" for network in plan.networks for key, value in network.defines] == expected
        assert [network.keys for network in plan.networks][:2] == [(), ()]


def test_another_network_is_measured(tmp_path: Path) -> None:
    (tmp_path / "net.dsl").write_text(NETWORK)
    found = run_study(plan_study(sources=[str(tmp_path / "net.dsl"), "resnet50"], defines={"batch": 2}))
    assert [row.claim for row in found.rows] == [measure.title for measure in MEASURES] * 2
    assert all(row.published is None and row.reproduced is None for row in found.rows)
    assert "net.dsl -D batch=2 on rtx2080ti, preset thesis" in found.rows[0].setting
    # nothing leaves a cache that holds everything
    assert [row.ours for row in found.rows[:2]] == [0.0, 0.0]
    assert found.rows[4].ours == 2 * 32 * 4 / 2**20
    assert found.networks[1] != STUDIED["resnet50"]
    assert found.scores.reports[Point(found.networks[1], CAPACITIES[0])].totals.seconds is not None


def test_a_network_that_a_cache_does_not_hold_has_no_numbers(tmp_path: Path) -> None:
    (tmp_path / "wide.dsl").write_text(NETWORK.replace("batch, 16", "batch, 8000000"))
    found = run_study(plan_study(sources=[str(tmp_path / "wide.dsl")]))
    assert found.rows[0].ours is None
    assert "bytes of cache for one row of each of its tensors" in found.rows[0].note


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"overrides": {"memory.cache_mib": 8}}, "--set memory.cache_mib: the study varies this key itself"),
        ({"defines": {"batch": 8}}, "-D sets parameters of the networks of --network, and there are none"),
        ({"sources": ["-"]}, "--network -: a study reads its networks several times"),
        ({"sources": ["samples:resnet5"]}, "unknown sample 'resnet5'"),
        ({"sources": ["resnet"]}, "cannot tell the format of 'resnet'"),
    ],
)
def test_wrong_usage_is_found_before_anything_is_scored(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        plan_study(**options)
