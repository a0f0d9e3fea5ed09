"""
A search of mappings of a convolution on one core: drawing and pricing candidates, many at a time and one at a time.

    pytest benchmarks/test_mapsearch.py --benchmark-columns=mean,stddev

`extra_info` has `per_second` and `times_scalar`, the ratio to pricing the same candidates one by one in the same run.
"""

from time import process_time
from typing import Any

import pytest

from npuc.compiler.analysis.mapping.exact.contraction import contraction_of
from npuc.compiler.analysis.mapping.parity import PeArray
from npuc.compiler.explore.mapping.best import BestMapping, Limits, exact_cost, exact_costs, search
from npuc.compiler.explore.mapping.mappers.random import RandomMapper
from npuc.compiler.explore.mapping.space import MapSpace, fanouts_of
from npuc.dialects.mapping import Problem

WORK = contraction_of(Problem("CONV", (("K", 64), ("C", 64), ("R", 3), ("S", 3), ("Y", 58), ("X", 58), ("N", 32))))
ARRAY = PeArray(num_pes=256, noc_bw=32)
COUNT, ALONE = 10_000, 100


def run(space: MapSpace) -> BestMapping:
    best = BestMapping("time", Limits())
    search(RandomMapper(space, 0), lambda found: exact_costs((WORK,), found, ARRAY), best, COUNT, lambda _: None)
    return best


def alone_per_second(space: MapSpace) -> float:
    """Candidates a second that are priced one at a time."""
    start = process_time()
    drawn = RandomMapper(space, 0).propose(ALONE)
    for row in range(ALONE):
        exact_cost((WORK,), drawn.mapping(row, WORK.dims), ARRAY)
    return ALONE / (process_time() - start)


@pytest.mark.parametrize("levels", [1, 2, 3])
@pytest.mark.parametrize("tiles", ["divisors", "any"])
def test_random(benchmark: Any, tiles: str, levels: int) -> None:
    space = MapSpace(WORK.dims, fanouts_of(ARRAY.num_pes, levels), divisors=tiles == "divisors")
    best = benchmark.pedantic(lambda: run(space), rounds=2, warmup_rounds=1)
    assert best.evaluations == COUNT
    start = process_time()
    run(space)
    per_second = COUNT / (process_time() - start)
    benchmark.extra_info["per_second"] = round(per_second)
    benchmark.extra_info["times_scalar"] = round(per_second / alone_per_second(space), 1)
