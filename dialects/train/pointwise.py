"""Mathematical functions of tensors and their derivatives, elementwise."""

from xdsl.dialects.builtin import AnyFloat, FloatAttr, TensorType
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, shape_text
from npuc.dialects.train.arithmetic import BinaryOp, NumbersOp
from npuc.dialects.train.base import TrainOp, Types, encode
from npuc.dialects.train.rules import check_beside, check_numbers, same_type
from npuc.dialects.train.unary import FloatUnaryOp, UnaryGradOp, UnaryOp

_SQUARE = encode(2.0)


@irdl_op_definition
class ExpOp(FloatUnaryOp):
    """
    e to the power of x.

        %y = train.exp %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.exp"


@irdl_op_definition
class LogOp(FloatUnaryOp):
    """
    The natural logarithm.

        %y = train.log %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.log"


@irdl_op_definition
class SqrtOp(FloatUnaryOp):
    """
    The square root.

        %y = train.sqrt %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.sqrt"


@irdl_op_definition
class SqrtGradOp(UnaryGradOp):
    """
    dy / (2 y), y the output.

        %dx = train.sqrt_grad %dy, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.sqrt_grad"


@irdl_op_definition
class RsqrtOp(FloatUnaryOp):
    """
    1 / sqrt(x).

        %y = train.rsqrt %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.rsqrt"


@irdl_op_definition
class RsqrtGradOp(UnaryGradOp):
    """
    -dy y^3 / 2, y the output.

        %dx = train.rsqrt_grad %dy, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.rsqrt_grad"


@irdl_op_definition
class AbsOp(UnaryOp):
    """
    The absolute value.

        %y = train.abs %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.abs"


@irdl_op_definition
class AbsGradOp(UnaryGradOp):
    """
    dy times the sign of x, which is 0 for 0.

        %dx = train.abs_grad %dy, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.abs_grad"


@irdl_op_definition
class SinOp(FloatUnaryOp):
    """
    The sine of an angle in radians.

        %y = train.sin %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.sin"


@irdl_op_definition
class SinGradOp(UnaryGradOp):
    """
    dy cos(x).

        %dx = train.sin_grad %dy, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.sin_grad"


@irdl_op_definition
class CosOp(FloatUnaryOp):
    """
    The cosine of an angle in radians.

        %y = train.cos %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.cos"


@irdl_op_definition
class CosGradOp(UnaryGradOp):
    """
    -dy sin(x).

        %dx = train.cos_grad %dy, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.cos_grad"


@irdl_op_definition
class ErfOp(FloatUnaryOp):
    """
    The error function.

        %y = train.erf %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.erf"


@irdl_op_definition
class ErfGradOp(UnaryGradOp):
    """
    dy times 2 / sqrt(pi) exp(-x^2).

        %dx = train.erf_grad %dy, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.erf_grad"


@irdl_op_definition
class PowerOp(UnaryOp):
    """
    x to the power of a number, by default 2.

        %y = train.power %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.power"

    exponent = prop_def(FloatAttr, default_value=_SQUARE)

    @staticmethod
    def infer(x: Tensor, exponent: float = 2.0) -> Types:
        """The type of the operand, not bool; integers have powers that are integers and not negative."""
        check_numbers(x)
        if not isinstance(x.element_type, AnyFloat) and not (exponent.is_integer() and exponent >= 0):
            raise VerifyException(f"exponent is {exponent}, expected an integer of at least 0 for {x.element_type}")
        check_beside(x, exponent=exponent)
        return (x,)


@irdl_op_definition
class PowerGradOp(UnaryGradOp):
    """
    dy exponent x^(exponent - 1); 0 for exponent 0.

        %dx = train.power_grad %dy, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.power_grad"

    exponent = prop_def(FloatAttr, default_value=_SQUARE)

    @staticmethod
    def infer(dy: Tensor, saved: Tensor, exponent: float = 2.0) -> Types:
        """Both operands have the result's type."""
        return same_type(dy, saved)


@irdl_op_definition
class PowOp(NumbersOp):
    """
    a to the power of b, elementwise.

        %y = train.pow %a, %b : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.pow"


@irdl_op_definition
class MaxOp(BinaryOp):
    """
    The larger one, elementwise; NaN if one is.

        %y = train.max %a, %b : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.max"


@irdl_op_definition
class MinOp(BinaryOp):
    """
    The smaller one, elementwise; NaN if one is.

        %y = train.min %a, %b : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.min"


class BinaryGradOp(TrainOp):
    """
    Base of the derivatives of elementwise operations of two tensors, with respect to one of them.

    The result has the shape that both broadcast to, not yet summed over the axes that this added.
    """

    dy = operand_def(TensorType)
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(dy: Tensor, lhs: Tensor, rhs: Tensor) -> Types:
        """dy has the type that lhs and rhs broadcast to."""
        (expected,) = BinaryOp.infer(lhs, rhs)
        if dy != expected:
            raise VerifyException(f"dy is {dy}, {shape_text(lhs)} and {shape_text(rhs)} broadcast to {expected}")
        return (dy,)


@irdl_op_definition
class PowDbaseOp(BinaryGradOp):
    """
    dy b a^(b - 1); 0 where b is 0.

        %da = train.pow_dbase %dy, %a, %b : (tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.pow_dbase"


@irdl_op_definition
class PowDexponentOp(BinaryGradOp):
    """
    dy a^b log(a); 0 where a is 0 and b is not negative.

        %db = train.pow_dexponent %dy, %a, %b : (tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.pow_dexponent"


@irdl_op_definition
class MaxGradOp(BinaryGradOp):
    """
    The gradient of a in max(a, b): dy where a > b, half of it where they are equal.

        %y = train.max_grad %dy, %a, %b : (tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.max_grad"


@irdl_op_definition
class MinGradOp(BinaryGradOp):
    """
    The gradient of a in min(a, b): dy where a < b, half of it where they are equal.

        %y = train.min_grad %dy, %a, %b : (tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.min_grad"
