"""
Batch and layer normalisation: y = gamma (x - mean) / sqrt(var + eps) + beta.

With z = (x - mean) / sqrt(var + eps) and g = dy: dbeta = sum g, dgamma = sum g z, dx = gamma / sqrt(var + eps) (g -
mean(g) - z mean(g z)), sums and means over what one statistic covers (layer normalisation takes gamma inside the
means). Work: 4 vector operations an element forward, 4 for dx and 4 for the parameters.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

from xdsl.ir import SSAValue

from npuc.compiler.builder import GraphBuilder
from npuc.compiler.layers.base import (
    Array,
    Emit,
    Gradients,
    Layer,
    OpT,
    Value,
    Work,
    channels_of,
    elements,
    rank_at_least,
    result_elements,
)
from npuc.dialects.provenance import Role
from npuc.dialects.tensors import shape_of, tensor_type
from npuc.dialects.train.norm import (
    BatchNormDwOp,
    BatchNormDxOp,
    BatchNormOp,
    EmaOp,
    LayerNormDwOp,
    LayerNormDxOp,
    LayerNormOp,
    NormalizeOp,
)

_OPS_PER_ELEMENT = 4


class _Norm(Layer[OpT]):
    """Work proportional to the elements of the normalised tensor, which is the first operand."""

    def work(self, op: OpT) -> Work:
        return Work(vector_ops=_OPS_PER_ELEMENT * elements(op.operands[0]))


def _over_channels(x: Array) -> tuple[int, ...]:
    return (0, *range(2, x.ndim))


def _columns(values: Array, x: Array) -> Array:
    """One value a channel, shaped to broadcast against x."""
    return values.reshape(1, -1, *(1,) * (x.ndim - 2))


class BatchNormLayer(_Norm[BatchNormOp]):
    """Statistics of the batch, a channel each."""

    op = BatchNormOp

    def evaluate(self, op: BatchNormOp, *arrays: Array) -> tuple[Array, ...]:
        x, gamma, beta = arrays
        mean, var = x.mean(axis=_over_channels(x)), x.var(axis=_over_channels(x))
        scale = gamma / (var + op.eps.value.data) ** 0.5
        return (x - _columns(mean, x)) * _columns(scale, x) + _columns(beta, x), mean, var

    def vjp(
        self, op: BatchNormOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        g = grads[0]
        if g is None:
            return [None, None, None]
        eps = op.eps.value.data
        dx = emit(BatchNormDxOp(g, op.x, op.gamma, op.mean, op.var, eps=eps)).dx if needs[0] else None
        if not (needs[1] or needs[2]):
            return [dx, None, None]
        params = emit(BatchNormDwOp(g, op.x, op.mean, op.var, eps=eps))
        return [dx, params.dgamma, params.dbeta]


class BatchNormDxLayer(_Norm[BatchNormDxOp]):
    """The gradient of the input."""

    op = BatchNormDxOp

    def evaluate(self, op: BatchNormDxOp, *arrays: Array) -> tuple[Array, ...]:
        dy, x, gamma, mean, var = arrays
        axes = _over_channels(x)
        deviation = (var + op.eps.value.data) ** 0.5
        z = (x - _columns(mean, x)) / _columns(deviation, x)
        centred = dy - _columns(dy.mean(axis=axes), x) - z * _columns((dy * z).mean(axis=axes), x)
        return (centred * _columns(gamma / deviation, x),)


class BatchNormDwLayer(_Norm[BatchNormDwOp]):
    """The gradients of scale and shift."""

    op = BatchNormDwOp

    def evaluate(self, op: BatchNormDwOp, *arrays: Array) -> tuple[Array, ...]:
        dy, x, mean, var = arrays
        z = (x - _columns(mean, x)) / _columns((var + op.eps.value.data) ** 0.5, x)
        return (dy * z).sum(axis=_over_channels(x)), dy.sum(axis=_over_channels(x))


class NormalizeLayer(_Norm[NormalizeOp]):
    """Batch normalisation by running statistics, as in inference."""

    op = NormalizeOp

    def evaluate(self, op: NormalizeOp, *arrays: Array) -> tuple[Array, ...]:
        x, gamma, beta, mean, var = arrays
        scale = gamma / (var + op.eps.value.data) ** 0.5
        return ((x - _columns(mean, x)) * _columns(scale, x) + _columns(beta, x),)


class EmaLayer(Layer[EmaOp]):
    """An exponential running average; three vector operations an element."""

    op = EmaOp

    def evaluate(self, op: EmaOp, *arrays: Array) -> tuple[Array, ...]:
        running, new = arrays
        momentum = running.dtype.type(op.momentum.value.data)
        return ((1 - momentum) * running + momentum * (running.dtype.type(op.scale.value.data) * new),)

    def work(self, op: EmaOp) -> Work:
        return Work(vector_ops=3 * result_elements(op))


class LayerNormLayer(_Norm[LayerNormOp]):
    """Statistics over the last axis, a row each."""

    op = LayerNormOp

    def evaluate(self, op: LayerNormOp, *arrays: Array) -> tuple[Array, ...]:
        x, gamma, beta = arrays
        mean, var = x.mean(axis=-1), x.var(axis=-1)
        z = (x - mean[..., None]) / ((var + op.eps.value.data) ** 0.5)[..., None]
        return z * gamma + beta, mean, var

    def vjp(
        self, op: LayerNormOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        g = grads[0]
        if g is None:
            return [None, None, None]
        eps = op.eps.value.data
        dx = emit(LayerNormDxOp(g, op.x, op.gamma, op.mean, op.var, eps=eps)).dx if needs[0] else None
        if not (needs[1] or needs[2]):
            return [dx, None, None]
        params = emit(LayerNormDwOp(g, op.x, op.mean, op.var, eps=eps))
        return [dx, params.dgamma, params.dbeta]


class LayerNormDxLayer(_Norm[LayerNormDxOp]):
    """The gradient of the input."""

    op = LayerNormDxOp

    def evaluate(self, op: LayerNormDxOp, *arrays: Array) -> tuple[Array, ...]:
        dy, x, gamma, mean, var = arrays
        deviation = ((var + op.eps.value.data) ** 0.5)[..., None]
        z = (x - mean[..., None]) / deviation
        g = dy * gamma
        return ((g - g.mean(axis=-1, keepdims=True) - z * (g * z).mean(axis=-1, keepdims=True)) / deviation,)


class LayerNormDwLayer(_Norm[LayerNormDwOp]):
    """The gradients of scale and shift."""

    op = LayerNormDwOp

    def evaluate(self, op: LayerNormDwOp, *arrays: Array) -> tuple[Array, ...]:
        dy, x, mean, var = arrays
        z = (x - mean[..., None]) / ((var + op.eps.value.data) ** 0.5)[..., None]
        rows = tuple(range(x.ndim - 1))
        return (dy * z).sum(axis=rows), dy.sum(axis=rows)


def batch_norm(b: GraphBuilder, x: Value, eps: float = 1e-5, momentum: float = 0.1) -> SSAValue:
    """
    Normalise each channel of x [batch, channels, …] by the batch's statistics, then scale and shift.

    Running statistics take the new value with weight `momentum`, its variance unbiased; inference uses them.
    """
    channels, element = channels_of("x", x), tensor_type(x).element_type
    gamma = b.param("weight", [channels], element, fill=1.0)
    beta = b.param("bias", [channels], element, fill=0.0)
    running_mean = b.stat("running_mean", [channels], element, fill=0.0)
    running_var = b.stat("running_var", [channels], element, fill=1.0)
    if not b.training:
        return b.emit(NormalizeOp(x, gamma, beta, running_mean, running_var, eps=float(eps))).y
    norm = b.emit(BatchNormOp(x, gamma, beta, eps=float(eps)))
    count = prod(shape_of(x)) // channels
    unbiased = count / (count - 1) if count > 1 else 1.0
    for running, new, scale in ((running_mean, norm.mean, 1.0), (running_var, norm.var, unbiased)):
        average = b.emit(EmaOp(running, new, momentum=float(momentum), scale=scale), role=Role.UPDATE)
        b.update(running, average.out)
    return norm.y


def layer_norm(b: GraphBuilder, x: Value, eps: float = 1e-5) -> SSAValue:
    """Normalise the last axis of x, then scale and shift."""
    width, element = rank_at_least("x", x, 1, "at least one axis")[-1], tensor_type(x).element_type
    gamma = b.param("weight", [width], element, fill=1.0)
    beta = b.param("bias", [width], element, fill=0.0)
    return b.emit(LayerNormOp(x, gamma, beta, eps=float(eps))).y


LAYERS = (
    BatchNormLayer(),
    BatchNormDxLayer(),
    BatchNormDwLayer(),
    NormalizeLayer(),
    EmaLayer(),
    LayerNormLayer(),
    LayerNormDxLayer(),
    LayerNormDwLayer(),
)
FUNCTIONS = (batch_norm, layer_norm)
