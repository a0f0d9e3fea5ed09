"""
Conversions to number formats of few bits, what undoes their scales, and noise on gradients.

Sources: block floating point whose precision grows: Zhang, McDanel, Kung, "FAST: DNN training under variable precision
block floating point with stochastic rounding", HPCA 2022; the floats of 8 bits: Micikevicius et al., "FP8 formats for
deep learning", 2022; noise: Neelakantan et al., "Adding gradient noise improves learning for very deep networks", 2015.
"""

from typing import ClassVar

from xdsl.dialects.builtin import (
    FloatAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    f32,
    f64,
    i32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.blockfloat import BlockFloatType
from npuc.dialects.tensors import Tensor, tensor_of
from npuc.dialects.train.base import TrainOp, Types
from npuc.dialects.train.rules import check_float, check_numbers, check_scalar

NEAREST, STOCHASTIC = ROUNDINGS = ("nearest", "stochastic")
"""How a value between two of a format is rounded: to the nearer one (ties to even), or up by chance."""
SCALED = ("f8E4M3FN", "f8E5M2", "i8")
"""The formats whose values are multiples of a scale of the tensor."""


def is_format(element: Attribute) -> bool:
    """Whether elements of a type are what `train.quantize` makes: block floats, or numbers of 8 bits."""
    return isinstance(element, BlockFloatType) or str(element) in SCALED


@irdl_op_definition
class AmaxScaleOp(TrainOp):
    """
    The scale that takes the largest magnitude of a tensor to the largest value of a format of 8 bits.

    Of floats the next power of two, so that the division is exact; of integers amax / 127; 1 for a tensor of zeros.

        %s = train.amax_scale %x to "i8" : (tensor<4x32xf32>) -> tensor<f32>
    """

    name = "train.amax_scale"

    x = operand_def(TensorType)
    to = prop_def(StringAttr)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, *, to: str) -> Types:
        """A scalar of f32; a format with a scale."""
        check_float(x)
        if to not in SCALED:
            raise VerifyException(f"to is '{to}', expected one of {', '.join(SCALED)}")
        return (tensor_of(f32, ()),)


@irdl_op_definition
class QuantizeOp(TrainOp):
    """
    x / scale, rounded to a format of few bits: block floating point, a float of 8 bits, or an integer of 8 bits.

    Block floats have an exponent for each group along `axis`, the last of which may be short, and no scale; the other
    formats saturate. `rounding` is nearest (ties to even) or stochastic: then what decides is a function of `seed`, the
    step and the place in the tensor alone. Operands: x; the scale, a scalar of f32, unless the format is of blocks; the
    step, if the rounding is stochastic.

        %y = train.quantize %x axis 1 : (tensor<4x32xf32>) -> tensor<4x32x!npu.bfp<4, 16, 3>>
    """

    name = "train.quantize"
    TAKES_RESULT: ClassVar[bool] = True

    x = operand_def(TensorType)
    beside = var_operand_def(TensorType)
    axis = prop_def(IntegerAttr, default_value=IntegerAttr(0, i64))
    rounding = prop_def(StringAttr, default_value=StringAttr(NEAREST))
    seed = prop_def(IntegerAttr, default_value=IntegerAttr(0, i64))
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(
        x: Tensor, *beside: Tensor, results: Types, axis: int = 0, rounding: str = NEAREST, seed: int = 0
    ) -> Types:
        """The shape of x, an element type of the formats; an axis of x; scale and step as they are needed."""
        (out,) = results
        check_float(x)
        if not is_format(out.element_type):
            raise VerifyException(
                f"the result has elements of {out.element_type}, expected !npu.bfp or one of {SCALED}"
            )
        _check_rounding(rounding)
        scale = () if isinstance(out.element_type, BlockFloatType) else ("scale",)
        wanted = (*scale, "step") if rounding == STOCHASTIC else scale
        if len(beside) != len(wanted):
            raise VerifyException(f"found {len(beside)} operands beside x, expected {' and '.join(wanted) or 'none'}")
        for name, one in zip(wanted, beside, strict=True):
            check_scalar(name, one)
        _check_axis(x, axis)
        return (tensor_of(out.element_type, x.get_shape()),)


