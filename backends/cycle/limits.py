"""What bounds the time of contractions: the array, its edge, the DRAM channel, or latency between them."""

from collections.abc import Hashable, Mapping, Sequence

from xdsl.ir import Operation

from npuc.backends.cycle.stream import stream_row
from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.compute import Compute, busy_cycles_lower_bound
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.levels.views import at_level
from npuc.compiler.analysis.machine.stationary import time_passes
from npuc.compiler.analysis.nest.elements import contract_widths
from npuc.compiler.analysis.programs.joint_bounds import joint_certificate
from npuc.compiler.report import OpRow
from npuc.compiler.report.levels import LevelFacts
from npuc.compiler.report.sections import EdgeFacts, TransferFacts
from npuc.dialects.npu import ContractOp, GroupOp, InterleaveOp
from npuc.dialects.npu.nest import Nest
from npuc.dialects.npu.resident import unmoved_tensors
from npuc.dialects.npu.shared import number_values
from npuc.dialects.npu.tensor_work import same_value
from npuc.dialects.provenance import layer_of, repeat_of
from npuc.dialects.structural import equality_key

IDLE = 0.1
"""The share of idle time of both array and DRAM channel from which on `limit` is `latency`."""

WHY = {
    "compute": "the compute unit sets the time, data comes early enough",
    "dram": "the DRAM channel sets the time, the compute unit waits for data",
    "level": "a memory between scratchpads and DRAM sets the time, the compute unit waits for data",
    "edge": "folds are shorter than what crosses the array's edge beside them: operands in, or sums out",
    "latency": "neither is busy all the time: they wait for each other",
}


def why_limited(row: OpRow) -> str:
    """The `limit` of a row in words."""
    channel = TransferFacts.found_in(row)
    # Stalls may be shorter than the waits for the edge, but without these the row would gain nothing.
    longer = row.limit == "edge" and channel is not None and channel.transfer_cycles > (row.compute_cycles or 0)
    return WHY.get(row.limit or "", "it sets the time") + ("; the DRAM channel takes longer still" if longer else "")


def is_edge_bound(edge: int, streamed: int, stall: int) -> bool:
    """Whether waiting for the array's edge takes more cycles than streaming, and more than waiting for data."""
    return edge > max(streamed, stall)


def limit_of(cycles: int, compute: int, transfer: int, inner: int = 0) -> str:
    """
    What bounds a time: the array ("compute"), the DRAM channel ("dram"), or neither ("latency"); "level" where it is
    the bandwidth of a memory between SPM and DRAM, whose transfers take `inner` cycles.
    """
    if cycles - max(compute, transfer, inner) > IDLE * cycles:
        return "latency"
    if inner > max(compute, transfer):
        return "level"
    return "compute" if compute >= transfer else "dram"


