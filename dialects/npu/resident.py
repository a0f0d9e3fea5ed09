"""
Values that are resident in SPM across operations: `resident(in dY, out dX)` on an operation.

    %dx = npu.contract (…) ins(dY = %dy[m, n], W = %w[k, n]) outs(dX[m, k]) … resident(out dY, out dX)
    %dw = npu.contract (…) ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) … resident(in dY)
    %g  = npu.vector relu_grad(%dx, %h) ops 48 resident(in in0, out out0 over in0)

`in T`: all of T is in SPM when the operation starts, and is not read from DRAM. `out T`, of an operand or a result: all
of T is in SPM when the operation ends. An operand that was not resident before must then be read once, block by block.
A result is written to DRAM only if some use does not find it resident; it must then be completed block by block. `out Y
over T`, of vector work: Y overwrites T, which is resident before the operation and not after it.

A resident value occupies all its elements from the operation that leaves it to the last one that finds it, during all
operations between. A view shares the memory of its operand. While a contraction accumulates a result, its elements are
partial sums, as wide as the machine's accumulators.

Operations that may find and leave values are `HasResidency`. A contraction's tensors have their names in the nest;
`in0`, `in1`, … and `out0`, … are the operands and results of vector work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from xdsl.ir import Block, Data, Operation, SSAValue
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu.groups.held import HoldsInSpm
from npuc.dialects.npu.groups.views import SameMemory as SameMemory
from npuc.dialects.npu.groups.views import memory_of as memory_of
from npuc.dialects.npu.groups.views import old_rows, unread_bytes
from npuc.dialects.npu.widths import Widths, bytes_of, sum_bytes_of, widths_of
from npuc.dialects.train.signature import writes_of


@frozen
class Resident:
    """The names of the tensors resident before and after; `over` are pairs (result, operand that it overwrites)."""

    ins: tuple[str, ...] = ()
    outs: tuple[str, ...] = ()
    over: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        over = dict(self.over)
        parts = [f"in {name}" for name in self.ins]
        parts += [f"out {name}" + (f" over {over[name]}" if name in over else "") for name in self.outs]
        return f"resident({', '.join(parts)})"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all resident tensors, each once."""
        return tuple(dict.fromkeys((*self.ins, *self.outs)))


NO_RESIDENTS = Resident()


def parse_resident(parser: AttrParser) -> Resident | None:
    """Parse an optional `resident(in dY, out dX)`; None where there is none."""
    if parser.parse_optional_keyword("resident") is None:
        return None
    ins: list[str] = []
    outs: list[str] = []
    over: list[tuple[str, str]] = []

    def parse_one() -> None:
        if parser.parse_optional_keyword("in"):
            ins.append(parser.parse_identifier(" of a tensor"))
            return
        parser.parse_keyword("out")
        outs.append(parser.parse_identifier(" of a tensor"))
        if parser.parse_optional_keyword("over"):
            over.append((outs[-1], parser.parse_identifier(" of an operand")))

    parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_one, " in resident")
    return Resident(tuple(ins), tuple(outs), tuple(over))


def resident_attr(resident: Resident | ResidentAttr | None) -> ResidentAttr | None:
    """The attribute for a residency; None for one without tensors."""
    if isinstance(resident, Resident):
        resident = ResidentAttr(resident)
    return None if resident is None or resident.data == NO_RESIDENTS else resident


@irdl_attr_definition
class ResidentAttr(Data[Resident]):
    """The tensors resident before and after an operation: `#npu.resident<resident(in dY, out dX)>`."""

    name = "npu.resident"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Resident:
        with parser.in_angle_brackets():
            return parse_resident(parser) or NO_RESIDENTS

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(str(self.data))


