"""
`npu.vector`: elementwise and reduction work, alone or as an epilogue of a contraction (`fused`).

    %dw = npu.contract … outs(dW[k, n]) …
    %w1, %v1 = npu.vector sgd(%w, %dw, %v) ops 96 fused

An epilogue follows its contraction, perhaps after others of them, and runs on each block of an output when the block is
complete. `fused_blocks.py` counts its blocks in SPM; `tensor_work.py` is the base of moves, views and constants, too.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, TypeAlias

from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, IntegerAttr, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    opt_prop_def,
    prop_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.npu.contract import ContractOp
from npuc.dialects.npu.epilogue import incomplete_reason
from npuc.dialects.npu.footprint import block_bytes
from npuc.dialects.npu.fused_blocks import FusedWork, fused_bytes, fused_room
from npuc.dialects.npu.reread import Reread, RereadAttr, check_reread, parse_reread
from npuc.dialects.npu.resident import (
    NO_RESIDENTS,
    HasResidency,
    Resident,
    ResidentAttr,
    check_block,
    check_names,
    parse_resident,
    resident_attr,
)
from npuc.dialects.npu.tensor_work import NO_PARAMS, TensorWorkOp, counts_attr
from npuc.dialects.npu.widths import bytes_of, elements_of, widths_of
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.opaque import macs_of, operator_of

_UNIT = UnitAttr()


@irdl_op_definition
class VectorOp(HasResidency, TensorWorkOp):
    """
    Elementwise and reduction work: `ops` vector operations; `reread`: operands that it reads twice.

    The mark `fused` says that it runs on each block that its producer completes: one operand, of the shape of every
    result, is an output of the `npu.contract` that stands right before it, with nothing but other fused operations
    between, or a result of these. That operand is not read from DRAM, and its producer does not store it unless others
    use it. The contraction must finish the output block by block; its blocks and those of the other operands and
    results must fit what its schedule promises.

        %dx = npu.vector relu_grad(%dy, %y) ops 48
            : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
    """

    name = "npu.vector"

    ops_attr = prop_def(IntegerAttr, prop_name="ops")
    reads_attr = opt_prop_def(DenseArrayBase, prop_name="reads")
    writes_attr = opt_prop_def(DenseArrayBase, prop_name="writes")
    reread_attr = opt_prop_def(RereadAttr, prop_name="again")
    fused_attr = opt_prop_def(UnitAttr, prop_name="fused")
    resident_attr = opt_prop_def(ResidentAttr, prop_name="resident")

    MOVES: ClassVar[bool] = True

    def __init__(
        self,
        kind: str | StringAttr,
        operands: Sequence[SSAValue | Operation],
        result_types: Sequence[Attribute],
        params: Mapping[str, Attribute] | DictionaryAttr = NO_PARAMS,
        *,
        ops: int,
        reads: Sequence[int] | None = None,
        writes: Sequence[int] | None = None,
        reread: Reread | None = None,
        fused: bool = False,
    ):
        super().__init__(
            kind,
            operands,
            result_types,
            params,
            ops=IntegerAttr(ops, i64),
            reads=counts_attr(reads),
            writes=counts_attr(writes),
            again=None if reread is None else RereadAttr(reread),
            fused=_UNIT if fused else None,
        )

    @property
    def ops(self) -> int:
        """The number of vector operations."""
        return self.ops_attr.value.data

    @property
    def macs(self) -> int:
        """The multiply-accumulates that work known by its cost alone says it takes; 0 of all other work."""
        return macs_of(self.kind, self.params)

    @property
    def operator(self) -> str | None:
        """The operator that it stands for, where that is known by its cost alone."""
        return operator_of(self.kind, self.params)

    @property
    def reread(self) -> Reread | None:
        """The operands that it reads a second time, unless they stay in SPM in between; None where one pass does."""
        return None if self.reread_attr is None else self.reread_attr.data

    @property
    def fused(self) -> bool:
        """Whether it runs on the blocks of its producer."""
        return self.fused_attr is not None

    @fused.setter
    def fused(self, fused: bool) -> None:
        self.fused_attr = _UNIT if fused else None

    @property
    def resident(self) -> Resident:
        """The tensors resident before and after."""
        attr = self.resident_attr
        return NO_RESIDENTS if attr is None else attr.data

    @resident.setter
    def resident(self, resident: Resident | ResidentAttr | None) -> None:
        self.resident_attr = resident_attr(resident)

    def named_operands(self) -> dict[str, SSAValue]:
        numbers = {value: number for number, value in reversed(list(enumerate(self.operands)))}
        return {f"in{number}": value for value, number in sorted(numbers.items(), key=lambda entry: entry[1])}

    def named_results(self) -> dict[str, SSAValue]:
        return {f"out{number}": value for number, value in enumerate(self.results)}

    def own_spm_bytes(self) -> int:
        if self.fused:
            return _fused_room(self)
        over, values = dict(self.resident.over), {**self.named_operands(), **self.named_results()}
        widths = widths_of(self)
        return sum(bytes_of(values[name], widths) for name in self.resident.names if name in values.keys() - over)

    def is_resident_operand(self, index: int) -> bool:
        return f"in{list(self.operands).index(self.operands[index])}" in self.resident.ins

    def is_context_free(self) -> bool:
        return not self.fused and self.resident_attr is None

    def verify_(self) -> None:
        """
        `ops` is not negative; a fused operation follows the contraction whose completed blocks it reads, and its own
        blocks fit what that schedule promises; residents name its tensors.
        """
        super().verify_()
        if self.ops < 0:
            raise VerifyException(f"ops is {self.ops}, expected at least 0")
        if self.fused and (self.reads is not None or self.writes is not None):
            raise VerifyException("a fused operation moves its tensors block by block: it says no reads and writes")
        if self.reread is not None:
            check_reread(self.reread, self.operands, self.reads)
        if self.fused and self.reread is not None:
            raise VerifyException("a fused operation sees each block once: it rereads nothing")
        if self.fused:
            _check_fused(self)
        if self.resident_attr is not None:
            self._check_resident()

    def _check_resident(self) -> None:
        """Raise for tensors that cannot be resident."""
        check_names(self)
        if self.fused:
            raise VerifyException("fused work may not find or leave tensors resident in SPM")
        for name in self.resident.outs:
            if name not in self.resident.ins:
                self._check_moved_whole(name)
        check_block(self)

    def _check_moved_whole(self, name: str) -> None:
        """Raise unless all elements of an operand are read, or of a result written."""
        side, counts, values = (
            ("in", self.reads, self.operands) if name in self.named_operands() else ("out", self.writes, self.results)
        )
        number = int(name.removeprefix(side))
        if counts is not None and counts[number] != elements_of(values[number]):
            raise VerifyException(f"{name} is left resident, but only {counts[number]} of its elements are moved")

    @classmethod
    def _parse_cost(cls, parser: Parser, properties: dict[str, Attribute]) -> None:
        parser.parse_keyword("ops")
        properties["ops"] = IntegerAttr(parser.parse_integer(allow_boolean=False), i64)
        super()._parse_cost(parser, properties)
        reread = parse_reread(parser)
        if reread is not None:
            properties["again"] = RereadAttr(reread)
        if parser.parse_optional_keyword("fused"):
            properties["fused"] = _UNIT
        resident = resident_attr(parse_resident(parser))
        if resident is not None:
            properties["resident"] = resident

    def _print_cost(self, printer: Printer) -> None:
        printer.print_string(f" ops {self.ops}")
        super()._print_cost(printer)
        if self.reread is not None:
            printer.print_string(f" {self.reread}")
        if self.fused:
            printer.print_string(" fused")
        if self.resident_attr is not None:
            printer.print_string(f" {self.resident}")


FusedVector: TypeAlias = FusedWork[VectorOp]
"""A fused operation with the output of the contraction whose blocks it works on."""


def fused_with(contract: ContractOp) -> tuple[FusedVector, ...]:
    """
    The fused operations that stand right behind a contraction, in order.

    Raises `VerifyException` for one that does not work on blocks of one output.
    """
    sources = {r: t.name for r, t in zip(contract.results, contract.nest.outs, strict=True)}
    made: dict[SSAValue, str] = {**sources}
    found: list[FusedVector] = []
    op = contract.next_op
    while isinstance(op, VectorOp) and op.fused:
        outputs = {made[v] for v in op.operands if v in made}
        shapes = {shape_of(v) for v in (*op.results, *(v for v in op.operands if v in made))}
        if len(outputs) != 1 or len(shapes) != 1:
            raise VerifyException(
                "a fused operation needs an operand of its result's shape from the npu.contract right before it, or "
                "from a fused npu.vector between"
            )
        (output,) = outputs
        loaded = {v for f in found if f.output == output for v in f.outside}
        outside = dict.fromkeys(v for v in op.operands if v not in made and v not in loaded)
        found.append(FusedWork(op, output, tuple(outside)))
        made |= dict.fromkeys(op.results, output)
        op = op.next_op
    return tuple(found)


def producer_of(op: VectorOp) -> ContractOp | None:
    """The contraction on whose blocks a fused operation works, if it stands where it must."""
    before = op.prev_op
    while isinstance(before, VectorOp) and before.fused:
        before = before.prev_op
    return before if isinstance(before, ContractOp) else None


def _fused_room(op: VectorOp) -> int:
    """The bytes that the blocks of a fused operation's contraction take, with what is fused up to the operation."""
    contract = producer_of(op)
    if contract is None or not contract.is_well_formed():
        return 0
    fused = fused_with(contract)
    upto = fused[: next(number for number, f in enumerate(fused, 1) if f.op is op)]
    return contract.own_spm_bytes() + fused_bytes(fused_room(contract, contract.schedule, upto), widths_of(contract))


