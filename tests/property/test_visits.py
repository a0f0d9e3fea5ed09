"""The order of tiles is that of a walk; the loops as text say what moves where."""

from collections.abc import Callable
from itertools import pairwise
from random import Random

import pytest

from npuc.compiler.analysis.nest.blocks import max_trips, streams
from npuc.compiler.analysis.nest.visits import loop_nest, visits
from npuc.dialects.npu.nest import Axis, Loop, Nest, Schedule, Statement, Tensor
from tests.property.conftest import gemm, plain, tensor, tiles, walk

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
            depth = len(schedule.loops) - schedule.keep_depth(grid.tensor)
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


def test_a_start_is_read_once() -> None:
    """It comes in before the sums begin, where they begin with it; of a kept output tile by tile."""
    nest = gemm({"m": 4, "n": 4, "k": 8}, "forward", (), "bias")
    assert loop_nest(nest, Schedule((Loop("k", 2), Loop("n", 2)))) == (
        "for k in 4 steps of 2:",
        "  load X",
        "  for n in 2 steps of 2:",
        "    load W",
        "    load Y0, the first time",
        "    Y = what was stored, at first Y0",
        "    Y += X * W",
        "    store Y",
    )
    assert loop_nest(nest, Schedule((Loop("m", 2), Loop("k", 2)), (("X", 1), ("W", 1)))) == (
        "load W, Y0",
        "for m in 2 steps of 2:",
        "  load X",
        "  Y = Y0",
        "  for k in 4 steps of 2:",
        "    Y += X * W",
        "  store Y",
    )
    kept = loop_nest(nest, Schedule((Loop("m", 2), Loop("k", 4), Loop("n", 2)), (("Y", 2),)))
    assert [line for line in kept if "Y" in line] == [
        "  Y = 0",
        "      Y += Y0, the first time",
        "      Y += X * W",
        "  store Y",
    ]


def test_sums_begin_with_what_is_read_back() -> None:
    """Rows that two tiles of a window add to; a loop of one step reads nothing back; sums pass on chip."""
    sizes = {"y": 4, "r": 3, "o": 2}
    dx = Tensor("dX", (6,), (Axis((("y", 1), ("r", 1))),))
    dy, w = tensor("dY", sizes, plain("o", "y")), tensor("W", sizes, plain("o", "r"))
    nest = Nest(tuple(sizes.items()), (dy, w), (dx,), (None,), (Statement("dX", "dY", "W"),))
    stored = "dX = what was stored, at first 0"
    assert f"  {stored}" in loop_nest(nest, Schedule((Loop("y", 2), Loop("o", 1)), (("dX", 1),)))
    product = gemm({"m": 4, "n": 4, "k": 8}, "forward", (), "none")
    assert "    Y = 0" in loop_nest(product, Schedule((Loop("k", 8), Loop("m", 2))))
    cores = Schedule((Loop("o", 1, cores=True),))
    assert f"  {stored}" in loop_nest(nest, cores)
    assert "  dX = what the core before has, at first 0" in loop_nest(nest, cores, reduction="on-chip")


@pytest.mark.parametrize("seed", range(3))
def test_the_loops_as_text_read_back_what_the_traffic_says(seed: int, draw: Draw) -> None:
    r = Random(seed)
    for _ in range(60):
        nest, schedule = draw(r, big=6, cores=True)
        lines, moves = loop_nest(nest, schedule), walk(nest, schedule)
        for out in nest.outs:
            begin = next(line.strip() for line in lines if line.strip().startswith(f"{out.name} = "))
            assert begin.startswith(f"{out.name} = what was stored") == (moves.read[out.name] > 0)
