"""Legal epilogues of a contraction, and the gain of fusing them."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from itertools import chain

from xdsl.ir import Block, Operation, SSAValue

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.cores import core_count, first_part
from npuc.compiler.analysis.nest.elements import BYTE, Bits, contract_widths, element_bits, footprint_bytes
from npuc.compiler.analysis.schedule.over_cores.partition_bounds import PartitionBounds
from npuc.compiler.analysis.schedule.over_cores.partitions import core_partitions
from npuc.compiler.analysis.schedule.search import best_schedule
from npuc.compiler.analysis.timing.double_buffer import pipeline
from npuc.compiler.analysis.timing.epilogue import (
    array_cycles,
    epilogues,
    fused_widths,
    room_bytes,
    stage,
    stream_cycles,
)
from npuc.compiler.analysis.timing.vector_traffic import streamed
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.layers import get_layer
from npuc.compiler.transforms.fuse_vector.patterns import Epilogue
from npuc.dialects.npu import ContractOp, VectorOp, ViewOp
from npuc.dialects.npu.epilogue import incomplete_reason
from npuc.dialects.npu.fused_blocks import FusedWork, fused_room
from npuc.dialects.npu.nest import Nest, Schedule
from npuc.dialects.npu.vector import FusedVector, fused_with
from npuc.dialects.outside import operation_of_kind
from npuc.dialects.provenance import is_recomputed, repeat_of
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.signature import Writes, writes_of

Wanted = Callable[[VectorOp], bool]
Place = tuple[int, int]
Price = tuple[int, int]
"""Cycles and bytes."""


class Fusing:
    """The operations of a block, and where each stands now."""

    def __init__(self, block: Block, machine: Machine, wanted: Wanted):
        self.block, self.machine, self.wanted = block, machine, wanted
        self.places: dict[Operation, Place] = {op: (number, 0) for number, op in enumerate(block.ops)}
        self.writes: Writes = writes_of(block)

    def choose(self, contract: ContractOp) -> Epilogue | None:
        """
        The best set of operations to fuse, one after the other, with those that are; None if no other gains.

        They count as moved to the contraction from then on.
        """
        found = before = fused_with(contract)
        schedule = contract.schedule
        best = self._price(contract, schedule, found)
        tried = set[VectorOp]()
        while (more := next((f for f in self._candidates(contract, found) if f.op not in tried), None)) is not None:
            tried.add(more.op)
            wider = (*found, more)
            apart = self._stream(more.op)
            limit = best[0] + apart[0], best[1] + apart[1]
            cheaper = self._best(contract, schedule, wider, limit)
            if cheaper is not None:
                best, schedule = cheaper
                found = wider
        if found == before:
            return None
        for number, fused in enumerate(found, 1):
            self.places[fused.op] = self.places[contract][0], number
        return Epilogue(tuple(fused.op for fused in found), schedule)

    def _candidates(self, contract: ContractOp, fused: Sequence[FusedVector]) -> Iterator[FusedVector]:
        """The operations that may be fused next, in their order, each with the output that it works on."""
        made: dict[SSAValue, str] = {}
        for value, tensor in zip(contract.results, contract.nest.outs, strict=True):
            made[value] = tensor.name
        for f in fused:
            made |= dict.fromkeys(f.op.results, f.output)
        users = {use.operation for value in made for use in value.uses} - {f.op for f in fused}
        here = [op for op in users if isinstance(op, VectorOp) and op.parent is self.block]
        for op in sorted(here, key=self.places.__getitem__):
            used = [v for v in op.operands if v in made]
            same = {shape_of(v) for v in (*used, *op.results)}
            outputs = {made[v] for v in used}
            if len(same) != 1 or len(outputs) != 1 or op.fused or _is_partial(op) or not self.wanted(op):
                continue
            (output,) = outputs
            outside = tuple(dict.fromkeys(v for v in op.operands if v not in made))
            loaded = {v for f in fused if f.output == output for v in f.outside}
            if _is_elementwise(op) and self._may_move(op, contract, outside):
                yield FusedWork(op, output, tuple(v for v in outside if v not in loaded))

    def _may_move(self, op: VectorOp, contract: ContractOp, outside: Sequence[SSAValue]) -> bool:
        """
        Whether an operation may run as an epilogue: its operands are available, and nothing reads memory that it
        writes.

        Recomputed work is fused only with recomputed contractions.
        """
        place = self.places[contract]
        if repeat_of(op) != repeat_of(contract) or is_recomputed(op) != is_recomputed(contract):
            return False
        owners = [v.owner for v in outside]
        if any(self.places[owner] >= place for owner in owners if isinstance(owner, Operation)):
            return False
        return not any(self._reads_old(value, op, contract) for value in self.writes.get(op, frozenset()))

    def _reads_old(self, written: SSAValue, op: VectorOp, contract: ContractOp) -> bool:
        """
        Whether something reads memory that `op` overwrites when a block of the contraction is finished, or later.

        The contraction itself may, where it reads the memory with the indices of the output: what is last read of it is
        read by the tile operation that completes the same elements.
        """
        start, end = self.places[contract], self.places[op]
        for use in _uses(written):
            user = self.block.find_ancestor_op_in_block(use[0])
            if user is contract:
                nest = contract.nest
                tensor = (*nest.ins, *(s for s in nest.starts if s is not None))[use[1]]
                outputs = [t for t, v in zip(nest.outs, contract.results, strict=True) if v in op.operands]
                if not any(t.axes == tensor.axes and t.shape == tensor.shape for t in outputs):
                    return True
            elif user is not None and user is not op and start < self.places[user] < end:
                return True
        return False

    def _best(
        self, contract: ContractOp, now: Schedule, fused: Sequence[FusedVector], limit: Price
    ) -> tuple[Price, Schedule] | None:
        """
        The cheapest of the schedule as it is and the best for the bytes that now move with an output, with its price;
        None if none finishes, fits and costs less than `limit`. Partitions over cores that are no faster are not
        searched.
        """
        nest, machine = contract.nest, self.machine
        widths = contract_widths(contract, machine)
        moving = fused_widths(nest, widths, epilogues(contract, fused, machine, len(fused)))
        wide = self._wide(contract, fused, widths, moving)
        best: tuple[Price, int] | None = None
        chosen = now

        def most() -> int:
            return limit[0] if best is None else best[0][0]

        outputs = {f.output for f in fused}
        searched = _searched(nest, machine, wide, moving, outputs, most)
        for number, schedule in chain([(0, now)], searched):
            if any(incomplete_reason(nest, schedule, output) is not None for output in outputs):
                continue
            room = footprint_bytes(nest, schedule, widths) + room_bytes(contract, schedule, fused, machine)
            if room > min(machine.spm_bytes, schedule.spm or machine.spm_bytes):
                continue
            entry = self._price(contract, schedule, fused), number
            if entry[0] < limit and (best is None or entry < best):
                best, chosen = entry, schedule
        return None if best is None else (best[0], chosen)

    def _wide(self, contract: ContractOp, fused: Sequence[FusedVector], widths: Bits, moving: Bits) -> Bits:
        """Bits to search with: at least those of the contraction, and the room of what is held beside its blocks."""
        nest, rooms = contract.nest, widths.occupied(contract.nest)
        held = {value for value, _ in fused_room(contract, contract.schedule, fused)}
        for value, output in ((v, f.output) for f in fused for v in (*f.outside, *f.op.results)):
            if value in held and shape_of(value) == nest.tensors[output].shape:
                rooms[output] += element_bits(value.type, self.machine.element_bytes)
        stored = tuple(map(max, zip(moving.stored, widths.stored, strict=True)))
        return Bits(stored, widths.sums, tuple(rooms.values()))

    def _price(self, contract: ContractOp, schedule: Schedule, fused: Sequence[FusedVector]) -> Price:
        """Cycles and bytes of a contraction with what is fused."""
        if fused:
            timing = stage(contract, schedule, fused, self.machine)
        else:
            widths = contract_widths(contract, self.machine)
            timing = pipeline(contract.nest, schedule, self.machine, widths)
        return timing.cycles, timing.moved // BYTE

    def _stream(self, op: VectorOp) -> Price:
        """Cycles and bytes of vector work by itself."""
        moved = streamed(op, self.machine).moved()
        return stream_cycles(op.ops, moved, self.machine, array_cycles(op, self.machine)), moved


def _searched(
    nest: Nest, machine: Machine, widths: Bits, moving: Bits, outputs: Collection[str], most: Callable[[], int]
) -> Iterator[tuple[int, Schedule]]:
    """
    The best schedule for these bits of an element, and on several cores the best of each partition that leaves every
    block of the outputs to one core and may take at most so many cycles, each with its number. Those that may be
    fastest come first, so that `most` falls early.
    """
    with suppress(CapacityError):
        found = best_schedule(nest, machine, "time", widths)
        yield 1, Schedule(found.loops, found.keep, machine.spm_bytes)
    if machine.cores == 1:
        return
    own = frozenset[str].intersection(*(nest.tensors[name].dims for name in outputs))
    cuts = [cut for cut in core_partitions(nest, machine.cores) if cut and all(loop.dim in own for loop in cut)]
    bounds = PartitionBounds(nest, machine, "time", moving)
    for bound, number in sorted((bounds.of_all_cores(cut), number) for number, cut in enumerate(cuts, 2)):
        # Both are whole cycles, so that the rounding of the bound does not count.
        if int(bound) > most():
            return
        cut = cuts[number - 2]
        part, count = first_part(nest, Schedule(cut)), core_count(nest, Schedule(cut))
        with suppress(CapacityError):
            found = best_schedule(part, machine.core(count), "time", widths)
            yield number, Schedule((*cut, *found.loops), found.keep, machine.spm_bytes)


def _is_elementwise(op: VectorOp) -> bool:
    kind = operation_of_kind(op.kind)
    return kind is not None and get_layer(kind).elementwise


def _is_partial(op: VectorOp) -> bool:
    """Whether an operation moves parts of its tensors only."""
    return op.reads is not None or op.writes is not None


def _uses(value: SSAValue) -> Iterator[tuple[Operation, int]]:
    """The operations that read the memory of a value, through views too, with the operand's number."""
    for use in value.uses:
        if isinstance(use.operation, ViewOp):
            yield from _uses(use.operation.results[0])
        else:
            yield use.operation, use.index
