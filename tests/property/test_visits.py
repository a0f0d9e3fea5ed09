"""The order of tiles is that of a walk; the loops as text say what moves where."""

from collections.abc import Callable
from itertools import pairwise
from random import Random

import pytest

from npuc.compiler.analysis.blocks import max_trips, streams
from npuc.compiler.analysis.visits import loop_nest, visits
from npuc.dialects.npu.nest import Loop, Nest, Schedule
from tests.property.conftest import gemm, tiles

Draw = Callable[..., tuple[Nest, Schedule]]


@pytest.mark.parametrize("seed", range(6))
def test_first_visits_are_those_of_a_walk(seed: int, draw: Draw) -> None:
    """Of every tensor the operations that change its block, found from the ranges of the loops outside it."""
    r = Random(seed)
    for _ in range(60):
        nest, schedule = draw(r, big=6)
        grids, walked = visits(nest, schedule)
        ranges = list(tiles(nest, schedule))
        assert walked == len(ranges)
        moved = {s.tensor.name: s for s in streams(nest, schedule)}
        for grid in grids:
            stream = moved[grid.tensor]
            depth = len(schedule.loops) - schedule.keep_of(grid.tensor)
            blocks = [tuple(at[depth][d] for d in sorted(stream.tensor.dims)) for at in ranges]
            firsts = [n for n, block in enumerate(blocks) if block not in blocks[:n]]
            assert sorted(grid.first.values()) == firsts, f"{grid.tensor}\n{nest}\n{schedule}"
            changes = 1 + sum(a != b for a, b in pairwise(blocks))
            assert sum(grid.brought.values()) == changes
            assert all(0 <= row < grid.height and 0 <= column < grid.width for row, column in grid.first)


@pytest.mark.parametrize("seed", range(3))
def test_visits_are_the_trips_of_the_loops_that_move_a_tensor(seed: int, draw: Draw) -> None:
    r = Random(seed)
    for _ in range(40):
        nest, schedule = draw(r, big=6, repeat=False)
        trips = max_trips(nest, schedule.loops)
        moved = {s.tensor.name: s for s in streams(nest, schedule)}
        for grid in visits(nest, schedule)[0]:
            count = 1
            for position in moved[grid.tensor].loops:
                count *= trips[position]
            assert sum(grid.brought.values()) == count


def test_only_the_first_operations_are_walked() -> None:
    nest = gemm({"m": 1000, "n": 1000, "k": 1000}, "forward", (), "none")
    grids, walked = visits(nest, Schedule((Loop("m", 1), Loop("n", 1), Loop("k", 1))), limit=100)
    assert walked == 100
    assert {grid.tensor: grid.width for grid in grids} == {"X": 100, "W": 100, "Y": 1}


def test_loops_as_text() -> None:
    nest = gemm({"m": 6, "n": 4, "k": 8}, "dxdw", (), "none")
    schedule = Schedule((Loop("m", 3, cores=True), Loop("k", 2), Loop("n", 2)), (("W", 2), ("Y", 2)))
    assert loop_nest(nest, schedule) == (
        "cores m in 2 steps of 3:",
        "  load Y, W",
        "  for k in 4 steps of 2:",
        "    load X",
        "    dX = 0",
        "    for n in 2 steps of 2:",
        "      dW = what was stored, at first 0",
        "      dX += Y * W",
        "      dW += X * Y",
        "      store dW",
        "    store dX",
    )


def test_a_start_is_added_once() -> None:
    nest = gemm({"m": 4, "n": 4, "k": 8}, "forward", (), "bias")
    lines = loop_nest(nest, Schedule((Loop("k", 2), Loop("n", 2))))
    assert "    Y += Y0, the first time" in lines
