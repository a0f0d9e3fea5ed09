"""Bounds of points are below their costs: random points of several networks, machines, backends and options."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.driver.machine import machine_for
from npuc.compiler.explore.optimize.floors import PointFloors
from npuc.compiler.explore.optimize.goals import read_goals
from npuc.compiler.explore.optimize.machine_facts import GridMachines, MachineFact
from npuc.compiler.explore.optimize.metrics import numbers_of
from npuc.compiler.explore.sweep.sweep import Sweep
from npuc.frontends.source import text_source
from npuc.hardware import Hardware
from npuc.hardware.area import chip_area
from tests.unit.optimize.conftest import CONVOLUTIONS, NET

GOALS = ("time", "energy", "edp", "area", "traffic", "memory", "power", "cost", "max:utilization")
VARY = {
    "array.rows": [1, 3, 8, 16, 40],
    "array.cols": [2, 5, 16, 33],
    "array.cores": [1, 2, 3],
    "memory.spm_kib": [2, 16, 512],
    "dram.gb_per_s": [1, 20, 400],
    "vector.lanes": [1, 16],
    "technology.node_nm": [7, 28],
    "maestro.num_simd_lanes": [1, 4],
    "array.dataflow": ["os", "ws", "is"],
}
OF_CYCLE = {"opt_level": [0, 1, 2, 3], "objective": ["time", "energy"], "precision": ["f32", "f16"]}


def sweep_of(text: str, backend: str, hardware: str) -> Sweep:
    vary = VARY | (OF_CYCLE if backend == "cycle" else {})
    if backend == "maestro":
        vary = {key: values for key, values in vary.items() if key not in ("array.cores", "array.dataflow")}
    options = {"hardware": hardware, "overrides": {"dram.kind": "HBM2e", "dram.capacity_mib": 8192}}
    return Sweep(text_source(text, "dsl", "<string>"), vary, backend, options, most=10**9)  # pyright: ignore[reportArgumentType]


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from([NET, CONVOLUTIONS]),
    st.sampled_from(["cycle", "cycle", "roofline", "maestro"]),
    st.sampled_from(["igo-small", "tpu-v1", "gemmini", "edge"]),
    st.integers(0, 10**9),
)
def test_no_point_costs_less_than_its_bounds(text: str, backend: str, hardware: str, draw: int) -> None:
    sweep = sweep_of(text, backend, hardware)
    goals = read_goals(GOALS, by_mac=False)
    floors = PointFloors(sweep.scorer, goals, (), GridMachines(sweep.scorer))
    number = draw % sweep.grid.count
    floors.works.learn(floors.works.classes(np.array([number])).tolist())
    (least,) = floors.of(np.array([number]))
    (point,) = sweep.scorer.score_some([number])
    if point.totals is None:
        return
    known = numbers_of(point, sweep.grid, floors.machine_numbers(number))
    for goal, bound in zip(goals, least.tolist(), strict=True):
        amount = goal.amount(known)
        assert amount is None or bound <= goal.small(amount) * (1 + (1e-12 if goal.small(amount) > 0 else 0)), goal.name
        if amount is not None and goal.name in ("area", "cost"):
            assert bound == amount
    if backend == "cycle":
        assert least[0] > 0


@pytest.mark.parametrize(("opt_level", "dataflow"), [(0, "os"), (3, "os"), (0, "ws"), (0, "is")])
def test_bounds_are_near_the_costs(opt_level: int, dataflow: str) -> None:
    """Of time, traffic and energy, where the array or the channel sets the time, with little and much SPM."""
    options = {"hardware": "igo-small", "opt_level": opt_level, "overrides": {"array.dataflow": dataflow}}
    vary = {"memory.spm_kib": [4, 64], "dram.gb_per_s": [2, 200]}
    sweep = Sweep(text_source(CONVOLUTIONS, "dsl", "<string>"), vary, "cycle", options)  # pyright: ignore[reportArgumentType]
    goals = read_goals(("time", "traffic", "energy"), by_mac=False)
    floors = PointFloors(sweep.scorer, goals, (), GridMachines(sweep.scorer))
    bounds = floors.of(np.arange(sweep.grid.count))
    for point, least in zip(sweep.scorer.score_some(range(sweep.grid.count)), bounds.tolist(), strict=True):
        known = numbers_of(point, sweep.grid, {})
        amounts = [goal.amount(known) or 0.0 for goal in goals]
        shares = [bound / amount for bound, amount in zip(least, amounts, strict=True)]
        assert min(shares) > 0.6, (point.values, shares)
        assert max(shares) <= 1


@pytest.mark.parametrize("hardware", ["igo-small", "eyeriss", "nvdla"])
@pytest.mark.parametrize("model", ["npuc", "maestro", "gamma"])
def test_areas_are_those_of_machines(hardware: str, model: str) -> None:
    vary = {"array.rows": [4, 9], "memory.spm_kib": [16, 100], "technology.node_nm": [7, 28], "vector.lanes": [4, 64]}
    options = {"hardware": hardware, "overrides": {"technology.model": model}}
    sweep = Sweep(text_source(NET, "dsl", "<string>"), vary, "cycle", options)  # pyright: ignore[reportArgumentType]
    points = sweep.scorer
    floors = PointFloors(points, read_goals(["area"], by_mac=False), (), GridMachines(points))
    found = floors.of(np.arange(sweep.grid.count))[:, 0].tolist()
    for number, area in enumerate(found):
        whole = chip_area(machine_for(points.choices.backend_of(number), points.choices.options_of(number), "dsl")).chip
        assert area == (-np.inf if whole is None else whole)


def test_a_fact_depends_on_the_axes_that_it_reads() -> None:
    vary = {"array.rows": [4, 8, 16], "array.cols": [4, 8], "vector.lanes": [1, 2, 3]}
    sweep = Sweep(text_source(NET, "dsl", "<string>"), vary, "cycle", {})
    machines = GridMachines(sweep.scorer)
    asked = list[int]()

    def product(machine: Hardware) -> float:
        asked.append(1)
        return float((machine.get("array.rows", int) or 0) * (machine.get("array.cols", int) or 0))

    fact = MachineFact(machines, product)
    assert fact.of(np.arange(18)).tolist() == [a * b for a in (4, 8, 16) for b in (4, 8) for _ in range(3)]
    assert fact.axes == (0, 1)
    assert len(asked) <= 6 + 2
