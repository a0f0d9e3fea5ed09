"""Vector work on finished blocks: closed forms equal walks, and fusing never makes a network slower."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from npuc.backends.cycle.backend import CycleBackend, cycle_machine
from npuc.compiler.analysis.machine.array import PLACES, Array
from npuc.compiler.analysis.machine.compute import tile_cycles
from npuc.compiler.analysis.machine.facts import TARGET, Machine, target_attr
from npuc.compiler.analysis.nest.blocks import streams
from npuc.compiler.analysis.nest.cores import core_count
from npuc.compiler.analysis.nest.traffic import moved_bits, traffic
from npuc.compiler.analysis.timing.epilogue import Epilogue, fused_pipeline, fused_widths
from npuc.compiler.interpreter.counter import TrafficCounter
from npuc.compiler.interpreter.execute import bind, call, the_function
from npuc.compiler.interpreter.numbers import Numbers
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.compiler.transforms.fuse_vector import FuseVectorPass
from npuc.compiler.transforms.lower_tiles import LowerTilesPass
from npuc.compiler.transforms.lower_to_npu import LowerToNpuPass
from npuc.compiler.transforms.schedule import SchedulePass
from npuc.dialects.npu import VectorOp
from npuc.dialects.npu.epilogue import block_elements, incomplete_reason
from npuc.dialects.npu.nest import Nest, Schedule
from npuc.hardware import Hardware, load_hardware, machine_target
from tests.edge_walk import walked
from tests.networks import integer_data, integer_networks
from tests.property.conftest import Moves
from tests.widths import draw_bits, finished, moved_width

Draw = Callable[..., tuple[Nest, Schedule]]


Walk = Callable[[Nest, Schedule], Moves]


def is_plain(nest: Nest, name: str) -> bool:
    return all(len(a.terms) == 1 and a.terms[0][1] == 1 and a.offset == 0 for a in nest.tensors[name].axes)


@pytest.mark.parametrize("seed", range(8))
def test_finished_outputs_are_written_once_and_never_read(seed: int, draw: Draw, explicit_walk: Walk) -> None:
    r, finished = Random(seed), 0
    for _ in range(120):
        nest, schedule = draw(r, cores=r.random() < 0.3)
        moves = explicit_walk(nest, schedule)
        for out in nest.outs:
            spare = moves.spare.get(out.name, 0)
            once = moves.read[out.name] == 0 and spare == 0 and moves.write[out.name] == out.elements
            done = incomplete_reason(nest, schedule, out.name) is None
            finished += done
            assert once or not done, f"{nest}\n{schedule}\n{out.name}"
            if is_plain(nest, out.name):
                assert done == once, f"{nest}\n{schedule}\n{out.name}"
    assert finished > 20


def draw_machine(r: Random) -> Machine:
    array = Array(r.randint(1, 6), r.randint(1, 6), r.choice(sorted(set(PLACES) - {"in-place"})))
    array = replace(array, fill=r.choice(["per-fold", "overlap"]), drain=r.choice(["hidden", "full"]))
    array = replace(array, edge_elements=r.choice([None, 1, 1, 2]))
    rate = Fraction(r.randint(1, 60), r.randint(1, 20))
    return Machine(array, r.choice([1, 8, 20, 50, 400, 3000]), rate, 1000.0, r.randint(1, 8), r.random() < 0.9)


def waits(nest: Nest, schedule: Schedule, moves: Moves, machine: Machine, work: Sequence[Epilogue]) -> list[int]:
    """
    How long the array waits for the vector unit after each tile operation: outputs of inner loops first.

    At the end of a block's visit the largest block of the output must be done, and all work of outputs visited inside.
    A core's single block has no such wait.
    """
    depths = {s.tensor.name: max(s.depth, schedule.core_depth) for s in streams(nest, schedule)}
    leaving = [*moves.by_tile[1:], moves.tail]
    cycles = tile_times(nest, machine, moves)
    waited = [0 for _ in leaving]
    entries = [e for e in work if e.ops]

    def busy(entry: Epilogue, elements: int) -> int:
        return ceil(entry.ops * elements / machine.lanes)

    most = {e.output: busy(e, block_elements(nest, schedule, e.output)) for e in entries}
    for depth in sorted({depths[e.output] for e in entries} - {schedule.core_depth}, reverse=True):
        here = [e for e in entries if depths[e.output] == depth]
        inner = [e for e in entries if depths[e.output] > depth]
        start = 0
        for t, left in enumerate(leaving):
            if left.get(here[0].output, 0) or t + 1 == len(leaving):
                visit = range(start, t + 1)
                due = sum(most[e.output] for e in (*here, *inner))
                due += sum(busy(e, leaving[i].get(e.output, 0)) for i in visit for e in inner)
                waited[t] += max(0, due - sum(cycles[i] + waited[i] for i in visit))
                start = t + 1
    return waited


def tile_times(nest: Nest, machine: Machine, moves: Moves) -> list[int]:
    """The cycles of each tile operation."""
    if machine.array.grouped:
        return walked(nest, machine.array, moves.places)
    return [tile_cycles(nest, machine.array, extents) for extents in moves.tiles]


def simulate(
    nest: Nest, schedule: Schedule, machine: Machine, moves: Moves, widths: dict[str, int], work: tuple[Epilogue, ...]
) -> Fraction:
    """The recurrence, a tile operation at a time; waits for the vector unit are operations that move nothing."""
    own = dict(widths)
    for entry in work:
        # All of its writes are finished: what moves as a partial sum is taken back.
        held, less = own[entry.output], own[finished(entry.output)]
        own[finished(entry.output)] = (held + less) * entry.stored + entry.moved - held
    moved = [sum(own[t] * n for t, n in tile.items()) for tile in moves.by_tile]
    leaving = [*moves.by_tile[1:], moves.tail]
    vector = [sum(ceil(e.ops * left.get(e.output, 0) / machine.lanes) for e in work) for left in leaving]
    cycles = tile_times(nest, machine, moves)
    tail = sum(own[t] * n for t, n in moves.tail.items())
    whole = sum(moved) + tail + sum(own[t] * n for t, n in moves.spare.items())
    overhead = machine.array.op_overhead
    if not machine.double_buffer:
        return sum(cycles) + sum(vector) + overhead + whole / machine.channel_bits
    moved = [size for own in moved for size in (own, 0)]
    pairs = zip(cycles, waits(nest, schedule, moves, machine, work), strict=True)
    load_end = comp_end = Fraction(0)
    ends = [Fraction(0)]
    for t, (size, busy) in enumerate(zip(moved, [busy for both in pairs for busy in both], strict=True)):
        s, total = t, size
        while s > 0 and total + moved[s - 1] <= machine.spm_bits:
            s, total = s - 1, total + moved[s - 1]
        if size:
            load_end = max(load_end, ends[s]) + size / machine.channel_bits
        comp_end = max(comp_end, load_end) + busy
        ends.append(comp_end)
    end = comp_end + max(Fraction(vector[-1]), tail / machine.channel_bits) + overhead
    return max(end, whole / machine.channel_bits)


@pytest.mark.parametrize("seed", range(16))
def test_time_equals_a_simulation(seed: int, draw: Draw, explicit_walk: Walk) -> None:
    r, seen = Random(seed), 0
    while seen < 25:
        nest, schedule = draw(r, big=r.choice([4, 6, 12]), cores=seed >= 10)
        outs = [out.name for out in nest.outs if incomplete_reason(nest, schedule, out.name) is None]
        if not outs:
            continue
        seen += 1
        machine = draw_machine(r)
        bits = draw_bits(r, nest)
        widths = moved_width(nest, bits)
        work = tuple(
            Epilogue(
                name, r.randint(0, 9), Fraction(r.randint(0, 40), r.randint(1, 4)), r.randint(0, 9), r.random() < 0.5
            )
            for name in outs
        )
        moves = explicit_walk(nest, schedule)
        timing = fused_pipeline(nest, schedule, machine, bits, work)
        context = f"{nest}\n{schedule}\n{machine}\n{widths}\n{work}"
        count = core_count(nest, schedule)
        once = sum(e.once for e in work) * count
        ends = [
            simulate(nest, schedule, machine.core(count), part, widths, work) for part in by_core(moves, nest, schedule)
        ]
        channel = moved_bits(nest, traffic(nest, schedule), fused_widths(nest, bits, work))
        assert timing.moved == channel + 8 * once, context
        assert timing.time == max(*ends, channel / machine.channel_bits) + once / machine.channel, context


def by_core(moves: Moves, nest: Nest, schedule: Schedule) -> Iterator[Moves]:
    """The moves of each core by itself; what no tile touches is the first core's."""
    for core, tail in enumerate(moves.tails):
        own = [n for n, at in enumerate(moves.cores) if at == core]
        by_tile, tiles = [moves.by_tile[n] for n in own], [moves.tiles[n] for n in own]
        places = [moves.places[n] for n in own]
        yield replace(moves, by_tile=by_tile, tiles=tiles, places=places, tail=tail, spare={} if core else moves.spare)


