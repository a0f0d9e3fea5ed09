"""Nests over several cores: what each moves, how long it takes, against a walk of the tiles core by core."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Protocol

import pytest

from npuc.compiler.analysis.machine.array import PLACES, Array
from npuc.compiler.analysis.machine.compute import compute, tile_cycles
from npuc.compiler.analysis.machine.table import Energy, Machine
from npuc.compiler.analysis.nest.cores import core_count, core_parts, core_traffic, on_cores
from npuc.compiler.analysis.nest.elements import footprint_bytes
from npuc.compiler.analysis.nest.traffic import TensorTraffic, traffic
from npuc.compiler.analysis.schedule.over_cores.partitions import core_partitions
from npuc.compiler.analysis.schedule.search import OBJECTIVES, best_schedule
from npuc.compiler.analysis.timing.double_buffer import core_timings, pipeline
from npuc.dialects.npu.nest import Loop, Nest, Schedule
from tests.edge_walk import walked
from tests.property.conftest import gemm
from tests.schedules import fitting, least_time
from tests.widths import draw_bits, finished, moved_width, of_bytes


class Moves(Protocol):
    by_tile: list[dict[str, int]]
    tails: list[dict[str, int]]
    tiles: list[dict[str, int]]
    places: list[dict[str, tuple[int, int]]]
    cores: list[int]
    spare: dict[str, int]


Draw = Callable[..., tuple[Nest, Schedule]]
Walk = Callable[[Nest, Schedule], Moves]


def machine_of(r: Random, cores: int) -> Machine:
    array = Array(r.randint(1, 6), r.randint(1, 6), r.choice(list(PLACES)), r.choice(["per-fold", "overlap"]))
    rate = Fraction(r.randint(1, 60), r.randint(1, 20))
    room = r.choice([8, 50, 400, 3000])
    return Machine(array, room, rate, 1000.0, 8, r.random() < 0.9, cores=cores)


@pytest.mark.parametrize("seed", range(8))
def test_parts_add_up_to_the_whole(seed: int, draw: Draw, explicit_walk: Walk) -> None:
    """Each core's elements are those of the walk's tile operations on it; their sums are the closed form's."""
    r = Random(seed)
    for _ in range(60):
        nest, schedule = draw(r, big=6, cores=True)
        moves = explicit_walk(nest, schedule)
        found = core_traffic(nest, schedule)
        assert found.channel == traffic(nest, schedule), f"{nest}\n{schedule}"
        moved = on_cores(nest, schedule, found.moved)
        assert len(moved) == core_count(nest, schedule) == len(moves.tails)
        assert sum(part.cores for part in core_parts(nest, schedule)) == len(moved)
        for name in nest.tensors:
            both = [0] * len(moves.tails)
            for core, tile in zip(moves.cores, moves.by_tile, strict=True):
                both[core] += tile.get(name, 0)
            for core, tail in enumerate(moves.tails):
                both[core] += tail.get(name, 0)
            both[0] += moves.spare.get(name, 0)
            assert [rows[name].read + rows[name].write for rows in moved] == both, f"{name}\n{nest}\n{schedule}"
        for out in nest.outs:
            ended = [tail.get(finished(out.name), 0) for tail in moves.tails]
            for core, tile in zip(moves.cores, moves.by_tile, strict=True):
                ended[core] += tile.get(finished(out.name), 0)
            ended[0] += moves.spare.get(finished(out.name), 0)
            own = [rows[out.name] for rows in moved]
            assert [row.write - row.spilled for row in own] == ended, f"{out.name}\n{nest}\n{schedule}"
            assert [row.resumed for row in own] == [row.read for row in own]


