"""
Orders and costs of collectives in chunks, and steps in which many of them run beside work.

    pytest benchmarks/test_collectives.py --benchmark-columns=mean,stddev
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from npuc.compiler.analysis.interconnect.chunks.cost import chunk_stages, chunked_cost, chunks_by
from npuc.compiler.analysis.interconnect.overlap.step import Movement, Work, overlapped_step
from npuc.studies.themis.settings import TOPOLOGIES


def test_64_chunks_over_four_levels(benchmark: Callable[..., Any]) -> None:
    """One collective of a step; each round has another size, so that no cost is found again."""
    placement = TOPOLOGIES["4D-Ring_SW_SW_SW"].place([8, 8, 4, 4])
    over, sizes = (0, 1, 2, 3), iter(range(10**7, 10**9, 4096))

    def one() -> None:
        size = next(sizes)
        chunks = chunks_by("themis-scf", "all_reduce", size, placement, over, 64, "overlap").chunks
        chunked_cost("all_reduce", size, placement, over, chunks, "overlap")

    benchmark(one)


@pytest.mark.parametrize("chunks", [1, 64])
def test_500_collectives_beside_work(benchmark: Callable[..., Any], chunks: int) -> None:
    """The events of a step with a sum of gradients after each of 500 pieces of work, over three levels."""
    placement = TOPOLOGIES["3D-SW_SW_SW_hetero"].place([8, 8, 16])
    items: list[Work | Movement] = []
    for number in range(500):
        size = 10**6 + 4096 * number
        policy = "baseline" if chunks == 1 else "themis-scf"
        own = chunks_by(policy, "all_reduce", size, placement, (0, 1, 2), chunks, "overlap").chunks
        groups, orders, known = chunk_stages("all_reduce", size, placement, own)
        chains = {
            order: tuple(replace(stage, level=groups[stage.level].number) for stage in chain)
            for order, chain in known.items()
        }
        items += [Work(Fraction(1, 10**5)), Movement(tuple(chains[one] for one in orders), own.queue, own.sequence)]
    step = benchmark(overlapped_step, items, 3, "overlap")
    assert len(step.moved) == 500