def prepared(module: ModuleOp, hardware: Hardware) -> None:
    """Differentiated, lowered and scheduled for a small machine."""
    module.attributes[TARGET] = target_attr(machine_target(hardware, backend="cycle"))
    for step in (AutodiffPass(), LowerToNpuPass(), SchedulePass()):
        step.apply(Context(), module)


def small(**array: int | bool | str) -> Hardware:
    return load_hardware(
        {
            "name": "small",
            "clock_mhz": 1000,
            "array": {"rows": 4, "cols": 4, **array},
            "memory": {"spm_kib": 0.5},
            "dram": {"gb_per_s": 4.0},
            "vector": {"lanes": 4},
        },
        {},
    )


CHIPS = [small(), small(cores=2), small(cores=4, multicast=True, reduction="on-chip")]


@settings(max_examples=40)
@given(module=integer_networks(), hardware=st.sampled_from(CHIPS))
def test_fusing_never_takes_longer_and_rows_keep_their_sums(module: ModuleOp, hardware: Hardware) -> None:
    prepared(module, hardware)
    before = CycleBackend().score(module, hardware)
    FuseVectorPass().apply(Context(), module)
    module.verify()
    after = CycleBackend().score(module, hardware)
    assert (after.totals.cycles or 0) <= (before.totals.cycles or 0)
    assert (after.totals.vector_ops, after.totals.macs) == (before.totals.vector_ops, before.totals.macs)
    assert (after.totals.lower_bound_seconds or 0) <= (after.totals.seconds or 0) * (1 + 1e-9)
    for row in after.ops:
        assert (row.cycles or 0) >= (row.compute_cycles or 0) >= 0
        assert sum(t.write_bytes for t in row.tensors.values()) == row.dram_write_bytes
        assert sum(t.read_bytes for t in row.tensors.values()) == row.dram_read_bytes
    fused = [op for op in module.walk() if isinstance(op, VectorOp) and op.fused]
    assert len(fused) == sum("fused" in row.native for row in after.ops)


