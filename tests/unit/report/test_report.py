"""Reports: totals are sums of rows, JSON and CSV hold what the contract names, the table says it to people."""

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from npuc.compiler import report as package
from npuc.compiler.core.errors import InternalError
from npuc.compiler.report import (
    Comparison,
    LayerCertificate,
    OpRow,
    Partition,
    Report,
    ScheduleRow,
    TensorBytes,
    make_report,
    report_from_json,
    to_csv,
    total,
)
from npuc.compiler.report.layers import by_layer, folded
from npuc.compiler.report.report import report_schema
from npuc.compiler.report.text.summary.verdict import verdict
from npuc.compiler.report.text.table import Rows, print_report

CONTRACT_REPORT = "schema npuc source network backend hardware pipeline defines warnings totals ops parallel".split()
CONTRACT_TOTALS = (
    "cycles seconds macs vector_ops dram_read_bytes dram_write_bytes energy_j utilization lower_bound_seconds "
    "lower_bound_bytes seconds_by_phase seconds_by_kind"
).split()
CONTRACT_ROW = (
    "index name op loc phase kind repeat batch m n k macs vector_ops cycles compute_cycles stall_cycles seconds "
    "utilization dram_read_bytes dram_write_bytes spm_bytes energy_j limit lower_bound_bytes schedule tensors native"
).split()


def row(index: int = 0, **fields: Any) -> OpRow:
    """A row with what a test is about."""
    whole: dict[str, Any] = {"index": index, "name": f"layer{index}", "op": "npu.contract", **fields}
    return OpRow(**whole)


def report_of(*rows: OpRow) -> Report:
    """A report of rows on a machine without properties."""
    return make_report("cycle", {"name": "machine"}, rows, network="net")


rows_strategy = st.lists(
    st.builds(
        OpRow,
        index=st.integers(0, 99),
        name=st.text(st.characters(exclude_categories=["C"]), max_size=5),
        op=st.just("npu.contract"),
        phase=st.sampled_from(["forward", "dx", "dw", "dxdw", "update", "comm"]),
        kind=st.sampled_from(["matrix", "vector", "data", "comm"]),
        repeat=st.integers(1, 5),
        macs=st.none() | st.integers(0, 10**12),
        seconds=st.none() | st.floats(0, 1e3),
        cycles=st.none() | st.integers(0, 10**12),
        utilization=st.none() | st.floats(0, 1),
        dram_read_bytes=st.none() | st.integers(0, 10**15),
        energy_j=st.none() | st.floats(0, 1e3),
    ),
    max_size=6,
)


@given(rows_strategy)
def test_totals_are_sums_of_repeat_times_row(rows: list[OpRow]) -> None:
    totals = total(rows)
    for field in ("macs", "cycles", "dram_read_bytes", "seconds", "energy_j"):
        values = [getattr(r, field) for r in rows]
        expected = math.fsum(r.repeat * v for r, v in zip(rows, values, strict=True) if v is not None)
        if rows and all(v is None for v in values):
            assert totals[field] is None
        else:
            assert totals[field] == pytest.approx(expected)
    if totals.seconds is not None:
        for parts in (totals.seconds_by_phase, totals.seconds_by_kind):
            assert math.fsum(v for v in parts.values() if v is not None) == pytest.approx(totals.seconds)
    else:
        assert set(totals.seconds_by_phase.values()) == {None}


@given(rows_strategy)
def test_json_round_trips_and_csv_has_a_line_a_row(rows: list[OpRow]) -> None:
    report = report_of(*rows)
    assert report_from_json(report.to_json()) == report
    assert len(list(csv.reader(io.StringIO(report.to_csv())))) == len(rows) + 1


def test_integers_stay_exact() -> None:
    big = 10**18 + 1
    totals = total([row(macs=big, repeat=3)])
    assert totals.macs == 3 * big
    assert isinstance(totals["macs"], int)


def test_utilization_is_a_ratio_of_sums() -> None:
    matrix = row(macs=10, seconds=1.0, utilization=0.8)
    vector = row(1, kind="vector", macs=0, seconds=3.0)
    assert total([matrix, vector]).utilization == pytest.approx(0.2)
    assert total([row(macs=10, seconds=1.0)]).utilization is None


def test_unknown_total_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        total([])["cycle"]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_are_a_defect(value: float) -> None:
    with pytest.raises(InternalError, match="seconds"):
        report_of(row(seconds=value))
    with pytest.raises(InternalError, match="reuse"):
        report_of(row(native={"reuse": value}))


