"""The best of all schedules of tiny nests, each multiplication on its own, moves no less than the lower bound."""

from collections.abc import Callable
from random import Random

import pytest

from npuc.compiler.analysis.nest.bounds import capacity, lower_bound_bits
from npuc.dialects.npu.nest import Nest, Schedule
from tests.pebbles import least_traffic
from tests.schedules import gemm
from tests.widths import draw_bits, of_bytes

Draw = Callable[..., tuple[Nest, Schedule]]
Pair = Callable[[dict[str, int]], Nest]


@pytest.mark.parametrize(
    ("sizes", "memory", "least"),
    [((2, 2, 2), 3, 17), ((2, 2, 2), 4, 14), ((2, 2, 2), 5, 13), ((2, 2, 2), 6, 12)],
)
def test_best_of_one_product(sizes: tuple[int, int, int], memory: int, least: int) -> None:
    nest = gemm(*sizes)
    assert least_traffic(nest, dict.fromkeys(nest.tensors, 1), memory) == least
    assert 8 * least >= lower_bound_bits(nest, memory, of_bytes(nest, 1))


@pytest.mark.parametrize(
    ("m", "n", "k", "memory", "least"),
    [(2, 2, 1, 3, 17), (2, 2, 1, 4, 14), (2, 2, 1, 5, 13), (2, 2, 1, 6, 12), (2, 1, 2, 4, 14), (1, 2, 2, 3, 17)],
)
def test_best_of_a_pair(pair: Pair, m: int, n: int, k: int, memory: int, least: int) -> None:
    """dX and dW in any order, every multiplication on its own."""
    nest = pair({"m": m, "n": n, "k": k})
    assert least_traffic(nest, dict.fromkeys(nest.tensors, 1), memory) == least
    assert 8 * least >= lower_bound_bits(nest, memory, of_bytes(nest, 1))


@pytest.mark.parametrize("seed", range(6))
def test_best_of_any_nest(seed: int, draw: Draw) -> None:
    """Windows with padding, batches, starts, pairs, elements of different widths."""
    r = Random(seed)
    judged = 0
    while judged < 8:
        nest, _ = draw(r, big=3)
        if not 4 <= nest.macs <= 10:
            continue
        widths = {name: r.choice([1, 1, 2]) for name in nest.tensors}
        sums = {t.name: r.choice([1, widths[t.name], 2, 3]) for t in nest.outs}
        memory = r.randint(2 * max(widths.values()) + max(sums.values()), 9)
        least = least_traffic(nest, widths, memory, 4000, sums)
        if least is None:
            continue
        judged += 1
        bound = lower_bound_bits(nest, memory, of_bytes(nest, widths.values(), tuple(sums.values())))
        assert 8 * least >= bound, f"{nest}\n{widths} {sums} {memory}"


@pytest.mark.parametrize("seed", range(3))
def test_more_memory_never_raises_the_bound(seed: int, draw: Draw) -> None:
    r = Random(seed)
    for _ in range(40):
        nest, _ = draw(r, big=40)
        widths = draw_bits(r, nest)
        memory = r.randint(1, 200)
        assert lower_bound_bits(nest, memory + r.randint(0, 50), widths) <= lower_bound_bits(nest, memory, widths)


def test_fused_and_apart_have_the_same_leading_term(pair: Pair) -> None:
    """Sharing dY does not lower what two large products need: 4 V / sqrt(S) + S."""
    sizes = {"m": 3000, "n": 2000, "k": 2500}
    volume, memory = 3000 * 2000 * 2500, 10_000
    nest, alone = pair(sizes), gemm(*sizes.values())
    fused = capacity(nest, memory, of_bytes(nest, 1)) // 8
    assert fused == pytest.approx(4 * volume / 100 + memory, rel=1e-6)
    assert 0 <= 2 * (capacity(alone, memory, of_bytes(alone, 1)) // 8) - fused <= memory
