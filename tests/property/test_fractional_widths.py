"""Elements that take any rational number of bits: the search finds the best of its candidates, and costs are exact."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import gcd
from random import Random
from typing import cast

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from npuc.compiler import compile_source
from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.table import Energy
from npuc.compiler.analysis.nest.elements import Bits, Width, footprint_bytes, in_bits
from npuc.compiler.analysis.nest.traffic import moved_bits, traffic
from npuc.compiler.analysis.schedule.candidates import best_candidate
from npuc.compiler.analysis.schedule.exact_cost import exact_cost
from npuc.compiler.analysis.schedule.grid.nest_tables import MOST_PARTS
from npuc.compiler.analysis.schedule.grid.space import Reals
from npuc.compiler.analysis.schedule.least_needs import Candidates
from npuc.compiler.analysis.schedule.machine_space import MOST, space_of
from npuc.compiler.analysis.schedule.search import OBJECTIVES
from npuc.compiler.analysis.timing.double_buffer import pipeline
from npuc.compiler.analysis.timing.recurrence import Run
from npuc.compiler.analysis.timing.tiles import tile_sequence
from npuc.dialects.npu.nest import Nest, Schedule
from tests.row_arrays import draw_row_array

Draw = Callable[..., tuple[Nest, Schedule]]
WIDTHS = st.builds(Fraction, st.integers(1, 400), st.integers(1, 30)) | st.integers(1, 40).map(Fraction)
FINE = st.fractions(min_value=Fraction(1, 100), max_value=40)
"""Widths with denominators so large that searches count in floats."""


def drawn(nest: Nest, widths: list[Fraction]) -> Bits:
    """The widths of a nest's tensors, partial sums of outputs no narrower than what is stored."""
    own = [cast("Width", widths[number % len(widths)]) for number in range(len(nest.tensors))]
    first = len(nest.ins)
    return Bits(tuple(own), tuple(max(w, 32) for w in own[first : first + len(nest.outs)]))


def draw_machine(r: Random) -> Machine:
    array = Array(r.randint(1, 6), r.randint(1, 6), r.choice(["os", "ws", "is"]))
    array = draw_row_array(r) if r.random() < 0.2 else array
    rate = Fraction(r.randint(1, 40), r.choice([1, 3, 4, 7]))
    return Machine(array, r.choice([60, 400]), rate, 1000.0, 8, r.random() < 0.7, energy=Energy(0.2, 1.0, 20.0))


def is_covered(every: Candidates, needs: Reals, number: int) -> bool:
    """Whether another candidate of the same kind needs no more of anything."""
    if not needs.size:
        return False
    others = np.arange(needs.shape[1]) != number
    no_more = others & np.all(needs <= needs[:, [number]], axis=0)
    return bool((no_more if every.kinds is None else no_more & (every.kinds == every.kinds[number])).any())


@settings(max_examples=40)
@example([Fraction(10, 3)], Random(1))
@example([Fraction(13, 3), Fraction(22, 5), Fraction(31, 7)], Random(5))
@given(st.lists(WIDTHS, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_the_best_is_that_of_all_candidates(draw: Draw, widths: list[Fraction], r: Random) -> None:
    """
    Every candidate, timed exactly, is no better than what is found, by any objective: but for times of those that need
    no less of anything than another, which are not looked at.
    """
    nest, _ = draw(r, big=6)
    bits, machine, objective = drawn(nest, widths), draw_machine(r), r.choice(OBJECTIVES)
    found = best_candidate(nest, machine, objective, bits, (), fine=False)
    space = space_of(nest, machine, objective, bits, (), False, False, True)
    every = space.candidates(MOST)
    assert (found is None) == (not len(every.row))
    if found is None:
        return
    numbers = np.random.default_rng(r.randrange(1 << 30)).permutation(len(every.row))[:150]
    needs = every.needs(np.arange(len(every.row))) if objective in ("time", "edp") else np.empty((0, 0))
    for number in map(int, (*numbers, every.score.argmin())):
        schedule = space.schedule(every, number)
        score, moved = exact_cost(nest, schedule, machine, objective, bits)
        assert found.score <= score * (1 + 1e-12) or is_covered(every, needs, number)
        assert every.bound[number] <= score * (1 + 1e-12)
        assert every.room[number] == footprint_bytes(nest, schedule, bits)
        assert every.moved[number] == float(moved) == float(moved_bits(nest, traffic(nest, schedule), bits))


@settings(max_examples=40)
@given(st.lists(FINE, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_widths_too_fine_to_count_are_searched_all_the_same(draw: Draw, widths: list[Fraction], r: Random) -> None:
    nest, _ = draw(r, big=6)
    bits, machine, objective = drawn(nest, widths), draw_machine(r), r.choice(OBJECTIVES)
    found = best_candidate(nest, machine, objective, bits, (), fine=False)
    space = space_of(nest, machine, objective, bits, (), False, False, True)
    assert space.costs.tables.parts == (bits.parts if bits.parts <= MOST_PARTS else 1)
    every = space.candidates(MOST)
    if found is None:
        assert not len(every.row)
        return
    for number in r.sample(range(len(every.row)), min(60, len(every.row))):
        score, moved = exact_cost(nest, space.schedule(every, number), machine, objective, bits)
        assert found.score <= score * (1 + 1e-9)
        assert every.moved[number] == pytest.approx(float(moved), rel=1e-12)


@settings(max_examples=40)
@given(st.lists(WIDTHS, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_times_are_those_of_a_recurrence_in_fractions(draw: Draw, widths: list[Fraction], r: Random) -> None:
    """Parts of a bit are counted in integers; the same in fractions of bits gives the same times."""
    nest, schedule = draw(r, big=9)
    bits, machine = drawn(nest, widths), replace(draw_machine(r), double_buffer=True)
    sequence = tile_sequence(nest, schedule, machine.array, bits)
    rate = machine.channel_bits
    run = Run(rate.numerator, rate.denominator, machine.spm_bits)
    ticks = run.end(sequence.root, sequence.head) + sequence.tail * rate.denominator
    timing = pipeline(nest, schedule, machine, bits)
    assert timing.moved == sequence.moved
    assert (timing.head, timing.tail) == (sequence.head, sequence.tail)
    overhead = timing.compute - sequence.root.cycles
    assert timing.time == max(Fraction(ticks) / rate.numerator + overhead, sequence.moved / rate)


@given(st.lists(FINE, min_size=1, max_size=4))
def test_parts_are_the_fewest_of_which_all_are_whole(widths: list[Fraction]) -> None:
    bits = Bits(tuple(cast("Width", width) for width in widths), ())
    whole = bits.times(bits.parts).stored
    assert all(isinstance(width, int) for width in whole)
    assert [in_bits(width, bits.parts) for width in whole] == widths
    assert gcd(*whole, bits.parts) == 1


NETWORK = """
network net(batch = 18) {
  input  x: f32[batch, 60]
  labels y: i32[batch]
  h = relu(linear(x, 45))
  loss cross_entropy(linear(h, 10), y)
  optimizer sgd(lr = 0.1)
}
"""


@pytest.mark.parametrize("group", [3, 5, 7])
@pytest.mark.parametrize("objective", ["time", "energy"])
def test_groups_that_are_no_power_of_two_compile(group: int, objective: str) -> None:
    """Blocks of 3, 5 and 7 elements, whose bits are no fractions of a power of two, in whole programs."""
    report = compile_source(
        NETWORK, "dsl", backend="cycle", hardware="igo-small", quantize=f"bfp<4, {group}, 3>", objective=objective
    )
    cycles = report.totals.cycles
    assert cycles
