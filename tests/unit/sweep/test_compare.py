"""Comparing, folding and drawing points."""

import io
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from npuc.compiler.cli.shared import make_console
from npuc.compiler.explore.sweep.compare import Comparison, compare
from npuc.compiler.explore.sweep.grid import Axis, Grid
from npuc.compiler.explore.sweep.point import SweepPoint
from npuc.compiler.explore.sweep.table import fold, print_sweep, summary
from npuc.compiler.report.totals import total

SPM = Axis("memory.spm_kib", "hardware", "memory.spm_kib", (64, 128, 256))
RATE = Axis("dram.gb_per_s", "hardware", "dram.gb_per_s", (75, 150))
EMPTY = total([])
BATCH = Axis("batch", "define", "batch", (8, 16))


def points_of(grid: Grid, costs: Sequence[float | None], **more: Any) -> list[SweepPoint]:
    """Points with these times; None is a point that does not fit. `more` are further totals, a list each."""
    result: list[SweepPoint] = []
    for index, seconds in enumerate(costs):
        own = {name: values[index] for name, values in more.items()}
        totals = None if seconds is None else replace(EMPTY, seconds=seconds, **own)
        result.append(SweepPoint(index, grid.values(index), totals, None if totals else "too small"))
    return result


def compared(axes: tuple[Axis, ...], costs: Sequence[float | None], objective: str = "time", **more: Any) -> Comparison:
    grid = Grid(axes)
    return compare(grid, points_of(grid, costs, **{"macs": [1] * len(costs), **more}), objective)


def test_best_near_and_effects() -> None:
    found = compared((SPM, RATE), [4.0, 2.1, 4.0, 2.05, 4.0, 2.0])
    assert (found.best, found.worst) == (5, 0)
    assert found.near() == {"memory.spm_kib": (64, 1.05)}
    assert found.effects() == {"memory.spm_kib": 2.1 / 2.0, "dram.gb_per_s": 2.0}
    assert found.ratio(0) == 2.0


def test_points_that_do_not_fit_take_no_part() -> None:
    found = compared((SPM, RATE), [None, None, 3.0, 2.5, 3.0, 2.5])
    assert (found.best, found.worst) == (3, 2)
    assert found.near() == {}
    assert found.effects() == {"memory.spm_kib": 1.0, "dram.gb_per_s": 1.2}
    empty = compared((RATE,), [None, None])
    assert (empty.best, empty.worst, empty.near(), empty.effects()) == (None, None, {}, {"dram.gb_per_s": 1.0})


def test_different_work_is_compared_by_the_mac() -> None:
    found = compared((BATCH,), [1.0, 1.5], macs=[100, 200])
    assert found.by_mac
    assert found.costs == (0.01, 0.0075)
    assert found.best == 1
    (verdict,) = (text for name, text in summary(found, "cycle") if name == "verdict")
    assert verdict == "The least time a MAC is at batch=16: 1.5 s; 1.333 times as much at batch=8."


@pytest.mark.parametrize(
    ("objective", "best"), [("time", 0), ("latency", 0), ("traffic", 1), ("energy", 1), ("edp", 0)]
)
def test_points_are_compared_by_the_objective(objective: str, best: int) -> None:
    found = compared(
        (RATE,), [1.0, 2.0], objective, energy_j=[1.0, 0.9], dram_read_bytes=[9, 1], dram_write_bytes=[0, 1]
    )
    assert found.best == best


def test_what_a_backend_does_not_model_is_said() -> None:
    found = compared((RATE,), [1.0, 2.0], "energy", energy_j=[None, None])
    assert list(summary(found, "tick")) == [("verdict", "The backend 'tick' does not model energy.")]


@pytest.mark.parametrize(
    ("costs", "verdict"),
    [
        ([1.0, 1.0, 1.0], "All points that fit have the same time, 1 s."),
        ([None, 2.0, None], "The only point that fits is memory.spm_kib=128: 2 s."),
        ([None, None, None], "No point fits."),
        (
            [2.0, 1.0, 1.0],
            "The least time is at memory.spm_kib=128: 1 s, and at 1 more; 2 times as much at memory.spm_kib=64.",
        ),
        (
            [1.04, 2.0, 1.0],
            "The least time is at memory.spm_kib=256: 1 s; 2 times as much at memory.spm_kib=128. "
            "memory.spm_kib=64 costs 4.0% more.",
        ),
    ],
)
def test_verdicts(costs: Sequence[float | None], verdict: str) -> None:
    assert dict(summary(compared((SPM,), costs), "cycle"))["verdict"] == verdict


def test_a_few_points_are_not_folded() -> None:
    assert fold(compared((SPM, RATE), [1.0] * 6)) == ([0, 1, 2, 3, 4, 5], "")


def test_last_keys_are_folded_to_their_best() -> None:
    found = compared((SPM, RATE, BATCH), [float(n) for n in (4, 3, 2, 1, 8, 7, 6, 5, 1, 2, 3, 4)])
    shown, note = fold(found, most=6)
    assert shown == [1, 3, 5, 7, 8, 10]
    assert note == "each line is the best of 2 points along batch: --rows all shows every point"
    shown, note = fold(found, most=5)
    assert shown == [3, 7, 8]
    assert note == "each line is the best of 4 points along dram.gb_per_s, batch: --rows all shows every point"


