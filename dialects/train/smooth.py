"""Smooth activation functions and their derivatives, elementwise."""

from xdsl.dialects.builtin import FloatAttr, UnitAttr
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def

from npuc.dialects.tensors import Tensor
from npuc.dialects.train.base import Types, encode
from npuc.dialects.train.rules import check_float, same_type
from npuc.dialects.train.unary import FloatUnaryOp, UnaryGradOp

_ALPHA = encode(1.0)


@irdl_op_definition
class GeluOp(FloatUnaryOp):
    """
    x Phi(x), exact through erf, or with `tanh` its approximation (Hendrycks, Gimpel 2016).

        %y = train.gelu %x : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    """

    name = "train.gelu"

    tanh = opt_prop_def(UnitAttr)

    @staticmethod
    def infer(x: Tensor, tanh: bool = False) -> Types:
        """The type of the operand, which is floating point."""
        check_float(x)
        return (x,)


@irdl_op_definition
class GeluGradOp(UnaryGradOp):
    """
    dy times the derivative of gelu at x.

        %dx = train.gelu_grad %dy, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.gelu_grad"

    tanh = opt_prop_def(UnitAttr)

    @staticmethod
    def infer(dy: Tensor, saved: Tensor, tanh: bool = False) -> Types:
        """Both operands have the result's type."""
        return same_type(dy, saved)


@irdl_op_definition
class SigmoidOp(FloatUnaryOp):
    """
    1 / (1 + exp(-x)).

        %y = train.sigmoid %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.sigmoid"


@irdl_op_definition
class SigmoidGradOp(UnaryGradOp):
    """
    dy y (1 - y), y the output.

        %dx = train.sigmoid_grad %dy, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.sigmoid_grad"


@irdl_op_definition
class TanhOp(FloatUnaryOp):
    """
    The hyperbolic tangent.

        %y = train.tanh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.tanh"


@irdl_op_definition
class TanhGradOp(UnaryGradOp):
    """
    dy (1 - y^2), y the output.

        %dx = train.tanh_grad %dy, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.tanh_grad"


@irdl_op_definition
class SiluOp(FloatUnaryOp):
    """
    x sigmoid(x). Source: Elfwing, Uchibe, Doya (2018).

        %y = train.silu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.silu"


@irdl_op_definition
class SiluGradOp(UnaryGradOp):
    """
    dy times the derivative of silu at x.

        %dx = train.silu_grad %dy, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.silu_grad"


@irdl_op_definition
class SoftplusOp(FloatUnaryOp):
    """
    log(1 + exp(x)).

        %y = train.softplus %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.softplus"


@irdl_op_definition
class SoftplusGradOp(UnaryGradOp):
    """
    dy sigmoid(x).

        %dx = train.softplus_grad %dy, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.softplus_grad"


@irdl_op_definition
class MishOp(FloatUnaryOp):
    """
    x tanh(softplus(x)). Source: Misra (2019).

        %y = train.mish %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.mish"


@irdl_op_definition
class MishGradOp(UnaryGradOp):
    """
    dy times the derivative of mish at x.

        %dx = train.mish_grad %dy, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.mish_grad"


@irdl_op_definition
class EluOp(FloatUnaryOp):
    """
    x where x > 0, else alpha (exp(x) - 1). Source: Clevert et al. (2015).

        %y = train.elu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.elu"

    alpha = prop_def(FloatAttr, default_value=_ALPHA)

    @staticmethod
    def infer(x: Tensor, alpha: float = 1.0) -> Types:
        """The type of the operand, which is floating point."""
        check_float(x)
        return (x,)


@irdl_op_definition
class EluGradOp(UnaryGradOp):
    """
    dy where x > 0, else dy alpha exp(x).

        %dx = train.elu_grad %dy, %x alpha 2.0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.elu_grad"

    alpha = prop_def(FloatAttr, default_value=_ALPHA)

    @staticmethod
    def infer(dy: Tensor, saved: Tensor, alpha: float = 1.0) -> Types:
        """Both operands have the result's type."""
        return same_type(dy, saved)
