"""The timeline of a report: the trace-event format, tracks without overlaps, sums that are the report's totals."""

import json
import math
from collections import defaultdict
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from npuc.compiler import compile_file, compile_source
from npuc.compiler.core.errors import UsageError
from npuc.compiler.report import HardwareDict, OpRow, Report, make_report

TRACKS = ["array", "vector unit", "DRAM in", "DRAM out"]
TABLE = "layer,M,N,K,count,has_dX\na,300,200,100,12,1\nb,64,64,64,1,0\n"


def events_of(report: Report) -> list[dict[str, Any]]:
    """The events of the report's timeline, each of the form that the trace-event format prescribes."""
    document = json.loads(report.to_trace())
    assert set(document) == {"displayTimeUnit", "otherData", "traceEvents"}
    assert document["displayTimeUnit"] in ("ms", "ns")
    for event in document["traceEvents"]:
        assert {type(event[key]) for key in ("ph", "name")} == {str}
        assert {type(event[key]) for key in ("pid", "tid")} == {int}
        assert event["ph"] in "MX"
        assert isinstance(event["args"], dict)
        for key in ("ts", "dur") if event["ph"] == "X" else ("ts",):
            assert isinstance(event[key], int | float)
            assert event[key] >= 0
        if event["ph"] == "X":
            assert isinstance(event["cat"], str)
        else:
            (key,) = event["args"]
            assert (event["name"], key) in (
                ("process_name", "name"),
                ("thread_name", "name"),
                ("thread_sort_index", "sort_index"),
            )
    return document["traceEvents"]


def nanoseconds(micros: float) -> int:
    """A time as Perfetto reads it: rounded to nanoseconds, whatever else it is given; asserts that nothing is lost."""
    result = math.floor(micros * 1000.0 + 0.5)
    assert result / 1000 == micros
    return result


def tracks_of(report: Report, expected: list[str] | None = None) -> dict[str, list[dict[str, Any]]]:
    """The slices of every track by its name; asserts that none begins before the one before it ends."""
    events = events_of(report)
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert list(names.values()) == (expected or TRACKS)
    tracks: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            track = tracks[names[event["tid"]]]
            if track:
                end = nanoseconds(track[-1]["ts"]) + nanoseconds(track[-1]["dur"])
                assert nanoseconds(event["ts"]) >= end, f"Perfetto drops {event}"
            track.append(event)
    return tracks


def busy(slices: list[dict[str, Any]]) -> float:
    """Microseconds in which a track works."""
    return math.fsum(s["dur"] for s in slices)


def assert_sums(report: Report) -> None:
    """The tracks work as long as the report says, and the last slice ends with the step."""
    clock = report.hardware["clock_mhz"]
    assert isinstance(clock, int | float)
    tracks = tracks_of(report)

    def micros(*kinds: str) -> float:
        return sum(r.repeat * (r.compute_cycles or 0) for r in report.ops if r.kind in kinds) / clock

    transfers = 0
    for r in report.ops:
        cycles = r.native["transfer_cycles"]
        assert isinstance(cycles, int)
        transfers += r.repeat * cycles
    rounded = 1e-3 * max(map(len, tracks.values()))  # a nanosecond a slice
    assert busy(tracks["array"]) == pytest.approx(micros("matrix", "data"), abs=rounded)
    assert busy(tracks["vector unit"]) == pytest.approx(micros("vector"), abs=rounded)
    assert busy(tracks["DRAM in"]) + busy(tracks["DRAM out"]) == pytest.approx(transfers / clock, abs=2 * rounded)
    end = max(s["ts"] + s["dur"] for track in tracks.values() for s in track)
    assert report.totals.seconds is not None
    assert end == pytest.approx(1e6 * report.totals.seconds, abs=1e-3)


@pytest.mark.parametrize("double_buffer", [True, False])
@pytest.mark.parametrize("source", ["samples:mlp", "samples:lenet", "samples:gpt2"])
def test_tracks_are_the_totals_of_the_report(source: str, *, double_buffer: bool) -> None:
    defines = {"batch": 1} if source == "samples:gpt2" else {}
    overrides = {"memory.double_buffer": double_buffer}
    assert_sums(compile_file(source, defines=defines, overrides=overrides, inference=source == "samples:gpt2"))


