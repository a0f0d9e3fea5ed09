"""Sweeps over devices: what points share, what their plans move, and how they compare."""

from pathlib import Path
from typing import Any

import pytest
from typing_extensions import Unpack

from npuc.compiler import SweepPoint, compile_source, sweep_source
from npuc.compiler.core.errors import CapacityError, UsageError
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.explore.sweep.devices import MOVED
from npuc.compiler.explore.sweep.partial import Partial, header
from npuc.compiler.explore.sweep.sweep import Sweep
from npuc.compiler.explore.sweep.table import summary
from npuc.frontends.source import text_source
from tests.unit.sweep.conftest import NET

EVEN = NET.replace("5]", "16]").replace("hidden=6", "hidden=16").replace("h, 3", "h, 8").replace("batch=4", "batch=8")


CACHE = {"memory.cache_mib": 1}


def sweep(vary: Any, **options: Any) -> list[SweepPoint]:
    return list(sweep_source(EVEN, vary=vary, hardware="hypar16", **options))


def whole(vary: Any, **options: Unpack[CompileKeywords]) -> Sweep:
    return Sweep(text_source(EVEN, "dsl", "net.dsl"), vary, None, {"hardware": "hypar16", **options})


@pytest.mark.parametrize("backend", ["cycle", "roofline"])
def test_points_are_what_compile_says_of_each(backend: str) -> None:
    points = sweep(
        {"devices": [1, 2, 4], "parallel": "dp,joint"}, backend=backend, convention="physical", overrides=CACHE
    )
    assert len(points) == 6
    for point in points:
        devices, strategy = point.values["devices"], point.values["parallel"]
        options: Any = {} if devices == 1 else {"devices": devices, "parallel": strategy, "convention": "physical"}
        report = compile_source(EVEN, hardware="hypar16", backend=backend, overrides=CACHE, **options)
        assert point.totals == report.totals
        assert point.moved is not None
        if report.parallel is None:
            assert list(point.moved.values()) == [0, 0, 0, report.totals.seconds]
        else:
            plan = report.parallel
            assert point.moved["parallel.total.elements"] == plan.total.elements
            assert point.moved["parallel.total.bytes"] == plan.total.bytes
            assert point.moved["parallel.lower_bound_elements"] == plan.lower_bound_elements
            assert point.moved["native.overlapped_seconds"] == report.native["overlapped_seconds"]


def test_other_options_of_sharing_are_varied() -> None:
    vary = {"convention": "table2,physical", "zero": [False, True], "plan_objective": "bytes,time"}
    points = sweep(vary, devices=2, parallel="joint")
    assert len(points) == 8
    for point in points:
        chosen: Any = dict(point.values)
        report = compile_source(EVEN, backend="cycle", hardware="hypar16", devices=2, parallel="joint", **chosen)
        assert point.totals == report.totals


def test_each_machine_has_its_own_plan_for_time() -> None:
    """Where work is slow, the plan moves more to share it better."""
    options: Any = {"devices": 2, "parallel": "joint", "plan_objective": "time", "backend": "roofline"}
    machine = {**CACHE, "network.levels": [{"kind": "pair", "size": 2, "gb_per_s": 1.0}]}
    vary = {"compute.tflops": [0.000001, 100]}
    slow, fast = sweep_source(EVEN, vary=vary, hardware="igo-large", overrides=machine, **options)
    assert slow.moved is not None
    assert fast.moved is not None
    assert (slow.moved["parallel.total.elements"] or 0) > (fast.moved["parallel.total.elements"] or 0)


def test_rules_know_no_objective_where_strategies_are_varied() -> None:
    points = sweep({"devices": [1, 2], "parallel": "dp,joint"}, plan_objective="time")
    assert all(point.totals is not None for point in points)
    with pytest.raises(UsageError, match="dp is a rule of movement"):
        sweep({"devices": [1, 2]}, parallel="dp", plan_objective="time")


def test_the_row_of_one_device_is_of_the_step_that_is_not_shared() -> None:
    """Options that the other rows need say nothing of it."""
    options: Any = {"parallel": "joint", "convention": "physical", "plan_objective": "memory", "zero": True}
    one, two = sweep({"devices": [1, 2]}, **options)
    assert one.totals == compile_source(EVEN, backend="cycle", hardware="hypar16").totals
    assert two.totals == compile_source(EVEN, backend="cycle", hardware="hypar16", devices=2, **options).totals


def test_a_mesh_says_how_many_devices_there_are() -> None:
    (point,) = sweep({"parallel": "mp"}, mesh="2x2")
    report = compile_source(EVEN, hardware="hypar16", mesh="2x2", parallel="mp")
    assert report.parallel is not None
    assert point.totals == report.totals
    assert point.moved is not None
    assert point.moved["parallel.total.elements"] == report.parallel.total.elements
    with pytest.raises(UsageError, match="--vary devices: --mesh says what it is"):
        sweep({"devices": [1, 2]}, mesh="2x2")


