"""
Conversions to number formats of few bits, what undoes their scales, and noise on gradients.

Work in vector operations per element: a conversion to block floats 5 (the largest magnitude of the group and of the
tensor, a division, a rounding, a limit), one more where chance decides, to 8 bits 3; FAST's controller two conversions
and 4; a scale 1; noise 10 (two logarithms' and cosines' worth of arithmetic, and a sum).
"""

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import i8

from npuc.compiler.layers.base import Array, Cut, PerElementLayer
from npuc.compiler.layers.draws import draws_at
from npuc.compiler.layers.float8 import round_to_float8
from npuc.compiler.layers.quantize import fast_threshold, improvement, quantize_blocks
from npuc.compiler.layers.scaled import quantize_scaled, scale_of
from npuc.compiler.layers.stochastic import Rounding
from npuc.dialects.blockfloat import BlockFloatType
from npuc.dialects.formats import F8E4M3, F8E5M2, INT8, BlockFloat
from npuc.dialects.npu.reread import Reread
from npuc.dialects.tensors import tensor_type
from npuc.dialects.train.quantized import (
    STOCHASTIC,
    AmaxScaleOp,
    FastQuantizeOp,
    GradientNoiseOp,
    QuantizeOp,
    RescaleOp,
)

_OWN_RANGE = 8
"""Bits of a shared exponent from which on it needs no largest exponent of the tensor to count from."""


def blocks_of(element: BlockFloatType) -> BlockFloat:
    """The format of an element type of block floats."""
    return BlockFloat(element.mantissa.data, element.group.data, element.exponent.data)


_FLOATS = {"f8E4M3FN": F8E4M3, "f8E5M2": F8E5M2}


def rounding_of(op: QuantizeOp | FastQuantizeOp) -> Rounding:
    """How an operation rounds."""
    return "stochastic" if op.rounding.data == STOCHASTIC else "nearest"


def _key(seed: int, step: int) -> int:
    """A number for chance to begin with, another one in each step."""
    return (seed << 32) + step


class AmaxScaleLayer(PerElementLayer[AmaxScaleOp]):
    """The largest magnitude over the largest value of the format."""

    op = AmaxScaleOp

    def evaluate(self, op: AmaxScaleOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        return (np.asarray(scale_of(x, _FLOATS.get(op.to.data, INT8))),)


class QuantizeLayer(PerElementLayer[QuantizeOp]):
    """x / scale rounded to the format of the result's elements."""

    op = QuantizeOp

    def evaluate(self, op: QuantizeOp, *arrays: Array) -> tuple[Array, ...]:
        x, *beside = arrays
        element, rounding = tensor_type(op.out).element_type, rounding_of(op)
        seed = _key(int(op.seed.value.data), int(beside[-1]) if rounding == STOCHASTIC else 0)
        if isinstance(element, BlockFloatType):
            axis = int(op.axis.value.data)
            return (quantize_blocks(x, blocks_of(element), axis, rounding, seed),)
        scale = float(beside[0])
        if element == i8:
            return (quantize_scaled(x, INT8, scale, rounding, seed),)
        return (round_to_float8(x / x.dtype.type(scale), _FLOATS[str(element)], rounding, seed),)

    def steps_of(self, op: QuantizeOp) -> int:
        blocks = isinstance(tensor_type(op.out).element_type, BlockFloatType)
        return (5 if blocks else 3) + (op.rounding.data == STOCHASTIC)

    def reread_of(self, op: QuantizeOp) -> Reread | None:
        element = tensor_type(op.out).element_type
        counted = isinstance(element, BlockFloatType) and element.exponent.data < _OWN_RANGE
        return Reread((0,)) if counted else None


class FastQuantizeLayer(PerElementLayer[FastQuantizeOp]):
    """Two conversions, and what the finer one would gain."""

    op = FastQuantizeOp
    steps = 14

    def evaluate(self, op: FastQuantizeOp, *arrays: Array) -> tuple[Array, ...]:
        x, step = arrays
        element = tensor_type(op.out).element_type
        assert isinstance(element, BlockFloatType)
        high, axis, rounding = blocks_of(element), int(op.axis.value.data), rounding_of(op)
        low = BlockFloat(int(op.low.value.data), high.group, high.exponent)
        steps = int(op.steps.value.data) or 1
        threshold = fast_threshold(
            int(op.layer.value.data),
            int(op.layers.value.data),
            min(int(step), steps - 1),  # what goes on after the training goes on with its last step
            steps,
            op.alpha.value.data,
            op.beta_layer.value.data,
            op.beta_step.value.data,
        )
        chosen = high if improvement(x, low, high, axis) > threshold else low
        seed = _key(int(op.seed.value.data), int(step))
        return quantize_blocks(x, chosen, axis, rounding, seed), np.asarray(chosen.mantissa)

    def reread_of(self, op: FastQuantizeOp) -> Reread | None:
        return Reread((0,))


class RescaleLayer(PerElementLayer[RescaleOp]):
    """A product by the scales, which are multiplied first."""

    op = RescaleOp
    elementwise = True

    def evaluate(self, op: RescaleOp, *arrays: Array) -> tuple[Array, ...]:
        x, *scales = arrays
        scale = scales[0]
        for one in scales[1:]:
            scale = scale * one
        return (x * scale.astype(np.result_type(scale, np.float32)),)


class GradientNoiseLayer(PerElementLayer[GradientNoiseOp]):
    """x + s n, where n is normal by the method of Box and Muller (1958) from two uniform numbers a place."""

    op = GradientNoiseOp
    elementwise = True
    steps = 10

    def evaluate(self, op: GradientNoiseOp, *arrays: Array) -> tuple[Array, ...]:
        shape: tuple[int, ...] = arrays[0].shape
        return self.evaluate_block(op, shape, tuple(np.arange(size) for size in shape), *arrays)

    def evaluate_block(
        self, op: GradientNoiseOp, shape: tuple[int, ...], index: tuple[Array, ...], *arrays: Array
    ) -> tuple[Array, ...]:
        x, step = arrays
        seed, count = int(op.seed.value.data), int(step)
        first, second = (draws_at((seed, 2 * count + one), shape, index) for one in (0, 1))
        normal = np.sqrt(-2 * np.log1p(-first)) * np.cos(2 * np.pi * second)
        deviation = op.sigma.value.data / (1 + count) ** (op.decay.value.data / 2)
        return (x + (deviation * normal).astype(x.dtype),)

    def cuts(self, op: GradientNoiseOp) -> Sequence[Cut]:
        return ()  # the noise depends on the place in the whole tensor


LAYERS = (AmaxScaleLayer(), QuantizeLayer(), FastQuantizeLayer(), RescaleLayer(), GradientNoiseLayer())
