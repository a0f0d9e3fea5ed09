"""Trigonometric, hyperbolic, logarithmic and exponential functions and their derivatives, elementwise."""

from xdsl.irdl import irdl_op_definition

from npuc.dialects.train.unary import FloatUnaryOp, UnaryGradOp


@irdl_op_definition
class TanOp(FloatUnaryOp):
    """
    The tangent of an angle in radians.

        %y = train.tan %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.tan"


@irdl_op_definition
class TanGradOp(UnaryGradOp):
    """
    dy (1 + y^2), y the output.

        %dx = train.tan_grad %dy, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.tan_grad"


@irdl_op_definition
class AsinOp(FloatUnaryOp):
    """
    The angle from -pi / 2 to pi / 2 whose sine is x; NaN beyond -1 to 1.

        %y = train.asin %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.asin"


@irdl_op_definition
class AsinGradOp(UnaryGradOp):
    """
    dy / sqrt(1 - x^2).

        %dx = train.asin_grad %dy, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.asin_grad"


@irdl_op_definition
class AcosOp(FloatUnaryOp):
    """
    The angle from 0 to pi whose cosine is x; NaN beyond -1 to 1.

        %y = train.acos %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.acos"


@irdl_op_definition
class AcosGradOp(UnaryGradOp):
    """
    -dy / sqrt(1 - x^2).

        %dx = train.acos_grad %dy, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.acos_grad"


@irdl_op_definition
class AtanOp(FloatUnaryOp):
    """
    The angle from -pi / 2 to pi / 2 whose tangent is x.

        %y = train.atan %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.atan"


@irdl_op_definition
class AtanGradOp(UnaryGradOp):
    """
    dy / (1 + x^2).

        %dx = train.atan_grad %dy, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.atan_grad"


@irdl_op_definition
class SinhOp(FloatUnaryOp):
    """
    The hyperbolic sine, (exp(x) - exp(-x)) / 2.

        %y = train.sinh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.sinh"


@irdl_op_definition
class SinhGradOp(UnaryGradOp):
    """
    dy cosh(x).

        %dx = train.sinh_grad %dy, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.sinh_grad"


@irdl_op_definition
class CoshOp(FloatUnaryOp):
    """
    The hyperbolic cosine, (exp(x) + exp(-x)) / 2.

        %y = train.cosh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.cosh"


@irdl_op_definition
class CoshGradOp(UnaryGradOp):
    """
    dy sinh(x).

        %dx = train.cosh_grad %dy, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.cosh_grad"


@irdl_op_definition
class AsinhOp(FloatUnaryOp):
    """
    The inverse of sinh.

        %y = train.asinh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.asinh"


@irdl_op_definition
class AsinhGradOp(UnaryGradOp):
    """
    dy / sqrt(1 + x^2).

        %dx = train.asinh_grad %dy, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.asinh_grad"


@irdl_op_definition
class AcoshOp(FloatUnaryOp):
    """
    The inverse of cosh that is at least 0; NaN below 1.

        %y = train.acosh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.acosh"


@irdl_op_definition
class AcoshGradOp(UnaryGradOp):
    """
    dy / sqrt(x^2 - 1).

        %dx = train.acosh_grad %dy, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.acosh_grad"


@irdl_op_definition
class AtanhOp(FloatUnaryOp):
    """
    The inverse of tanh; NaN beyond -1 to 1.

        %y = train.atanh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.atanh"


@irdl_op_definition
class AtanhGradOp(UnaryGradOp):
    """
    dy / (1 - x^2).

        %dx = train.atanh_grad %dy, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.atanh_grad"


@irdl_op_definition
class Log1pOp(FloatUnaryOp):
    """
    log(1 + x), exact for small x.

        %y = train.log1p %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.log1p"


@irdl_op_definition
class Log1pGradOp(UnaryGradOp):
    """
    dy / (1 + x).

        %dx = train.log1p_grad %dy, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.log1p_grad"


@irdl_op_definition
class Expm1Op(FloatUnaryOp):
    """
    exp(x) - 1, exact for small x.

        %y = train.expm1 %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.expm1"


@irdl_op_definition
class Expm1GradOp(UnaryGradOp):
    """
    dy (y + 1), y the output.

        %dx = train.expm1_grad %dy, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.expm1_grad"


@irdl_op_definition
class Log2Op(FloatUnaryOp):
    """
    The logarithm to the base 2.

        %y = train.log2 %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.log2"


@irdl_op_definition
class Log2GradOp(UnaryGradOp):
    """
    dy / (x log(2)).

        %dx = train.log2_grad %dy, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.log2_grad"


@irdl_op_definition
class Log10Op(FloatUnaryOp):
    """
    The logarithm to the base 10.

        %y = train.log10 %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.log10"


@irdl_op_definition
class Log10GradOp(UnaryGradOp):
    """
    dy / (x log(10)).

        %dx = train.log10_grad %dy, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.log10_grad"
