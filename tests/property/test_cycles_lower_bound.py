"""Lower bounds of the array's time against every schedule of small products, walked fold by fold."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import permutations, product
from random import Random

import pytest

from npuc.compiler.analysis.machine.array import Array, Dataflow
from npuc.compiler.analysis.machine.compute import (
    busy_cycles_lower_bound,
    compute,
    cycles_lower_bound,
    edge_cycles_lower_bound,
)
from npuc.compiler.analysis.machine.overlap import OVERLAPS
from npuc.compiler.driver.compile import compile_source
from npuc.dialects.npu.nest import Loop, Nest, Schedule
from tests.edge_walk import Fold, Ranges, fold_cycles, folds_of, walked
from tests.schedules import fused, gemm

FLOWS: tuple[Dataflow, ...] = ("os", "ws", "is")


def schedules(nest: Nest) -> Iterator[Schedule]:
    """Every cut of every dimension once, in every order of the loops."""
    for steps in product(*(range(1, size + 1) for size in nest.sizes.values())):
        loops = [Loop(d, step) for (d, size), step in zip(nest.dims, steps, strict=True) if step < size]
        for order in permutations(loops):
            yield Schedule(order)


def places(nest: Nest, schedule: Schedule) -> list[Ranges]:
    """The ranges of the dimensions in every tile operation, in order."""
    found: list[Ranges] = [{d: (0, size) for d, size in nest.dims}]
    for loop in schedule.loops:
        found = [
            at | {loop.dim: (low, min(low + loop.step, at[loop.dim][1]))}
            for at in found
            for low in range(*at[loop.dim], loop.step)
        ]
    return found


@lru_cache(maxsize=1)
def all_folds(flow: Dataflow, *sizes: int) -> list[tuple[list[Fold], int]]:
    """The folds and the number of tile operations of every schedule of a product: no edge changes them."""
    nest, array = gemm(*sizes), Array(3, 2, flow)
    every = [places(nest, one) for one in schedules(nest)]
    return [(folds_of(nest, array, one), len(one)) for one in every]


def test_no_schedule_is_below_and_vectors_reach_it() -> None:
    """What streams one step reaches the edge's bound wherever tiles fill the rows and ports; of all, many are tight."""
    reached = 0
    for flow, sizes, edge in product(FLOWS, product((1, 2, 5, 6), repeat=3), (1, 3, None)):
        array, nest = Array(3, 2, flow, edge_elements=edge), gemm(*sizes)
        bound = busy_cycles_lower_bound((nest,), array)
        best = min(sum(fold_cycles(folds, count, array)) for folds, count in all_folds(flow, *sizes))
        best += array.op_overhead
        assert bound <= best, (array, sizes)
        reached += bound == best
        rows, _, streamed = (dict(zip("mnk", sizes, strict=True))[place] for place in array.places)
        if streamed == 1 and rows % 3 == 0 and edge is not None:
            assert bound == best == edge_cycles_lower_bound((nest,), array), (array, sizes)
    assert reached >= 546


def test_no_schedule_of_two_statements_is_below() -> None:
    for flow, edge, sizes in product(FLOWS, (1, 2), product((1, 2, 4), repeat=3)):
        array, nest = Array(3, 2, flow, edge_elements=edge), fused(gemm(*sizes))
        bound = busy_cycles_lower_bound((nest,), array)
        assert all(
            bound <= sum(walked(nest, array, places(nest, one))) + array.op_overhead for one in schedules(nest)
        ), (array, sizes)


@pytest.mark.parametrize("seed", range(5))
def test_arrays_of_all_kinds_and_parts_of_several_cores(seed: int) -> None:
    """The busiest of some cores, each with a part of one dimension, takes no less than the bound of so many cores."""
    r = Random(seed)
    arrays = [
        *(Array(3, 2, flow, edge_elements=e) for flow in (*FLOWS, "in-place") for e in (1, 2, None)),
        *(Array(3, 2, flow, fill="per-fold") for flow in FLOWS),
        *(Array(3, 2, "ws", overlap=kind, tile_m=2) for kind in OVERLAPS),
    ]
    for array in arrays:
        for _ in range(15):
            nest = gemm(*(r.randint(1, 9) for _ in range(3)))
            schedule = r.choice(list(schedules(nest)))
            alone = compute(nest, schedule, array, tile_loaded=r.random() < 0.5 and array.dataflow == "in-place").cycles
            assert busy_cycles_lower_bound((nest,), array) <= alone, (array, nest.sizes, schedule)
            dim = r.choice("mnk")
            step = r.randint(1, nest.sizes[dim])
            sizes = [min(step, nest.sizes[dim] - low) for low in range(0, nest.sizes[dim], step)]
            parts = [gemm(**{**nest.sizes, dim: size}) for size in sizes]
            busiest = max(compute(part, r.choice(list(schedules(part))), array).cycles for part in parts)
            assert busy_cycles_lower_bound((nest,), array, len(parts)) <= busiest, (array, nest.sizes, dim, step)
            if array.fill == "overlap" and array.dataflow != "in-place":
                assert edge_cycles_lower_bound((nest,), array) <= cycles_lower_bound((nest,), array) <= alone


@pytest.mark.parametrize("flow", FLOWS)
def test_a_vector_times_a_matrix(flow: Dataflow) -> None:
    """
    1 x 8192 x 8192 on 128 x 128 with all the bandwidth that one likes: the bound was that of all MACs on all elements,
    4,096 cycles, but no dataflow has more than a 128th of them at work.
    """
    overrides = {"array.dataflow": flow, "memory.spm_kib": 1 << 20, "dram.gb_per_s": 1e7}
    report = compile_source(
        "layer,M,N,K\nfc,1,8192,8192\n", format="csv", hardware="igo-large", overrides=overrides, inference=True
    )
    (row,) = report.ops
    assert row.lower_bound_seconds is not None
    bound = round(row.lower_bound_seconds * 1050e6)
    latency = Array(128, 128, flow).latency
    # os: a row of the array has work. ws: 64 x 64 tiles of 128 rows each. is: 64 tiles of 128 rows and one column.
    least = latency + {"os": 64 * 8192, "ws": 64 * 8192 - 127, "is": 64 * 8192}[flow]
    assert bound == least
    assert row.compute_cycles is not None
    assert bound <= row.compute_cycles <= 1.001 * bound
