"""The pipeline's time equals a plain simulation of the tile operations, one by one, and keeps its bounds."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import ceil, prod
from random import Random
from typing import Protocol

import pytest

from npuc.compiler.analysis.machine.array import PLACES, Array
from npuc.compiler.analysis.machine.compute import tile_cycles
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.overlap import OVERLAPS
from npuc.compiler.analysis.machine.stationary import placement, single_fold
from npuc.compiler.analysis.nest.traffic import moved_bits, traffic
from npuc.compiler.analysis.timing.double_buffer import pipeline
from npuc.dialects.npu.gemm import gemm_view
from npuc.dialects.npu.nest import Axis, Loop, Nest, Schedule
from tests.edge_walk import walked
from tests.widths import draw_bits, moved_width, of_bytes

Draw = Callable[..., tuple[Nest, Schedule]]


class Moves(Protocol):
    by_tile: list[dict[str, int]]
    tail: dict[str, int]
    spare: dict[str, int]
    tiles: list[dict[str, int]]
    places: list[dict[str, tuple[int, int]]]


Walk = Callable[[Nest, Schedule], Moves]


def draw_machine(r: Random) -> Machine:
    fill, drain = r.choice(["per-fold", "overlap"]), r.choice(["hidden", "full"])
    array = Array(r.randint(1, 6), r.randint(1, 6), r.choice(list(PLACES)))
    array = replace(array, fill=fill, drain=drain, edge_elements=r.choice([None, 1, 1, 2]))
    if r.random() < 0.4:
        array = replace(array, dataflow="ws", overlap=r.choice(OVERLAPS), tile_m=r.randint(1, 4))
    rate = Fraction(r.randint(1, 60), r.randint(1, 20))
    return Machine(array, r.choice([1, 8, 20, 50, 120, 400, 3000]), rate, 1000.0, 8, r.random() < 0.9)


def tile_times(nest: Nest, machine: Machine, moves: Moves) -> list[int]:
    """
    The cycles of each tile operation: what stays in the elements is found where the tile before was the same one.

    Of several statements each replaces what the one before left, but weights no sums in place.
    """
    array = machine.array
    sums = [array.dataflow == "in-place" and statement.out.startswith("dW") for statement in nest.statements]
    if array.grouped:
        return walked(nest, array, moves.places)
    found = [[0 for _ in nest.statements] for _ in moves.tiles]
    for number, statement in enumerate(nest.statements):
        view, before, group, blocks = gemm_view(nest, statement), None, 0, 0
        streamed = {"m": view.m, "n": view.n, "k": view.k}[placement(statement, array).streamed]
        for t, (extents, at) in enumerate(zip(moves.tiles, moves.places, strict=True)):
            tile = {dim: place for dim, place in at.items() if dim not in streamed}
            alone = single_fold(nest, statement, array, extents)
            if alone and before == tile and array.skips_reloads and sums.count(sums[number]) == 1:
                found[t][number] = -1
            else:
                group, blocks = t, 0
            # A group of instructions waits as one: its first tile operation has it.
            blocks += ceil(ceil(statement.passes * prod(extents[d] for d in streamed)) / array.tile_m)
            found[group][number] = array.wait(blocks) if alone else 0
            before = tile
    return [tile_cycles(nest, array, e, tuple(f)) for e, f in zip(moves.tiles, found, strict=True)]


def once(nest: Nest, machine: Machine, moves: Moves) -> int:
    """What an operation pays once: nothing follows its last group of instructions, which need not wait."""
    if machine.array.stages is None or not machine.array.stages.hidden:
        return machine.array.op_overhead
    return machine.array.op_overhead - last_wait(nest, machine, moves)


def last_wait(nest: Nest, machine: Machine, moves: Moves) -> int:
    """The wait after the last group, which is of the last statement."""
    array, statement, blocks = machine.array, nest.statements[-1], 0
    view = gemm_view(nest, statement)
    streamed = {"m": view.m, "n": view.n, "k": view.k}[placement(statement, array).streamed]
    last = {dim: place for dim, place in moves.places[-1].items() if dim not in streamed}
    for extents, at in zip(reversed(moves.tiles), reversed(moves.places), strict=True):
        if {dim: place for dim, place in at.items() if dim not in streamed} != last:
            break
        blocks += ceil(ceil(statement.passes * prod(extents[d] for d in streamed)) / array.tile_m)
        if not single_fold(nest, statement, array, extents) or len(nest.statements) > 1:
            break
    return array.wait(blocks)


def simulate(nest: Nest, machine: Machine, moves: Moves, widths: dict[str, int]) -> Fraction:
    """The recurrence as it is written, a tile operation at a time; `widths` are bits of what the walk counts."""
    load_end = comp_end = Fraction(0)
    ends = [Fraction(0)]
    moved = [sum(widths[t] * n for t, n in tile.items()) for tile in moves.by_tile]
    for t, (size, cycles) in enumerate(zip(moved, tile_times(nest, machine, moves), strict=True)):
        s, total = t, size
        while s > 0 and total + moved[s - 1] <= machine.spm_bits:
            s, total = s - 1, total + moved[s - 1]
        load_end = max(load_end, ends[s]) + size / machine.channel_bits
        comp_end = max(comp_end, load_end) + cycles
        ends.append(comp_end)
    tail = sum(widths[t] * n for t, n in moves.tail.items())
    end = comp_end + once(nest, machine, moves) + tail / machine.channel_bits
    return max(end, (sum(moved) + tail + sum(widths[t] * n for t, n in moves.spare.items())) / machine.channel_bits)


@pytest.mark.parametrize("seed", range(12))
def test_equals_simulation(seed: int, draw: Draw, explicit_walk: Walk) -> None:
    r = Random(seed)
    for _ in range(60):
        nest, schedule = draw(r, big=r.choice([4, 6, 12]))
        machine = draw_machine(r)
        bits = draw_bits(r, nest)
        widths = moved_width(nest, bits)
        moves = explicit_walk(nest, schedule)
        timing = pipeline(nest, schedule, machine, bits)
        context = f"{nest}\n{schedule}\n{machine}\n{widths}"
        walked = [*moves.by_tile, moves.tail, moves.spare]
        assert timing.moved == moved_bits(nest, traffic(nest, schedule), bits), context
        assert timing.moved == sum(widths[t] * count for tile in walked for t, count in tile.items()), context
        comp = sum(tile_times(nest, machine, moves)) + once(nest, machine, moves)
        assert timing.compute == comp, context
        if machine.double_buffer:
            assert timing.time == simulate(nest, machine, moves, widths), context
        else:
            assert timing.time == comp + timing.moved / machine.channel_bits, context


@pytest.mark.parametrize("seed", range(4))
def test_long_gemms_equal_simulation(seed: int, draw: Draw, explicit_walk: Walk) -> None:
    """Many trips of one loop, so that states repeat and phases without waiting are long."""
    r = Random(100 + seed)
    for _ in range(6):
        nest, _ = draw(r, big=3)
        dim, _ = r.choice(nest.dims)
        nest = replace(
            nest,
            dims=tuple((d, 1500 if d == dim else n) for d, n in nest.dims),
            ins=tuple(replace(t, shape=stretch(t.shape, t.axes, dim)) for t in nest.ins),
            outs=tuple(replace(t, shape=stretch(t.shape, t.axes, dim)) for t in nest.outs),
            starts=tuple(s and replace(s, shape=stretch(s.shape, s.axes, dim)) for s in nest.starts),
        )
        assert not list(nest.problems())
        loops = one_loop(nest, dim, r)
        machine = replace(draw_machine(r), double_buffer=True, spm_bytes=r.choice([30, 200, 2000]))
        ratio = work_over_bytes(nest, loops, machine)
        machine = replace(machine, bytes_per_cycle=ratio * r.choice([1, Fraction(101, 100), Fraction(99, 100), 3]))
        bits = of_bytes(nest, 2, r.choice([2, 4]))
        timing, widths = pipeline(nest, loops, machine, bits), moved_width(nest, bits)
        assert timing.time == simulate(nest, machine, explicit_walk(nest, loops), widths), f"{nest}\n{loops}\n{machine}"


def stretch(shape: tuple[int, ...], axes: tuple[Axis, ...], dim: str) -> tuple[int, ...]:
    """The shape with every axis that `dim` indexes made long."""
    return tuple(1500 if dim in axis.dims else size for axis, size in zip(axes, shape, strict=True))


def one_loop(nest: Nest, dim: str, r: Random) -> Schedule:
    others = [d for d, n in nest.dims if n > 1 and d != dim]
    loops = [Loop(d, 1) for d in r.sample(others, min(len(others), r.randint(0, 1)))] + [Loop(dim, 1)]
    r.shuffle(loops)
    return Schedule(tuple(loops))


def work_over_bytes(nest: Nest, schedule: Schedule, machine: Machine) -> Fraction:
    """The bandwidth at which loads take as long as the computation."""
    timing = pipeline(nest, schedule, machine, of_bytes(nest, 2))
    return Fraction(timing.moved, 8 * timing.compute)


@pytest.mark.parametrize("seed", range(6))
def test_bounds(seed: int, draw: Draw) -> None:
    """Between the larger of both works and their sum; never slower with more bandwidth or a larger SPM."""
    r = Random(500 + seed)
    for _ in range(60):
        nest, schedule = draw(r, big=40)
        machine = replace(draw_machine(r), double_buffer=True)
        widths = draw_bits(r, nest)
        timing = pipeline(nest, schedule, machine, widths)
        memory = timing.moved / machine.channel_bits
        assert max(timing.compute, memory) <= timing.time <= timing.compute + memory
        faster = replace(machine, bytes_per_cycle=machine.bytes_per_cycle * Fraction(r.randint(10, 30), 10))
        assert pipeline(nest, schedule, faster, widths).time <= timing.time
        larger = replace(machine, spm_bytes=machine.spm_bytes * r.randint(1, 5))
        assert pipeline(nest, schedule, larger, widths).time <= timing.time
