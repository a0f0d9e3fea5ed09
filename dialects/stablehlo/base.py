"""Operations of one and of two tensors of equal types, elementwise."""

from xdsl.dialects.builtin import TensorType, i1
from xdsl.irdl import IRDLOperation, operand_def, result_def, traits_def
from xdsl.traits import Pure

from npuc.dialects.stablehlo.rules import check_same_types, check_shape
from npuc.dialects.tensors import shape_of


class UnaryOp(IRDLOperation):
    """Base of functions of each element."""

    operand = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """The result has the type of the operand."""
        check_same_types(self.operand, self.result)


class BinaryOp(IRDLOperation):
    """Base of functions of two elements at one place; nothing is broadcast."""

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """Both operands and the result have one type."""
        check_same_types(self.lhs, self.rhs, self.result)


class TestOp(IRDLOperation):
    """Base of what is true of each element or not."""

    operand = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """The result has the shape of the operand, in booleans."""
        check_shape(self.result, shape_of(self.operand), i1)
