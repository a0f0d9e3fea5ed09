"""Functions that are constant between steps, such as rounding, and remainders of a division."""

from xdsl.irdl import irdl_op_definition

from npuc.dialects.train.arithmetic import NumbersOp
from npuc.dialects.train.unary import FloatUnaryOp, UnaryOp


@irdl_op_definition
class FloorOp(FloatUnaryOp):
    """
    The largest integer that is at most x.

        %y = train.floor %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.floor"


@irdl_op_definition
class CeilOp(FloatUnaryOp):
    """
    The smallest integer that is at least x.

        %y = train.ceil %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.ceil"


@irdl_op_definition
class RoundOp(FloatUnaryOp):
    """
    The integer nearest to x, the even one of two.

        %y = train.round %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.round"


@irdl_op_definition
class TruncOp(FloatUnaryOp):
    """
    The integer nearest to x between 0 and x.

        %y = train.trunc %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.trunc"


@irdl_op_definition
class SignOp(UnaryOp):
    """
    1 where x > 0, -1 where x < 0, else x: 0, or NaN.

        %y = train.sign %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.sign"


@irdl_op_definition
class RemainderOp(NumbersOp):
    """
    a - floor(a / b) b, with the sign of b.

        %y = train.remainder %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    """

    name = "train.remainder"


@irdl_op_definition
class FmodOp(NumbersOp):
    """
    a - trunc(a / b) b, with the sign of a, as C's fmod and %.

        %y = train.fmod %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    """

    name = "train.fmod"
