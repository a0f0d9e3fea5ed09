"""Operations on the bits of integers, elementwise."""

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, element_text
from npuc.dialects.train.arithmetic import BinaryOp
from npuc.dialects.train.base import Types
from npuc.dialects.train.rules import integer_range
from npuc.dialects.train.unary import UnaryOp


def _check_integers(x: Tensor) -> None:
    element: Attribute = x.element_type
    if element == i1 or integer_range(element) is None:
        hint = "use the logical operations" if element == i1 else "cast them first"
        raise VerifyException(f"elements are {element_text(element)}, expected integers: {hint}")


class BitsOp(BinaryOp):
    """Base of the operations of two tensors of integers, which broadcast by numpy's rule."""

    @staticmethod
    def infer(lhs: Tensor, rhs: Tensor) -> Types:
        """Both shapes broadcast to the result's; equal integer types."""
        for x in (lhs, rhs):
            _check_integers(x)
        return BinaryOp.infer(lhs, rhs)


@irdl_op_definition
class BitwiseAndOp(BitsOp):
    """
    The bits that both have.

        %y = train.bitwise_and %a, %b : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
    """

    name = "train.bitwise_and"


@irdl_op_definition
class BitwiseOrOp(BitsOp):
    """
    The bits that one of them has.

        %y = train.bitwise_or %a, %b : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
    """

    name = "train.bitwise_or"


@irdl_op_definition
class BitwiseXorOp(BitsOp):
    """
    The bits that exactly one of them has.

        %y = train.bitwise_xor %a, %b : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
    """

    name = "train.bitwise_xor"


@irdl_op_definition
class ShiftLeftOp(BitsOp):
    """
    a 2^b: the bits of a moved up by b; those that leave the type are lost.

        %y = train.shift_left %a, %b : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
    """

    name = "train.shift_left"


@irdl_op_definition
class ShiftRightOp(BitsOp):
    """
    a / 2^b rounded down: the bits of a moved down by b, its sign kept.

        %y = train.shift_right %a, %b : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
    """

    name = "train.shift_right"


@irdl_op_definition
class BitwiseNotOp(UnaryOp):
    """
    Every bit inverted: -x - 1.

        %y = train.bitwise_not %x : (tensor<2x3xi32>) -> tensor<2x3xi32>
    """

    name = "train.bitwise_not"

    @staticmethod
    def infer(x: Tensor) -> Types:
        """The type of the operand, which holds integers."""
        _check_integers(x)
        return (x,)
