"""
Nests that run round-robin: the round-robin sequence is that of the operations one by one, and time, work and traffic
are those of a plain simulation and of explicit walks.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Protocol

import pytest

from npuc.compiler.analysis.machine.array import PLACES, Array
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.overlap import OVERLAPS
from npuc.compiler.analysis.nest.elements import Bits
from npuc.compiler.analysis.nest.traffic import moved_bits
from npuc.compiler.analysis.timing.interleave import (
    interleaved_compute,
    interleaved_pipeline,
    interleaved_sequence,
    interleaved_traffic,
)
from npuc.compiler.analysis.timing.operations import leaves
from npuc.compiler.analysis.timing.round_robin import round_robin_sequence
from npuc.compiler.analysis.timing.sequence import SequenceNode
from npuc.compiler.analysis.timing.tiles import tile_sequence
from npuc.dialects.npu.nest import Axis, Loop, Nest, Schedule, Statement, Tensor
from npuc.dialects.npu.shared import RoundRobin, joint_footprint, shared_blocks
from tests.edge_walk import fold_cycles, operation_folds
from tests.widths import of_bytes

Case = tuple[Nest, Schedule]
Draw = Callable[..., Case]
Op = tuple[int, int]
"""Cycles of a tile operation, bytes before it."""


class Moves(Protocol):
    read: dict[str, int]
    write: dict[str, int]
    by_tile: list[dict[str, int]]
    places: list[dict[str, tuple[int, int]]]
    tail: dict[str, int]
    spare: dict[str, int]


Walk = Callable[[Nest, Schedule], Moves]


def draw_machine(r: Random) -> Machine:
    array = Array(r.randint(1, 6), r.randint(1, 6), r.choice(list(PLACES)), r.choice(["per-fold", "overlap"]))
    array = replace(array, edge_elements=r.choice([None, 1, 1, 2]))
    if r.random() < 0.4:
        array = replace(array, dataflow="ws", overlap=r.choice(OVERLAPS), tile_m=r.randint(1, 4))
    rate = Fraction(r.randint(1, 60), r.randint(1, 20))
    return Machine(array, r.choice([1, 8, 20, 50, 120, 400, 3000]), rate, 1000.0, 8, r.random() < 0.9)


def draw_together(r: Random, draw: Draw, count: int, big: int) -> RoundRobin:
    """Random nests with inputs that are sometimes the same value: where shapes allow, and kept whole more often."""
    cases = [draw(r, big=big) for _ in range(count)]
    if r.random() < 0.6:  # The same nest twice, with schedules of its own: every input may be shared.
        cases[1] = (cases[0][0], draw_schedule(r, cases[0][0]))
    numbers: dict[tuple[int, ...], int] = {}
    values: list[tuple[int, ...]] = []
    fresh = 0
    schedules: list[Schedule] = []
    for nest, schedule in cases:
        own: list[int] = []
        for tensor in nest.ins:
            fresh += 1
            shared = numbers.setdefault(tensor.shape, fresh)
            own.append(shared if r.random() < 0.7 and shared not in own else fresh)
        values.append(tuple(own))
        keep = {name: depth for name, depth in schedule.keep}
        keep |= {t.name: len(schedule.loops) for t in nest.ins if r.random() < 0.5}
        schedules.append(replace(schedule, keep=tuple(keep.items())))
    return RoundRobin(tuple(nest for nest, _ in cases), tuple(schedules), tuple(values))


def draw_schedule(r: Random, nest: Nest) -> Schedule:
    loops = [Loop(dim, r.randint(1, size)) for dim, size in nest.dims if r.random() < 0.7]
    r.shuffle(loops)
    return Schedule(tuple(loops))


def in_turn(streams: list[list[Op]]) -> list[Op]:
    """One operation of each that has any left, again and again."""
    longest = max(len(stream) for stream in streams)
    return [stream[n] for n in range(longest) for stream in streams if n < len(stream)]


def simulate(ops: list[Op], machine: Machine) -> Fraction:
    """The end of the computation by the recurrence as it is written."""
    load_end = comp_end = Fraction(0)
    ends = [Fraction(0)]
    for t, (cycles, size) in enumerate(ops):
        s, total = t, size
        while s > 0 and total + ops[s - 1][1] <= machine.spm_bits:
            s, total = s - 1, total + ops[s - 1][1]
        load_end = max(load_end, ends[s]) + size / machine.channel_bits
        comp_end = max(comp_end, load_end) + cycles
        ends.append(comp_end)
    return comp_end


def flat(node: SequenceNode, moved: int) -> list[Op]:
    return [(leaf.cycles, before) for leaf, before in leaves(node, moved)]


def draw_tree(r: Random, depth: int) -> SequenceNode:
    """A random sequence of operations with repetitions."""
    if depth == 0:
        cycles = r.randint(1, 9)
        return SequenceNode((), cycles, cycles)
    items = [(draw_tree(r, r.randint(0, depth - 1)), 0, 1)]
    for _ in range(r.randint(0, 3)):
        child = r.choice([items[-1][0], draw_tree(r, r.randint(0, depth - 1))])
        items.append((child, r.choice([0, 2, 5]), r.choice([1, 1, 2, 3, 7])))
    return SequenceNode(
        tuple(items),
        sum(n.cycles * c for n, _, c in items),
        items[0][0].first,
        sum((n.moved + m) * c for n, m, c in items),
        sum((n.loads + (m > 0)) * c for n, m, c in items),
    )


@pytest.mark.parametrize("seed", range(8))
def test_woven_sequences_are_the_operations_in_turn(seed: int) -> None:
    r = Random(seed)
    for _ in range(80):
        streams = [(draw_tree(r, r.randint(0, 4)), r.randint(0, 3)) for _ in range(r.randint(2, 4))]
        node, moved = round_robin_sequence(streams)
        ops = in_turn([flat(*stream) for stream in streams])
        assert flat(node, moved) == ops
        assert node.cycles == sum(cycles for cycles, _ in ops)
        assert node.moved == sum(before for _, before in ops[1:])
        assert node.loads == sum(before > 0 for _, before in ops[1:])
        assert node.first == ops[0][0]


@pytest.mark.parametrize("seed", range(10))
def test_time_equals_simulation(seed: int, draw: Draw, explicit_walk: Walk) -> None:
    r = Random(seed)
    for _ in range(40):
        together = draw_together(r, draw, r.choice([2, 2, 3]), r.choice([4, 6, 10]))
        machine = draw_machine(r)
        of = {value: r.choice([4, 8, 16, 32]) for own in together.values for value in own}
        widths = tuple(
            Bits(
                (*(of[v] for v in own), *(16 for _ in range(len(nest.tensors) - len(own)))),
                tuple(r.choice([12, 16, 32]) for _ in nest.outs),
            )
            for nest, own in zip(together.nests, together.values, strict=True)
        )
        streams: list[list[Op]] = []
        tail = 0
        for nest, schedule, width in zip(together.nests, together.schedules, widths, strict=True):
            sequence = tile_sequence(nest, schedule, machine.array, width, isolated=True)
            streams.append(flat(sequence.root, sequence.head))
            tail += sequence.tail
        for number, name in (block for blocks in shared_blocks(together) for block in blocks[1:]):
            nest, schedule = together.nests[number], together.schedules[number]
            alone = tile_sequence(nest, schedule, machine.array, unit(nest, name)).head
            cycles, before = streams[number][0]
            streams[number][0] = cycles, before - alone * widths[number].by_name(nest)[name]
        timing = interleaved_pipeline(together, machine, widths)
        work = interleaved_compute(together, machine.array)
        ops = in_turn(streams)
        if machine.array.grouped:
            cycles = cycles_in_turn(together, machine.array, explicit_walk)
            ops = [(own, before) for own, (_, before) in zip(cycles, ops, strict=True)]
            assert timing.compute >= sum(one.cycles for one in work)
        else:
            assert timing.compute == sum(one.cycles for one in work)
        once = machine.array.op_overhead
        assert timing.compute == sum(cycles for cycles, _ in ops) + once
        elements = zip(together.nests, widths, interleaved_traffic(together), strict=True)
        moved = sum(moved_bits(nest, of, own) for nest, own, of in elements)
        assert timing.moved == moved
        if machine.double_buffer:
            end = simulate(ops, machine) + once + tail / machine.channel_bits
            assert timing.time == max(end, moved / machine.channel_bits)
        else:
            assert timing.time == timing.compute + moved / machine.channel_bits


def cycles_in_turn(together: RoundRobin, array: Array, explicit_walk: Walk) -> list[int]:
    """The cycles of the operations in turn, whose folds are neighbours whatever nest they are of; none stays."""
    pairs = zip(together.nests, together.schedules, strict=True)
    streams = [[(nest, at) for at in explicit_walk(nest, schedule).places] for nest, schedule in pairs]
    longest = max(len(stream) for stream in streams)
    ops = [stream[n] for n in range(longest) for stream in streams if n < len(stream)]
    folds = [
        fold
        for number, (nest, at) in enumerate(ops)
        for fold in operation_folds(nest, nest.statements, array, at, number, False)
    ]
    return fold_cycles(folds, len(ops), array)


def unit(nest: Nest, name: str) -> Bits:
    """Widths that count one tensor alone."""
    return Bits(tuple(int(t == name) for t in nest.tensors), tuple(int(t.name == name) for t in nest.outs))


@pytest.mark.parametrize("seed", range(6))
def test_traffic_equals_walks(seed: int, draw: Draw, explicit_walk: Walk) -> None:
    """Each nest moves what it moves alone, but what several keep whole is read once and held once."""
    r = Random(40 + seed)
    met = 0
    for _ in range(40):
        together = draw_together(r, draw, 2, 5)
        moved, held = interleaved_traffic(together), joint_footprint(together)
        later = {block for blocks in shared_blocks(together) for block in blocks[1:]}
        met += len(later)
        for number, (nest, schedule) in enumerate(zip(together.nests, together.schedules, strict=True)):
            moves = explicit_walk(nest, schedule)
            for name in nest.tensors:
                expected = (0, 0) if (number, name) in later else (moves.read[name], moves.write[name])
                assert (moved[number][name].read, moved[number][name].write) == expected
                assert (held[number][name] == 0) is ((number, name) in later)
                if (number, name) in later:
                    loads = [name in tile and tile[name] > 0 for tile in moves.by_tile]
                    assert not any(loads[1:]), "it is whole: nothing moves after the first operation"
    assert met > 3, "the test must meet shared blocks"


def product(outs: str, m: int, n: int, k: int) -> Nest:
    """One gradient of a product."""
    sizes = {"m": m, "n": n, "k": k}

    def tensor(name: str, dims: str) -> Tensor:
        return Tensor(name, tuple(sizes[d] for d in dims), tuple(Axis(((d, 1),)) for d in dims))

    x, w, dy = tensor("X", "mk"), tensor("W", "kn"), tensor("dY", "mn")
    if outs == "dX":
        return Nest(tuple(sizes.items()), (dy, w), (replace(x, name="dX"),), (None,), (Statement("dX", "dY", "W"),))
    return Nest(tuple(sizes.items()), (x, dy), (replace(w, name="dW"),), (None,), (Statement("dW", "X", "dY"),))


def loops(*dims: str, step: int = 2) -> tuple[Loop, ...]:
    return tuple(Loop(dim, step) for dim in dims)


@pytest.mark.parametrize(("keep", "reads", "held"), [(0, 192, 24), (3, 24, 40)])
def test_the_published_example(keep: int, reads: int, held: int) -> None:
    """M = 6, N = 4, K = 8, all tiles 2: dY is read once when both keep it whole."""
    nests = product("dX", 6, 4, 8), product("dW", 6, 4, 8)
    schedules = tuple(Schedule(loops(*order), (("dY", keep),)) for order in ("mkn", "nkm"))
    together = RoundRobin(nests, schedules, ((0, 1), (2, 0)))
    first, second = interleaved_traffic(together)
    assert first["dY"].read + second["dY"].read == reads
    assert (first["W"].read, second["X"].read) == (96, 96)
    assert (first["dX"].write, second["dW"].write) == (48, 32)
    assert sum(sum(blocks.values()) for blocks in joint_footprint(together)) == held


def test_cost_does_not_grow_with_trips() -> None:
    """The woven tree of ten million operations has few different parts."""
    nests = product("dX", 3000, 700, 1100), product("dW", 3000, 700, 1100)
    schedules = Schedule(loops("m", "k", "n", step=5)), Schedule(loops("n", "k", "m", step=7))
    machine = Machine(Array(4, 4), 4000, Fraction(7, 2), 1000.0, 8)
    together, widths = RoundRobin(nests, schedules, ((0, 1), (2, 0))), tuple(of_bytes(nest, 2, 4) for nest in nests)
    sequence = interleaved_sequence(together, machine.array, widths)
    assert len(parts(sequence.root)) < 2000
    timing = interleaved_pipeline(together, machine, widths)
    assert timing.time >= max(timing.compute, timing.moved / machine.channel_bits)


def parts(node: SequenceNode) -> set[SequenceNode]:
    """The different nodes of a tree."""
    found: set[SequenceNode] = set()
    todo = [node]
    while todo:
        one = todo.pop()
        if one not in found:
            found.add(one)
            todo += [child for child, _, _ in one.items]
    return found