@settings(max_examples=15)
@given(module=integer_networks(), hardware=st.sampled_from(CHIPS))
def test_a_second_run_of_the_pass_changes_nothing(module: ModuleOp, hardware: Hardware) -> None:
    prepared(module, hardware)
    FuseVectorPass().apply(Context(), module)
    text = str(module)
    FuseVectorPass().apply(Context(), module)
    assert str(module) == text


@settings(max_examples=25)
@given(module=integer_networks(), hardware=st.sampled_from(CHIPS), seed=st.integers(0, 99))
def test_no_row_has_less_traffic_than_the_walk_of_its_tiles(module: ModuleOp, hardware: Hardware, seed: int) -> None:
    """Where a block is multicast or sums pass on chip, the walk moves more: it knows no such chip."""
    prepared(module, hardware)
    FuseVectorPass().apply(Context(), module)
    rows = [row for row in CycleBackend().score(module, hardware).ops if row.kind == "matrix" or "fused" in row.native]
    data = integer_data(module, seed)
    LowerTilesPass().apply(Context(), module)
    counter = TrafficCounter()
    func = the_function(module)
    call(module, func, bind(func, data, Numbers(True), seed), Numbers(True), counter)
    reported, walked = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for row in rows:
        reported[row.name, row.phase] += sum(t.read_bytes + t.write_bytes for t in row.tensors.values())
    for place, moved in counter.moved.items():
        walked[place.layer, place.role.value] += 8 * (moved.read + moved.write)
    machine = cycle_machine(hardware)
    if machine.multicast:
        assert all(reported[key] <= walked[key] for key in walked)
    else:
        assert reported == walked
