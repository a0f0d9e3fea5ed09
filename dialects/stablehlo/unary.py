"""Functions of each element of a tensor."""

from xdsl.irdl import irdl_op_definition

from npuc.dialects.stablehlo.base import UnaryOp


@irdl_op_definition
class AbsOp(UnaryOp):
    """
    The absolute value.

        %y = "stablehlo.abs"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.abs"


@irdl_op_definition
class CbrtOp(UnaryOp):
    """
    The cube root.

        %y = "stablehlo.cbrt"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.cbrt"


@irdl_op_definition
class CeilOp(UnaryOp):
    """
    The least whole number that is not below it.

        %y = "stablehlo.ceil"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.ceil"


@irdl_op_definition
class CosineOp(UnaryOp):
    """
    The cosine of an angle in radians.

        %y = "stablehlo.cosine"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.cosine"


@irdl_op_definition
class CountLeadingZerosOp(UnaryOp):
    """
    How many bits before the first 1 are 0.

        %y = "stablehlo.count_leading_zeros"(%x) : (tensor<2x3xi32>) -> tensor<2x3xi32>
    """

    name = "stablehlo.count_leading_zeros"


@irdl_op_definition
class ExponentialOp(UnaryOp):
    """
    e to the power of the operand.

        %y = "stablehlo.exponential"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.exponential"


@irdl_op_definition
class ExponentialMinusOneOp(UnaryOp):
    """
    e to the power of the operand, less 1, exact near 0.

        %y = "stablehlo.exponential_minus_one"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.exponential_minus_one"


@irdl_op_definition
class FloorOp(UnaryOp):
    """
    The greatest whole number that is not above it.

        %y = "stablehlo.floor"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.floor"


@irdl_op_definition
class LogOp(UnaryOp):
    """
    The natural logarithm.

        %y = "stablehlo.log"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.log"


@irdl_op_definition
class LogPlusOneOp(UnaryOp):
    """
    The natural logarithm of the operand and 1, exact near 0.

        %y = "stablehlo.log_plus_one"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.log_plus_one"


@irdl_op_definition
class LogisticOp(UnaryOp):
    """
    1 / (1 + exp(-x)).

        %y = "stablehlo.logistic"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.logistic"


@irdl_op_definition
class NegateOp(UnaryOp):
    """
    The operand with the other sign.

        %y = "stablehlo.negate"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.negate"


@irdl_op_definition
class NotOp(UnaryOp):
    """
    Each bit the other way; of booleans, what is false.

        %y = "stablehlo.not"(%x) : (tensor<2x3xi1>) -> tensor<2x3xi1>
    """

    name = "stablehlo.not"


@irdl_op_definition
class PopcntOp(UnaryOp):
    """
    How many bits are 1.

        %y = "stablehlo.popcnt"(%x) : (tensor<2x3xi32>) -> tensor<2x3xi32>
    """

    name = "stablehlo.popcnt"


@irdl_op_definition
class RoundNearestAfzOp(UnaryOp):
    """
    The nearest whole number, ties away from 0.

        %y = "stablehlo.round_nearest_afz"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.round_nearest_afz"


@irdl_op_definition
class RoundNearestEvenOp(UnaryOp):
    """
    The nearest whole number, ties to the even one.

        %y = "stablehlo.round_nearest_even"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.round_nearest_even"


@irdl_op_definition
class RsqrtOp(UnaryOp):
    """
    1 / sqrt(x).

        %y = "stablehlo.rsqrt"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.rsqrt"


@irdl_op_definition
class SignOp(UnaryOp):
    """
    -1, 0 or 1, as the operand is.

        %y = "stablehlo.sign"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.sign"


@irdl_op_definition
class SineOp(UnaryOp):
    """
    The sine of an angle in radians.

        %y = "stablehlo.sine"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.sine"


@irdl_op_definition
class SqrtOp(UnaryOp):
    """
    The square root.

        %y = "stablehlo.sqrt"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.sqrt"


@irdl_op_definition
class TanOp(UnaryOp):
    """
    The tangent of an angle in radians.

        %y = "stablehlo.tan"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.tan"


@irdl_op_definition
class TanhOp(UnaryOp):
    """
    The hyperbolic tangent.

        %y = "stablehlo.tanh"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.tanh"


UNARY = (
    AbsOp,
    CbrtOp,
    CeilOp,
    CosineOp,
    CountLeadingZerosOp,
    ExponentialOp,
    ExponentialMinusOneOp,
    FloorOp,
    LogOp,
    LogPlusOneOp,
    LogisticOp,
    NegateOp,
    NotOp,
    PopcntOp,
    RoundNearestAfzOp,
    RoundNearestEvenOp,
    RsqrtOp,
    SignOp,
    SineOp,
    SqrtOp,
    TanOp,
    TanhOp,
)
