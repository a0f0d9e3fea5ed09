"""The facts of an operation in words: product, schedule, traffic, time, lower bound; numbers are the report's."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TypedDict

from xdsl.ir import Operation

from npuc.backends.cycle.explain.certified import certified_row, residency_condition, spm_for_compulsory_traffic
from npuc.backends.cycle.explain.explanation import Explanation, Table
from npuc.backends.cycle.explain.fusing import epilogue_lines, fused_facts, unstored_outputs, work_facts
from npuc.backends.cycle.explain.order import Order
from npuc.backends.cycle.explain.resident import residency_facts
from npuc.backends.cycle.explain.stationary import fold_facts, stationary_facts
from npuc.backends.cycle.facts import (
    ArrayFacts,
    PoolFacts,
    ProductFacts,
    ReloadFacts,
)
from npuc.backends.cycle.limits import why_limited
from npuc.compiler.analysis.machine.compute import compute
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.blocks import max_trips, streams
from npuc.compiler.analysis.nest.cores import core_parts
from npuc.compiler.analysis.nest.elements import Bits, contract_widths, whole_bytes
from npuc.compiler.analysis.nest.visits import loop_nest, visits
from npuc.compiler.analysis.timing.double_buffer import pipeline, slowest_core
from npuc.compiler.analysis.timing.interleave import interleaved_pipeline
from npuc.compiler.analysis.timing.round_robin_timeline import interleaved_timeline
from npuc.compiler.analysis.timing.states import State, Timeline
from npuc.compiler.analysis.timing.timeline import timeline
from npuc.compiler.report import OpRow
from npuc.compiler.report.sections import CoreFacts
from npuc.dialects.npu import ContractOp, InterleaveOp
from npuc.dialects.npu.footprint import footprint
from npuc.dialects.npu.gemm import gemm_view
from npuc.dialects.npu.nest import Nest, Schedule
from npuc.dialects.npu.resident import unmoved_tensors
from npuc.dialects.npu.schedule_syntax import schedule_text
from npuc.dialects.npu.shared import shared_blocks
from npuc.dialects.npu.vector import fused_with
from npuc.dialects.provenance import is_recomputed


def explain(op: Operation, row: OpRow, machine: Machine | None) -> Explanation:
    """The explanation of an operation and its row; without a machine (SCALE-Sim's model) there is no schedule."""
    runs = f", {row.repeat:,} runs, of which this is one" if row.repeat > 1 else ""
    again = ", again" if is_recomputed(op) else ""
    place = ", ".join(one for one in (row.loc, row.source) if one)
    title = f"{row.name} {row.phase}{again}: {row.op}{f' at {place}' if place else ''}{runs}"
    if isinstance(op, ContractOp) and machine is not None:
        nest, schedule = op.nest, op.schedule
        widths = contract_widths(op, machine)
        if machine.policy == "lru":
            facts = (
                *_product(nest, row.macs or 0),
                *_schedule(nest, schedule, row, machine),
                *_plain_time(row, machine),
                *certified_row(row, machine),
            )
            return Explanation(title, facts, _traffic(row), None)
        reload = ReloadFacts.found_in(row)
        tile_loaded = reload is not None and reload.held == 1
        resident, fused = unmoved_tensors(op), fused_with(op)
        unmoved = resident | unstored_outputs(op, fused)
        moving = widths.without(nest, unmoved)
        extra = int(row.cycles or 0) - pipeline(nest, schedule, machine, moving, tile_loaded=tile_loaded).cycles
        line = timeline(nest, schedule, machine, moving, tile_loaded=tile_loaded, extra=extra)
        facts = (
            *_product(nest, row.macs or 0),
            *_schedule(nest, schedule, row, machine),
            *residency_facts(row),
            *fused_facts(op, fused),
            *_array_time(row, line, machine),
            *certified_row(row, machine),
            *spm_for_compulsory_traffic(op, row, machine),
        )
        part = core_parts(nest, schedule)[slowest_core(nest, schedule, machine, widths) if schedule.core_depth else 0]
        grids, walked = visits(part.nest, part.schedule)
        grids = tuple(grid for grid in grids if grid.tensor not in resident)
        order = Order(grids, walked, compute(part.nest, part.schedule, machine.array).tiles)
        table = _blocks(nest, schedule, row, widths, resident)
        after = epilogue_lines(fused)
        loops = loop_nest(nest, schedule, machine.reduction, unmoved, after)
        more = _about(row, machine)
        return Explanation(title, facts, table, line, loops, order, **more)
    line, nests = None, ()
    if isinstance(op, InterleaveOp):
        facts = [fact for contract in op.contracts for fact in _product(contract.nest, contract.nest.macs)]
        facts += _in_turn(op, row, machine)
        if machine is not None and machine.policy != "lru":
            line, nests = _turns(op, row, machine)
    else:
        facts = [*(_product(op.nest, row.macs or 0) if isinstance(op, ContractOp) else work_facts(row, machine))]
    facts += _plain_time(row, machine) if line is None or machine is None else _array_time(row, line, machine)
    if isinstance(op, InterleaveOp) and machine is not None:
        facts += certified_row(row, machine)
    return Explanation(title, tuple(facts), _traffic(row), line, nests=nests, **_about(row, machine))


class _About(TypedDict):
    row: OpRow
    shares: tuple[tuple[str, int], ...]
    elements: int


def _about(row: OpRow, machine: Machine | None) -> _About:
    """What an operation costs, and what it uses of the machine."""
    shares = () if machine is None or row.cycles is None else tuple(_used(row, machine))
    return {"row": row, "shares": shares, "elements": 0 if machine is None else machine.array.elements}


def _turns(op: InterleaveOp, row: OpRow, machine: Machine) -> tuple[Timeline, tuple[str, ...]]:
    """The time of contractions that run round-robin, and what each computes."""
    widths = tuple(contract_widths(contract, machine) for contract in op.contracts)
    extra = int(row.cycles or 0) - interleaved_pipeline(op.round_robin, machine, widths).cycles
    line = interleaved_timeline(op.round_robin, machine, widths, extra=extra)
    return line, tuple(", ".join(out.name for out in contract.nest.outs) for contract in op.contracts)


def _times(sizes: tuple[int, ...]) -> str:
    return " x ".join(f"{size:,}" for size in sizes)


def _counted(count: int, what: str) -> str:
    return f"{'over' if what == 'core' else 'in'} {count:,} {what}{'s' if count > 1 else ''}"


def _product(nest: Nest, macs: int) -> Iterator[tuple[str, str]]:
    for number, statement in enumerate(nest.statements):
        start = nest.start_of(statement.out)
        begin = "" if start is None else f" from {start}"
        text = " * ".join(str(nest.tensors[name]) for name in (statement.lhs, statement.rhs))
        yield "" if number else "product", f"{nest.tensors[statement.out]} += {text}{begin}"
        batch, m, n, k = gemm_view(nest, statement).sizes(nest.sizes)
        several = f"{batch:,} matrix products" if batch > 1 else "a matrix product"
        passes = f", each product in {statement.passes:,} passes" if statement.passes > 1 else ""
        yield "", f"{several} of m x n x k = {_times((m, n, k))}{passes}"
    sizes = ", ".join(f"{dim} = {size:,}" for dim, size in nest.dims)
    yield "", f"{sizes}; {macs:,} MACs{f' in {nest.mac_passes:,} passes' if nest.mac_passes > macs else ''}"


def _schedule(nest: Nest, schedule: Schedule, row: OpRow, machine: Machine) -> Iterator[tuple[str, str]]:
    facts, pool = ArrayFacts.found_in(row), PoolFacts.found_in(row)
    assert facts is not None, "the model says it of every product"
    trips = max_trips(nest, schedule.loops)
    loops = [
        f"{loop.dim} {_counted(count, 'core' if loop.cores else 'step')} of {loop.step:,}"
        for loop, count in zip(schedule.loops, trips, strict=True)
    ]
    yield "schedule", ", inside it ".join(loops) if loops else "no loops: one tile operation does it all"
    tile = nest.sizes | {loop.dim: loop.step for loop in schedule.loops}
    yield "", f"a tile is {', '.join(f'{dim} {size:,}' for dim, size in tile.items())}; {facts.tiles:,} of them"
    yield from fold_facts(nest, schedule, facts.folds, machine)
    yield from stationary_facts(nest, row, machine)
    if pool is not None:
        yield (
            "",
            f"tiles stay in a pool of {machine.spm_bytes:,} bytes, least recently used first out; at most "
            f"{pool.peak_spm_bytes:,}",
        )
        return
    moved = streams(nest, schedule)
    kept = [s.tensor.name for s in moved if not s.loops]
    if kept and schedule.loops:
        yield "", f"{', '.join(kept)} stay{'s' if len(kept) == 1 else ''} in scratchpad from the first tile to the last"
    room = machine.spm_bytes
    yield "", f"the blocks take {row.spm_bytes or 0:,} of {room:,} bytes ({(row.spm_bytes or 0) / room:.0%})"


def _in_turn(op: InterleaveOp, row: OpRow, machine: Machine | None) -> Iterator[tuple[str, str]]:
    """The schedules of contractions that run round-robin, and the blocks that they share."""
    yield "schedule", f"{len(op.contracts)} nests in one scratchpad, one tile operation of each, round-robin"
    for contract in op.contracts:
        outs = ", ".join(t.name for t in contract.nest.outs)
        yield "", f"{outs}: {schedule_text(contract.schedule)}"
    for blocks in shared_blocks(op.round_robin) if machine is None or machine.policy != "lru" else ():
        yield "", f"{blocks[0][1]} stays in scratchpad from the first tile to the last, read once for all of them"
    if machine is not None:
        room = machine.spm_bytes
        yield "", f"the blocks take {row.spm_bytes or 0:,} of {room:,} bytes ({(row.spm_bytes or 0) / room:.0%})"


def _blocks(nest: Nest, schedule: Schedule, row: OpRow, widths: Bits, resident: frozenset[str]) -> Table:
    stored, rooms = widths.by_name(nest), widths.occupied(nest)
    blocks, trips = footprint(nest, schedule), max_trips(nest, schedule.loops)
    table = [("tensor", "bytes", "block", "changes with", "moves", "read", "written", "times")]
    for stream in streams(nest, schedule):
        name = stream.tensor.name
        size, traffic = whole_bytes(stream.tensor.elements * stored[name]), row.tensors[name]
        moves = [schedule.loops[p].dim for p in stream.loops if trips[p] > 1]
        visits = prod(trips[p] for p in stream.loops)
        if name in resident:
            moves, visits, blocks[name] = [], 0, stream.tensor.elements
        cells = (f"{whole_bytes(blocks[name] * rooms[name]):,}", ", ".join(dict.fromkeys(moves)) or "-", f"{visits:,}")
        both = traffic.read_bytes + traffic.write_bytes
        table.append(
            (name, f"{size:,}", *cells, f"{traffic.read_bytes:,}", f"{traffic.write_bytes:,}", _ratio(both, size))
        )
    return tuple(table)


def _ratio(part: int, whole: int) -> str:
    return f"{part / whole:.2f}" if whole else "-"


def _traffic(row: OpRow) -> Table:
    head = ("tensor", "read", "written")
    return (head, *((name, f"{t.read_bytes:,}", f"{t.write_bytes:,}") for name, t in row.tensors.items()))


def _array_time(row: OpRow, line: Timeline, machine: Machine) -> Iterator[tuple[str, str]]:
    cycles = int(row.cycles or 0)
    yield from _cores(row)
    states: tuple[State, ...] = ("steady", "fill", "drain", "edge", "stall")
    counts = {state: line.total(state) // line.per_cycle for state in states}
    parts = " + ".join(f"{count:,} {state}" for state, count in counts.items() if count or state != "edge")
    yield "time", f"{cycles:,} cycles = {parts}"
    # They may end within a cycle; rounded so, their sum is the whole stall.
    first = line.first // line.per_cycle
    until = (line.total("stall") - line.last) // line.per_cycle
    yield (
        "",
        f"of the stall, {first:,} until the first tile's data is there, {until - first:,} in between, "
        f"{counts['stall'] - until:,} after the last fold",
    )
    yield from _channel(row, machine)
    full = line.macs / (machine.array.elements * counts["steady"])
    yield (
        "",
        f"the array streams in {counts['steady'] / cycles:.1%} of the time and is {full:.1%} occupied then: "
        f"utilization {row.utilization or 0:.1%}",
    )
    yield from _bound(row, machine)


def _cores(row: OpRow) -> Iterator[tuple[str, str]]:
    """The load of several cores."""
    facts = CoreFacts.found_in(row)
    if facts is not None and facts.cores > 1:
        each = facts.core_cycles
        spread = f"{min(each):,} to {max(each):,}" if min(each) < max(each) else f"{each[0]:,}"
        yield "cores", f"{len(each):,} in use, {spread} cycles each, load balance {facts.load_balance:.1%}"
        yield "", f"the time below is that of core {each.index(max(each))}, the slowest"


def _used(row: OpRow, machine: Machine) -> Iterator[tuple[str, int]]:
    """The cycles of computation, loads and stores."""
    yield "compute", int(row.compute_cycles or 0)
    yield "loads", machine.transfer_cycles(row.dram_read_bytes or 0)
    yield "stores", machine.transfer_cycles(row.dram_write_bytes or 0)


def _channel(row: OpRow, machine: Machine) -> Iterator[tuple[str, str]]:
    """The shares of computation, loads and stores."""
    cycles = int(row.cycles or 0)
    shares = [f"{name} {part:,} ({part / cycles if cycles else 0:.0%})" for name, part in _used(row, machine)]
    yield "", f"{', '.join(shares)} cycles, at {float(machine.channel):,.4g} bytes a cycle"
    if not machine.double_buffer:
        yield "", "without double buffering they add up"


def _bound(row: OpRow, machine: Machine) -> Iterator[tuple[str, str]]:
    if row.limit is not None:
        yield "limit", f"{row.limit}: {why_limited(row)}"
    if row.lower_bound_seconds and row.seconds:
        least, times = round(row.lower_bound_seconds * machine.clock_mhz * 1e6), row.seconds / row.lower_bound_seconds
        yield (
            "bound",
            f"{residency_condition([row])} no schedule takes less than {least:,} cycles; this one takes {times:.2f}x",
        )


def _plain_time(row: OpRow, machine: Machine | None) -> Iterator[tuple[str, str]]:
    """The time of an operation without a schedule."""
    if row.cycles is None:
        yield "time", "none: this model gives it no cost"
        return
    yield "time", f"{row.cycles:,} cycles = {row.compute_cycles or 0:,} busy + {row.stall_cycles or 0:,} stall"
    if machine is not None:
        yield from _channel(row, machine)
        yield from _bound(row, machine)
        return
    compat = ProductFacts.found_in(row)
    if compat is not None and compat.products:
        yield (
            "",
            f"as SCALE-Sim counts them, products: {compat.products:,}; utilization {row.utilization or 0:.1%}",
        )