def test_a_batch_that_does_not_divide_is_a_row() -> None:
    points = sweep({"devices": [2, 4], "batch": [8, 10]}, parallel="dp")
    assert [point.error is None for point in points] == [True, True, True, False]
    assert points[-1].error is not None
    assert "expected a multiple of 4, the devices that split it" in points[-1].error
    assert points[-1].moved == dict.fromkeys(MOVED)
    assert list(points[-1].row()) == list(points[0].row())


def test_rows_have_what_plans_move_only_where_there_are_several_devices() -> None:
    (alone,) = sweep({"batch": [8]})
    assert not set(MOVED) & set(alone.row())
    (shared,) = sweep({"batch": [8]}, devices=2)
    assert list(shared.row())[-len(MOVED) - 1 :] == [*MOVED, "error"]


def test_an_unfinished_file_has_the_same_points(tmp_path: Path) -> None:
    unfinished = whole({"devices": [1, 2, 16], "batch": [8]})
    points = list(unfinished.points())
    assert points[-1].error is not None
    path, found = str(tmp_path / "points.csv"), list[SweepPoint]()
    with Partial(path, unfinished.grid, unfinished.digest(), found.append) as partial:
        for point in points:
            partial.add(point)
    with Partial(path, unfinished.grid, unfinished.digest(), found.append):
        assert [point.row() for point in found] == [point.row() for point in points]
    assert header(unfinished.grid) == list(points[0].row())


def test_each_machine_refuses_what_is_too_large_for_its_memory() -> None:
    """A backend that scores many machines on one program has it lowered for each of these."""
    options: Any = {"backend": "roofline", "inference": True}
    small, large = sweep({"dram.capacity_mib": [0.001, 1]}, overrides=CACHE, **options)
    assert small.error is not None
    assert large.totals is not None
    with pytest.raises(CapacityError):
        compile_source(EVEN, hardware="hypar16", overrides={**CACHE, "dram.capacity_mib": 0.001}, **options)


ENERGY = {"energy.mac_pj": 1, "energy.spm_pj_per_byte": 1, "energy.dram_pj_per_byte": 10}


def test_steps_compare_as_a_whole() -> None:
    """One step is shared: its time is that of each device, its energy and work those of all."""
    for objective in ("time", "energy", "traffic"):
        one = whole({"devices": [1, 2, 4]}, overrides=ENERGY, objective=objective)
        points = list(one.points())
        comparison = one.compare(points)
        assert not comparison.by_mac
        totals = [point.totals for point in points if point.totals is not None]
        expected: list[float | None] = [t.seconds for t in totals]
        if objective != "time":
            many = zip((1, 2, 4), totals, strict=True)
            expected = [
                n
                * ((t.energy_j or 0) if objective == "energy" else (t.dram_read_bytes or 0) + (t.dram_write_bytes or 0))
                for n, t in many
            ]
        assert list(comparison.costs) == expected
        assert "devices" in dict(summary(comparison, "cycle"))


def test_steps_of_several_batches_compare_by_their_work() -> None:
    both = whole({"devices": [1, 4], "batch": [8, 16]})
    points = list(both.points())
    comparison = both.compare(points)
    assert comparison.by_mac
    works = [point.totals.macs for point in points[:2] if point.totals is not None]
    for point, cost in zip(points, comparison.costs, strict=True):
        assert point.totals is not None
        assert cost == (point.totals.seconds or 0) / (works[point.index % 2] or 1)


@pytest.mark.parametrize(
    ("vary", "options", "message"),
    [
        ({"devices": "2,3"}, {}, "--vary devices: --devices 3: expected a power of two"),
        ({"devices": "2,x"}, {}, "--vary devices: found x, expected a power of two"),
        ({"devices": "2,8192"}, {}, "expected up to 4,096"),
        ({"devices": "1,2", "parallel": "dd"}, {}, "--vary parallel: unknown strategy of parallelism 'dd'"),
        ({"devices": "1,2", "convention": "x"}, {}, "--vary convention: unknown convention 'x'"),
        ({"devices": "1,2", "plan_objective": "x"}, {}, "--vary plan_objective: unknown objective of a plan 'x'"),
        ({"devices": "1,2", "zero": "4"}, {}, "--vary zero: found 4, expected 0 to 3, true or false"),
        ({"parallel": "dp,mp"}, {}, "--vary parallel: there is one device"),
        ({"devices": "1,2"}, {"devices": 4}, "--vary devices: --devices says what it is"),
        ({"devices": "1,2"}, {"pipeline": "parallelize"}, "--devices and the pass parallelize of -p say the same"),
        ({"batch": "8"}, {"parallel": "dp"}, "--parallel dp needs --devices N"),
        ({"batch": "8"}, {"zero": True}, "--zero needs --devices N"),
        ({"batch": "8"}, {"convention": "physical"}, "--convention physical needs --devices N"),
        ({"devices": "1"}, {"plan_objective": "time"}, "--plan-objective time needs --devices N"),
        ({"devices": "1", "parallel": "dp,mp"}, {}, "--vary parallel: there is one device"),
    ],
)
def test_wrong_usage_is_said_before_the_first_point(vary: Any, options: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        sweep(vary, **options)