def test_each_core_has_a_track_of_its_array() -> None:
    """Every array works as long as the report says of it; vector unit and channel stay one track each."""
    report = compile_file("samples:lenet", overrides={"array.cores": 3, "dram.gb_per_s": 1000})
    arrays = [f"array of core {core}" for core in range(3)]
    tracks = tracks_of(report, [*arrays, *TRACKS[1:]])
    work = [0.0, 0.0, 0.0]
    for row in report.ops:
        cycles = row.native.get("core_compute_cycles")
        for core, own in enumerate(cycles if isinstance(cycles, list) else []):
            assert isinstance(own, int)
            work[core] += row.repeat * own / 1050
    assert all(work)
    for name, expected in zip(arrays, work, strict=True):
        assert busy(tracks[name]) == pytest.approx(expected, abs=1e-3 * len(tracks[name]))


@pytest.mark.parametrize(
    "changed",
    [{}, {"array.dataflow": "ws"}, {"array.dataflow": "in-place"}, {"array.cores": 3}, {"array.fill": "per-fold"}],
    ids=str,
)
def test_slices_say_what_waits_for_the_edge(changed: dict[str, object]) -> None:
    """Of a core's slices they add up to the waits of its array, those of the busiest core to the report's."""
    knows = changed.get("array.fill") != "per-fold"
    report = compile_file("samples:lenet", overrides={"array.rows": 32, "dram.gb_per_s": 1000, **changed})
    waits: dict[str, int] = defaultdict(int)
    cores = [f"array of core {core}" for core in range(3)] if "array.cores" in changed else ["array"]
    for track, slices in tracks_of(report, [*cores, *TRACKS[1:]]).items():
        for one in slices:
            matrix = one["cat"] == "matrix"
            assert ("edge_cycles" in one["args"]) == (matrix and knows)
            if track.startswith("array") and matrix and knows:
                wait = one["args"]["edge_cycles"]
                waits[track] += one["args"]["repeat"] * wait
                assert 0 <= one["args"]["repeat"] * wait / 1050 <= one["dur"] + 1e-3
    totals: dict[str, int] = defaultdict(int)
    for row in report.ops:
        each = row.native.get("core_edge_cycles", [row.native.get("edge_cycles", 0)])
        assert isinstance(each, list)
        for name, own in zip(cores, each, strict=False):
            assert isinstance(own, int)
            totals[name] += row.repeat * own
        if len(cores) > 1 and each != [0]:
            works = row.native["core_compute_cycles"]
            assert isinstance(works, list)
            busiest = max(work for work in works if isinstance(work, int))
            assert row.native["edge_cycles"] == each[works.index(busiest)]
    assert {name: cycles for name, cycles in totals.items() if knows} == waits
    assert any(waits.values()) == knows


def test_repetitions_are_one_slice_of_all_runs() -> None:
    report = compile_source(TABLE, "csv", "t.csv", opt_level=0)
    assert_sums(report)
    array = tracks_of(report)["array"]
    assert [s["name"] for s in array] == ["a forward", "a dx", "a dw", "b forward", "b dw"]
    assert [s["args"]["repeat"] for s in array] == [12, 12, 12, 1, 1]
    row = report.ops[0]
    clock = 1050.0
    assert array[0]["dur"] == pytest.approx(12 * (row.compute_cycles or 0) / clock, abs=1e-3)
    assert array[0]["args"]["cycles"] == row.cycles


