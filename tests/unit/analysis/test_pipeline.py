"""The pipeline on cases that can be checked by hand, and on long ones that no simulation could walk."""

from fractions import Fraction

import pytest

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import Bits
from npuc.compiler.analysis.timing.double_buffer import pipeline
from npuc.compiler.analysis.timing.operations import leaves
from npuc.compiler.analysis.timing.tiles import tile_sequence
from npuc.dialects.npu.nest import Loop, Schedule
from tests.schedules import gemm


def machine(spm: int, rate: Fraction, *, double_buffer: bool = True) -> Machine:
    """A 4 x 4 output-stationary array without fill and drain: a 4 x 4 x k tile takes k cycles and one more op's 6."""
    return Machine(Array(4, 4), spm, rate, 1000.0, 4, double_buffer, 1)


BYTES = Bits((8, 8, 8), (8,))


def test_one_tile() -> None:
    """Load, compute, fill and drain, store, one after the other."""
    timing = pipeline(gemm(4, 4, 10), Schedule(), machine(1000, Fraction(2)), BYTES)
    assert (timing.head, timing.tail, timing.compute) == (8 * 80, 8 * 16, 10 + 6)
    assert timing.time == 80 // 2 + 16 + 16 // 2


def test_loads_hide_behind_compute() -> None:
    """Tiles of 4 x 4 x 4: 32 bytes in 2 cycles, 4 cycles of compute; only the first load is seen."""
    timing = pipeline(gemm(4, 4, 40), Schedule((Loop("k", 4),)), machine(1000, Fraction(16)), BYTES)
    assert timing.time == 2 + 10 * 4 + 6 + 1


def test_compute_hides_behind_loads() -> None:
    """The same at 4 bytes a cycle: ten loads of 8 cycles, the last tile's compute, the store."""
    timing = pipeline(gemm(4, 4, 40), Schedule((Loop("k", 4),)), machine(1000, Fraction(4)), BYTES)
    assert timing.time == 10 * 8 + 4 + 6 + 4


@pytest.mark.parametrize(("room", "time"), [(63, 10 * (8 + 4) + 6 + 4), (64, 10 * 8 + 4 + 6 + 4)])
def test_room_for_one_tile_only(room: int, time: int) -> None:
    """Where two loads do not fit in half of the SPM the next one waits for the computation."""
    timing = pipeline(gemm(4, 4, 40), Schedule((Loop("k", 4),)), machine(room, Fraction(4)), BYTES)
    assert timing.time == time


def test_write_back_is_billed_to_the_load_that_displaces() -> None:
    """Two output tiles: the first one's 16 bytes go out before the second one's operands come in."""
    sequence = tile_sequence(gemm(8, 4, 4), Schedule((Loop("m", 4),), (("W", 1),)), Array(4, 4), BYTES)
    assert (sequence.head, sequence.tail) == (8 * 32, 8 * 16)
    assert [(moved, count) for _, moved, count in sequence.root.items] == [(0, 1), (8 * (16 + 16), 1)]


def test_partial_sums_leave_and_come_back_wide() -> None:
    """
    Two output tiles, each visited twice: twice 4-byte sums go out and come back, the results have one byte.

    The second tile's sums stay over the last step of k; what displaces the first tile's is the load of the second.
    """
    nest, schedule = gemm(8, 4, 8), Schedule((Loop("k", 4), Loop("m", 4)))
    wide = tile_sequence(nest, schedule, Array(4, 4), Bits((8, 8, 8), (32,)))
    moved = [before // 8 for _, before in leaves(wide.root, wide.head)]
    assert moved == [16 + 16, 64 + 16, 64 + 16 + 16 + 64, 16 + 16 + 64]
    assert wide.tail == 8 * 16


def test_without_double_buffer_nothing_overlaps() -> None:
    serial = machine(1000, Fraction(4), double_buffer=False)
    timing = pipeline(gemm(4, 4, 40), Schedule((Loop("k", 4),)), serial, BYTES)
    assert timing.time == 320 // 4 + 40 + 6 + 16 // 4


@pytest.mark.parametrize("order", ["mnk", "kmn", "nkm"])
def test_a_trillion_tiles(order: str) -> None:
    """The time of 10^12 tile operations keeps its bounds exactly."""
    nest = gemm(10**6, 10**6, 10**6)
    schedule = Schedule(tuple(Loop(d, 100) for d in order))
    slow = machine(1 << 16, Fraction(1, 7))
    timing = pipeline(nest, schedule, slow, BYTES)
    memory = timing.moved / slow.channel_bits
    assert timing.compute == 625 * 100 * 10**12 + 6
    assert max(timing.compute, memory) <= timing.time <= timing.compute + memory
    fast = machine(1 << 16, Fraction(10**6))
    assert pipeline(nest, schedule, fast, BYTES).time < timing.compute * Fraction(1001, 1000)
