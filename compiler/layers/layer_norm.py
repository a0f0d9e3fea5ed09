"""
Layer normalisation: y = gamma (x - mean) / sqrt(var + eps) + beta, statistics of each row over its last axes.

The derivatives and the work are those of `norm.py`, gamma inside the means of dx. The elements under one statistic are
contiguous.
"""

from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import Bias, OptValue, Value, check_not_negative
from npuc.compiler.layers.base import Array, Cut, Emit, Gradients, Reread, elements
from npuc.compiler.layers.cuts import row_cuts
from npuc.compiler.layers.norm import (
    NormLayer,
    last_axes,
    norm_vjp,
    scale_and_shift,
    twice_backward,
    twice_forward,
)
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.layer_norm import LayerNormDwOp, LayerNormDxOp, LayerNormOp


class LayerNormLayer(NormLayer[LayerNormOp]):
    """Statistics of each row over the last axes."""

    op = LayerNormOp

    def evaluate(self, op: LayerNormOp, *arrays: Array) -> tuple[Array, ...]:
        x, gamma, *beta = arrays
        rows = x.reshape(*shape_of(op.mean), -1)
        mean, var = rows.mean(axis=-1), rows.var(axis=-1)
        z = (rows - mean[..., None]) / ((var + op.eps.value.data) ** 0.5)[..., None]
        y = z * gamma.reshape(-1)
        return ((y + beta[0].reshape(-1) if beta else y).reshape(x.shape), mean, var)

    def vjp(
        self, op: LayerNormOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        return norm_vjp(op, grads, needs, emit, LayerNormDxOp, LayerNormDwOp)

    def reread_of(self, op: LayerNormOp) -> Reread | None:
        return twice_forward(op, elements(op.mean))

    def cuts(self, op: LayerNormOp) -> Sequence[Cut]:
        return row_cuts(op, len(shape_of(op.mean)))


class LayerNormDxLayer(NormLayer[LayerNormDxOp]):
    """The gradient of the input."""

    op = LayerNormDxOp

    def reread_of(self, op: LayerNormDxOp) -> Reread | None:
        return twice_backward(op, elements(op.mean))

    def evaluate(self, op: LayerNormDxOp, *arrays: Array) -> tuple[Array, ...]:
        dy, x, gamma, mean, var = arrays
        rows = (*mean.shape, -1)
        deviation = ((var + op.eps.value.data) ** 0.5)[..., None]
        z = (x.reshape(rows) - mean[..., None]) / deviation
        g = dy.reshape(rows) * gamma.reshape(-1)
        dx = (g - g.mean(axis=-1, keepdims=True) - z * (g * z).mean(axis=-1, keepdims=True)) / deviation
        return (dx.reshape(x.shape),)


class LayerNormDwLayer(NormLayer[LayerNormDwOp]):
    """The gradients of scale and shift."""

    op = LayerNormDwOp

    def evaluate(self, op: LayerNormDwOp, *arrays: Array) -> tuple[Array, ...]:
        dy, x, mean, var = arrays
        rows = (*mean.shape, -1)
        g = dy.reshape(rows)
        z = (x.reshape(rows) - mean[..., None]) / ((var + op.eps.value.data) ** 0.5)[..., None]
        sums = ((g * z).sum(axis=tuple(range(mean.ndim))), g.sum(axis=tuple(range(mean.ndim))))
        return tuple(total.reshape(shape_of(out)) for total, out in zip(sums, op.results, strict=False))


def layer_norm(
    b: GraphBuilder, x: Value, eps: float = 1e-5, axes: int = 1, bias: Bias = True, weight: OptValue = None
) -> SSAValue:
    """
    Normalise the last `axes` axes of x together, then scale and shift; `bias=false` leaves the shift out.

    `weight=` and `bias=` share those made by `param`.
    """
    sizes = last_axes(x, axes)
    check_not_negative("eps", eps)
    params = scale_and_shift(b, sizes, x, weight=weight, bias=bias)
    return b.emit(LayerNormOp(x, *params, eps=float(eps))).y


LAYERS = (LayerNormLayer(), LayerNormDxLayer(), LayerNormDwLayer())
FUNCTIONS = (layer_norm,)
