"""What points of a sweep leave behind."""

import gc
from collections import Counter
from itertools import islice

import pytest

from npuc.compiler.core.gc_pause import without_cycle_collection
from npuc.compiler.explore.sweep.sweep import Sweep
from npuc.frontends.source import text_source
from tests.unit.sweep.conftest import NET


@pytest.mark.parametrize("overrides", [{}, {"array.cores": 6}, {"array.dataflow": "ws", "array.cores": 3}])
def test_points_of_a_run_leave_no_cycles(overrides: dict[str, int | str]) -> None:
    """
    Cycles are not searched for within a run of up to `MOST_MACHINES` points: what one point leaves adds up over all.
    """
    rates = [100, 110, 120, 130]
    sweep = Sweep(text_source(NET, "dsl", "net.dsl"), {"dram.gb_per_s": rates}, "cycle", {"overrides": overrides})
    points = sweep.points()
    with without_cycle_collection():
        assert all(not point.error for point in islice(points, 2))
        gc.collect()
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            assert all(not point.error for point in points)
            gc.collect()
            left = Counter(type(one).__qualname__ for one in gc.garbage)
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
    assert not left
