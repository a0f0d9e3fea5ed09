"""Functions of the elements of two tensors of one type."""

from xdsl.irdl import irdl_op_definition

from npuc.dialects.stablehlo.base import BinaryOp


@irdl_op_definition
class AddOp(BinaryOp):
    """
    The sum; of booleans, whether one is true.

        %y = "stablehlo.add"(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.add"


@irdl_op_definition
class AndOp(BinaryOp):
    """
    Both, bit by bit.

        %y = "stablehlo.and"(%a, %b) : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
    """

    name = "stablehlo.and"


@irdl_op_definition
class Atan2Op(BinaryOp):
    """
    The angle of the point (rhs, lhs), from -pi to pi.

        %y = "stablehlo.atan2"(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.atan2"


@irdl_op_definition
class DivideOp(BinaryOp):
    """
    The quotient; of integers, toward 0.

        %y = "stablehlo.divide"(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.divide"


@irdl_op_definition
class MaximumOp(BinaryOp):
    """
    The greater one; NaN where one is.

        %y = "stablehlo.maximum"(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.maximum"


@irdl_op_definition
class MinimumOp(BinaryOp):
    """
    The lesser one; NaN where one is.

        %y = "stablehlo.minimum"(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.minimum"


@irdl_op_definition
class MultiplyOp(BinaryOp):
    """
    The product; of booleans, whether both are true.

        %y = "stablehlo.multiply"(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.multiply"


@irdl_op_definition
class OrOp(BinaryOp):
    """
    One or both, bit by bit.

        %y = "stablehlo.or"(%a, %b) : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
    """

    name = "stablehlo.or"


@irdl_op_definition
class PowerOp(BinaryOp):
    """
    The left operand to the power of the right one.

        %y = "stablehlo.power"(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.power"


@irdl_op_definition
class RemainderOp(BinaryOp):
    """
    What division toward 0 leaves, with the sign of the left operand.

        %y = "stablehlo.remainder"(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.remainder"


@irdl_op_definition
class ShiftLeftOp(BinaryOp):
    """
    The bits moved to higher places; 0 where by more than there are.

        %y = "stablehlo.shift_left"(%a, %b) : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
    """

    name = "stablehlo.shift_left"


@irdl_op_definition
class ShiftRightArithmeticOp(BinaryOp):
    """
    The bits moved to lower places, the sign kept.

        %y = "stablehlo.shift_right_arithmetic"(%a, %b) : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
    """

    name = "stablehlo.shift_right_arithmetic"


@irdl_op_definition
class ShiftRightLogicalOp(BinaryOp):
    """
    The bits moved to lower places, with zeros before them.

        %y = "stablehlo.shift_right_logical"(%a, %b) : (tensor<2x3xui32>, tensor<2x3xui32>) -> tensor<2x3xui32>
    """

    name = "stablehlo.shift_right_logical"


@irdl_op_definition
class SubtractOp(BinaryOp):
    """
    The difference.

        %y = "stablehlo.subtract"(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.subtract"


@irdl_op_definition
class XorOp(BinaryOp):
    """
    One but not both, bit by bit.

        %y = "stablehlo.xor"(%a, %b) : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
    """

    name = "stablehlo.xor"


BINARY = (
    AddOp,
    AndOp,
    Atan2Op,
    DivideOp,
    MaximumOp,
    MinimumOp,
    MultiplyOp,
    OrOp,
    PowerOp,
    RemainderOp,
    ShiftLeftOp,
    ShiftRightArithmeticOp,
    ShiftRightLogicalOp,
    SubtractOp,
    XorOp,
)