@pytest.mark.parametrize("seed", range(6))
def test_each_core_takes_the_time_of_its_own_tiles(seed: int, draw: Draw, explicit_walk: Walk) -> None:
    """The recurrence as it is written, on each core with its part of the channel."""
    r = Random(seed)
    for _ in range(40):
        nest, schedule = draw(r, big=6, cores=True)
        moves = explicit_walk(nest, schedule)
        count = len(moves.tails)
        machine = machine_of(r, count + r.randint(0, 2))
        widths = draw_bits(r, nest)
        width = moved_width(nest, widths)
        timings = on_cores(nest, schedule, core_timings(nest, schedule, machine, widths))
        parts = on_cores(nest, schedule, core_parts(nest, schedule))
        core_machine = machine.core(count)
        for core, timing in enumerate(timings):
            tiles = [n for n, at in enumerate(moves.cores) if at == core]
            part = parts[core]
            assert timing.compute == compute(part.nest, part.schedule, machine.array).cycles
            tail = dict(moves.tails[core])
            spare = moves.spare if core == 0 else {}
            sizes = [sum(width[t] * n for t, n in moves.by_tile[tile].items()) for tile in tiles]
            ends = sum(width[t] * n for t, n in tail.items()), sum(width[t] * n for t, n in spare.items())
            assert timing.moved == sum(sizes) + sum(ends)
            if machine.double_buffer and not machine.array.skips_reloads:
                cycles = tile_times(part.nest, machine, moves, tiles)
                assert timing.time == simulate(core_machine, sizes, cycles, *ends), f"{nest}\n{schedule}\n{machine}"
        whole = pipeline(nest, schedule, machine, widths)
        if schedule.core_depth:
            assert whole.time == max(max(t.time for t in timings), whole.moved / machine.channel_bits)


def tile_times(nest: Nest, machine: Machine, moves: Moves, tiles: list[int]) -> list[int]:
    """The cycles of the tile operations of a core, of these numbers."""
    if machine.array.grouped:
        return walked(nest, machine.array, [moves.places[tile] for tile in tiles])
    return [tile_cycles(nest, machine.array, moves.tiles[tile]) for tile in tiles]


def simulate(machine: Machine, sizes: list[int], cycles: list[int], tail: int, spare: int) -> Fraction:
    """The recurrence, a tile operation at a time."""
    load_end = comp_end = Fraction(0)
    ends = [Fraction(0)]
    for t, (size, work) in enumerate(zip(sizes, cycles, strict=True)):
        s, total = t, size
        while s > 0 and total + sizes[s - 1] <= machine.spm_bits:
            s, total = s - 1, total + sizes[s - 1]
        load_end = max(load_end, ends[s]) + size / machine.channel_bits
        comp_end = max(comp_end, load_end) + work
        ends.append(comp_end)
    end = comp_end + machine.array.op_overhead + tail / machine.channel_bits
    return max(end, (sum(sizes) + tail + spare) / machine.channel_bits)


@pytest.mark.parametrize("seed", range(6))
def test_features_of_a_chip_save_traffic(seed: int, draw: Draw) -> None:
    """Multicast reads what one of the readers reads; partial sums on chip cost nothing, and all is still computed."""
    r = Random(seed)
    for _ in range(60):
        nest, schedule = draw(r, big=6, cores=True)
        plain = core_traffic(nest, schedule).channel
        shared = core_traffic(nest, schedule, multicast=True)
        on_chip = core_traffic(nest, schedule, reduction="on-chip")
        split = {loop.dim for loop in schedule.loops[: schedule.core_depth]}
        for name, tensor in nest.tensors.items():
            assert shared.channel[name].read <= plain[name].read
            assert shared.channel[name].write == plain[name].write
            if split <= tensor.dims:
                assert on_chip.channel[name] == plain[name]
            if name in {out.name for out in nest.outs}:
                assert on_chip.channel[name].write - on_chip.channel[name].read == tensor.elements
                assert on_chip.channel[name].write - on_chip.channel[name].spilled == tensor.elements
                assert on_chip.channel[name].write <= plain[name].write
        machine = machine_of(r, core_count(nest, schedule))
        widths = of_bytes(nest, 2, r.choice([2, 4]))
        slow = pipeline(nest, schedule, machine, widths)
        for fast in (replace(machine, multicast=True), replace(machine, reduction="on-chip")):
            quick = pipeline(nest, schedule, fast, widths)
            assert quick.time <= slow.time
            assert quick.moved <= slow.moved
            assert quick.time >= max(quick.moved / fast.channel_bits, quick.compute)


