"""Searches of one nest on several machines share tables, and bounds of one another, and find what each finds alone."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.table import Energy
from npuc.compiler.analysis.nest.elements import Bits
from npuc.compiler.analysis.schedule.candidates import best_candidate
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.schedule.grid import nest_tables as tables
from npuc.compiler.analysis.schedule.grid.places import values_at
from npuc.compiler.analysis.schedule.machine_space import space_of
from npuc.compiler.analysis.schedule.search import OBJECTIVES
from npuc.compiler.analysis.timing import double_buffer
from npuc.dialects.npu.nest import Nest, Schedule
from tests.row_arrays import draw_row_array
from tests.widths import draw_bits

Draw = Callable[..., tuple[Nest, Schedule]]


def draw_array(r: Random) -> Array:
    """An array of fixed dataflow, perhaps one whose folds form groups, or a row-stationary one."""
    if r.random() < 0.3:
        return draw_row_array(r)
    return Array(r.randint(1, 5), r.randint(1, 5), r.choice(["os", "ws", "is"]), fill=r.choice(["per-fold", "overlap"]))


def draw_machines(r: Random, array: Array) -> list[Machine]:
    """Machines that differ in SPM, channel and double buffering."""
    energy = Energy(1.0, 0.5, 20.0) if r.random() < 0.7 else None
    return [
        Machine(array, r.randint(20, 500), Fraction(r.randint(1, 40), 4), 1000.0, 8, r.random() < 0.7, energy=energy)
        for _ in range(4)
    ]


def forget() -> None:
    """Nothing is known of earlier searches."""
    for cache in (space_of, tables.nest_tables, double_buffer.pipeline):
        cache.cache_clear()


def result(nest: Nest, machine: Machine, objective: Objective, widths: Bits, *, fine: bool) -> object:
    found = best_candidate(nest, machine, objective, widths, (), fine=fine)
    return None if found is None else (found.schedule, found.score, found.moved)


@pytest.mark.parametrize("seed", range(8))
def test_earlier_searches_change_nothing(seed: int, draw: Draw) -> None:
    """Whatever machines were searched before, in any order: the result is that of a search by itself."""
    r = Random(seed)
    for _ in range(4):
        nest, _ = draw(r, big=7)
        widths, fine = draw_bits(r, nest), r.random() < 0.3
        machines = draw_machines(r, draw_array(r))
        objective = r.choice(OBJECTIVES if machines[0].energy else OBJECTIVES[:2])
        alone: list[object] = []
        for machine in machines:
            forget()
            alone.append(result(nest, machine, objective, widths, fine=fine))
        forget()
        for number in r.sample(range(4), 4):
            found = result(nest, machines[number], objective, widths, fine=fine)
            assert found == alone[number], f"{nest}\n{widths}\n{machines[number]}"


@pytest.mark.parametrize("kept", [0, 30, 1 << 16])
@pytest.mark.parametrize("seed", range(3))
def test_options_cost_the_same_when_they_were_kept(
    seed: int, kept: int, draw: Draw, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Positions that are asked for again, beside new ones or when others were dropped: the values of the grid."""
    monkeypatch.setattr(tables, "MOST_KEPT", kept)
    r = Random(seed)
    nest, _ = draw(r, big=7)
    array = Array(3, 2, "ws", fill="overlap")
    own = tables.NestTables(nest, array, draw_bits(r, nest), fine=False, rest=True, energy=True)
    options = own.options(())
    every, count = options.choices.options, int(np.prod(own.shape))
    for _ in range(12):
        at = np.array(sorted(r.sample(range(count), r.randint(0, min(count, 9)))), dtype=np.int64)
        found, place = options.at(at), own.places(at)
        for values, wanted in (
            (found.room, [option.room for option in every]),
            (found.moved, [option.traffic for option in every]),
            (found.ends, [option.exposed for option in every]),
        ):
            assert values.shape == (len(every), len(at))
            assert np.array_equal(values, np.stack(values_at(place, wanted)))
        assert np.array_equal(found.levels, np.stack(values_at(place, [option.refetch_level for option in every])))
        for which, order in enumerate(options.choices.orders):
            cycles, accesses = own.work.of(order)
            assert np.array_equal(found.cycles[options.works[which]], place.of(cycles))
            assert np.array_equal(found.accesses[options.works[which]], place.of(accesses))
            visits = found.visits.reshape(len(options.choices.orders), len(order) + 1, len(at))[which]
            trips = np.cumprod([place.of(own.work.trips[group]) for group in order], axis=0).reshape(
                len(order), len(at)
            )
            assert np.array_equal(visits[1:], trips)
            assert (visits[0] == 1).all()


def test_a_schedule_is_timed_once_whatever_the_memory(draw: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tile operations of a schedule do not depend on SPM and channel, nor on the SPM that it promises."""
    nest, schedule = draw(Random(5), big=7)
    machine = Machine(Array(3, 2, "ws"), 400, Fraction(5, 4), 1000.0, 8)
    widths = draw_bits(Random(5), nest)
    double_buffer.pipeline.cache_clear()
    built: list[Schedule] = []
    sequence = double_buffer.tile_sequence

    def counted(nest: Nest, schedule: Schedule, array: Array, widths: Bits, *, tile_loaded: bool) -> object:
        built.append(schedule)
        return sequence(nest, schedule, array, widths, tile_loaded=tile_loaded)

    monkeypatch.setattr(double_buffer, "tile_sequence", counted)
    times = {
        double_buffer.pipeline(nest, replace(schedule, spm=spm), replace(machine, spm_bytes=spm), widths).time
        for spm in (400, 500)
    }
    slower = double_buffer.pipeline(nest, schedule, replace(machine, bytes_per_cycle=Fraction(1, 64)), widths).time
    assert len(built) == 1
    assert slower > max(times)