class HasResidency:
    """An operation that occupies SPM, and that values may be resident before and after."""

    @property
    def resident(self) -> Resident:
        """The tensors resident before and after the operation."""
        return NO_RESIDENTS

    def named_operands(self) -> Mapping[str, SSAValue]:
        """The operands that may be resident, by name."""
        return {}

    def named_results(self) -> Mapping[str, SSAValue]:
        """The results that may be resident, by name."""
        return {}

    def own_spm_bytes(self) -> int:
        """The bytes of SPM that its blocks and all of its resident tensors occupy."""
        return 0

    def promised_spm(self) -> int | None:
        """The upper bound on the bytes of SPM that the operation states, if it does."""
        return None

    def is_resident_operand(self, index: int) -> bool:
        """Whether the operand with this number is resident before the operation."""
        return False

    def adds_in_place(self) -> bool:
        """Whether it can add to partial sums that are there before, so that its result needs no room beside them."""
        return False


class ElsewhereError(VerifyException):
    """A violated rule whose culprit `op` is not the operation under verification."""

    def __init__(self, op: Operation, message: str):
        super().__init__(message)
        self.op = op


def needs_dram_copy(value: SSAValue) -> bool:
    """Whether some use of a value, or of a view of it, does not find it resident."""
    for use in value.uses:
        user = use.operation
        if isinstance(user, SameMemory):
            if needs_dram_copy(user.results[0]):
                return True
        elif not (isinstance(user, HasResidency) and user.is_resident_operand(use.index)):
            return True
    return False


def unmoved_tensors(op: HasResidency) -> frozenset[str]:
    """The names of an operation's tensors that cause no traffic between DRAM and SPM."""
    resident = op.resident
    if resident == NO_RESIDENTS:
        return frozenset()
    results = op.named_results()
    unstored = {name for name in resident.outs if name in results and not needs_dram_copy(results[name])}
    return frozenset((*resident.ins, *unstored))


def check_names(op: HasResidency) -> None:
    """Raise for names that are unknown to an operation, repeated, or contradictory."""
    resident, operands, results = op.resident, op.named_operands(), op.named_results()
    for kind, names, known in (("in", resident.ins, operands), ("out", resident.outs, {**operands, **results})):
        for name in names:
            if name not in known:
                raise VerifyException(f"resident names '{name}' after {kind}, expected one of {', '.join(known)}")
            if names.count(name) > 1:
                raise VerifyException(f"resident names '{name}' twice after {kind}")
    for name, under in resident.over:
        if name not in results or under not in resident.ins or under in resident.outs:
            raise VerifyException(
                f"{name} over {under}: expected a result over an operand that is resident before and not after"
            )
        if results[name].type != operands[under].type:
            raise VerifyException(f"{name} over {under}: their types must be the same")
    if len({under for _, under in resident.over}) < len(resident.over):
        raise VerifyException("two results are written over the same operand")


def _is_of_bands(block: Block | None) -> bool:
    """Whether a block runs by bands of rows, so that no tensor of it is in SPM as its type says."""
    around = None if block is None else block.parent_op()
    return isinstance(around, HoldsInSpm) and around.runs_by_bands()


def check_moved_once(op: HasResidency, problem: Callable[[str], str | None]) -> None:
    """
    Raise for tensors that are resident after an operation and are transferred, but not each block once.

    `problem` says why the blocks of a tensor are not each transferred once, or None. Where a body runs by bands, that
    is asked of each band.
    """
    if isinstance(op, Operation) and _is_of_bands(op.parent):
        return
    unmoved, results = unmoved_tensors(op), op.named_results()
    for name in op.resident.outs:
        reason = None if name in unmoved else problem(name)
        if reason is not None:
            state = "stored and resident, but not written" if name in results else "resident, but not read"
            raise VerifyException(f"{name} is {state} once as a whole: {reason}")


