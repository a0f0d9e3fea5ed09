"""Activation functions and their derivatives, elementwise."""

from xdsl.dialects.builtin import FloatAttr, TensorType, UnitAttr
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor
from npuc.dialects.train.base import TrainOp, Types, encode, shape_text


def _same_shape(a: Tensor, b: Tensor) -> Types:
    if a != b:
        raise VerifyException(f"operands differ: {shape_text(a)} {a.element_type} and {shape_text(b)} {b.element_type}")
    return (a,)


class UnaryOp(TrainOp):
    """Base of the elementwise functions of one tensor."""

    x = operand_def(TensorType)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor) -> Types:
        """The type of the operand."""
        return (x,)


class UnaryGradOp(TrainOp):
    """Base of the derivatives of elementwise functions: from the output's gradient and the saved input or output."""

    dy = operand_def(TensorType)
    saved = operand_def(TensorType)
    dx = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(dy: Tensor, saved: Tensor) -> Types:
        """Both operands have the result's type."""
        return _same_shape(dy, saved)


@irdl_op_definition
class ReluOp(UnaryOp):
    """`train.relu %x`: max(x, 0)."""

    name = "train.relu"


@irdl_op_definition
class ReluGradOp(UnaryGradOp):
    """`train.relu_grad %dy, %y`: dy where the output y is positive, else 0."""

    name = "train.relu_grad"


@irdl_op_definition
class ClipOp(UnaryOp):
    """`train.clip %x low 0.0 high 6.0`: x limited to [low, high]; relu6 is the default."""

    name = "train.clip"

    low = prop_def(FloatAttr, default_value=encode(0.0))
    high = prop_def(FloatAttr, default_value=encode(6.0))

    @staticmethod
    def infer(x: Tensor, low: float = 0.0, high: float = 6.0) -> Types:
        """The type of the operand; low <= high."""
        if not low <= high:
            raise VerifyException(f"low is {low}, above high {high}")
        return (x,)


@irdl_op_definition
class ClipGradOp(UnaryGradOp):
    """`train.clip_grad %dy, %x low 0.0 high 6.0`: dy where low < x < high, else 0."""

    name = "train.clip_grad"

    low = prop_def(FloatAttr, default_value=encode(0.0))
    high = prop_def(FloatAttr, default_value=encode(6.0))

    @staticmethod
    def infer(dy: Tensor, saved: Tensor, low: float = 0.0, high: float = 6.0) -> Types:
        """Both operands have the result's type."""
        return _same_shape(dy, saved)


@irdl_op_definition
class GeluOp(UnaryOp):
    """`train.gelu %x`: x Phi(x), exact through erf; `tanh` marks the usual approximation."""

    name = "train.gelu"

    tanh = opt_prop_def(UnitAttr)

    @staticmethod
    def infer(x: Tensor, tanh: bool = False) -> Types:
        """The type of the operand."""
        return (x,)


@irdl_op_definition
class GeluGradOp(UnaryGradOp):
    """`train.gelu_grad %dy, %x`: dy times the derivative of gelu at x."""

    name = "train.gelu_grad"

    tanh = opt_prop_def(UnitAttr)

    @staticmethod
    def infer(dy: Tensor, saved: Tensor, tanh: bool = False) -> Types:
        """Both operands have the result's type."""
        return _same_shape(dy, saved)
