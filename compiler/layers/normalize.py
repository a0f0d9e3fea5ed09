"""
Statistics of channels, and normalisation by given statistics: y = gamma (x - mean) / sqrt(var + eps) + beta.

With g = dy and r = 1 / sqrt(var + eps): dx = gamma r g, dmean = -gamma r sum g, dvar = -gamma r^3 / 2 sum g (x - mean);
the scale and the shift have the gradients of batch normalisation's. The variance is the mean of squared distances from
a mean that is known by then: the mean of squares less the squared mean would cancel where a mean is large.

Work in vector operations per element: 1 for a mean, 3 for a variance, 2 for its gradient; 4 to normalise, 1 for dx,
4 for the gradients of the statistics and 4 for those of the parameters.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

from xdsl.ir import SSAValue

from npuc.compiler.layers.base import Array, Combine, Cut, Emit, Gradients, PerElementLayer, derivative, elements
from npuc.compiler.layers.channels import columns, normalized, over_channels
from npuc.compiler.layers.cuts import channel_cuts
from npuc.compiler.layers.norm import NormLayer
from npuc.compiler.layers.shape import view
from npuc.dialects.tensors import shape_of, tensor_of, tensor_type
from npuc.dialects.train.arithmetic import AffineOp, CastOp, MulOp, SubOp
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.norm import BatchNormDwOp
from npuc.dialects.train.normalize import (
    ChannelMeanOp,
    ChannelVarDxOp,
    ChannelVarOp,
    NormalizeDstatsOp,
    NormalizeDxOp,
    NormalizeOp,
)
from npuc.dialects.train.shape import ExpandOp


def _mean_cuts(op: TrainOp) -> list[Cut]:
    """The cuts of a mean of each channel: along the channels, and along the axes that the mean is over."""
    shape, whole = shape_of(op.operands[0]), (None,) * (len(op.operands) - 1)
    others = [axis for axis, size in enumerate(shape) if axis != 1 and size > 1]
    means = [Cut((axis, *whole), (Combine.MEAN,)) for axis in others]
    return channel_cuts(op, but=others) + means


class ChannelMeanLayer(PerElementLayer[ChannelMeanOp]):
    """The mean of each channel."""

    op = ChannelMeanOp

    def evaluate(self, op: ChannelMeanOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        return (x.mean(axis=over_channels(x)),)

    def vjp(
        self, op: ChannelMeanOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        (g,) = grads
        assert g is not None
        channels, rank = shape_of(op.mean)[0], len(shape_of(op.x))
        each = emit(AffineOp(g, scale=channels / elements(op.x))).out
        if tensor_type(each).element_type != tensor_type(op.x).element_type:
            each = emit(CastOp(each, results=[tensor_of(tensor_type(op.x).element_type, shape_of(each))])).out
        row = view(each, (1, channels, *(1,) * (rank - 2)), emit)
        return [emit(ExpandOp(row, results=[op.x.type])).out]

    def cuts(self, op: ChannelMeanOp) -> Sequence[Cut]:
        return _mean_cuts(op)


class ChannelVarLayer(PerElementLayer[ChannelVarOp]):
    """The mean of squared distances from a given mean, for each channel."""

    op = ChannelVarOp
    steps = 3

    def evaluate(self, op: ChannelVarOp, *arrays: Array) -> tuple[Array, ...]:
        x, mean = arrays
        far = x - columns(mean, x)
        return ((far * far).mean(axis=over_channels(x)),)

    def vjp(
        self, op: ChannelVarOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        (g,) = grads
        assert g is not None
        dx = emit(ChannelVarDxOp(g, op.x, op.mean)).dx if needs[0] else None
        if not needs[1]:
            return [dx, None]
        far = emit(SubOp(op.mean, emit(ChannelMeanOp(op.x, results=[op.mean.type])).mean)).out
        return [dx, emit(AffineOp(emit(MulOp(g, far)).out, scale=2.0)).out]

    def cuts(self, op: ChannelVarOp) -> Sequence[Cut]:
        return _mean_cuts(op)


class ChannelVarDxLayer(PerElementLayer[ChannelVarDxOp]):
    """2 (x - mean) / n dvar."""

    op = ChannelVarDxOp
    steps = 2

    def evaluate(self, op: ChannelVarDxOp, *arrays: Array) -> tuple[Array, ...]:
        dvar, x, mean = arrays
        count = prod(x.shape) // x.shape[1]
        return ((x - columns(mean, x)) * columns(dvar * dvar.dtype.type(2.0 / count), x),)


class NormalizeLayer(NormLayer[NormalizeOp]):
    """Batch normalisation by given statistics: the running ones in inference."""

    op = NormalizeOp

    def evaluate(self, op: NormalizeOp, *arrays: Array) -> tuple[Array, ...]:
        x, *affine, mean, var = arrays
        return (normalized(x, affine, mean, var, op.eps.value.data),)

    def vjp(
        self, op: NormalizeOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        (g,) = grads
        assert g is not None
        gamma, own = op.affine[:1], slice(1, 1 + len(op.affine))
        found: list[SSAValue | None] = [None] * len(needs)
        if needs[0]:
            found[0] = emit(derivative(NormalizeDxOp, op, g, *gamma, op.var)).dx
        if any(needs[own]):
            types = [value.type for value in op.affine]
            found[own] = emit(derivative(BatchNormDwOp, op, g, op.x, op.mean, op.var, results=types)).results
        if any(needs[-2:]):
            found[-2:] = emit(derivative(NormalizeDstatsOp, op, g, op.x, *gamma, op.mean, op.var)).results
        return found

    def cuts(self, op: NormalizeOp) -> Sequence[Cut]:
        return channel_cuts(op)


class NormalizeDxLayer(PerElementLayer[NormalizeDxOp]):
    """dy over the standard deviation, scaled: one multiplication per element."""

    op = NormalizeDxOp

    def evaluate(self, op: NormalizeDxOp, *arrays: Array) -> tuple[Array, ...]:
        dy, *gamma, var = arrays
        deviation = (var + op.eps.value.data) ** 0.5
        return (dy * columns((gamma[0] if gamma else 1) / deviation, dy),)


class NormalizeDstatsLayer(NormLayer[NormalizeDstatsOp]):
    """The gradients of the mean and the variance."""

    op = NormalizeDstatsOp

    def evaluate(self, op: NormalizeDstatsOp, *arrays: Array) -> tuple[Array, ...]:
        dy, x, *gamma, mean, var = arrays
        deviation = (var + op.eps.value.data) ** 0.5
        slope = (gamma[0] if gamma else 1) / deviation
        moved = (dy * ((x - columns(mean, x)) / columns(deviation, x))).sum(axis=over_channels(x))
        return -slope * dy.sum(axis=over_channels(x)), slope / deviation * moved * var.dtype.type(-0.5)


LAYERS = (
    ChannelMeanLayer(),
    ChannelVarLayer(),
    ChannelVarDxLayer(),
    NormalizeLayer(),
    NormalizeDxLayer(),
    NormalizeDstatsLayer(),
)
