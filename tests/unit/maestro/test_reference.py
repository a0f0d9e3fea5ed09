"""MAESTRO's own results: every row of the reference data, through the whole compiler."""

import csv
from collections import defaultdict
from pathlib import Path

import pytest

from npuc.compiler import NpucError, Report, compile_source
from npuc.compiler.core.errors import CapacityError, SourceError
from npuc.compiler.report import OpRow

pytestmark = pytest.mark.oracle

DATA = Path(__file__).parents[2] / "oracle" / "data" / "maestro"
MACHINE = ("num_pes", "noc_bw", "noc_hop_latency", "offchip_bw", "num_simd_lanes")
NO_RESULT = ("id", "origin", "mapping_file", "layer_index", "layer_name", "layer_type", "status", *MACHINE)
PARTS = 3
Row = dict[str, str]
Group = tuple[str, tuple[int, ...]]


def read_rows() -> list[Row]:
    with (DATA / "public.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


ROWS = read_rows()
RESULTS = [name for name in ROWS[0] if name not in NO_RESULT]


def groups_of(*statuses: str) -> dict[Group, list[Row]]:
    """The rows of these statuses by file and machine."""
    found: dict[Group, list[Row]] = defaultdict(list)
    for row in ROWS:
        if row["status"] in statuses:
            found[row["mapping_file"], tuple(int(row[key]) for key in MACHINE)].append(row)
    return found


def score(group: Group, rows: list[Row]) -> Report:
    """The layers of rows, and nothing else of their file."""
    file, machine = group
    hardware = {f"maestro.{key}": value for key, value in zip(MACHINE, machine, strict=True)}
    text = (DATA / file).read_text(encoding="utf-8")
    return compile_source(text, "m", file, hardware=hardware, only=[f"#{row['layer_index']}" for row in rows])


def differences(row: Row, found: OpRow) -> list[str]:
    assert set(RESULTS) <= set(found.native)
    wrong: list[str] = []
    for name in RESULTS:
        value = found.native[name]
        assert value is None or isinstance(value, int | float)
        if not row[name]:
            same = value is None
        elif "." in row[name] or "e" in row[name]:
            same = value == pytest.approx(float(row[name]), rel=1e-5)
        else:
            same = value == pytest.approx(int(row[name]), rel=1e-5 if isinstance(value, float) else 0)
        if not same:
            wrong.append(f"{row['mapping_file']} #{row['layer_index']}: {name} is {value}, expected {row[name]}")
    return wrong


@pytest.mark.parametrize("part", [0, *(pytest.param(other, marks=pytest.mark.heavy) for other in range(1, PARTS))])
def test_every_result_of_maestro_is_met(part: int) -> None:
    """Of every third file and machine."""
    wrong: list[str] = []
    count = 0
    groups = dict([*groups_of("ok").items()][part::PARTS])
    for group, rows in groups.items():
        by_layer = {int(row["layer_index"]): row for row in rows}
        rows = [by_layer[index] for index in sorted(by_layer)]
        report = score(group, rows)
        assert len(report.ops) == len(rows)
        for row, found in zip(rows, report.ops, strict=True):
            wrong += differences(row, found)
            count += 1
            assert found.cycles == found.native["runtime_cycles"]
    assert wrong == []
    assert count == sum(len({row["layer_index"] for row in rows}) for rows in groups.values())


def test_what_maestro_rejects_is_an_error_at_its_place() -> None:
    for (file, _), rows in groups_of("rejected").items():
        lines = (DATA / file).read_text(encoding="utf-8").splitlines()
        for row in rows[:4]:
            with pytest.raises(SourceError) as caught:
                score((file, _), [row])
            place = caught.value.location
            assert place is not None
            assert place.file == file
            assert "Map" in lines[place.line - 1]


def test_where_maestro_divides_by_zero_is_an_error_at_the_layer() -> None:
    statuses: set[int] = set()
    for group, rows in groups_of("crash_div_by_zero").items():
        for row in rows[:2]:
            with pytest.raises(NpucError) as caught:
                score(group, [row])
            assert isinstance(caught.value, CapacityError | SourceError)
            assert caught.value.location is not None
            statuses.add(caught.value.exit_code)
    assert statuses == {1, 3}


def test_degenerate_mappings_have_numbers_and_a_warning() -> None:
    for group, rows in groups_of("degenerate").items():
        report = score(group, rows)
        assert any("its numbers mean nothing" in warning for warning in report.warnings)
        assert all(row.native["l2_size_req"] is not None for row in report.ops)