def test_weights_and_partial_sums_of_a_split_batch() -> None:
    """A split of m over 4 cores reads W four times and adds three reads and writes of dW."""
    nest = gemm({"m": 16, "n": 6, "k": 8}, "dxdw", (), "none")
    schedule = Schedule((Loop("m", 4, cores=True), Loop("m", 2)), (("W", 1), ("dW", 1)))
    moved = traffic(nest, schedule)
    assert moved["W"] == TensorTraffic(4 * 48, 0)
    assert moved["dW"] == TensorTraffic(3 * 48, 4 * 48, 3 * 48, 3 * 48)
    assert moved["dX"] == TensorTraffic(0, 128)
    assert core_traffic(nest, schedule, multicast=True).channel["W"] == TensorTraffic(48, 0)
    assert core_traffic(nest, schedule, reduction="on-chip").channel["dW"] == TensorTraffic(0, 48)


def test_a_dimension_of_two_is_cut_and_one_of_one_is_not() -> None:
    nest = gemm({"m": 2, "n": 3, "k": 1}, "forward", (), "none")
    assert list(core_partitions(nest, 2)) == [(), (Loop("m", 1, cores=True),), (Loop("n", 2, cores=True),)]


@pytest.mark.slow
@pytest.mark.parametrize("cores", [2, 4])
@pytest.mark.parametrize(("roles", "sums"), [("forward", 1), ("dx", 4), ("dw", 1), ("dxdw", 1), ("dw", 4), ("dxdw", 4)])
def test_search_is_as_good_as_all_schedules(cores: int, roles: str, sums: int) -> None:
    """The least time of every schedule of every cut along one dimension or two."""
    nest = gemm({"m": 4, "n": 2, "k": 3}, roles, (), "none")
    widths = of_bytes(nest, 1, sums)
    for spm in (7 if (roles, sums) != ("dxdw", 4) else 11, 30):  # a block of one element of each tensor fits
        machine = Machine(Array(2, 2), spm, Fraction(1, 2), 1000.0, 4, element_bytes=1, cores=cores)
        cuts = core_partitions(nest, cores)
        fits = [one for cut in cuts for one in fitting(nest, machine, widths, cut=cut)]
        least = least_time(nest, machine, widths, fits)
        best = best_schedule(nest, machine, "time", widths)
        assert pipeline(nest, best, machine, widths).time <= least * Fraction(21, 20)


@pytest.mark.parametrize("seed", range(4))
def test_more_cores_are_never_slower(seed: int, draw: Draw) -> None:
    r = Random(seed)
    for _ in range(6):
        nest, _ = draw(r, big=20)
        widths = of_bytes(nest, 2, r.choice([2, 4]))
        array = Array(r.randint(1, 6), r.randint(1, 6))
        one = Machine(array, 400, Fraction(2), 1000.0, 8, element_bytes=2, energy=Energy(0.2, 1.0, 20.0))
        for objective in OBJECTIVES:
            schedule = best_schedule(nest, replace(one, cores=4), objective, widths)
            assert not list(schedule.problems(nest))
            assert core_count(nest, schedule) <= 4
            assert footprint_bytes(nest, schedule, widths) <= one.spm_bytes
        times = [
            pipeline(nest, best_schedule(nest, machine, "time", widths), machine, widths).time
            for machine in (one, replace(one, cores=2), replace(one, cores=4))
        ]
        assert times[0] >= times[1] >= times[2]


@pytest.mark.parametrize("roles", ["forward", "dx", "dxdw"])
def test_cores_that_no_two_factors_use_up_are_no_slower(roles: str) -> None:
    """Eleven cores, which have no two factors, and nine, which have but 3 x 3, beside eight and ten."""
    nest = gemm({"m": 40, "n": 24, "k": 16}, roles, (), "none")
    widths = of_bytes(nest, 2)
    one = Machine(Array(4, 4), 400, Fraction(1), 1000.0, 8, element_bytes=2)
    machines = [replace(one, cores=cores) for cores in (8, 9, 10, 11)]
    times = [pipeline(nest, best_schedule(nest, machine, "time", widths), machine, widths).time for machine in machines]
    assert times == sorted(times, reverse=True)