def test_of_a_long_key_some_values_are_shown() -> None:
    long = Axis("a", "define", "a", tuple(range(100)))
    shown, note = fold(compared((long,), [abs(37.0 - n) + 1 for n in range(100)]), most=10)
    assert shown == [0, 13, 26, 37, 39, 52, 65, 78, 91, 99]
    assert note == "10 of 100 values of a: --rows all shows every point"
    shown, note = fold(compared((long, RATE), [1.0] * 200), most=10)
    assert shown[0] == 0
    assert len(shown) <= 10
    assert note.endswith(
        " of 100 values of a, each the best of 2 points along dram.gb_per_s: --rows all shows every point"
    )


@given(sizes=st.lists(st.integers(1, 12), min_size=1, max_size=3), most=st.integers(4, 50), seed=st.randoms())
def test_folded_lines_are_few_and_have_the_best(sizes: list[int], most: int, seed: Any) -> None:
    grid = Grid(tuple(Axis(f"k{n}", "hardware", f"k{n}", tuple(range(size))) for n, size in enumerate(sizes)))
    costs = [seed.choice([None, 1.0, 2.0, 3.0]) for _ in range(grid.count)]
    found = compare(grid, points_of(grid, costs, macs=[1] * grid.count), "time")
    shown, note = fold(found, most)
    assert shown == sorted(set(shown))
    assert len(shown) <= most
    assert (len(shown) < grid.count) == bool(note)
    if found.best is not None:
        assert min(costs[number] or 9.0 for number in shown) == costs[found.best]


@given(seed=st.randoms(), sizes=st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_effects_are_those_of_all_pairs_that_differ_in_one_key(seed: Any, sizes: list[int]) -> None:
    grid = Grid(tuple(Axis(f"k{n}", "hardware", f"k{n}", tuple(range(size))) for n, size in enumerate(sizes)))
    costs = [seed.choice([None, 1.0, 2.0, 3.0]) for _ in range(grid.count)]
    found = compare(grid, points_of(grid, costs, macs=[1] * grid.count), "time").effects()
    places = list(product(*(range(size) for size in sizes)))
    for number, size in enumerate(sizes):
        ratios = [
            (a or 0) / (b or 1)
            for (p, a), (q, b) in product(zip(places, costs, strict=True), repeat=2)
            if a and b and all(p[n] == q[n] for n in range(len(sizes)) if n != number)
        ]
        assert found.get(f"k{number}", 1.0) == max([1.0, *ratios])
        assert (f"k{number}" in found) == (size > 1)


def test_a_table_names_units_and_marks_what_does_not_fit(capsys: pytest.CaptureFixture[str]) -> None:
    costs = [None, None, 3e-3, 2.5e-3, 3e-3, 2.5e-3]
    unknown: dict[str, Any] = {name: [None] * 6 for name in ("dram_read_bytes", "dram_write_bytes", "energy_j")}
    memory = [None, None, 1 << 20, 1 << 20, 1 << 21, 1 << 21]
    found = compared((SPM, RATE), costs, **unknown, utilization=[0.5] * 6, peak_bytes=memory)
    print_sweep("net", found, make_console(), backend="cycle")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "net: 6 points of memory.spm_kib (3) x dram.gb_per_s (2)"
    assert lines[2].split() == ["memory.", "dram.", "time", "peak", "util", "time"]
    assert lines[3].split() == ["spm_kib", "gb_per_s", "ms", "MiB", "%", "over", "best", "fits"]
    assert lines[5].split() == ["64", "75", "no"]
    assert lines[7].split() == ["128", "75", "3.000", "1.000", "50.0", "1.200", "yes"]


@pytest.mark.parametrize(
    ("width", "headings"),
    [
        (100, ["time", "DRAM", "energy", "peak", "util", "time"]),
        (56, ["time", "DRAM", "peak", "util", "time"]),
        (48, ["time", "DRAM", "peak", "time"]),
        (40, ["time", "DRAM", "time"]),
        (33, ["time", "time"]),
    ],
)
def test_a_narrow_table_leaves_columns_out(width: int, headings: list[str]) -> None:
    from rich.console import Console

    more: dict[str, Any] = {
        "utilization": [0.5, 0.25],
        "peak_bytes": [1 << 20, 1 << 21],
        "energy_j": [1.0, 1.5],
        "dram_read_bytes": [5000, 6000],
    }
    console = Console(width=width, file=io.StringIO(), highlight=False)
    with console.capture() as capture:
        print_sweep("net", compared((RATE,), [1.0, 2.0], **more), console, backend="cycle")
    lines = capture.get().splitlines()
    first = next(number for number, line in enumerate(lines) if number and "dram." in line)
    assert lines[first].split()[1:] == headings
    assert lines[first + 3].split()[1] == "1.000"
