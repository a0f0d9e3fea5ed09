"""
Values that stay in SPM from one operation to the next: `resident(in dY, out dX)` on an operation.

    %dx = npu.contract (…) ins(dY = %dy[m, n], W = %w[k, n]) outs(dX[m, k]) … resident(out dY, out dX)
    %dw = npu.contract (…) ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) … resident(in dY)
    %g  = npu.vector relu_grad(%dx, %h) ops 48 resident(in in0, out out0 over in0)

`in T`: the whole of T is in SPM when the operation starts, and not read from DRAM. `out T`, of an operand or a
result: the whole of T is there when it ends. An operand that was not there before must be read once, block by block. A
result is written to DRAM only if something uses it without having it `in`; it must then be finished block by block.
`out Y over T`, of vector work: Y is written over T, which it has `in` and does not leave.

A value takes the room of all its elements from the operation that leaves it to the last one that has it, in all
operations between. A view of a value is the value. While a contraction adds up a result, its elements are partial sums,
as wide as the machine's accumulators.

Operations that may have it are `Holder`s. Tensors go by the names of the nest; `in0`, `in1`, … and `out0`, … are the
operands and results of vector work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Data, Operation, SSAValue
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.npu.widths import Widths, whole_bytes, widths_of
from npuc.dialects.train.signature import writes_of


@dataclass(frozen=True)
class Resident:
    """The names of tensors that are in SPM before and after; `over` are (result, operand whose place it takes)."""

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
        """All of them, each once."""
        return tuple(dict.fromkeys((*self.ins, *self.outs)))


NOTHING = Resident()


def parse_resident(parser: AttrParser) -> Resident | None:
    """Parse `resident(in dY, out dX)`; None if it is not there."""
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
    """The attribute of what stays; none if nothing does."""
    if isinstance(resident, Resident):
        resident = ResidentAttr(resident)
    return None if resident is None or resident.data == NOTHING else resident


@irdl_attr_definition
class ResidentAttr(Data[Resident]):
    """What stays in SPM before and after an operation: `#npu.resident<resident(in dY, out dX)>`."""

    name = "npu.resident"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Resident:
        with parser.in_angle_brackets():
            return parse_resident(parser) or NOTHING

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(str(self.data))


class SameMemory:
    """An operation whose result is another shape of its operand's memory."""


class Holder:
    """An operation that takes room in SPM, and where values may stay before and after it."""

    @property
    def resident(self) -> Resident:
        """What stays."""
        return NOTHING

    def named_operands(self) -> Mapping[str, SSAValue]:
        """The operands that it may have in SPM, by name."""
        return {}

    def named_results(self) -> Mapping[str, SSAValue]:
        """The results that it may leave in SPM, by name."""
        return {}

    def own_room(self) -> int:
        """The bytes that its blocks take, and the whole of what it finds or leaves in SPM."""
        return 0

    def promised(self) -> int | None:
        """The bytes that it promises to take at most."""
        return None

    def has_resident(self, index: int) -> bool:
        """Whether the operand of this number is in SPM before."""
        return False


class ElsewhereError(VerifyException):
    """A rule that another operation than the one that is verified breaks."""

    def __init__(self, op: Operation, message: str):
        super().__init__(message)
        self.op = op


def memory_of(value: SSAValue) -> SSAValue:
    """The value whose memory a value is: views are of the same memory."""
    while isinstance(value.owner, SameMemory) and isinstance(value.owner, Operation):
        value = value.owner.operands[0]
    return value


def elements_of(value: SSAValue) -> int:
    """The number of elements of a tensor."""
    return prod(cast(TensorType[Attribute], value.type).get_shape())


def bytes_of(value: SSAValue, widths: Widths) -> int:
    """The bytes of a tensor."""
    return whole_bytes(elements_of(value) * widths.element_bits(value.type))


def goes_to_dram(value: SSAValue) -> bool:
    """Whether something uses a value, or a view of it, without having it in SPM."""
    for use in value.uses:
        user = use.operation
        if isinstance(user, SameMemory):
            if goes_to_dram(user.results[0]):
                return True
        elif not (isinstance(user, Holder) and user.has_resident(use.index)):
            return True
    return False


