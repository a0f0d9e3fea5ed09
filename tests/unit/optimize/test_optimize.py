"""Optimizations of small tables: the front is that of a sweep of all points, however few were priced."""

import random
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npuc.compiler import optimize_source, sweep_source
from npuc.compiler.core.errors import SourceError, UsageError
from npuc.compiler.driver.machine import machine_for
from npuc.compiler.explore.optimize.result import OptimizeResult
from npuc.compiler.explore.optimize.run import OptimizeCourse, optimize
from npuc.compiler.explore.pareto.front import pareto
from npuc.compiler.explore.sweep.sweep import Sweep
from npuc.frontends.source import text_source
from npuc.hardware.area import chip_area
from tests.unit.optimize.conftest import AT_28_NM, CONVOLUTIONS, NET

Vary = Mapping[str, Any]
SMALL: Vary = {"array.rows": [4, 8, 16], "array.cols": [4, 16], "opt_level": [1]}


def brute_front(vary: Vary, goals: Sequence[str], backend: str, text: str = NET) -> list[int]:
    """The front of all points of a sweep, by totals and by the areas of machines, without the code that is tested."""
    sweep = Sweep(text_source(text, "dsl", "<string>"), vary, backend, {"hardware": "igo-small", "overrides": AT_28_NM})
    rows = list[list[float]]()
    for point in sweep_source(text, vary=vary, backend=backend, hardware="igo-small", overrides=AT_28_NM):
        assert point.totals is not None
        machine = machine_for(
            sweep.scorer.choices.backend_of(point.index), sweep.scorer.choices.options_of(point.index), "dsl"
        )
        known = {
            "time": point.totals.seconds,
            "energy": point.totals.energy_j,
            "area": chip_area(machine).chip,
            "memory": point.totals.peak_bytes,
            "max:utilization": -(point.totals.utilization or 0.0),
        }
        rows.append([float(value) for goal in goals if (value := known[goal]) is not None])
    return pareto(np.array(rows)).tolist()


def run(vary: Vary, goals: Sequence[str], backend: str | None, text: str = NET, **more: Any) -> OptimizeResult:
    return optimize_source(
        text, vary=vary, goals=goals, backend=backend, hardware="igo-small", overrides=AT_28_NM, **more
    )


@pytest.mark.parametrize(
    ("vary", "goals", "backend", "text"),
    [
        (SMALL, ("time", "energy", "area"), "cycle", NET),
        ({"array.rows": [4, 12], "opt_level": [0, 1]}, ("time", "area"), "cycle", CONVOLUTIONS),
        ({"array.rows": "8:64:8", "dram.gb_per_s": "10:50:10"}, ("area", "time"), "roofline", CONVOLUTIONS),
        ({"array.rows": "4:16:4", "array.cols": [4, 8, 16]}, ("time", "energy", "area"), "maestro", NET),
        ({"memory.spm_kib": [0.5, 1, 4], "dram.gb_per_s": [1, 2, 3], "opt_level": [0]}, ("time", "area"), "cycle", NET),
        ({"clock_mhz": [200, 400], "dram.gb_per_s": [1, 2], "opt_level": [0, 3]}, ("time", "energy"), "cycle", NET),
        ({"vector.lanes": [1, 16], "opt_level": [0, 1]}, ("time", "max:utilization", "area"), "cycle", NET),
    ],
)
def test_the_front_is_that_of_a_sweep(vary: Vary, goals: Sequence[str], backend: str, text: str) -> None:
    found = run(vary, goals, backend, text)
    assert sorted(point.index for point in found.front) == brute_front(vary, goals, backend, text)
    assert found.proved
    assert not found.broken
    counts = found.counts
    assert counts.priced + counts.excluded + counts.forbidden == counts.points


def test_most_points_of_a_large_table_are_never_priced() -> None:
    vary = {"array.rows": "4:64:4", "array.cols": "4:64:4", "vector.lanes": "8:64:8", "dram.gb_per_s": [1000, 2000]}
    found = run(vary, ("time", "area"), "cycle", CONVOLUTIONS, constraints=["area < 2.26"], budget=100)
    assert found.counts.points == 4096
    assert found.counts.forbidden > 4000
    assert found.front
    assert all(point.amounts["area"] < 2.26 for point in found.front)


def test_a_backend_and_parameters_of_the_network_may_be_varied() -> None:
    found = run({"batch": [2, 8], "backend": ["cycle", "maestro"]}, ("time", "energy"), None)
    assert found.counts.priced + found.counts.excluded == 4
    assert [goal.heading for goal in found.settings.goals] == ["time a GMAC", "energy a GMAC"]
    work = {point.values["batch"]: point.numbers["macs"] for point in found.points}
    for point in found.points:
        assert point.amounts["time"] == point.numbers["seconds"] / work[point.values["batch"]]


