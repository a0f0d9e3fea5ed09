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
    """`train.gelu %x`: x Phi(x), exact through erf, or with `tanh` its approximation (Hendrycks, Gimpel 2016)."""

    name = "train.gelu"

    tanh = opt_prop_def(UnitAttr)

    @staticmethod
    def infer(x: Tensor, tanh: bool = False) -> Types:
        """The type of the operand, which is floating point."""
        check_float(x)
        return (x,)


@irdl_op_definition
class GeluGradOp(UnaryGradOp):
    """`train.gelu_grad %dy, %x`: dy times the derivative of gelu at x."""

    name = "train.gelu_grad"

    tanh = opt_prop_def(UnitAttr)

    @staticmethod
    def infer(dy: Tensor, saved: Tensor, tanh: bool = False) -> Types:
        """Both operands have the result's type."""
        return same_type(dy, saved)


@irdl_op_definition
class SigmoidOp(FloatUnaryOp):
    """`train.sigmoid %x`: 1 / (1 + exp(-x))."""

    name = "train.sigmoid"


@irdl_op_definition
class SigmoidGradOp(UnaryGradOp):
    """`train.sigmoid_grad %dy, %y`: dy y (1 - y), y the output."""

    name = "train.sigmoid_grad"


@irdl_op_definition
class TanhOp(FloatUnaryOp):
    """`train.tanh %x`: the hyperbolic tangent."""

    name = "train.tanh"


@irdl_op_definition
class TanhGradOp(UnaryGradOp):
    """`train.tanh_grad %dy, %y`: dy (1 - y^2), y the output."""

    name = "train.tanh_grad"


@irdl_op_definition
class SiluOp(FloatUnaryOp):
    """`train.silu %x`: x sigmoid(x). Source: Elfwing, Uchibe, Doya (2018)."""

    name = "train.silu"


@irdl_op_definition
class SiluGradOp(UnaryGradOp):
    """`train.silu_grad %dy, %x`: dy times the derivative of silu at x."""

    name = "train.silu_grad"


@irdl_op_definition
class SoftplusOp(FloatUnaryOp):
    """`train.softplus %x`: log(1 + exp(x))."""

    name = "train.softplus"


@irdl_op_definition
class SoftplusGradOp(UnaryGradOp):
    """`train.softplus_grad %dy, %x`: dy sigmoid(x)."""

    name = "train.softplus_grad"


@irdl_op_definition
class MishOp(FloatUnaryOp):
    """`train.mish %x`: x tanh(softplus(x)). Source: Misra (2019)."""

    name = "train.mish"


@irdl_op_definition
class MishGradOp(UnaryGradOp):
    """`train.mish_grad %dy, %x`: dy times the derivative of mish at x."""

    name = "train.mish_grad"


@irdl_op_definition
class EluOp(FloatUnaryOp):
    """`train.elu %x alpha 1.0`: x where x > 0, else alpha (exp(x) - 1). Source: Clevert et al. (2015)."""

    name = "train.elu"

    alpha = prop_def(FloatAttr, default_value=_ALPHA)

    @staticmethod
    def infer(x: Tensor, alpha: float = 1.0) -> Types:
        """The type of the operand, which is floating point."""
        check_float(x)
        return (x,)


@irdl_op_definition
class EluGradOp(UnaryGradOp):
    """`train.elu_grad %dy, %x alpha 1.0`: dy where x > 0, else dy alpha exp(x)."""

    name = "train.elu_grad"

    alpha = prop_def(FloatAttr, default_value=_ALPHA)

    @staticmethod
    def infer(dy: Tensor, saved: Tensor, alpha: float = 1.0) -> Types:
        """Both operands have the result's type."""
        return same_type(dy, saved)
