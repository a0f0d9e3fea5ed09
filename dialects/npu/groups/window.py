"""
`npu.window`: rows of a value in a band of rows, of which some may be there from the band before.

    %w = npu.window %new after %old axis 2 from 1 : (tensor<1x8x4x6xf32>, tensor<1x8x3x6xf32>) -> tensor<1x8x5x6xf32>

A group that walks rows has such operations in the bodies of its bands only, which are derived for each band.
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import AnyAttr, IRDLOperation, irdl_op_definition, prop_def, result_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.npu.resident import SameMemory
from npuc.dialects.npu.syntax import parse_types, print_tail
from npuc.dialects.structural import StructurallyComparable
from npuc.dialects.tensors import shape_of


@irdl_op_definition
class RowWindowOp(SameMemory, StructurallyComparable, IRDLOperation):
    """
    Rows of a value along an axis: of its new rows, behind the old ones where there are any, those from a first one on.

    It is a view: old and new rows are lines of one buffer.

        %w = npu.window %new after %old axis 0 from 1 : (tensor<4x8xf32>, tensor<3x8xf32>) -> tensor<5x8xf32>
    """

    name = "npu.window"

    parts = var_operand_def(AnyAttr())
    out = result_def(AnyAttr())
    axis_attr = prop_def(IntegerAttr, prop_name="axis")
    start_attr = prop_def(IntegerAttr, prop_name="start")

    traits = traits_def(Pure())

    def __init__(self, parts: Sequence[SSAValue], result: Attribute, axis: int, start: int):
        """`parts` are the new rows, then the old ones if there are any."""
        properties = {"axis": IntegerAttr(axis, i64), "start": IntegerAttr(start, i64)}
        Operation.__init__(self, operands=parts, result_types=[result], properties=properties)

    @property
    def axis(self) -> int:
        """The axis of the rows."""
        return self.axis_attr.value.data

    @property
    def start(self) -> int:
        """The first row, counted from the first of the old ones."""
        return self.start_attr.value.data

    def verify_(self) -> None:
        """New rows, and perhaps old ones; the rows of the result are among them, its other axes are theirs."""
        if not 1 <= len(self.operands) <= 2:
            raise VerifyException(f"it has {len(self.operands)} operands, expected new rows and perhaps old ones")
        axis, shape = self.axis, shape_of(self.out)
        if not 0 <= axis < len(shape):
            raise VerifyException(f"axis is {axis}, its result has {len(shape)}")
        others = shape[:axis] + shape[axis + 1 :]
        for value in self.operands:
            own = shape_of(value)
            if own[:axis] + own[axis + 1 :] != others:
                raise VerifyException(f"an operand is {value.type}, its result {self.out.type}: only rows may differ")
        there = sum(shape_of(value)[axis] for value in self.operands)
        if self.start < 0 or self.start + shape[axis] > there:
            raise VerifyException(f"rows {self.start} to {self.start + shape[axis]} of {there}")

    @classmethod
    def parse(cls, parser: Parser) -> "RowWindowOp":
        unresolved = [parser.parse_unresolved_operand()]
        if parser.parse_optional_keyword("after"):
            unresolved.append(parser.parse_unresolved_operand())
        parser.parse_keyword("axis")
        axis = parser.parse_integer(allow_boolean=False, allow_negative=False)
        parser.parse_keyword("from")
        start = parser.parse_integer(allow_boolean=False, allow_negative=False)
        attributes = parser.parse_optional_attr_dict()
        inputs, outputs, place = parse_types(parser)
        operands = parser.resolve_operands(unresolved, inputs, place)
        properties = {"axis": IntegerAttr(axis, i64), "start": IntegerAttr(start, i64)}
        return cls.create(operands=operands, result_types=outputs, properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.operands[0])
        if len(self.operands) > 1:
            printer.print_string(" after ")
            printer.print_operand(self.operands[1])
        printer.print_string(f" axis {self.axis} from {self.start}")
        print_tail(printer, self)
