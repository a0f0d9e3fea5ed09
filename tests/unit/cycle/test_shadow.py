"""The waits of groups of folds against an array of single elements with shadow registers: numbers and cycles."""

from collections.abc import Sequence
from itertools import accumulate
from random import Random

import numpy as np
import pytest

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.compute import compute
from npuc.dialects.npu.nest import Loop, Nest, Schedule
from tests.edge_walk import Group, group_waits
from tests.schedules import gemm
from tests.unit.cycle.shadow import Clash, Matrix, stationary_sums, stationary_weights
from tests.unit.cycle.test_in_place import matrix, tiles_of

Tile = tuple[range, range]


def random_schedule(r: Random, sizes: dict[str, int]) -> Schedule:
    loops = [Loop(d, r.randint(1, sizes[d])) for d in r.sample("mnk", r.randint(0, 3))]
    inner = [Loop(loop.dim, r.randint(1, loop.step - 1)) for loop in loops if loop.step > 1]
    return Schedule((*loops, *r.sample(inner, min(len(inner), r.randint(0, 1)))))


def folded(nest: Nest, schedule: Schedule, array: Array) -> list[tuple[Tile, list[range]]]:
    """The groups of a product: the ranges of the stationary tile (rows, columns), and those that stream past it."""
    down, across, streamed = array.places
    found: list[tuple[Tile, list[range]]] = []
    before = None
    for tile in tiles_of(schedule, nest.sizes):
        corners = [
            (tile[down][a : a + array.rows], tile[across][b : b + array.cols])
            for b in range(0, len(tile[across]), array.cols)
            for a in range(0, len(tile[down]), array.rows)
        ]
        for corner in corners:
            if len(corners) == 1 and corner == before:
                found[-1][1].append(tile[streamed])
            else:
                found.append((corner, [tile[streamed]]))
            before = corner if len(corners) == 1 else None
    return found


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("dataflow", ["ws", "is", "os"])
def test_folds_element_by_element(seed: int, dataflow: str) -> None:
    """Tiles in the order of a schedule, cut in folds: the product and the cycles, and no group could begin earlier."""
    r = Random(seed)
    rows, cols, lanes = r.randint(1, 5), r.randint(1, 4), r.choice([1, 1, 1, 2, 3])
    flow = "ws" if dataflow == "ws" else "is" if dataflow == "is" else "os"
    array = Array(rows, cols, flow, drain=r.choice(["hidden", "full"]), edge_elements=lanes)
    nest = gemm(*(r.randint(1, 9) for _ in range(3)))
    sizes = nest.sizes
    schedule = random_schedule(r, sizes)
    x, w = matrix(r, sizes["m"], sizes["k"]), matrix(r, sizes["k"], sizes["n"])
    found = folded(nest, schedule, array)
    groups = [Group(0, len(tile[0]), sum(map(len, streams))) for tile, streams in found]
    waits = group_waits(groups, array)
    steps = [group.streamed + own for group, own in zip(groups, waits, strict=True)]
    work = compute(nest, schedule, array)
    assert (work.groups, work.edge) == (len(groups), sum(waits))
    operands = [stream_of(array, x, w, tile, streams) for tile, streams in found]
    crossing = [-(-group.rows // lanes) for group in groups]
    first = 0 if flow == "os" else crossing[0]
    starts = list(accumulate(steps, initial=first))
    outs, cycles = run(array, operands, starts)
    y = np.zeros((sizes["m"], sizes["n"]), np.int64)
    for (tile, streams), out in zip(found, outs, strict=True):
        add(array, y, tile, streams, out)
    assert (y == x @ w).all()
    # P - T is that of a fold on all rows.
    unused = rows - first if flow != "os" else rows - crossing[-1] if array.drain == "full" else 0
    assert cycles + unused == work.cycles, (schedule, array)
    for number, own in enumerate(waits):
        if own:
            early = [start - (place > number) for place, start in enumerate(starts)]
            with pytest.raises(Clash):
                run(array, operands, early)


def run(array: Array, operands: Sequence[tuple[Matrix, Matrix]], starts: Sequence[int]) -> tuple[list[Matrix], int]:
    assert array.edge_elements is not None
    if array.dataflow == "os":
        full = array.drain == "full"
        return stationary_sums(array.rows, array.cols, array.edge_elements, operands, starts, full=full)
    return stationary_weights(array.rows, array.cols, array.edge_elements, operands, starts[:-1])


def stream_of(array: Array, x: Matrix, w: Matrix, tile: Tile, streams: list[range]) -> tuple[Matrix, Matrix]:
    """What streams past a tile and what stays: X and W (ws), W and X turned over (is), X and W of one sum (os)."""
    order = [index for part in streams for index in part]
    down, across = (list(part) for part in tile)
    if array.dataflow == "ws":
        return x[np.ix_(order, down)], w[np.ix_(down, across)]
    if array.dataflow == "is":
        return w.T[np.ix_(order, down)], x.T[np.ix_(down, across)]
    return x[np.ix_(down, order)], w[np.ix_(order, across)]


def add(array: Array, y: Matrix, tile: Tile, streams: list[range], out: Matrix) -> None:
    order = [index for part in streams for index in part]
    down, across = (list(part) for part in tile)
    if array.dataflow == "ws":
        y[np.ix_(order, across)] += out
    elif array.dataflow == "is":
        y[np.ix_(across, order)] += out.T
    else:
        y[np.ix_(down, across)] += out
