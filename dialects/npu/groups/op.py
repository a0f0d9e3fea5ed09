"""
`npu.group`: operations that run by micro-batches of samples, with what passes between them in SPM.

    %y, %dw = npu.group micro 2 of 6 ins(%x[0], %w held, %dy[0]) outs([0], sum) {
    ^bb0(%a : tensor<2x8xf32>, %v : tensor<8x4xf32>, %g : tensor<2x4xf32>):
      …
      npu.yield %p, %q : tensor<2x4xf32>, tensor<8x4xf32>
    } : (tensor<6x8xf32>, tensor<8x4xf32>, tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<8x4xf32>)

The body is what is done for one micro-batch; the last one may have fewer samples than the others. An operand is sliced
along an axis whose leading digit is the sample (an axis of samples x rows is cut at whole samples), or each micro-batch
reads it whole. Results are concatenated along an axis, or they are sums over micro-batches.

A group may walk rows of a sample (`npuc.dialects.npu.groups.walk`): its body then is what is done for one whole sample,
and runs by bands of rows of its results, `%y = npu.group micro 1 of 4 rows 8 of 56 axis 2 keep ins(…) …`. Which rows
each operation computes follows. Rows that two bands read stay in SPM (`keep`), or are computed and read by both
(`recompute`). Values are resident as their rows of a band are.

A whole operand that is `held` is loaded before the first micro-batch and stays in SPM until the last. Sums are held as
partial sums from the first to the last, and stored then. Other values may be resident between operations of the body,
as in any block (`npuc.dialects.npu.resident`).
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, TensorType
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.npu.contract import ContractOp
from npuc.dialects.npu.groups.batches import WHOLE, Batches, resized
from npuc.dialects.npu.groups.held import HoldsInSpm
from npuc.dialects.npu.groups.text import numbers, parse_axis, parse_walk, properties
from npuc.dialects.npu.groups.walk import HALOS, RowWalk, check_walk
from npuc.dialects.npu.interleave import YieldOp
from npuc.dialects.npu.syntax import parse_types, print_tail
from npuc.dialects.npu.tensor_work import MoveOp, ViewOp
from npuc.dialects.npu.vector import VectorOp
from npuc.dialects.structural import StructurallyComparable
from npuc.dialects.tensors import shape_of

INSIDE = (ContractOp, VectorOp, MoveOp, ViewOp)
"""The operations that may stand in a body."""


@irdl_op_definition
class GroupOp(StructurallyComparable, HoldsInSpm, IRDLOperation):
    """
    Operations that run by micro-batches, `micro` of all `samples` at a time.

        %y = npu.group micro 2 of 6 ins(%x[0], %w held) outs([0]) {
        ^bb0(%a : tensor<2x8xf32>, %v : tensor<8x4xf32>):
          %h = npu.vector relu(%a) ops 16 resident(out out0) : (tensor<2x8xf32>) -> tensor<2x8xf32>
          %p = npu.contract (m = 2, n = 4, k = 8) ins(X = %h[m, k], W = %v[k, n]) outs(Y[m, n]) do(Y += X * W)
              loops [] resident(in X, in W, out W) : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
          npu.yield %p : tensor<2x4xf32>
        } : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
    """

    name = "npu.group"

    args = var_operand_def(AnyAttr())
    outs = var_result_def(AnyAttr())
    body = region_def("single_block")
    micro_attr = prop_def(IntegerAttr, prop_name="micro")
    samples_attr = prop_def(IntegerAttr, prop_name="samples")
    slices_attr = prop_def(DenseArrayBase, prop_name="slices")
    joins_attr = prop_def(DenseArrayBase, prop_name="joins")
    held_attr = opt_prop_def(DenseArrayBase, prop_name="held")
    rows_attr = opt_prop_def(DenseArrayBase, prop_name="rows")
    halo_attr = opt_prop_def(StringAttr, prop_name="halo")

    traits = traits_def(RecursiveMemoryEffect())

    def __init__(
        self,
        operands: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        body: Region,
        batches: Batches,
        slices: Sequence[int],
        joins: Sequence[int],
        held: Sequence[int] = (),
        walk: RowWalk | None = None,
    ):
        """`slices` and `joins` are the axes of operands and results, or `WHOLE`; `held` are numbers of operands."""
        found = properties(batches, slices, joins, held, walk)
        Operation.__init__(self, operands=operands, result_types=result_types, properties=found, regions=[body])

    @property
    def batches(self) -> Batches:
        """The samples, and how they are divided."""
        return Batches(self.micro_attr.value.data, self.samples_attr.value.data)

    @property
    def slices(self) -> tuple[int, ...]:
        """The axis along which each operand is sliced, or `WHOLE`."""
        return numbers(self.properties.get("slices"))

    @property
    def joins(self) -> tuple[int, ...]:
        """The axis along which each result is concatenated, or `WHOLE` for a sum."""
        return numbers(self.properties.get("joins"))

    @property
    def held(self) -> tuple[int, ...]:
        """The numbers of the operands that stay in SPM from the first micro-batch to the last."""
        return numbers(self.properties.get("held"))

    @property
    def row_walk(self) -> RowWalk | None:
        """The bands of rows by which the body runs; None where it runs as it is."""
        if self.rows_attr is None or self.halo_attr is None:
            return None
        rows, height, axis = numbers(self.rows_attr)
        return RowWalk(rows, height, axis, self.halo_attr.data == HALOS[0])

    def runs_by_bands(self) -> bool:
        return self.rows_attr is not None

    @property
    def ending(self) -> YieldOp:
        """The `npu.yield` of the body."""
        ending = self.body.block.last_op
        assert isinstance(ending, YieldOp)
        return ending

    def held_values(self) -> tuple[SSAValue, ...]:
        return tuple(self.body.block.args[number] for number in self.held)

    def held_sums(self) -> tuple[SSAValue, ...]:
        ending = self.body.block.last_op
        if not isinstance(ending, YieldOp):
            return ()
        return tuple(value for value, axis in zip(ending.operands, self.joins, strict=False) if axis == WHOLE)

    def is_held_result(self, index: int) -> bool:
        joins = self.joins
        return index < len(joins) and joins[index] == WHOLE

    def verify_(self) -> None:
        """
        Micro-batches within the samples; slices, arguments and results of fitting types; a body of contractions, vector
        work, moves and views that uses nothing from outside; held operands are whole, sums are results of the body.
        """
        batches = self.batches
        if not 1 <= batches.micro <= batches.samples:
            raise VerifyException(f"micro {batches.micro} of {batches.samples}: expected 1 to {batches.samples}")
        block = self.body.block
        if not isinstance(block.last_op, YieldOp):
            raise VerifyException("its body must end with npu.yield")
        ins = list(zip(self.operands, block.args, self.slices, strict=False))
        if not len(self.operands) == len(block.args) == len(self.slices):
            raise VerifyException(f"it has {len(self.operands)} operands, its body {len(block.args)} arguments")
        outs = list(zip(self.results, block.last_op.operands, self.joins, strict=False))
        if not len(self.results) == len(block.last_op.operands) == len(self.joins):
            raise VerifyException(f"it has {len(self.results)} results, npu.yield {len(block.last_op.operands)}")
        for side, values in (("operand", ins), ("result", outs)):
            for number, (outer, inner, axis) in enumerate(values):
                self._check_sized(f"{side} {number}", outer, inner, axis)
        for number in self.held:
            if not 0 <= number < len(ins) or ins[number][2] != WHOLE:
                raise VerifyException(f"operand {number} is held, but it is not read whole by every micro-batch")
        if (walk := self.row_walk) is not None:
            check_walk(walk, self.batches, self.results, self.joins)
        self._check_body()

    def _check_sized(self, what: str, outer: SSAValue, inner: SSAValue, axis: int) -> None:
        """Raise unless the type inside is that of a micro-batch of the value outside."""
        batches = self.batches
        outside: Attribute = outer.type
        if not is_tensor(outside):
            raise VerifyException(f"{what} must be a tensor, got {outside}")
        shape = shape_of(outer)
        if axis != WHOLE and not 0 <= axis < len(shape):
            raise VerifyException(f"{what} is sliced along axis {axis}, it has {len(shape)}")
        if axis != WHOLE and shape[axis] % batches.samples:
            raise VerifyException(f"axis {axis} of {what} has size {shape[axis]}, no multiple of {batches.samples}")
        expected = resized(outside, axis, batches.samples, batches.micro)
        if inner.type != expected:
            raise VerifyException(f"{what} is {inner.type} in the body, expected {expected}")

    def _check_body(self) -> None:
        """Raise for operations that may not stand in a body, and for values from outside."""
        block, seen = self.body.block, set[SSAValue](self.body.block.args)
        for op in block.ops:
            if op is not block.last_op and not isinstance(op, INSIDE):
                raise VerifyException(
                    f"{op.name} may not stand in it: expected contractions, vector work, moves, views"
                )
            if isinstance(op, ContractOp) and op.schedule.core_depth:
                raise VerifyException("a contraction in it has loops over cores: micro-batches run on one core")
            if isinstance(op, VectorOp) and op.fused:
                raise VerifyException("vector work in it is fused with a contraction: in a group it may not be")
            for value in op.operands:
                if value not in seen:
                    raise VerifyException(f"{op.name} in it uses a value from outside: make it an operand")
            seen.update(op.results)
        for value in self.held_sums():
            owner = value.owner
            if not isinstance(owner, ContractOp | VectorOp):
                raise VerifyException("a sum over micro-batches must be what a contraction or vector work computes")
            name = next(name for name, result in owner.named_results().items() if result is value)
            if name not in owner.resident.outs:
                raise VerifyException(
                    f"a sum over micro-batches stays in SPM: {owner.name} says no resident(out {name})"
                )
            if any(not isinstance(use.operation, YieldOp) for use in value.uses):
                raise VerifyException("a sum over micro-batches is complete after the last: nothing in it may use it")

    @classmethod
    def parse(cls, parser: Parser) -> "GroupOp":
        parser.parse_keyword("micro")
        micro = parser.parse_integer(allow_boolean=False, allow_negative=False)
        parser.parse_keyword("of")
        samples = parser.parse_integer(allow_boolean=False, allow_negative=False)
        walk = parse_walk(parser)
        unresolved: list[UnresolvedOperand] = []
        slices: list[int] = []
        held: list[int] = []

        def operand() -> None:
            unresolved.append(parser.parse_unresolved_operand())
            slices.append(parse_axis(parser))
            if parser.parse_optional_keyword("held"):
                held.append(len(slices) - 1)

        def result() -> int:
            return WHOLE if parser.parse_optional_keyword("sum") else parse_axis(parser, needed=True)

        parser.parse_keyword("ins")
        parser.parse_comma_separated_list(parser.Delimiter.PAREN, operand, " in operands")
        parser.parse_keyword("outs")
        joins = parser.parse_comma_separated_list(parser.Delimiter.PAREN, result, " in results")
        body = parser.parse_region()
        attributes = parser.parse_optional_attr_dict()
        inputs, outputs, start = parse_types(parser)
        operands = parser.resolve_operands(unresolved, inputs, start)
        found = properties(Batches(micro, samples), slices, joins, held, walk)
        return cls.create(
            operands=operands, result_types=outputs, properties=found, attributes=attributes, regions=[body]
        )

    def print(self, printer: Printer) -> None:
        batches, held = self.batches, self.held
        walked = "" if self.row_walk is None else f" {self.row_walk}"
        printer.print_string(f" micro {batches.micro} of {batches.samples}{walked} ins")
        with printer.in_parens():
            for number, (value, axis) in enumerate(zip(self.operands, self.slices, strict=True)):
                printer.print_string(", " if number else "")
                printer.print_operand(value)
                printer.print_string("" if axis == WHOLE else f"[{axis}]")
                printer.print_string(" held" if number in held else "")
        joins = ", ".join("sum" if axis == WHOLE else f"[{axis}]" for axis in self.joins)
        printer.print_string(f" outs({joins}) ")
        printer.print_region(self.body)
        print_tail(printer, self)


def is_tensor(type_: Attribute) -> bool:
    """Whether a type is that of a tensor."""
    return isinstance(type_, TensorType)