def full_report() -> Report:
    """A report with every part."""
    schedule = ScheduleRow(
        order=["m", "k", "n"], tile={"m": 4, "n": 2, "k": 8}, keep={"dY": 2}, partition=Partition("m", 4, "time")
    )
    return report_of(
        row(seconds=0.1, macs=6, schedule=schedule, tensors={"dY": TensorBytes(1, 2)}, native={"total_cycles": 3}),
        row(1, kind="vector", seconds=0.2, tensors={"X": TensorBytes(3, 4)}),
    )


def test_json_has_the_keys_of_the_contract() -> None:
    data = json.loads(full_report().to_json())
    assert data["schema"] == "npuc.report/1"
    assert set(CONTRACT_REPORT) <= set(data)
    assert set(CONTRACT_TOTALS) <= set(data["totals"])
    assert set(CONTRACT_ROW) <= set(data["ops"][0])
    assert set(data["totals"]["seconds_by_phase"]) == {"forward", "dx", "dw", "dxdw", "update", "comm"}
    assert set(data["totals"]["seconds_by_kind"]) == {"matrix", "vector", "data", "comm"}
    assert data["ops"][0]["schedule"] == {
        "program": "sequential",
        "order": ["m", "k", "n"],
        "tile": {"m": 4, "n": 2, "k": 8},
        "keep": {"dY": 2},
        "partition": {"dim": "m", "parts": 4, "over": "time"},
    }
    assert data["ops"][0]["energy_j"] is None
    assert data["parallel"] is None


def test_floats_are_written_as_repr_does() -> None:
    text = report_of(row(seconds=1e16), row(1, seconds=0.1 + 0.2)).to_json()
    assert '"seconds": 1e+16' in text
    assert '"seconds": 0.30000000000000004' in text


def test_comparison_holds_the_reports() -> None:
    report = full_report()
    data = json.loads(Comparison(reports=[report, report]).to_json())
    assert data == {"schema": "npuc.comparison/1", "reports": [json.loads(report.to_json())] * 2}


def test_csv_dots_nested_keys_and_leaves_none_empty() -> None:
    first, second = csv.DictReader(io.StringIO(full_report().to_csv()))
    assert first["tensors.dY.read_bytes"] == "1"
    assert second["tensors.dY.read_bytes"] == ""
    assert first["schedule.order"] == "m,k,n"
    assert first["schedule.partition.dim"] == "m"
    assert first["native.total_cycles"] == "3"
    assert first["energy_j"] == ""
    assert list(first)[:5] == ["index", "name", "op", "loc", "phase"]


def test_csv_of_several_reports_names_the_backend() -> None:
    lines = list(csv.DictReader(io.StringIO(to_csv([full_report(), full_report()]))))
    assert [line["backend"] for line in lines] == ["cycle"] * 4


def test_shipped_schema_is_current() -> None:
    file = Path(package.__file__).parent / "report_schema.json"
    assert json.loads(file.read_text(encoding="utf-8")) == json.loads(json.dumps(report_schema()))


