"""The DRAM channel over time, tensor by tensor, and nests that run round-robin: sums equal the pipeline's."""

from collections.abc import Callable
from fractions import Fraction
from random import Random

import pytest

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import Bits
from npuc.compiler.analysis.nest.traffic import moved_bits, traffic
from npuc.compiler.analysis.timing import round_robin_timeline, timeline
from npuc.compiler.analysis.timing.interleave import (
    interleaved_compute,
    interleaved_pipeline,
    interleaved_sequence,
    interleaved_traffic,
    tensor_names,
)
from npuc.compiler.analysis.timing.states import STATES, Timeline
from npuc.compiler.analysis.timing.tiles import tile_sequence
from npuc.dialects.npu.nest import Nest, Schedule
from npuc.dialects.npu.shared import RoundRobin
from tests.property.test_interleaved_costs import draw_together
from tests.property.test_timeline import draw_machine
from tests.widths import draw_bits

Draw = Callable[..., tuple[Nest, Schedule]]


@pytest.fixture
def every_tile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Timelines that tell of all tile operations, and join none."""
    for module in (timeline, round_robin_timeline):
        monkeypatch.setattr(module, "TILES", 1 << 60)
    monkeypatch.setattr(timeline, "RESOLUTION", 1 << 60)
    monkeypatch.setattr(timeline, "FOLDS", 1 << 60)


def assert_channel(found: Timeline, bits: int, machine: Machine) -> None:
    """The channel transfers so many bits, never two at a time."""
    assert sum(part.busy for part in found.channel) == bits * machine.channel_bits.denominator
    for part in found.channel:
        assert 0 <= part.busy <= part.end - part.begin
    for one, other in zip(found.channel, found.channel[1:], strict=False):
        assert one.end <= other.begin or not machine.double_buffer
    assert found.channel[-1].end == found.ticks
    for count in (1, 9):
        shares = found.channel_buckets(count)
        busy = sum(part.busy for part in found.channel)
        assert sum(shares) / count == pytest.approx(busy / found.ticks if found.ticks else 0, abs=1e-9)


def moved_of(found: Timeline, machine: Machine) -> dict[str, Fraction]:
    """The bits of each tensor in the transfers, which do not overlap."""
    for one, other in zip(found.transfers, found.transfers[1:], strict=False):
        assert one.begin + one.ticks <= other.begin
        assert one.tile <= other.tile
    sums: dict[str, Fraction] = {}
    for one in found.transfers:
        sums[one.tensor] = sums.get(one.tensor, Fraction(0)) + Fraction(one.ticks) / machine.channel_bits.denominator
    return sums


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.usefixtures("every_tile")
def test_the_channel_transfers_what_moves(seed: int, draw: Draw) -> None:
    r = Random(seed)
    timeline.timeline.cache_clear()
    for _ in range(30):
        nest, schedule = draw(r, big=4)
        machine, widths = draw_machine(r), draw_bits(r, nest)
        found = timeline.timeline(nest, schedule, machine, widths)
        sequence = tile_sequence(nest, schedule, machine.array, widths)
        assert_channel(found, sequence.moved - sequence.spare, machine)
        sums = moved_of(found, machine)
        assert sum(sums.values()) == sequence.head + sequence.root.moved
        of = traffic(nest, schedule)
        for tensor in nest.ins:
            alone = {name: of[name] for name in of if name == tensor.name}
            assert sums.get(tensor.name, 0) == moved_bits(nest, alone, widths)
        transferred = {one.tile for one in found.transfers}
        for piece in found.pieces:  # no tile operation begins before its data are there
            if piece.fold is not None and piece.tile in transferred:
                last = max(one.begin + one.ticks for one in found.transfers if one.tile == piece.tile)
                assert piece.begin >= last
    timeline.timeline.cache_clear()


def drawn_in_turn(r: Random, draw: Draw) -> tuple[RoundRobin, tuple[Bits, ...]]:
    together = draw_together(r, draw, r.choice([2, 2, 3]), 4)
    of = {value: r.choice([4, 8, 16]) for own in together.values for value in own}
    widths = tuple(
        Bits(
            (*(of[value] for value in own), *(16 for _ in range(len(nest.tensors) - len(own)))), (16,) * len(nest.outs)
        )
        for nest, own in zip(together.nests, together.values, strict=True)
    )
    return together, widths


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.usefixtures("every_tile")
def test_nests_in_turn(seed: int, draw: Draw) -> None:
    r = Random(seed)
    round_robin_timeline.interleaved_timeline.cache_clear()
    for _ in range(20):
        together, widths = drawn_in_turn(r, draw)
        machine = draw_machine(r)
        found = round_robin_timeline.interleaved_timeline(together, machine, widths)
        timing, array = interleaved_pipeline(together, machine, widths), machine.array
        work = interleaved_compute(together, array)
        p = found.per_cycle
        assert found.ticks == p * timing.cycles
        assert found.total("stall") == p * (timing.cycles - timing.compute)
        assert all(getattr(part, state) >= 0 for part in found.stretches for state in STATES)
        sequence = interleaved_sequence(together, array, widths)
        assert_channel(found, sequence.moved - sequence.spare, machine)
        sums = moved_of(found, machine)
        elements = zip(together.nests, widths, interleaved_traffic(together), tensor_names(together), strict=True)
        for nest, own, of, names in elements:
            for tensor in nest.ins:
                read = moved_bits(nest, {tensor.name: of[tensor.name]}, own)
                assert read <= sums.get(names[tensor.name], 0)
        tiles = [one.tiles for one in work]
        for number, count in enumerate(tiles):
            told = [piece.tile for piece in found.pieces if piece.nest == number and piece.fold is not None]
            assert len(set(told)) == count
        first = [piece.nest for piece in found.pieces if piece.tile < len(tiles) and piece.fold is not None]
        assert list(dict.fromkeys(first)) == list(range(len(tiles)))
        for state in ("steady", "edge"):
            assert sum(one.ticks for one in found.pieces if one.state == state) == found.total(state)
        for one, other in zip(found.pieces, found.pieces[1:], strict=False):
            assert one.begin + one.ticks == other.begin
    round_robin_timeline.interleaved_timeline.cache_clear()
