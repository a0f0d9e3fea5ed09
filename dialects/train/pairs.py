"""Functions of two tensors of floats and their derivatives, elementwise."""

from xdsl.irdl import irdl_op_definition

from npuc.dialects.tensors import Tensor
from npuc.dialects.train.arithmetic import BinaryOp
from npuc.dialects.train.base import Types
from npuc.dialects.train.pointwise import BinaryGradOp
from npuc.dialects.train.rules import check_float


class FloatPairOp(BinaryOp):
    """Base of the functions of two tensors of floats."""

    @staticmethod
    def infer(lhs: Tensor, rhs: Tensor) -> Types:
        """Both shapes broadcast to the result's; equal element types, floats."""
        for x in (lhs, rhs):
            check_float(x)
        return BinaryOp.infer(lhs, rhs)


@irdl_op_definition
class Atan2Op(FloatPairOp):
    """
    The angle from -pi to pi of the point at b to the right and a upwards.

        %y = train.atan2 %a, %b : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.atan2"


@irdl_op_definition
class Atan2GradOp(BinaryGradOp):
    """
    dy b / (a^2 + b^2), the gradient of a in atan2(a, b) and, with the other sign, of b in atan2(b, a).

        %y = train.atan2_grad %dy, %a, %b : (tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.atan2_grad"


@irdl_op_definition
class HypotOp(FloatPairOp):
    """
    sqrt(a^2 + b^2), without overflow.

        %y = train.hypot %a, %b : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.hypot"


@irdl_op_definition
class HypotGradOp(BinaryGradOp):
    """
    dy a / hypot(a, b), the gradient of a.

        %y = train.hypot_grad %dy, %a, %b : (tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.hypot_grad"


@irdl_op_definition
class LogaddexpOp(FloatPairOp):
    """
    log(exp(a) + exp(b)), without overflow.

        %y = train.logaddexp %a, %b : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.logaddexp"


@irdl_op_definition
class LogaddexpGradOp(BinaryGradOp):
    """
    dy / (1 + exp(b - a)), the gradient of a.

        %y = train.logaddexp_grad %dy, %a, %b : (tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.logaddexp_grad"


@irdl_op_definition
class CopysignOp(FloatPairOp):
    """
    |a| with the sign of b, that of a zero included.

        %y = train.copysign %a, %b : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.copysign"


@irdl_op_definition
class CopysignGradOp(BinaryGradOp):
    """
    dy where a and b have the same sign, else -dy; 0 where a is 0. The gradient of a.

        %y = train.copysign_grad %dy, %a, %b : (tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.copysign_grad"
