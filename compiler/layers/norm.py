"""
Batch normalisation, and what all normalisations share: y = gamma (x - mean) / sqrt(var + eps) + beta.

With z = (x - mean) / sqrt(var + eps) and g = dy: dbeta = sum g, dgamma = sum g z, dx = gamma / sqrt(var + eps) (g -
mean(g) - z mean(g z)), sums and means over what one statistic covers (layer normalisation takes gamma inside the
means). Without scale and shift gamma is 1 and beta 0.

Work: 4 vector operations per element forward, 4 for dx and 4 for the parameters. Mean and variance take one pass over
x (T. F. Chan, G. H. Golub, R. J. LeVeque, "Algorithms for computing the sample variance", 1983), a second pass
normalises; the two means of dx and dx itself take two passes over dy and x. The sums of the parameters take one pass;
in batch normalisation dx needs the same sums and then takes one pass, too (`lower-to-npu`). The elements under one
statistic are contiguous in layer normalisation; in batch normalisation they are spread over all of x.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import (
    ArgumentError,
    Bias,
    OptValue,
    Value,
    channels_of,
    check_not_negative,
    check_share,
    check_shared,
    rank_at_least,
)
from npuc.compiler.layers.base import (
    Array,
    Cut,
    Emit,
    Gradients,
    OpT,
    PerElementLayer,
    Reread,
    broadcast_cuts,
    derivative,
)
from npuc.compiler.layers.channels import columns, normalized, over_channels
from npuc.compiler.layers.cuts import channel_cuts
from npuc.dialects.provenance import Role
from npuc.dialects.tensors import shape_of, tensor_type
from npuc.dialects.train.norm import (
    BatchNormDwOp,
    BatchNormDxFromSumsOp,
    BatchNormDxOp,
    BatchNormOp,
    EmaOp,
    NormBase,
    NormDwBase,
    NormDxBase,
)
from npuc.dialects.train.normalize import NormalizeOp


class NormLayer(PerElementLayer[OpT]):
    """Four vector operations per element of the normalised tensor."""

    steps = 4


def twice_forward(op: NormBase, groups: int) -> Reread:
    """x is read for its statistics and again to be normalised, when all groups need scale and shift: one, only then."""
    return Reread((0,), groups, tuple(range(1, len(op.operands))) if groups > 1 else ())


def twice_backward(op: NormDxBase, groups: int) -> Reread:
    """dy and x are read for two means and again for dx; the scale is of all groups, the statistics of one each."""
    return Reread((0, 1), groups, (2,) if op.gamma is not None else ())


def norm_vjp(
    op: NormBase,
    grads: Sequence[SSAValue | None],
    needs: Sequence[bool],
    emit: Emit[Any],
    dx_op: type[NormDxBase],
    dw_op: type[NormDwBase],
) -> Gradients:
    """The derivative of a normalisation by its two derivative operations; the statistics have no gradient."""
    g = grads[0]
    if g is None:
        return [None] * len(op.operands)
    dx: SSAValue | None = None
    if needs[0]:
        dx = emit(derivative(dx_op, op, g, op.x, *op.affine[:1], op.mean, op.var)).dx
    if not any(needs[1:]):
        return [dx, *[None] * len(op.affine)]
    types = [value.type for value in op.affine]
    return [dx, *emit(derivative(dw_op, op, g, op.x, op.mean, op.var, results=types)).results]


class BatchNormLayer(NormLayer[BatchNormOp]):
    """Statistics of each channel over the batch."""

    op = BatchNormOp

    def evaluate(self, op: BatchNormOp, *arrays: Array) -> tuple[Array, ...]:
        x, *affine = arrays
        mean, var = x.mean(axis=over_channels(x)), x.var(axis=over_channels(x))
        return normalized(x, affine, mean, var, op.eps.value.data), mean, var

    def vjp(
        self, op: BatchNormOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        return norm_vjp(op, grads, needs, emit, BatchNormDxOp, BatchNormDwOp)

    def reread_of(self, op: BatchNormOp) -> Reread | None:
        return twice_forward(op, 1)

    def cuts(self, op: BatchNormOp) -> Sequence[Cut]:
        return channel_cuts(op, but=(0, *range(2, len(shape_of(op.x)))))


class BatchNormDxLayer(NormLayer[BatchNormDxOp]):
    """The gradient of the input."""

    op = BatchNormDxOp

    def reread_of(self, op: BatchNormDxOp) -> Reread | None:
        return Reread((0, 1), 1, tuple(range(2, len(op.operands))))

    def evaluate(self, op: BatchNormDxOp, *arrays: Array) -> tuple[Array, ...]:
        dy, x, *gamma, mean, var = arrays
        axes = over_channels(x)
        deviation = (var + op.eps.value.data) ** 0.5
        z = (x - columns(mean, x)) / columns(deviation, x)
        centred = dy - columns(dy.mean(axis=axes), x) - z * columns((dy * z).mean(axis=axes), x)
        return (centred * columns((gamma[0] if gamma else 1) / deviation, x),)


class BatchNormDxFromSumsLayer(NormLayer[BatchNormDxFromSumsOp]):
    """The gradient of the input where the sums are known: one pass."""

    op = BatchNormDxFromSumsOp

    def evaluate(self, op: BatchNormDxFromSumsOp, *arrays: Array) -> tuple[Array, ...]:
        dy, x, gamma, mean, var, dgamma, dbeta = arrays
        count = x.dtype.type(prod(x.shape) // x.shape[1])
        deviation = (var + op.eps.value.data) ** 0.5
        z = (x - columns(mean, x)) / columns(deviation, x)
        centred = dy - columns(dbeta / count, x) - z * columns(dgamma / count, x)
        return (centred * columns(gamma / deviation, x),)


class BatchNormDwLayer(NormLayer[BatchNormDwOp]):
    """The gradients of scale and shift."""

    op = BatchNormDwOp

    def evaluate(self, op: BatchNormDwOp, *arrays: Array) -> tuple[Array, ...]:
        dy, x, mean, var = arrays
        z = (x - columns(mean, x)) / columns((var + op.eps.value.data) ** 0.5, x)
        return ((dy * z).sum(axis=over_channels(x)), dy.sum(axis=over_channels(x)))[: len(op.results)]


class EmaLayer(PerElementLayer[EmaOp]):
    """An exponential running average; three vector operations per element."""

    op = EmaOp
    steps = 3

    def evaluate(self, op: EmaOp, *arrays: Array) -> tuple[Array, ...]:
        running, new = arrays
        momentum = running.dtype.type(op.momentum.value.data)
        return ((1 - momentum) * running + momentum * (running.dtype.type(op.scale.value.data) * new),)

    def cuts(self, op: EmaOp) -> Sequence[Cut]:
        return broadcast_cuts(op)


def last_axes(x: SSAValue, axes: int) -> tuple[int, ...]:
    """The sizes of the last `axes` axes of x, which a row normalisation covers."""
    shape = rank_at_least("x", x, 1, "at least one axis")
    if not 1 <= axes <= len(shape):
        raise ArgumentError("axes", f"found {axes}, expected 1 to {len(shape)} for a tensor of rank {len(shape)}")
    return shape[len(shape) - axes :]


def scale_and_shift(
    b: GraphBuilder, shape: Sequence[int], x: SSAValue, *, weight: OptValue = None, bias: Bias = True
) -> list[SSAValue]:
    """The scale, made as `weight` of 1 unless shared, and the shift, made as `bias` of 0 unless shared or left out."""
    element = tensor_type(x).element_type
    scale = b.param("weight", shape, element, fill=1.0) if weight is None else check_shared("weight", weight, shape)
    if bias is False:
        return [scale]
    shared = isinstance(bias, SSAValue)
    return [scale, check_shared("bias", bias, shape) if shared else b.param("bias", shape, element, fill=0.0)]


def optional_scale(
    b: GraphBuilder, channels: int, x: SSAValue, *, affine: bool, weight: OptValue, bias: Bias
) -> list[SSAValue]:
    """Scale and shift of channels, unless `affine` leaves them out."""
    if affine:
        return scale_and_shift(b, [channels], x, weight=weight, bias=bias)
    if weight is not None or bias is not True:
        raise ArgumentError("affine", "found false beside weight or bias, which it leaves out")
    return []


def batch_norm(
    b: GraphBuilder,
    x: Value,
    eps: float = 1e-5,
    momentum: float = 0.1,
    affine: bool = True,
    weight: OptValue = None,
    bias: Bias = True,
    running: bool = True,
) -> SSAValue:
    """
    Normalise each channel of x [batch, channels, …] by the batch's statistics, then scale and shift.

    Running statistics take the new value with weight `momentum`, its variance unbiased; inference uses them. With
    `running=false` there are none, and inference uses the batch's, too. `affine=false` leaves the scale and shift out,
    `bias=false` the shift; `weight=` and `bias=` share those made by `param`.
    """
    channels, element = channels_of("x", x), tensor_type(x).element_type
    check_share("momentum", momentum)
    check_not_negative("eps", eps)
    params = optional_scale(b, channels, x, affine=affine, weight=weight, bias=bias)
    if not running:
        return b.emit(BatchNormOp(x, *params, eps=float(eps))).y
    running_mean = b.stat("running_mean", [channels], element, fill=0.0)
    running_var = b.stat("running_var", [channels], element, fill=1.0)
    if not b.training:
        return b.emit(NormalizeOp(x, *params, running_mean, running_var, eps=float(eps))).y
    norm = b.emit(BatchNormOp(x, *params, eps=float(eps)))
    count = prod(shape_of(x)) // channels
    unbiased = count / (count - 1) if count > 1 else 1.0
    for old, new, scale in ((running_mean, norm.mean, 1.0), (running_var, norm.var, unbiased)):
        average = b.emit(EmaOp(old, new, momentum=float(momentum), scale=scale), role=Role.UPDATE)
        b.update(old, average.out)
    return norm.y


LAYERS = (
    BatchNormLayer(),
    BatchNormDxLayer(),
    BatchNormDxFromSumsLayer(),
    BatchNormDwLayer(),
    EmaLayer(),
)
FUNCTIONS = (batch_norm,)
