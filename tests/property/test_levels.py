"""The least traffic against brute force over every schedule that the IR can write, and its promises."""

from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.bounds import lower_bound_bits
from npuc.compiler.analysis.nest.elements import footprint_bytes
from npuc.compiler.analysis.nest.traffic import moved_bits, traffic
from npuc.compiler.analysis.schedule.least_traffic import least_traffic
from npuc.compiler.analysis.schedule.search import best_schedule
from npuc.dialects.npu.nest import Nest, Schedule
from tests.schedules import all_loops, fused, gemm, held, least_moved, moved
from tests.widths import draw_bits, of_bytes


@pytest.mark.parametrize(
    ("nest", "most", "sums"),
    [
        (gemm(3, 3, 3), 2, 4),
        (gemm(4, 2, 3), 3, 1),
        (gemm(1, 5, 4), 3, 2),
        (gemm(4, 4, 3), 2, 1),
        (fused(gemm(2, 3, 2)), 2, 2),
        (fused(gemm(3, 2, 3)), 2, 1),
        (fused(gemm(4, 1, 3)), 3, 4),
        (fused(gemm(3, 3, 3)), 2, 1),
        (fused(gemm(3, 3, 3)), 2, 2),
    ],
)
def test_least_of_all(nest: Nest, most: int, sums: int) -> None:
    """In every room: the least traffic of all orders, steps, depths and partitions, dimensions cut again."""
    widths = of_bytes(nest, 1, sums)
    best = least_moved(nest, most, sums)
    least = max(best.values())
    machine = Machine(Array(2, 2), 0, Fraction(1, 2), 1000.0, 4, element_bytes=1)
    for spm in range(min(best), max(best) + 1):
        least = min(least, best.get(spm, least))
        own = least_traffic(nest, spm, widths)
        assert own is not None
        for found in (own, best_schedule(nest, replace(machine, spm_bytes=spm), "traffic", widths)):
            assert not list(found.problems(nest))
            assert footprint_bytes(nest, found, widths) <= spm
            assert moved_bits(nest, traffic(nest, found), widths) == 8 * least, spm


def test_cut_again() -> None:
    """Where SPM is small, a schedule that cuts a dimension twice is better than any that does not."""
    nest = gemm(4, 4, 4)
    once = min(moved(nest, s) for s in _schedules(nest, 1, 7))
    found = least_traffic(nest, 7, of_bytes(nest, 1))
    assert found is not None
    assert (once, moved(nest, found)) == (96, 80)
    dims = [loop.dim for loop in found.loops]
    assert len(set(dims)) < len(dims)


def _schedules(nest: Nest, most: int, spm: int) -> list[Schedule]:
    """All schedules that fit."""
    depths = [(x, w, y) for x in range(4) for w in range(4) for y in range(4)]
    found = (
        Schedule(loops, tuple(zip("XWY", keeps, strict=True)))
        for loops in all_loops(nest, most)
        for keeps in depths
        if max(keeps) <= len(loops)
    )
    return [schedule for schedule in found if held(nest, schedule) <= spm]


@pytest.mark.parametrize("seed", range(6))
def test_larger_products(seed: int) -> None:
    """Any sizes, widths and limits: legal, below the limit, not below the bound, and more room moves no more."""
    r = Random(seed)
    for _ in range(8):
        nest = gemm(*(r.choice([1, r.randint(2, 12), r.randint(13, 90)]) for _ in range(3)))
        nest = fused(nest) if r.random() < 0.6 else nest
        widths = draw_bits(r, nest)
        last: int | None = None
        for spm in sorted(r.randint(20, r.choice([60, 900, 9000])) for _ in range(6)):
            found = least_traffic(nest, spm, widths)
            assert found is not None
            assert not list(found.problems(nest))
            assert footprint_bytes(nest, found, widths) <= spm
            sent = moved_bits(nest, traffic(nest, found), widths)
            assert sent >= lower_bound_bits(nest, spm, widths)
            assert last is None or sent <= last
            last = sent
            assert least_traffic(nest, spm, widths, sent) is None, "nothing is below the least"
            again = least_traffic(nest, spm, widths, sent + 1)
            assert again is not None
            assert moved(nest, again) == moved(nest, found)


def test_tiles_of_the_array() -> None:
    """No dimension is cut below the edge that is asked for, if it has as many elements."""
    nest = gemm(300, 200, 100)
    widths = of_bytes(nest, 2, 4)
    found = least_traffic(nest, 8000, widths, edge=16)
    assert found is not None
    assert min(loop.step for loop in found.loops) >= 16
    assert footprint_bytes(nest, found, widths) <= 8000


def test_what_is_not_searched() -> None:
    """A window, a bias and three siblings are left to the other search; what does not fit has no schedule."""
    assert least_traffic(gemm(3, 3, 3), 2, of_bytes(gemm(3, 3, 3), 1)) is None
    nest = gemm(4, 4, 4)
    (y,) = nest.outs
    bias = replace(y, name="Y0", shape=(4,), axes=y.axes[1:])
    started = replace(nest, starts=(bias,))
    assert least_traffic(started, 100, of_bytes(started, 1)) is None
    assert least_traffic(nest, 100, of_bytes(nest, 1)) == Schedule((), (), 100)