@frozen
class BlockResidency:
    """
    The residency of a block's values.

    `passing` are, for each operation, the resident values that it neither finds nor leaves; `problems` the violated
    rules, each with its operation. `sums` are the partial sums that a group holds beside what all of its operations do
    but the contraction that computes one.
    """

    passing: Mapping[Operation, tuple[SSAValue, ...]]
    problems: Sequence[tuple[Operation, str]]
    sums: tuple[SSAValue, ...] = ()

    def sums_beside(self, op: Operation) -> tuple[SSAValue, ...]:
        """The partial sums that occupy SPM beside an operation; vector work that adds to one needs it beside."""
        in_place = isinstance(op, HasResidency) and op.adds_in_place()
        return tuple(v for v in self.sums if v.owner is not op or not in_place)


def block_residency(block: Block) -> BlockResidency:
    """Track the resident values through a block."""
    problems: list[tuple[Operation, str]] = []
    passing: dict[Operation, tuple[SSAValue, ...]] = {}
    around = block.parent_op()
    held = around.held_values() if isinstance(around, HoldsInSpm) else ()
    sums = around.held_sums() if isinstance(around, HoldsInSpm) else ()
    alive: dict[SSAValue, tuple[Operation, str]] = {v: (around, "") for v in held if around is not None}
    result = BlockResidency(passing, problems, tuple(sums))
    writes, widths = writes_of(block), _widths_around(block)
    promise: int | None = None
    for op in block.ops:
        if not isinstance(op, HasResidency):
            passing[op] = tuple(alive)
            continue
        own, operands = op.resident, op.named_operands()
        found = {memory_of(operands[name]): name for name in own.ins if name in operands}
        for value, name in found.items():
            if value not in alive:
                problems.append((op, f"{name} is not resident: no operation before leaves it in SPM"))
        left = {memory_of(v): name for name, v in {**operands, **op.named_results()}.items() if name in own.outs}
        rows = {name: operands[name] for name in own.ins if name in operands}
        joined = {old for value in rows.values() for old in old_rows(value)}
        passing[op] = tuple(v for v in alive if v not in found and v not in left and v not in joined)
        promised = op.promised_spm()
        promise = promised if promised is not None else promise
        room, beside = op.own_spm_bytes(), sum(bytes_of(v, widths) for v in passing[op])
        beside += sum(sum_bytes_of(v, widths) for v in result.sums_beside(op))
        beside += sum(unread_bytes(value, widths) for value in rows.values())
        if promise is not None and (beside or own != NO_RESIDENTS) and room + beside > promise:
            parts = f"{room} of its own, {beside} of other resident values"
            problems.append((op, f"blocks take {room + beside} bytes ({parts}), spm promises {promise}"))
        for value in found.keys() & set(held) - left.keys():
            problems.append((op, f"{found[value]} is held until the last micro-batch: it stays resident (out)"))
        alive = {v: entry for v, entry in alive.items() if v not in found} | {v: (op, left[v]) for v in left}
        alive = {v: entry for v, entry in alive.items() if v not in sums}
        for value in writes.get(op, frozenset()) & alive.keys():
            problems.append((op, f"it overwrites {alive[value][1]} in DRAM while a copy is resident in SPM"))
    for value, (op, name) in alive.items():
        if value not in held:
            problems.append((op, f"{name} is left resident, but no operation after finds it"))
    return result


def _widths_around(block: Block) -> Widths:
    around = block.parent_op()
    return Widths() if around is None else widths_of(around)


def check_block(op: Operation) -> None:
    """Raise the first violated rule of a block's residency, once a block: for its first operation with residents."""
    if _is_of_bands(op.parent):
        return
    before = op.prev_op
    while before is not None:
        if isinstance(before, HasResidency) and before.resident != NO_RESIDENTS:
            return
        before = before.prev_op
    block = op.parent
    for culprit, problem in block_residency(block).problems if block is not None else ():
        raise ElsewhereError(culprit, problem)


def operations_with_residents(block: Block) -> Iterator[Operation]:
    """The operations of a block that find or leave values resident."""
    return (op for op in block.ops if isinstance(op, HasResidency) and op.resident != NO_RESIDENTS)
