"""Nests of all kinds on a row-stationary array: tiles one by one, bounds, what a search finds, and the timeline."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Protocol

import numpy as np
import pytest

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.compute import busy_cycles_lower_bound, compute, cycles_lower_bound, tile_cycles
from npuc.compiler.analysis.machine.row_bounds import cycles_of_small_tiles
from npuc.compiler.analysis.machine.row_choice import busiest, choices, configured, row_stationary
from npuc.compiler.analysis.machine.row_factors import factors_of
from npuc.compiler.analysis.machine.row_passes import tile_work
from npuc.compiler.analysis.machine.row_roles import roles_of
from npuc.compiler.analysis.machine.row_stationary import RowStationary
from npuc.compiler.analysis.machine.table import Energy, Machine
from npuc.compiler.analysis.nest.blocks import lengths
from npuc.compiler.analysis.nest.cores import core_count, core_parts
from npuc.compiler.analysis.nest.elements import footprint_bytes, uniform_widths
from npuc.compiler.analysis.schedule.costs import CandidateCosts, Objective
from npuc.compiler.analysis.schedule.exact_cost import exact_cost, exact_costs
from npuc.compiler.analysis.schedule.search import best_schedule
from npuc.compiler.analysis.timing.double_buffer import core_timings, pipeline
from npuc.compiler.analysis.timing.timeline import timeline
from npuc.compiler.core.errors import CapacityError
from npuc.dialects.npu.nest import Loop, Nest, Schedule
from tests.row_arrays import draw_row_array
from tests.schedules import fitting, gemm
from tests.widths import draw_bits, moved_width, of_bytes

Draw = Callable[..., tuple[Nest, Schedule]]
ENERGY = Energy(1.0, 2.0, 100.0)


class Moves(Protocol):
    by_tile: list[dict[str, int]]
    tail: dict[str, int]
    spare: dict[str, int]
    tiles: list[dict[str, int]]


Walk = Callable[[Nest, Schedule], Moves]


def draw_machine(r: Random, cores: int = 1) -> Machine:
    rate = Fraction(r.randint(1, 60), r.randint(1, 20))
    room = r.choice([20, 120, 400, 3000])
    return Machine(draw_row_array(r), room, rate, 1000.0, 8, r.random() < 0.9, 2, ENERGY, cores=cores)


@pytest.mark.parametrize("seed", range(8))
def test_tiles_one_by_one(seed: int, draw: Draw, explicit_walk: Walk) -> None:
    """The work of a schedule is that of its tile operations, and the time the recurrence over them."""
    r = Random(seed)
    for _ in range(40):
        nest, schedule = draw(r, big=r.choice([4, 6, 12]))
        machine, bits = draw_machine(r), draw_bits(r, nest)
        array, moves, width = (
            configured(nest, schedule, machine.array),
            explicit_walk(nest, schedule),
            moved_width(nest, bits),
        )
        cycles = [tile_cycles(nest, array, extents) for extents in moves.tiles]
        work, timing = compute(nest, schedule, machine.array), pipeline(nest, schedule, machine, bits)
        assert (work.tiles, work.cycles) == (len(cycles), sum(cycles))
        assert timing.compute == work.cycles
        moved = [sum(width[t] * n for t, n in tile.items()) for tile in moves.by_tile]
        after = sum(width[t] * n for t, n in moves.tail.items()) / machine.channel_bits
        every = sum(moved) / machine.channel_bits + after
        every += sum(width[t] * n for t, n in moves.spare.items()) / machine.channel_bits
        if not machine.double_buffer:
            assert timing.time == sum(cycles) + every
            continue
        load = comp = Fraction(0)
        ends = [comp]
        for t, (size, busy) in enumerate(zip(moved, cycles, strict=True)):
            s, total = t, size
            while s > 0 and total + moved[s - 1] <= machine.spm_bits:
                s, total = s - 1, total + moved[s - 1]
            load = max(load, ends[s]) + size / machine.channel_bits
            comp = max(comp, load) + busy
            ends.append(comp)
        assert timing.time == max(comp + after, every)


@pytest.mark.parametrize("seed", range(8))
def test_no_mapping_is_faster_than_elements_and_ports(seed: int, draw: Draw) -> None:
    """Whatever the mapping: each multiply-accumulate takes an element a cycle, and each word crosses a port."""
    r = Random(seed)
    for _ in range(30):
        nest, schedule = draw(r, big=6)
        array = draw_row_array(r)
        own = row_stationary(array)
        tiles = {d: lengths(n, tuple(lo.step for lo in schedule.loops if lo.dim == d)) for d, n in nest.sizes.items()}
        found = compute(nest, schedule, array)
        assert found.cycles >= cycles_lower_bound((nest,), array) >= -(-nest.mac_passes // array.elements)
        for number, statement in enumerate(nest.statements):
            roles = roles_of(nest, statement)
            for mapping in choices(nest, statement, array):
                own_mappings = tuple(choices(nest, s, array)[0] for s in nest.statements)
                own_mappings = (*own_mappings[:number], mapping, *own_mappings[number + 1 :])
                fixed = replace(array, row_stationary=replace(own, mappings=own_mappings))
                assert mapping.active <= array.elements
                assert mapping.taps * mapping.channels <= own.ifmap_words
                assert mapping.taps * mapping.channels * mapping.filters <= own.filter_words
                assert mapping.filters <= own.psum_words
                if len(nest.statements) == 1:
                    work, factors = compute(nest, schedule, fixed), factors_of(roles, mapping, tiles)
                    assert work.cycles >= busiest(factors, own)
                    assert (
                        work.cycles - work.edge - work.filling
                        == factors.steady
                        >= -(-nest.mac_passes // mapping.active)
                    )
                    back = work.returned[roles.out]
                    assert work.accesses[roles.out] == factors.sums + back
                    assert back >= 0


@pytest.mark.parametrize("seed", range(6))
def test_wider_ports_are_never_slower(seed: int, draw: Draw) -> None:
    r = Random(seed)
    for _ in range(40):
        nest, _ = draw(r, big=8)
        array = draw_row_array(r)
        own = row_stationary(array)
        (statement, *_) = nest.statements
        roles, mapping = roles_of(nest, statement), r.choice(choices(nest, statement, array))
        for port in ("ifmap_port", "filter_port", "psum_port"):
            wider = [replace(own, **{port: width}) for width in (1, 2, 3, 8, None)]
            times = [tile_work(roles, one, mapping, nest.sizes).cycles for one in wider]
            assert times == sorted(times, reverse=True)


@pytest.mark.parametrize("seed", range(6))
def test_cores_are_configured_alike(seed: int, draw: Draw) -> None:
    r = Random(seed)
    for _ in range(30):
        nest, schedule = draw(r, big=6, cores=True)
        machine, widths = draw_machine(r, core_count(nest, schedule)), draw_bits(r, nest)
        array = configured(nest, schedule, machine.array)
        works = [compute(part.nest, part.schedule, array) for part in core_parts(nest, schedule)]
        timings = core_timings(nest, schedule, machine, widths)
        assert [timing.compute for timing in timings] == [work.cycles for work in works]
        assert busy_cycles_lower_bound((nest,), machine.array, machine.cores) <= max(work.cycles for work in works)


@pytest.mark.parametrize("seed", range(6))
def test_prices_of_a_search(seed: int, draw: Draw) -> None:
    """Of each candidate the parts of bits to and from SPM are exact, and its cycles no more than the exact ones."""
    r = Random(seed)
    for _ in range(6):
        nest, _ = draw(r, big=r.choice([6, 30]))
        machine = replace(draw_machine(r), spm_bytes=100_000)
        widths = draw_bits(r, nest)
        prices = CandidateCosts(nest, machine, "energy", widths, fine=r.random() < 0.5)
        tables = prices.tables
        ways = tables.options(()).choices
        cycles, bits = (np.broadcast_to(values, tables.shape).ravel() for values in tables.work.of(ways.orders[0]))
        for at in r.sample(range(cycles.size), min(cycles.size, 25)):
            schedule = prices.schedule(ways, 0, at)
            work, width = compute(nest, schedule, machine.array), widths.with_sums(nest)
            assert cycles[at] <= work.cycles
            assert bits[at] == tables.parts * sum(width[name] * count for name, count in work.accesses.items())


@pytest.mark.parametrize("seed", range(8))
def test_choice_is_legal(seed: int, draw: Draw) -> None:
    """
    A right schedule that fits, of no more energy than the whole nest at once. Prices of times leave out what single
    steps wait for, which may count in a nest of a few steps.
    """
    r = Random(seed)
    for _ in range(8):
        nest, _ = draw(r, big=r.choice([6, 40, 300]))
        machine, widths = draw_machine(r), of_bytes(nest, 2)
        for objective in ("time", "energy"):
            try:
                found = best_schedule(nest, machine, objective, widths)
            except CapacityError:
                continue
            assert not list(found.problems(nest))
            assert footprint_bytes(nest, found, widths) <= machine.spm_bytes
            if footprint_bytes(nest, Schedule(), widths) <= machine.spm_bytes:
                close = 1.2 if objective == "time" else 1 + 1e-9
                own = exact_cost(nest, found, machine, objective, widths)[0]
                assert own <= exact_cost(nest, Schedule(), machine, objective, widths)[0] * close


@pytest.mark.parametrize(("m", "n", "k"), [(3, 3, 3), (5, 2, 3), (2, 6, 2)])
def test_best_of_all(m: int, n: int, k: int) -> None:
    """Of a small product the least energy of all schedules, and nearly the least time."""
    nest, widths, r = gemm(m, n, k), of_bytes(gemm(m, n, k), 1), Random(m)
    for _ in range(2):
        array = draw_row_array(r, 3)
        for spm in (9, 16, 40):
            machine = Machine(array, spm, Fraction(3, 2), 1000.0, 4, True, 1, ENERGY)
            legal = [exact_costs(nest, one.schedule, machine, widths) for one in fitting(nest, machine, widths)]
            aims: tuple[tuple[Objective, float], ...] = (("energy", 1.0), ("time", 1.1))
            for objective, close in aims:
                found = exact_cost(nest, best_schedule(nest, machine, objective, widths), machine, objective, widths)[0]
                least = min(cost.score(objective) for cost in legal)
                assert found <= least * close * (1 + 1e-9), (array, spm, objective)


@pytest.mark.parametrize("seed", range(6))
def test_the_timeline_has_the_states_of_the_array(seed: int, draw: Draw) -> None:
    r = Random(seed)
    for _ in range(20):
        nest, schedule = draw(r, big=r.choice([4, 6, 12]))
        machine, widths = draw_machine(r), draw_bits(r, nest)
        found, work = timeline(nest, schedule, machine, widths), compute(nest, schedule, machine.array)
        p, timing = found.per_cycle, pipeline(nest, schedule, machine, widths)
        assert found.ticks == p * timing.cycles
        assert found.total("fill") + found.total("drain") == p * work.filling
        assert found.total("edge") == p * work.edge
        assert found.total("stall") == p * (timing.cycles - work.cycles)


def test_a_search_times_tiles_whose_bounds_are_loose() -> None:
    """Fewer cycles of the busiest resource are no reason to leave out other tiles, which may wait less."""
    own = RowStationary(12, 224, 24, 1, 4, 4)
    array = Array(12, 14, "rs", row_stationary=own)
    machine, nest = Machine(array, 54 << 10, Fraction(1280), 250.0, 14, element_bytes=4), gemm(256, 4096, 1000)
    widths = uniform_widths(nest, machine)
    rival = Schedule((Loop("m", 56), Loop("n", 128), Loop("k", 32)), (), machine.spm_bytes)
    assert footprint_bytes(nest, rival, widths) <= machine.spm_bytes
    found = best_schedule(nest, machine, "time", widths)
    assert exact_cost(nest, found, machine, "time", widths) <= exact_cost(nest, rival, machine, "time", widths)


@pytest.mark.parametrize("seed", range(8))
def test_small_tiles_take_no_less_than_their_bound(seed: int, draw: Draw) -> None:
    """Whichever mapping is taken, and however often a dimension is tiled; where all factors are whole it is met."""
    r, met = Random(seed), 0
    for _ in range(60):
        nest, schedule = draw(r, big=r.choice([4, 6, 12])) if r.random() < 0.3 else product(r)
        array = draw_row_array(r)
        cycles = compute(nest, schedule, configured(nest, schedule, array)).cycles
        steps = {d: [lo.step for lo in schedule.loops if lo.dim == d] for d in nest.sizes}
        largest = {d: min([n, *steps[d]]) for d, n in nest.sizes.items()}
        for settled in (array, configured(nest, schedule, array)):
            bound = cycles_of_small_tiles(nest, settled, largest)
            assert bound <= cycles
            met += bound == cycles
    assert met > 0


def product(r: Random) -> tuple[Nest, Schedule]:
    """A product whose dimensions are cut up to twice."""
    nest = gemm(*(r.randint(1, 40) for _ in range(3)))
    loops = [Loop(dim, r.randint(1, size)) for dim, size in nest.dims for _ in range(r.randint(0, 2)) if size > 1]
    r.shuffle(loops)
    kept: list[Loop] = []
    for loop in loops:
        if all(loop.step < other.step for other in kept if other.dim == loop.dim) and loop.step < nest.sizes[loop.dim]:
            kept.append(loop)
    return nest, Schedule(tuple(kept))
