"""Piecewise linear activation functions (and products of them) and their derivatives, elementwise."""

from xdsl.dialects.builtin import FloatAttr, TensorType, UnitAttr
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, shape_text
from npuc.dialects.train.base import TrainOp, Types, encode
from npuc.dialects.train.rules import channel_type, check_beside, check_float, check_numbers, same_type
from npuc.dialects.train.unary import FloatUnaryOp, UnaryGradOp, UnaryOp

_SLOPE = encode(0.01)


@irdl_op_definition
class ReluOp(UnaryOp):
    """
    max(x, 0).

        %y = train.relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.relu"


@irdl_op_definition
class ReluGradOp(UnaryGradOp):
    """
    dy where the output y is positive or NaN, else 0.

        %dx = train.relu_grad %dy, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.relu_grad"


@irdl_op_definition
class ClipOp(UnaryOp):
    """
    x limited to [low, high]; relu6 is the default.

    With `closed` the gradient at the bounds themselves is 1 (PyTorch's clamp), otherwise 0 (its relu6).

        %y = train.clip %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.clip"

    low = prop_def(FloatAttr, default_value=encode(0.0))
    high = prop_def(FloatAttr, default_value=encode(6.0))
    closed = opt_prop_def(UnitAttr)

    @staticmethod
    def infer(x: Tensor, low: float = 0.0, high: float = 6.0, closed: bool = False) -> Types:
        """The type of the operand, not bool; low <= high, integers beside integers."""
        check_numbers(x)
        check_beside(x, low=low, high=high)
        if not low <= high:
            raise VerifyException(f"low is {low}, above high {high}")
        return (x,)


@irdl_op_definition
class ClipGradOp(UnaryGradOp):
    """
    dy where low < x < high (`closed`: low <= x <= high), else 0.

        %dx = train.clip_grad %dy, %x low -1.0 high 1.0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.clip_grad"

    low = prop_def(FloatAttr, default_value=encode(0.0))
    high = prop_def(FloatAttr, default_value=encode(6.0))
    closed = opt_prop_def(UnitAttr)

    @staticmethod
    def infer(dy: Tensor, saved: Tensor, low: float = 0.0, high: float = 6.0, closed: bool = False) -> Types:
        """Both operands have the result's type."""
        return same_type(dy, saved)


@irdl_op_definition
class HardSigmoidOp(FloatUnaryOp):
    """
    (x + 3) / 6 limited to [0, 1].

        %y = train.hard_sigmoid %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.hard_sigmoid"


@irdl_op_definition
class HardSigmoidGradOp(UnaryGradOp):
    """
    dy / 6 where -3 < x < 3, else 0.

        %dx = train.hard_sigmoid_grad %dy, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.hard_sigmoid_grad"


@irdl_op_definition
class HardSwishOp(FloatUnaryOp):
    """
    x hard_sigmoid(x). Source: Howard et al. (2019).

        %y = train.hard_swish %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.hard_swish"


@irdl_op_definition
class HardSwishGradOp(UnaryGradOp):
    """
    dy (x / 3 + 1 / 2) where -3 < x < 3, dy above, 0 below.

        %dx = train.hard_swish_grad %dy, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.hard_swish_grad"


@irdl_op_definition
class LeakyReluOp(FloatUnaryOp):
    """
    x where x > 0, else slope x.

        %y = train.leaky_relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.leaky_relu"

    slope = prop_def(FloatAttr, default_value=_SLOPE)

    @staticmethod
    def infer(x: Tensor, slope: float = 0.01) -> Types:
        """The type of the operand, which is floating point."""
        check_float(x)
        return (x,)


@irdl_op_definition
class LeakyReluGradOp(UnaryGradOp):
    """
    dy where x > 0, else slope dy.

        %dx = train.leaky_relu_grad %dy, %x slope 0.5 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.leaky_relu_grad"

    slope = prop_def(FloatAttr, default_value=_SLOPE)

    @staticmethod
    def infer(dy: Tensor, saved: Tensor, slope: float = 0.01) -> Types:
        """Both operands have the result's type."""
        return same_type(dy, saved)


def _check_slopes(x: Tensor, weight: Tensor) -> None:
    expected = channel_type(x)
    if weight != expected:
        raise VerifyException(f"the slopes are {weight}, expected {expected}: one a channel of {shape_text(x)}")


@irdl_op_definition
class PreluOp(TrainOp):
    """
    x where x > 0, else w x, w one slope a channel of x [batch, channels, …].

    Source: He, Zhang, Ren, Sun (2015).

        %y = train.prelu %x, %w : (tensor<2x4x8x8xf32>, tensor<4xf32>) -> tensor<2x4x8x8xf32>
    """

    name = "train.prelu"

    x = operand_def(TensorType)
    weight = operand_def(TensorType)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, weight: Tensor) -> Types:
        """The type of x, which is floating point."""
        check_float(x)
        _check_slopes(x, weight)
        return (x,)


@irdl_op_definition
class PreluDxOp(TrainOp):
    """
    dy where x > 0, else w dy.

        %dx = train.prelu_dx %dy, %x, %w : (tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>, tensor<4xf32>)
            -> tensor<2x4x8x8xf32>
    """

    name = "train.prelu_dx"

    dy = operand_def(TensorType)
    x = operand_def(TensorType)
    weight = operand_def(TensorType)
    dx = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(dy: Tensor, x: Tensor, weight: Tensor) -> Types:
        """The type of dy, which is that of x."""
        _check_slopes(x, weight)
        return same_type(dy, x)


@irdl_op_definition
class PreluDwOp(TrainOp):
    """
    The sum of dy x over the elements of each channel with x <= 0.

        %dw = train.prelu_dw %dy, %x : (tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>) -> tensor<4xf32>
    """

    name = "train.prelu_dw"

    dy = operand_def(TensorType)
    x = operand_def(TensorType)
    dw = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(dy: Tensor, x: Tensor) -> Types:
        """One value a channel; dy has the type of x."""
        same_type(dy, x)
        return (channel_type(x),)