def not_moved(op: Holder) -> frozenset[str]:
    """The names of the tensors of an operation of which nothing moves between DRAM and SPM."""
    resident = op.resident
    if resident == NOTHING:
        return frozenset()
    results = op.named_results()
    unstored = {name for name in resident.outs if name in results and not goes_to_dram(results[name])}
    return frozenset((*resident.ins, *unstored))


def check_names(op: Holder) -> None:
    """Raise for names that an operation does not have, that come twice, or that exclude each other."""
    resident, operands, results = op.resident, op.named_operands(), op.named_results()
    for kind, names, known in (("in", resident.ins, operands), ("out", resident.outs, {**operands, **results})):
        for name in names:
            if name not in known:
                raise VerifyException(f"resident names '{name}' after {kind}, expected one of {', '.join(known)}")
            if names.count(name) > 1:
                raise VerifyException(f"resident names '{name}' twice after {kind}")
    for name, under in resident.over:
        if name not in results or under not in resident.ins or under in resident.outs:
            raise VerifyException(f"{name} over {under}: it must be a result over what is in SPM and does not stay")
        if results[name].type != operands[under].type:
            raise VerifyException(f"{name} over {under}: their types must be the same")
    if len({under for _, under in resident.over}) < len(resident.over):
        raise VerifyException("two results are written over the same operand")


def check_once(op: Holder, problem: Callable[[str], str | None]) -> None:
    """
    Raise for tensors that stay after an operation and move, but not once as a whole.

    `problem` says why the blocks of a tensor are not each moved once.
    """
    still, results = not_moved(op), op.named_results()
    for name in op.resident.outs:
        said = None if name in still else problem(name)
        if said is not None:
            verb = "is stored and stays in SPM, but not written" if name in results else "stays in SPM, but is not read"
            raise VerifyException(f"{name} {verb} once as a whole: {said}")


@dataclass(frozen=True)
class Stays:
    """What passes each operation of a block in SPM, memory that it neither finds nor leaves, and broken rules."""

    passing: Mapping[Operation, tuple[SSAValue, ...]]
    problems: Sequence[tuple[Operation, str]]


def stays(block: Block) -> Stays:
    """Follow what stays in SPM through a block."""
    problems: list[tuple[Operation, str]] = []
    passing: dict[Operation, tuple[SSAValue, ...]] = {}
    alive: dict[SSAValue, tuple[Operation, str]] = {}
    writes, widths = writes_of(block), _widths_around(block)
    promise: int | None = None
    for op in block.ops:
        if not isinstance(op, Holder):
            passing[op] = tuple(alive)
            continue
        own, operands = op.resident, op.named_operands()
        found = {memory_of(operands[name]): name for name in own.ins if name in operands}
        for value, name in found.items():
            if value not in alive:
                problems.append((op, f"{name} is not in SPM: no operation before it leaves it there"))
        left = {memory_of(v): name for name, v in {**operands, **op.named_results()}.items() if name in own.outs}
        passing[op] = tuple(v for v in alive if v not in found and v not in left)
        promised = op.promised()
        promise = promised if promised is not None else promise
        room, beside = op.own_room(), sum(bytes_of(v, widths) for v in passing[op])
        if promise is not None and (beside or own != NOTHING) and room + beside > promise:
            what = f"{room} of its own, {beside} of what passes it in SPM"
            problems.append((op, f"blocks take {room + beside} bytes ({what}), spm promises {promise}"))
        alive = {v: entry for v, entry in alive.items() if v not in found} | {v: (op, left[v]) for v in left}
        for value in writes.get(op, frozenset()) & alive.keys():
            problems.append((op, f"it overwrites {alive[value][1]} in DRAM, of which a copy stays in SPM"))
    problems += [(op, f"{name} stays in SPM, but no operation after it has it") for op, name in alive.values()]
    return Stays(passing, problems)


def _widths_around(block: Block) -> Widths:
    around = block.parent_op()
    return Widths() if around is None else widths_of(around)


def check_block(op: Operation) -> None:
    """Raise the first broken rule of the block, if `op` is the first in it where something stays."""
    before = op.prev_op
    while before is not None:
        if isinstance(before, Holder) and before.resident != NOTHING:
            return
        before = before.prev_op
    block = op.parent
    for culprit, problem in stays(block).problems if block is not None else ():
        raise ElsewhereError(culprit, problem)


def holders(block: Block) -> Iterator[Operation]:
    """The operations of a block where something stays."""
    return (op for op in block.ops if isinstance(op, Holder) and op.resident != NOTHING)
