"""Batch and layer normalisation with their derivatives, and the running averages."""

from xdsl.dialects.builtin import FloatAttr, TensorType
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, tensor_of
from npuc.dialects.train.base import TrainOp, Types, encode, shape_text

_EPS = encode(1e-5)


def _channel_type(x: Tensor) -> Tensor:
    """The type of one value a channel of x [batch, channels, …]."""
    if len(x.get_shape()) < 2:
        raise VerifyException(f"the input must be [batch, channels, …], got {shape_text(x)}")
    return tensor_of(x.element_type, x.get_shape()[1:2])


def _last_type(x: Tensor) -> Tensor:
    if not x.get_shape():
        raise VerifyException("the input must have rank 1 or more, got a scalar")
    return tensor_of(x.element_type, x.get_shape()[-1:])


def _rows_type(x: Tensor) -> Tensor:
    return tensor_of(x.element_type, x.get_shape()[:-1])


def _expect(what: str, found: Tensor, expected: Tensor) -> None:
    if found != expected:
        raise VerifyException(f"{what} is {found}, expected {expected}")


class NormBase(TrainOp):
    """Operands and results of a normalisation: x, scale and shift; y and the statistics it was normalised by."""

    x = operand_def(TensorType)
    gamma = operand_def(TensorType)
    beta = operand_def(TensorType)
    eps = prop_def(FloatAttr, default_value=_EPS)
    y = result_def(TensorType)
    mean = result_def(TensorType)
    var = result_def(TensorType)
    traits = traits_def(Pure())


class NormDxBase(TrainOp):
    """Operands of the gradient of a normalisation's input."""

    dy = operand_def(TensorType)
    x = operand_def(TensorType)
    gamma = operand_def(TensorType)
    mean = operand_def(TensorType)
    var = operand_def(TensorType)
    eps = prop_def(FloatAttr, default_value=_EPS)
    dx = result_def(TensorType)
    traits = traits_def(Pure())


class NormDwBase(TrainOp):
    """Operands of the gradients of a normalisation's scale and shift."""

    dy = operand_def(TensorType)
    x = operand_def(TensorType)
    mean = operand_def(TensorType)
    var = operand_def(TensorType)
    eps = prop_def(FloatAttr, default_value=_EPS)
    dgamma = result_def(TensorType)
    dbeta = result_def(TensorType)
    traits = traits_def(Pure())


@irdl_op_definition
class BatchNormOp(NormBase):
    """
    `%y, %mean, %var = train.batch_norm %x, %gamma, %beta eps 1e-05`: normalise each channel by the statistics of the
    batch.

    x is [batch, channels, …]; mean and var are the batch's (var divided by the count), one value a channel.
    """

    name = "train.batch_norm"

    @staticmethod
    def infer(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Types:
        """Scale and shift have one value a channel."""
        channel = _channel_type(x)
        _expect("scale", gamma, channel)
        _expect("shift", beta, channel)
        return (x, channel, channel)


@irdl_op_definition
class NormalizeOp(TrainOp):
    """`train.normalize %x, %gamma, %beta, %mean, %var`: batch normalisation by given statistics, as in inference."""

    name = "train.normalize"

    x = operand_def(TensorType)
    gamma = operand_def(TensorType)
    beta = operand_def(TensorType)
    mean = operand_def(TensorType)
    var = operand_def(TensorType)
    eps = prop_def(FloatAttr, default_value=_EPS)
    y = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, gamma: Tensor, beta: Tensor, mean: Tensor, var: Tensor, eps: float = 1e-5) -> Types:
        """All but x have one value a channel."""
        channel = _channel_type(x)
        for what, found in (("scale", gamma), ("shift", beta), ("mean", mean), ("variance", var)):
            _expect(what, found, channel)
        return (x,)


@irdl_op_definition
class BatchNormDxOp(NormDxBase):
    """`train.batch_norm_dx %dy, %x, %gamma, %mean, %var`: the gradient of batch normalisation's input."""

    name = "train.batch_norm_dx"

    @staticmethod
    def infer(dy: Tensor, x: Tensor, gamma: Tensor, mean: Tensor, var: Tensor, eps: float = 1e-5) -> Types:
        """dy has x's type, the others one value a channel."""
        _expect("dy", dy, x)
        for what, found in (("scale", gamma), ("mean", mean), ("variance", var)):
            _expect(what, found, _channel_type(x))
        return (x,)


@irdl_op_definition
class BatchNormDwOp(NormDwBase):
    """
    `%dgamma, %dbeta = train.batch_norm_dw %dy, %x, %mean, %var`: the gradients of batch normalisation's parameters.
    """

    name = "train.batch_norm_dw"

    @staticmethod
    def infer(dy: Tensor, x: Tensor, mean: Tensor, var: Tensor, eps: float = 1e-5) -> Types:
        """dy has x's type, the statistics one value a channel."""
        channel = _channel_type(x)
        _expect("dy", dy, x)
        _expect("mean", mean, channel)
        _expect("variance", var, channel)
        return (channel, channel)


@irdl_op_definition
class EmaOp(TrainOp):
    """
    `train.ema %running, %new momentum 0.1 scale 1.0`: (1 - momentum) running + momentum scale new.

    `momentum` is the weight of the new value, as in PyTorch; `scale` turns the batch's variance into the unbiased one.
    """

    name = "train.ema"

    running = operand_def(TensorType)
    new = operand_def(TensorType)
    momentum = prop_def(FloatAttr, default_value=encode(0.1))
    scale = prop_def(FloatAttr, default_value=encode(1.0))
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(running: Tensor, new: Tensor, momentum: float = 0.1, scale: float = 1.0) -> Types:
        """Equal shapes."""
        if running.get_shape() != new.get_shape():
            raise VerifyException(f"running is {shape_text(running)}, new {shape_text(new)}")
        return (running,)


@irdl_op_definition
class LayerNormOp(NormBase):
    """`%y, %mean, %var = train.layer_norm %x, %gamma, %beta`: normalise over the last axis; statistics a row."""

    name = "train.layer_norm"

    @staticmethod
    def infer(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Types:
        """Scale and shift have the size of the last axis."""
        _expect("scale", gamma, _last_type(x))
        _expect("shift", beta, _last_type(x))
        return (x, _rows_type(x), _rows_type(x))


@irdl_op_definition
class LayerNormDxOp(NormDxBase):
    """`train.layer_norm_dx %dy, %x, %gamma, %mean, %var`: the gradient of layer normalisation's input."""

    name = "train.layer_norm_dx"

    @staticmethod
    def infer(dy: Tensor, x: Tensor, gamma: Tensor, mean: Tensor, var: Tensor, eps: float = 1e-5) -> Types:
        """dy has x's type, gamma the last axis, the statistics one value a row."""
        _expect("dy", dy, x)
        _expect("scale", gamma, _last_type(x))
        _expect("mean", mean, _rows_type(x))
        _expect("variance", var, _rows_type(x))
        return (x,)


@irdl_op_definition
class LayerNormDwOp(NormDwBase):
    """
    `%dgamma, %dbeta = train.layer_norm_dw %dy, %x, %mean, %var`: the gradients of layer normalisation's parameters.
    """

    name = "train.layer_norm_dw"

    @staticmethod
    def infer(dy: Tensor, x: Tensor, mean: Tensor, var: Tensor, eps: float = 1e-5) -> Types:
        """dy has x's type, the statistics one value a row."""
        _expect("dy", dy, x)
        _expect("mean", mean, _rows_type(x))
        _expect("variance", var, _rows_type(x))
        return (_last_type(x), _last_type(x))
