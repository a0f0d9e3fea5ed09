"""What priced points say of others holds of them: random points of several networks, machines and options."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.explore.optimize.floors import PointFloors
from npuc.compiler.explore.optimize.goals import read_goals
from npuc.compiler.explore.optimize.machine_facts import GridMachines
from npuc.compiler.explore.optimize.metrics import numbers_of
from npuc.compiler.explore.optimize.point_laws import BOXES, RAYS
from npuc.compiler.explore.pareto.front import Floats
from npuc.compiler.explore.sweep.sweep import Sweep
from npuc.frontends.source import text_source
from tests.unit.optimize.conftest import CONVOLUTIONS, NET

GOALS = ("time", "energy", "traffic", "edp", "memory")
NETS, MACHINES = st.sampled_from([NET, CONVOLUTIONS]), st.sampled_from(["igo-small", "tpu-v1", "gemmini"])
VARY: Mapping[str, Sequence[float]] = {
    "memory.spm_kib": [4, 5, 8, 64],
    "dram.gb_per_s": [0.5, 3, 6, 7.5, 12],
    "clock_mhz": [100, 200, 250, 400],
}


class Known:
    """A sweep with its bounds, and the points of it that were priced."""

    def __init__(self, text: str, hardware: str, vary: Mapping[str, Sequence[float]], **options: Any):
        options["hardware"] = hardware
        self.sweep = Sweep(text_source(text, "dsl", "<string>"), vary, "cycle", options)  # pyright: ignore[reportArgumentType]
        self.goals = read_goals(GOALS, by_mac=False)
        self.floors = PointFloors(self.sweep.scorer, self.goals, (), GridMachines(self.sweep.scorer))
        self.numbers = np.arange(self.sweep.grid.count)

    def price(self, number: int) -> Floats:
        """The goals of a point, which the laws know from then on."""
        (point,) = self.sweep.scorer.score_some([number])
        if point.totals is None:
            return np.full(len(self.goals), np.inf)
        known = numbers_of(point, self.sweep.grid, self.floors.machine_numbers(number))
        self.floors.priced = {**self.floors.priced, number: known}
        return np.array([np.nan if (amount := goal.amount(known)) is None else amount for goal in self.goals])

    def implied(self, number: int) -> Floats:
        """The bounds of all points that follow from a priced one."""
        found = np.full((len(self.numbers), len(self.goals)), -np.inf)
        self.laws = set[str]()
        for one in self.floors.implied([number], self.numbers):
            self.laws.add(one.law)
            found[one.rows] = np.maximum(found[one.rows], one.bounds)
        return found


@settings(max_examples=4, deadline=None)
@given(
    NETS,
    MACHINES,
    st.integers(0, 3),
    st.sampled_from(["time", "energy", "edp"]),
    st.sampled_from([0.0, 0.005, 0.1]),
    st.sampled_from([(100, 3, 200, 6), (250, 7.5, 400, 12), (100, 0.5, 200, 1.0), (200, 6, 400, 12)]),
)
def test_equal_bytes_a_cycle(
    text: str,
    hardware: str,
    opt_level: int,
    objective: str,
    tolerance: float,
    pair: tuple[float, float, float, float],
) -> None:
    """Cycles, bytes and energy are equal to the bit."""
    clocks, rates = [pair[0], pair[2]], [pair[1], pair[3]]
    vary = {"clock_mhz": clocks, "dram.gb_per_s": rates, "memory.spm_kib": [8]}
    known = Known(text, hardware, vary, opt_level=opt_level, objective=objective, tolerance=tolerance)
    slow, fast = known.price(0), known.price(3)
    if not np.isfinite(slow).any():
        return
    assert known.floors.priced[0]["cycles"] == known.floors.priced[3]["cycles"]
    for column in (1, 2, 4):
        assert slow[column] == fast[column] or np.isnan(slow[column])
    bounds = known.implied(3)
    assert RAYS in known.laws
    assert np.isinf(bounds[1:3]).any(axis=1).all(), "of other quotients not all is said"
    assert (bounds[0] <= np.where(np.isnan(slow), np.inf, slow)).all()
    assert bounds[0, 0] > 0.999 * slow[0]


@settings(max_examples=6, deadline=None)
@given(
    NETS,
    MACHINES,
    st.sampled_from(["os", "ws", "is"]),
    st.sampled_from([0.0, 0.005, 0.1]),
    st.integers(0, 10**6),
    st.integers(0, 10**6),
)
def test_a_smaller_machine_is_no_faster(
    text: str, hardware: str, dataflow: str, tolerance: float, first: int, second: int
) -> None:
    known = Known(text, hardware, VARY, opt_level=0, tolerance=tolerance, overrides={"array.dataflow": dataflow})
    sizes = [len(values) for values in VARY.values()]
    one, other = ([draw // 100**n % size for n, size in enumerate(sizes)] for draw in (first, second))
    large, small = np.maximum(one, other), np.minimum(one, other)
    larger, smaller = (int(np.ravel_multi_index(tuple(places), sizes)) for places in (large, small))
    known.price(larger)
    bounds, cost = known.implied(larger), known.price(smaller)
    assert bounds[smaller, 0] <= cost[0]
    if larger != smaller:
        assert BOXES in known.laws
        assert bounds[smaller, 0] > 0


def test_nothing_is_said_at_other_levels_or_of_several_cores() -> None:
    for options in (
        {"opt_level": 1},
        {"opt_level": 0, "objective": "energy"},
        {"opt_level": 0, "overrides": {"array.cores": 2}},
    ):
        known = Known(NET, "igo-small", {"memory.spm_kib": [4, 8]}, **options)
        known.price(1)
        assert np.isinf(known.implied(1)).all()