def _check_fused(op: VectorOp) -> None:
    """Raise unless a fused operation works on blocks that its producer completes, and fits in the promised SPM."""
    contract = producer_of(op)
    if contract is None:
        raise VerifyException(
            "a fused operation needs an operand of its result's shape from the npu.contract right before it, or from a "
            "fused npu.vector between"
        )
    if contract.resident != NO_RESIDENTS:
        raise VerifyException("the npu.contract finds or leaves tensors resident in SPM: nothing may be fused with it")
    fused = fused_with(contract)
    own = next(f for f in fused if f.op is op)
    problem = incomplete_reason(contract.nest, contract.schedule, own.output)
    if problem is not None:
        raise VerifyException(f"the npu.contract does not finish {own.output} block by block: {problem}")
    spm = contract.schedule.spm
    if spm is None:
        return
    widths = widths_of(contract)
    blocks = sum(block_bytes(contract.nest, contract.schedule, contract.spm_element_bits()).values())
    upto = fused[: fused.index(own) + 1]
    room = fused_bytes(fused_room(contract, contract.schedule, upto), widths)
    if blocks + room > spm:
        raise VerifyException(
            f"blocks take {blocks + room} bytes ({blocks} of the npu.contract, {room} of what is fused with it), "
            f"spm promises {spm}"
        )