def layers(count: int, depth: int = 3) -> list[OpRow]:
    """Rows of layers in blocks of ten, or without blocks."""
    name = "s{a}.{b}.c{c}" if depth == 3 else "c{a}_{b}_{c}"
    return [
        row(i, name=name.format(a=i // 50, b=i // 10 % 5, c=i % 10), seconds=1e-3 * (i % 7 + 1), macs=i)
        for i in range(count)
    ]


def test_updates_belong_to_their_layer() -> None:
    lines = by_layer([row(name="fc1", seconds=1.0), row(1, name="fc1.weight", phase="update", seconds=2.0)])
    assert [(line.name, line.seconds) for line in lines] == [("fc1", 3.0)]


@pytest.mark.parametrize(("count", "depth"), [(10, 3), (200, 3), (2000, 3), (9000, 3), (200, 1)])
def test_folding_keeps_the_sums(count: int, depth: int) -> None:
    lines = by_layer(layers(count, depth))
    short = folded(lines)
    assert len(short) <= 40
    assert sum(line.layers for line in short) == len(lines)
    assert math.fsum(line.seconds or 0 for line in short) == pytest.approx(
        math.fsum(line.seconds or 0 for line in lines)
    )
    assert sum(line.macs for line in short) == sum(line.macs for line in lines)


def printed(report: Report, width: int, *, rows: Rows = "folded") -> str:
    """The table as text."""
    out = io.StringIO()
    print_report(report, Console(file=out, width=width, highlight=False), rows=rows)
    return out.getvalue()


def test_table_fits_a_terminal_of_100_columns() -> None:
    rows = [
        row(
            i,
            name=f"stage{i}.conv",
            phase=phase,
            seconds=0.123,
            macs=10**12,
            limit="dram",
            utilization=0.5,
            dram_read_bytes=10**9,
        )
        for i in range(4)
        for phase in ("forward", "dx", "dw", "update")
    ]
    table = printed(report_of(*rows), 100).partition("phases ")[0]
    assert max(len(line) for line in table.splitlines()) <= 100
    for heading in ("layer", "forward", "dX", "dW", "update", "time", "MACs", "limit", "DRAM", "util"):
        assert heading in table


@pytest.mark.parametrize("width", [80, 100, 140])
def test_no_number_is_cut_at_any_width(width: int) -> None:
    rows = [
        row(
            i,
            name="stage1.conv.with.a.long.name",
            phase=phase,
            seconds=0.123456,
            macs=10**11,
            utilization=0.5,
            limit="compute",
            dram_read_bytes=10**9,
        )
        for i, phase in enumerate(("forward", "dx", "dw", "update"))
    ]
    table = printed(report_of(*rows), width).partition("phases ")[0]
    (line,) = [line for line in table.splitlines() if line.lstrip().startswith("stage1")]
    assert len(line) <= width
    name, *numbers = line.split()
    assert name.rstrip("…") in "stage1.conv.with.a.long.name"
    assert "…" not in "".join(numbers)
    assert line.split()[-1] == "50.0"


def test_piped_table_cuts_nothing() -> None:
    name = "a" * 300
    assert name in printed(report_of(row(name=name, seconds=1.0)), 10_000)


def certificate(layer: str, bound: int, reached: int) -> LayerCertificate:
    return LayerCertificate(
        layer=layer,
        compulsory_bytes=bound,
        capacity_bound_bytes=0,
        bound_bytes=bound,
        reached_bytes=reached,
        gap_bytes=reached - bound,
        gap=None,
        optimal=reached == bound,
        products=[],
    )


def certified(*certificates: LayerCertificate) -> Report:
    rows = [
        row(i, name=one.layer, seconds=0.1, macs=1, utilization=0.5, dram_read_bytes=one.reached_bytes)
        for i, one in enumerate(certificates)
    ]
    return make_report("cycle", {"name": "machine"}, rows, network="net", certificates=certificates)


def test_table_shows_how_far_layers_are_from_their_bounds() -> None:
    report = certified(certificate("a.x", 1000, 1000), certificate("a.y", 1000, 1041), certificate("b", 9999, 10000))
    text = printed(report, 120)
    gaps = {words[0]: words[-2] for line in text.splitlines() if len(words := line.split()) > 4}
    assert (gaps["a.x"], gaps["a.y"], gaps["b"], gaps["total"]) == ("optimal", "4.1", "<0.1", "0.4")
    reached = "optimal 1 of 3 layers with contractions reach the proved lower bound of their own traffic;"
    assert f"{reached} all together are 0.4% above it" in " ".join(text.split())
    whole = printed(certified(certificate("a", 5, 5)), 120)
    assert "1 of 1 layers with contractions reach the proved lower bound of their own traffic verdict" in " ".join(
        whole.split()
    )
    narrow = printed(certified(certificate("a" * 40, 5, 5)), 50)
    assert " gap " not in narrow.partition("no room")[0]
    assert "gap %" in narrow
    assert " gap " not in printed(report_of(row(seconds=0.1)), 120)


def test_names_with_markup_are_shown_as_they_are() -> None:
    assert "a[red]b[/red]" in printed(report_of(row(name="a[red]b[/red]", seconds=1.0)), 100)


def test_rows_all_shows_every_layer() -> None:
    report = report_of(*layers(200))
    assert "s3.4.c9" not in printed(report, 100)
    assert "s3.4.c9" in printed(report, 100, rows="all")


def test_verdict_names_time_limit_share_and_advice() -> None:
    text = verdict(
        report_of(
            row(seconds=2e-3, limit="dram", dram_read_bytes=100, lower_bound_bytes=10, utilization=0.1, macs=1),
            row(
                1,
                phase="dx",
                seconds=1e-3,
                limit="dram",
                dram_read_bytes=100,
                tensors={"dY": TensorBytes(50, 0)},
                macs=1,
                utilization=0.1,
            ),
        )
    )
    assert "One training step takes 3 ms" in text
    assert "DRAM bandwidth limits 100% of it" in text
    assert "dY is 25% of the DRAM traffic" in text
    assert "memory.spm_kib" in text


def test_verdict_of_little() -> None:
    assert "no operations" in verdict(report_of())
    assert "does not model time" in verdict(report_of(row(macs=3)))