def test_an_operation_by_hand() -> None:
    """
    100 cycles at 2 MHz twice: 40 of compute, 50 of transfer, a fifth of that for writes; half of the reads come
    first.
    """
    hardware: HardwareDict = {"name": "m", "clock_mhz": 2.0}
    native: dict[str, Any] = {"transfer_cycles": 50, "first_load_bytes": 200}
    row = OpRow(
        index=0,
        name="fc",
        op="npu.contract",
        loc="n.dsl:3:4",
        phase="dw",
        repeat=2,
        cycles=100,
        compute_cycles=40,
        stall_cycles=60,
        seconds=50e-6,
        utilization=0.25,
        dram_read_bytes=400,
        dram_write_bytes=100,
        limit="latency",
        native=native,
    )
    later = OpRow(index=1, name="relu", op="npu.vector", kind="vector", cycles=8, compute_cycles=6, seconds=4e-6)
    tracks = tracks_of(make_report("cycle", hardware, [row, later], network="net"))
    places = {name: [(s["ts"], s["dur"]) for s in slices] for name, slices in tracks.items()}
    assert places == {
        "array": [(20.0, 40.0)],
        "DRAM in": [(0.0, 40.0)],
        "DRAM out": [(90.0, 10.0)],
        "vector unit": [(100.0, 3.0)],
    }
    assert tracks["array"][0]["args"] == {
        "phase": "dw",
        "layer": "fc",
        "op": "npu.contract",
        "repeat": 2,
        "cycles": 100,
        "stall_cycles": 60,
        "read_bytes": 400,
        "write_bytes": 100,
        "limit": "latency",
        "utilization": 0.25,
        "source": "n.dsl:3:4",
    }


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(st.integers(1, 10**9), st.integers(0, 10**9), st.integers(0, 10**9), st.integers(1, 40)), max_size=20
    ),
    st.floats(1.0, 5000.0),
)
@example([(815, 0, 0, 1), (1567, 0, 0, 24), (10662, 30868517, 11312479, 29)], 137.4296875)
def test_slices_never_overlap(sizes: list[tuple[int, int, int, int]], clock: float) -> None:
    rows = [
        OpRow(
            index=number,
            name="fc",
            op="npu.contract",
            repeat=repeat,
            cycles=cycles,
            compute_cycles=work % (cycles + 1),
            dram_read_bytes=read,
            dram_write_bytes=work,
            native={"transfer_cycles": read % (cycles + 1), "first_load_bytes": read // 3},
        )
        for number, (cycles, work, read, repeat) in enumerate(sizes)
    ]
    report = make_report("cycle", {"name": "m", "clock_mhz": clock}, rows)
    end = sum(r.repeat * (r.cycles or 0) for r in rows) / clock
    for track in tracks_of(report).values():
        assert track[-1]["ts"] + track[-1]["dur"] <= end + 1e-3


def test_same_report_same_bytes() -> None:
    assert compile_file("samples:mlp").to_trace() == compile_file("samples:mlp").to_trace()


def test_models_without_a_channel_have_no_slices_of_it() -> None:
    overrides = {"clock_mhz": 1e3, "cycle.compat": "scalesim3"}
    report = compile_source(TABLE, "csv", "t.csv", hardware="scalesim", overrides=overrides)
    assert set(tracks_of(report)) == {"array"}


def test_an_empty_program_has_tracks_only() -> None:
    assert tracks_of(make_report("cycle", {"name": "m", "clock_mhz": 1.0}, [])) == {}


def test_reports_without_times_have_no_timeline() -> None:
    row = OpRow(index=0, name="fc", op="npu.contract")
    with pytest.raises(UsageError, match="does not model cycles"):
        make_report("other", {"name": "m", "clock_mhz": 1.0}, [row]).to_trace()
    with pytest.raises(UsageError, match="needs the clock"):
        make_report("cycle", {"name": "m"}, [row]).to_trace()


LEVELS = [f"network level {level} (pair of 2)" for level in range(1, 5)]


@pytest.mark.parametrize("cores", [1, 3])
def test_levels_of_the_network_have_tracks_without_gaps(cores: int) -> None:
    """The step ends where the report does; whoever neither works nor exchanges data says what it waits for."""
    overrides = {"array.cores": cores}
    report = compile_file("samples:lenet", overrides=overrides, hardware="hypar16", devices=4, parallel="hypar")
    arrays = ["array"] if cores == 1 else [f"array of core {core}" for core in range(cores)]
    tracks = tracks_of(report, [*arrays, *TRACKS[1:], *LEVELS])
    assert report.totals.seconds is not None
    end = max(s["ts"] + s["dur"] for track in tracks.values() for s in track)
    assert end == pytest.approx(1e6 * report.totals.seconds, abs=2e-3)
    exchanges = [row for row in report.ops if row.phase == "comm"]
    assert exchanges
    seconds = 1e6 * math.fsum(row.seconds or 0.0 for row in exchanges)
    for name in (*arrays, *TRACKS[1:]):
        waits = [s for s in tracks[name] if s["cat"] == "wait"]
        assert busy(waits) == pytest.approx(seconds, abs=2e-3 * len(waits))
        assert all(s["name"].startswith("waits for all_") for s in waits)
    shown = [s for name in LEVELS for s in tracks[name] if s["cat"] == "comm"]
    assert busy(shown) == pytest.approx(seconds, abs=2e-3 * len(shown))
    for name in LEVELS:
        reached = 0
        for s in tracks[name]:
            assert nanoseconds(s["ts"]) == reached
            reached += nanoseconds(s["dur"])
        assert {s["cat"] for s in tracks[name]} <= {"comm", "wait"}
    assert tracks[LEVELS[3]]
    assert not tracks[LEVELS[0]], "four devices are on the two innermost levels"


def test_an_exchange_follows_the_work_that_made_its_operand() -> None:
    """Beside one device, exchanges of weights' gradients come after the product that makes the gradient."""
    report = compile_file("samples:lenet", hardware="hypar16", devices=2, parallel="dp")
    rows = {row.index: row for row in report.ops}
    for row in report.ops:
        if row.native.get("of") == "dw":
            after = row.native["after"]
            assert isinstance(after, int)
            assert rows[after].name == row.name
            assert rows[after].phase in ("dw", "dxdw")


def times_of(slices: list[Any]) -> list[tuple[float, float, str]]:
    return [(s["ts"], s["dur"], s["name"]) for s in slices]


def test_exchanges_by_hand() -> None:
    """Work of 2 and 3 us at 1 MHz; between them an exchange of 4 us on level 2, then 1 us on level 1."""
    hardware: HardwareDict = {
        "clock_mhz": 1.0,
        "network": {"levels": [{"kind": "ring", "size": 4}, {"kind": "pair", "size": 2}]},
    }
    native: dict[str, Any] = {
        "of": "dw",
        "operand_bytes": 8,
        "sent_bytes": 8.0,
        "levels": "H1",
        "after": 0,
        "stage_levels": [1, 0],
        "stage_seconds": [4e-6, 1e-6],
    }
    rows = [
        OpRow(index=0, name="a", op="npu.contract", phase="dw", cycles=2, compute_cycles=2, seconds=2e-6),
        OpRow(index=1, name="b", op="npu.vector", phase="update", kind="vector", cycles=3, seconds=3e-6),
        OpRow(index=2, name="a", op="dist.all_reduce", phase="comm", kind="comm", seconds=5e-6, native=native),
    ]
    names = [*TRACKS, "network level 1 (ring of 4)", "network level 2 (pair of 2)"]
    tracks = tracks_of(make_report("cycle", hardware, rows), names)
    found = {name: times_of(slices) for name, slices in tracks.items()}
    waits = (2.0, 5.0, "waits for all_reduce of a")
    assert found == {
        "array": [(0.0, 2.0, "a dw"), waits],
        "vector unit": [waits, (7.0, 3.0, "b update")],
        "DRAM in": [waits],
        "DRAM out": [waits],
        "network level 1 (ring of 4)": [
            (0.0, 2.0, "waits for a dw"),
            (2.0, 4.0, "waits for all_reduce on other levels"),
            (6.0, 1.0, "a all_reduce"),
        ],
        "network level 2 (pair of 2)": [(0.0, 2.0, "waits for a dw"), (2.0, 4.0, "a all_reduce")],
    }
    exchange = {"phase": "comm", "layer": "a", "op": "dist.all_reduce", "of": "dw", "levels": "H1"}
    sizes = {"operand_bytes": 8, "sent_bytes": 8.0, "seconds": 5e-6}
    assert tracks["network level 2 (pair of 2)"][-1]["args"] == exchange | sizes


def test_an_exchange_in_chunks_by_hand() -> None:
    """Two exchanges of two chunks, 4 us each: level 2 works twice, level 1 beside it and once more after a pause."""
    hardware: HardwareDict = {
        "clock_mhz": 1.0,
        "network": {"levels": [{"kind": "ring", "size": 4}, {"kind": "pair", "size": 2}]},
    }
    native: dict[str, Any] = {
        **{"of": "dw", "operand_bytes": 8, "sent_bytes": 8.0, "levels": "H1", "after": 0},
        **{"chunks": 2, "bound_seconds": 3e-6},
        "stage_levels": [1, 0, 0],
        "stage_seconds": [2e-6, 1e-6, 0.5e-6],
        "stage_begins": [0.0, 1e-6, 3e-6],
    }
    comm: dict[str, Any] = {"op": "dist.all_reduce", "phase": "comm", "kind": "comm", "seconds": 4e-6}
    rows = [
        OpRow(index=0, name="a", op="npu.contract", phase="dw", cycles=2, compute_cycles=2, seconds=2e-6),
        OpRow(index=1, name="a", native=native, repeat=2, **comm),
    ]
    names = [*TRACKS, "network level 1 (ring of 4)", "network level 2 (pair of 2)"]
    tracks = tracks_of(make_report("cycle", hardware, rows), names)
    assert times_of(tracks["network level 1 (ring of 4)"]) == [
        (0.0, 2.0, "waits for a dw"),
        (2.0, 2.0, "waits for all_reduce on other levels"),
        (4.0, 2.0, "a all_reduce"),
        (6.0, 2.0, "waits for all_reduce on other levels"),
        (8.0, 1.0, "a all_reduce"),
    ]
    assert times_of(tracks["network level 2 (pair of 2)"]) == [(0.0, 2.0, "waits for a dw"), (2.0, 4.0, "a all_reduce")]
    assert tracks["network level 2 (pair of 2)"][-1]["args"]["chunks"] == 2
    assert times_of(tracks["array"]) == [(0.0, 2.0, "a dw"), (2.0, 8.0, "waits for all_reduce of a")]