@irdl_op_definition
class FastQuantizeOp(TrainOp):
    """
    x in block floating point with as many bits of mantissa as FAST's controller gives it, and how many these are.

    The type of the result has the most, `low` are the least. With r = sum |Q(x) - Q_low(x)| / sum |Q_low(x)|, both
    rounded to nearest, it has the most where r is above alpha - beta_layer * layer / layers - beta_step * step / steps.
    With `steps` 0 the last term is left out.

        %y, %bits = train.fast_quantize %x, %step axis 1 low 2 layer 3 layers 8
            : (tensor<4x32xf32>, tensor<i64>) -> (tensor<4x32x!npu.bfp<4, 16, 3>>, tensor<i32>)
    """

    name = "train.fast_quantize"
    TAKES_RESULT: ClassVar[bool] = True

    x = operand_def(TensorType)
    step = operand_def(TensorType)
    axis = prop_def(IntegerAttr, default_value=IntegerAttr(0, i64))
    low = prop_def(IntegerAttr)
    layer = prop_def(IntegerAttr, default_value=IntegerAttr(0, i64))
    layers = prop_def(IntegerAttr, default_value=IntegerAttr(1, i64))
    alpha = prop_def(FloatAttr, default_value=FloatAttr(0.6, f64))
    beta_layer = prop_def(FloatAttr, default_value=FloatAttr(0.3, f64))
    beta_step = prop_def(FloatAttr, default_value=FloatAttr(0.3, f64))
    steps = prop_def(IntegerAttr, default_value=IntegerAttr(0, i64))
    rounding = prop_def(StringAttr, default_value=StringAttr(NEAREST))
    seed = prop_def(IntegerAttr, default_value=IntegerAttr(0, i64))
    out = result_def(TensorType)
    bits = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(
        x: Tensor,
        step: Tensor,
        *,
        results: Types,
        axis: int = 0,
        low: int,
        layer: int = 0,
        layers: int = 1,
        alpha: float = 0.6,
        beta_layer: float = 0.3,
        beta_step: float = 0.3,
        steps: int = 0,
        rounding: str = NEAREST,
        seed: int = 0,
    ) -> Types:
        """The shape of x in block floats of more than `low` bits, and a scalar of i32; layer is one of layers."""
        element = results[0].element_type if results else None
        check_float(x)
        check_scalar("step", step)
        if not isinstance(element, BlockFloatType):
            raise VerifyException(f"the result has elements of {element}, expected !npu.bfp")
        if not 1 <= low < element.mantissa_bits:
            raise VerifyException(f"low is {low}, expected 1 to {element.mantissa_bits - 1}")
        if not 0 <= layer < layers or steps < 0:
            raise VerifyException(
                f"layer is {layer} of {layers} and steps {steps}, expected one of them, and 0 or more"
            )
        _check_rounding(rounding)
        _check_axis(x, axis)
        return tensor_of(element, x.get_shape()), tensor_of(i32, ())


@irdl_op_definition
class RescaleOp(TrainOp):
    """
    x times the scales of what it was computed from: the product of quantised tensors as a float.

        %y = train.rescale %x, %s, %t : (tensor<4x8xi32>, tensor<f32>, tensor<f32>) -> tensor<4x8xf32>
    """

    name = "train.rescale"
    TAKES_RESULT: ClassVar[bool] = True

    x = operand_def(TensorType)
    scales = var_operand_def(TensorType)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, *scales: Tensor, results: Types) -> Types:
        """The shape of x, floats; one scale or more, scalars."""
        (out,) = results
        check_numbers(x)
        check_float(out)
        if not scales:
            raise VerifyException("found no scale, expected one or more")
        for one in scales:
            check_scalar("scale", one)
        return (tensor_of(out.element_type, x.get_shape()),)


@irdl_op_definition
class GradientNoiseOp(TrainOp):
    """
    x plus normal noise of standard deviation sigma / (1 + step)^(decay / 2), a function of seed, step and place.

        %y = train.gradient_noise %x, %step sigma 0.01 decay 0.55 : (tensor<4x8xf32>, tensor<i64>) -> tensor<4x8xf32>
    """

    name = "train.gradient_noise"

    x = operand_def(TensorType)
    step = operand_def(TensorType)
    sigma = prop_def(FloatAttr)
    decay = prop_def(FloatAttr, default_value=FloatAttr(0.55, f64))
    seed = prop_def(IntegerAttr, default_value=IntegerAttr(0, i64))
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, step: Tensor, *, sigma: float, decay: float = 0.55, seed: int = 0) -> Types:
        """The type of x, floats; sigma and decay are at least 0."""
        check_float(x)
        check_scalar("step", step)
        if sigma < 0 or decay < 0:
            raise VerifyException(f"sigma is {sigma} and decay {decay}, expected at least 0")
        return (x,)


def _check_rounding(rounding: str) -> None:
    if rounding not in ROUNDINGS:
        raise VerifyException(f"rounding is '{rounding}', expected {' or '.join(ROUNDINGS)}")


def _check_axis(x: Tensor, axis: int) -> None:
    if not 0 <= axis < len(x.get_shape()):
        raise VerifyException(f"axis is {axis}, expected one of x, which has {len(x.get_shape())}")