def test_constraints_keep_points_away() -> None:
    vary = {"array.rows": [4, 8, 16], "array.cols": [4, 16]}
    free = run(vary, ("time", "area"), "maestro")
    times = sorted(point.amounts["time"] for point in free.points)
    limit = times[len(times) // 2]
    found = run(vary, ("area", "energy"), "maestro", constraints=[f"time <= {limit!r}"])
    assert found.counts.infeasible > 0
    assert found.front
    assert all(point.numbers["seconds"] <= limit for point in found.front)
    assert {point.index for point in found.points if not point.meets}.isdisjoint(p.index for p in found.front)


def test_the_result_is_the_same_with_processes_and_from_a_record(tmp_path: Path) -> None:
    record = tmp_path / "points"
    vary = {"array.rows": "4:64:4", "array.cols": "4:64:4"}
    alone = run(vary, ("time", "area"), "maestro", budget=24, seed=3)
    kept = run(vary, ("time", "area"), "maestro", budget=24, seed=3, resume=str(record), jobs=2)
    assert alone.to_json() == kept.to_json()
    assert alone.to_csv() == kept.to_csv()
    whole = record.read_bytes()
    for size in (0, 10, len(whole) // 2, len(whole) - 1):
        record.write_bytes(whole[:size])
        assert run(vary, ("time", "area"), "maestro", budget=24, seed=3, resume=str(record)).to_json() == kept.to_json()
        assert record.read_bytes() == whole
    other = run(vary, ("energy", "time"), "maestro", budget=20, seed=3, resume=str(record))
    assert record.read_bytes().startswith(whole)
    assert other.counts.priced == 20


def test_a_record_of_something_else_is_refused(tmp_path: Path) -> None:
    record = tmp_path / "points"
    run({"array.rows": [4, 8]}, ("time",), "maestro", resume=str(record))
    with pytest.raises(UsageError, match="was begun with another source, other points or other options"):
        run({"array.rows": [4, 16]}, ("time",), "maestro", resume=str(record))
    text = record.read_text()
    record.write_text(text.replace("\n8,", "\n9,"))
    with pytest.raises(UsageError, match=r"line 3: array.rows has no value '9'"):
        run({"array.rows": [4, 8]}, ("time",), "maestro", resume=str(record))
    record.write_text("array.rows\n4\n5\n")
    with pytest.raises(UsageError, match="is no record of npuc optimize"):
        run({"array.rows": [4, 8]}, ("time",), "maestro", resume=str(record))


@pytest.mark.parametrize(
    ("goals", "backend", "message"),
    [
        (("energy",), "roofline", "the backend 'roofline' does not say 'energy' on this machine"),
        (("cost",), "cycle", "the backend 'cycle' does not say 'cost' on this machine"),
        (("speed",), "cycle", "there is no metric 'speed'"),
    ],
)
def test_a_metric_that_is_not_modelled_is_told(goals: Sequence[str], backend: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        run({"array.rows": [4, 8]}, goals, backend)


def test_a_budget_below_one_is_refused() -> None:
    with pytest.raises(UsageError, match="found a budget of 0 points"):
        run({"array.rows": [4, 8]}, ("time",), "cycle", budget=0)


def test_points_that_do_not_fit_are_counted() -> None:
    found = run({"memory.spm_kib": [0.005, 64]}, ("time", "memory"), "cycle")
    assert (found.counts.priced, found.counts.failed) == (2, 1)
    assert [point.values["memory.spm_kib"] for point in found.front] == [64]


def test_a_program_that_is_wrong_everywhere_is_an_error() -> None:
    with pytest.raises(SourceError):
        optimize_source("network n() {", vary={"array.rows": [4, 8]}, goals=("time",))


def test_an_interrupt_has_the_front_so_far() -> None:
    sweep = Sweep(
        text_source(NET, "dsl", "<string>"), {"dram.gb_per_s": "1:9:1"}, "roofline", {"hardware": "igo-small"}
    )
    seen = list[int]()

    def told(point: object) -> None:
        seen.append(1)
        if len(seen) == 3:
            raise KeyboardInterrupt

    found = optimize(sweep, OptimizeCourse(told=told), ("time", "memory"))
    assert found.interrupt is not None
    assert found.result.interrupted
    assert not found.result.proved
    assert found.result.front


def test_a_search_that_is_killed_goes_on_with_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "net.dsl").write_text(NET)
    keys = ("--vary", "array.rows=4:64:4", "--vary", "array.cols=4:64:4", "--set", "technology.node_nm=28")
    command = [sys.executable, "-c", "from npuc.compiler.entry import main; main()", "optimize", "net.dsl", "-q"]
    command += ["-b", "maestro", "--hw", "igo-small", *keys, "--budget", "24", "--resume", "points", "--json", "f.json"]
    record, began = tmp_path / "points", b""
    for rows in sorted(random.Random(5).sample(range(3, 20), 3)):  # each run is killed, and the next goes on
        with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            while process.poll() is None and (not record.exists() or record.read_bytes().count(b"\n") < rows):
                time.sleep(0.01)
            process.kill()
        assert record.read_bytes().startswith(began)
        began = record.read_bytes().rpartition(b"\n")[0]
        assert began.count(b"\n") >= rows - 1
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 0
    whole, result = record.read_bytes(), (tmp_path / "f.json").read_bytes()
    assert whole.startswith(began)
    record.unlink()
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 0
    assert (record.read_bytes(), (tmp_path / "f.json").read_bytes()) == (whole, result)