def cycles_lower_bound_of(
    nests: Sequence[Nest], least_bytes: int, machine: Machine, levels: LevelFacts | None = None
) -> int:
    """
    A lower bound of the cycles of contractions over all schedules: the largest of the least bytes over the channel, of
    all passes of MACs over all processing elements, and of the busiest array's whole folds or transfers across its
    edge; with further `levels` on the chip also the least bytes of each over its bandwidth.
    """
    passes = sum(time_passes(nest, machine.array) for nest in nests)
    array = busy_cycles_lower_bound(nests, machine.array, machine.cores)
    inner = 0
    if levels is not None:
        pairs = zip(machine.levels, levels.level_bound_bytes, strict=True)
        inner = max(at_level(machine, number).transfer_cycles(least) for number, (_, least) in enumerate(pairs))
    return max(machine.transfer_cycles(least_bytes), inner, -(-passes // machine.elements), array)


def least_row_seconds(op: ContractOp, machine: Machine) -> float:
    """
    A lower bound of the seconds of a contraction's row, whichever schedule it gets, on a machine without a pool: the
    row's own (`lower_bound_seconds`), but for memories between SPM and DRAM.
    """
    nest, values = op.nest, number_values([op.operands])
    widths = contract_widths(op, machine).without(nest, unmoved_tensors(op))
    # The memory next to DRAM bounds what moves.
    seen = at_level(machine, len(machine.levels)) if machine.levels else machine
    moved = joint_certificate((nest,), values, seen.bounding_spm, (widths,), 0).bound
    return machine.seconds(cycles_lower_bound_of((nest,), moved, machine))


def least_pair_seconds(ops: tuple[ContractOp, ContractOp], machine: Machine) -> float:
    """
    A lower bound of the seconds of two contractions one after another, in turn, or as one nest, whatever their
    schedules: the least of both rows' bounds, and of what both have as one operation. None reads what the other makes.
    """
    nests, values = tuple(op.nest for op in ops), number_values([[*map(same_value, op.operands)] for op in ops])
    widths = tuple(contract_widths(op, machine).without(op.nest, unmoved_tensors(op)) for op in ops)
    moved = joint_certificate(nests, values, machine.bounding_spm, widths, 0).bound
    together = machine.seconds(cycles_lower_bound_of(nests, moved, machine))
    return min(together, sum(least_row_seconds(op, machine) for op in ops))


def least_seconds(
    ops: Sequence[Operation], machine: Machine, *, together: bool = False
) -> Mapping[str, Sequence[float]] | None:
    """
    Lower bounds of the seconds of rows by layer; None where contractions run together.

    `together`: the gradients of one product may run together later, in any way (`least_pair_seconds`).
    """
    found: dict[str, list[float]] = {}
    known: dict[Hashable, float] = {}
    pairs = _pairs(ops) if together else {}
    for op in ops:
        if isinstance(op, (InterleaveOp, GroupOp)):
            return None
        if op in pairs:
            found.setdefault(layer_of(op), []).append(_least_of_set(pairs[op], machine) if op is pairs[op][0] else 0.0)
            continue
        kind = equality_key(op)
        seconds = None if kind is None else known.get(kind)
        if seconds is None:
            seconds = least_row_seconds(op, machine) if isinstance(op, ContractOp) else _seconds(op, machine)
            if kind is not None:
                known[kind] = seconds
        found.setdefault(layer_of(op), []).append(repeat_of(op) * seconds)
    return found


def _pairs(ops: Sequence[Operation]) -> dict[Operation, list[ContractOp]]:
    """The contractions of a block and a layer that share a dY: sets of more than one."""
    found: dict[Hashable, list[ContractOp]] = {}
    for op in ops:
        if isinstance(op, ContractOp):
            for tensor, value in zip(op.nest.ins, op.operands, strict=False):
                if tensor.name == "dY":
                    found.setdefault((op.parent, layer_of(op), same_value(value)), []).append(op)
    return {op: own for own in found.values() if len(own) > 1 for op in own}


def _least_of_set(ops: Sequence[ContractOp], machine: Machine) -> float:
    """A lower bound of the seconds of contractions of one dY; 0 where more than one product has it."""
    repeats = {repeat_of(op) for op in ops}
    if len(ops) != 2 or len(repeats) > 1:
        return 0.0
    return repeats.pop() * least_pair_seconds((ops[0], ops[1]), machine)


def _seconds(op: Operation, machine: Machine) -> float:
    return stream_row(op, machine, 0).seconds or 0.0


def edge_facts(groups: int, busiest: Compute, array: Array) -> EdgeFacts | None:
    """
    The fold groups of all cores, and the cycles in which those of the busiest core wait for the edge of its array; None
    for an array without such waits.
    """
    if not has_edge_waits(array):
        return None
    return EdgeFacts(groups=groups, edge_cycles=edge_waits(busiest, array))


def has_edge_waits(array: Array) -> bool:
    """Whether folds of an array may wait for what crosses its edge."""
    return array.row_stationary is not None or (array.fill == "overlap" and array.overlap is None)


def edge_waits(work: Compute, array: Array) -> int:
    """The cycles in which folds of one core wait for the edge of its array."""
    return work.reloads * array.reload if array.dataflow == "in-place" else work.edge
