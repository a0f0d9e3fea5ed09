"""The room that nested tilings count is that of their schedule; all orders at once find what each in turn does."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.analysis.machine.array import Array, Dataflow
from npuc.compiler.analysis.machine.compute import compute
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import Bits, footprint_bytes
from npuc.compiler.analysis.schedule import tiling_choices
from npuc.compiler.analysis.schedule.floors.plain import exposed_bits, least_cost, least_cycles, least_time
from npuc.compiler.analysis.schedule.least_traffic import TilingsSearch, tilings_search
from npuc.compiler.analysis.timing.double_buffer import pipeline
from npuc.dialects.npu.nest import Nest
from tests.schedules import fused, gemm

SIZES = st.tuples(*[st.integers(1, 40)] * 3)
WIDTHS = st.sampled_from([4, 8, 12, 16, 32])


def widths_of(nest: Nest, stored: int, sums: int) -> Bits:
    return Bits((stored,) * len(nest.tensors), (max(stored, sums),) * len(nest.outs))


@settings(max_examples=60)
@given(SIZES, st.booleans(), WIDTHS, WIDTHS, st.integers(8, 4000), st.sampled_from([1, 4]))
def test_room_is_that_of_the_schedule(
    sizes: tuple[int, int, int], pair: bool, stored: int, sums: int, spm: int, edge: int
) -> None:
    nest = fused(gemm(*sizes)) if pair else gemm(*sizes)
    widths = widths_of(nest, stored, sums)
    search = tilings_search(nest, widths, edge)
    tilings = None if search is None else search.least(spm)
    if tilings is None:
        return
    for finest in (tilings.coarsest, tilings.finest):
        assert tilings.room(finest) == footprint_bytes(nest, tilings.schedule(nest, finest, spm), widths)
    schedule, needs = tilings.coarsened(nest, spm)
    assert footprint_bytes(nest, schedule, widths) <= spm
    assert tilings.coarsened(nest, needs)[0].loops == schedule.loops


def in_turn(nest: Nest, widths: Bits) -> TilingsSearch | None:
    """A search that compares the tilings of each order by themselves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiling_choices, "JOINED", 0)
        search = tilings_search.__wrapped__(nest, widths, 1)
        if search is not None:
            search.least(1 << 30)  # it decides now how it compares
        return search


@settings(max_examples=40)
@given(SIZES, st.booleans(), WIDTHS, st.integers(8, 4000), st.floats(1.0, 4.0))
def test_orders_at_once_find_what_each_in_turn_does(
    sizes: tuple[int, int, int], pair: bool, stored: int, spm: int, more: float
) -> None:
    nest = fused(gemm(*sizes)) if pair else gemm(*sizes)
    widths = widths_of(nest, stored, 32)
    once, turn = tilings_search(nest, widths, 1), in_turn(nest, widths)
    assert (once is None) == (turn is None)
    if once is None or turn is None:
        return
    found = turn.least(spm)
    limit = float("inf") if found is None else more * found.weight
    assert once.least(spm) == found
    assert once.least(spm, limit) == turn.least(spm, limit)


@pytest.mark.parametrize("pair", [False, True])
@pytest.mark.parametrize("sizes", [(12, 9, 10), (40, 3, 17), (24, 24, 24)])
def test_orders_at_once_find_the_same_in_every_size_of_scratchpad(sizes: tuple[int, int, int], pair: bool) -> None:
    nest = fused(gemm(*sizes)) if pair else gemm(*sizes)
    widths = widths_of(nest, 8, 32)
    once, turn = tilings_search(nest, widths, 1), in_turn(nest, widths)
    assert once is not None
    assert turn is not None
    for spm in range(8, 900, 9 if pair else 2):
        assert once.least(spm) == turn.least(spm)


@settings(max_examples=60)
@given(
    SIZES,
    st.booleans(),
    st.sampled_from(("os", "ws", "is")),
    st.sampled_from([(4, 4), (3, 5)]),
    st.sampled_from([1, 2, None]),
    st.integers(8, 4000),
)
def test_least_cycles_are_no_more_than_those_of_the_schedule(
    sizes: tuple[int, int, int], pair: bool, dataflow: Dataflow, sides: tuple[int, int], edge: int | None, spm: int
) -> None:
    nest = fused(gemm(*sizes)) if pair else gemm(*sizes)
    array = Array(*sides, dataflow, edge_elements=edge)
    search = tilings_search(nest, widths_of(nest, 8, 32), 1)
    tilings = None if search is None else search.least(spm)
    if tilings is None:
        return
    for finest in (tilings.coarsest, tilings.finest):
        schedule = tilings.schedule(nest, finest, spm)
        least = least_cycles(nest, schedule, array)
        assert 0 < least <= compute(nest, schedule, array).cycles


@settings(max_examples=60)
@given(
    SIZES,
    st.booleans(),
    st.sampled_from([Array(4, 4, "os"), Array(3, 5, "ws", edge_elements=1), Array(4, 3, "is", edge_elements=2)]),
    WIDTHS,
    st.integers(8, 4000),
    st.sampled_from([Fraction(1), Fraction(7, 3), Fraction(40)]),
    st.booleans(),
)
def test_what_a_schedule_takes_at_least_is_no_more_than_its_time(
    sizes: tuple[int, int, int], pair: bool, array: Array, stored: int, spm: int, rate: Fraction, hides: bool
) -> None:
    nest = fused(gemm(*sizes)) if pair else gemm(*sizes)
    widths = widths_of(nest, stored, 32)
    machine = Machine(array, spm, rate, 1000.0, 4, element_bytes=2, double_buffer=hides)
    search = tilings_search(nest, widths, 1)
    tilings = None if search is None else search.least(spm)
    if tilings is None:
        return
    for finest in (tilings.coarsest, tilings.finest):
        schedule = tilings.schedule(nest, finest, spm)
        timing = pipeline(nest, schedule, machine, widths)
        if hides:
            assert exposed_bits(nest, schedule, widths) == timing.head + timing.tail
        time = float(timing.time)
        assert 0 < least_time(nest, schedule, machine, widths) <= time
        for limit in (0.0, time, 2 * time):
            assert 0 < least_cost(nest, schedule, machine, "time", widths, limit) <= time
