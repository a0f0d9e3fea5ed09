"""
Orders and costs of collectives in chunks.

    pytest benchmarks/test_collectives.py --benchmark-columns=mean,stddev
"""

from collections.abc import Callable
from typing import Any

from npuc.compiler.analysis.interconnect.chunks.cost import chunked_cost, chunks_by
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
