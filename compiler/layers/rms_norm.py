"""
Normalisation by the root of the mean square: y = gamma x / sqrt(mean(x^2) + eps) over the last axes.

With z = x / sqrt(mean(x^2) + eps) and g = gamma dy: dgamma = sum dy z, dx = (g - z mean(g z)) / sqrt(mean(x^2) + eps).
Work: 4 vector operations per element forward, 4 for dx and 4 for the scale, as for the other normalisations; two passes
over a row forward and for dx, which needs mean(g z) first.
"""

from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import ArgumentError, OptValue, Value, check_not_negative
from npuc.compiler.layers.base import Array, Cut, Emit, Gradients, Reread, derivative, elements
from npuc.compiler.layers.cuts import row_cuts
from npuc.compiler.layers.norm import NormLayer, last_axes, scale_and_shift
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.rms_norm import RmsNormBase, RmsNormDwOp, RmsNormDxOp, RmsNormOp


def _root(op: RmsNormBase, square: Array) -> Array:
    return ((square + op.eps.value.data) ** 0.5)[..., None]


class RmsNormLayer(NormLayer[RmsNormOp]):
    """One mean square a row."""

    op = RmsNormOp

    def evaluate(self, op: RmsNormOp, *arrays: Array) -> tuple[Array, ...]:
        x, *gamma = arrays
        rows = x.reshape(*shape_of(op.square), -1)
        square = (rows * rows).mean(axis=-1)
        z = rows / _root(op, square)
        return (z * gamma[0].reshape(-1) if gamma else z).reshape(x.shape), square

    def vjp(self, op: RmsNormOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        g = grads[0]
        if g is None:
            return [None] * len(op.operands)
        gamma = [] if op.gamma is None else [op.gamma]
        dx = emit(derivative(RmsNormDxOp, op, g, op.x, op.square, *gamma)).dx if needs[0] else None
        return [dx, *(emit(derivative(RmsNormDwOp, op, g, op.x, op.square)).dgamma if n else None for n in needs[1:])]

    def reread_of(self, op: RmsNormOp) -> Reread | None:
        groups = elements(op.square)
        # A single row needs the scale in its second pass alone.
        return Reread((0,), groups, tuple(range(1, len(op.operands))) if groups > 1 else ())

    def cuts(self, op: RmsNormOp) -> Sequence[Cut]:
        return row_cuts(op, len(shape_of(op.square)))


class RmsNormDxLayer(NormLayer[RmsNormDxOp]):
    """The gradient of the input."""

    op = RmsNormDxOp

    def reread_of(self, op: RmsNormDxOp) -> Reread | None:
        return Reread((0, 1), elements(op.square), tuple(range(3, len(op.operands))))

    def evaluate(self, op: RmsNormDxOp, *arrays: Array) -> tuple[Array, ...]:
        dy, x, square, *gamma = arrays
        root = _root(op, square)
        z, g = x.reshape(*square.shape, -1) / root, dy.reshape(*square.shape, -1)
        if gamma:
            g = g * gamma[0].reshape(-1)
        return (((g - z * (g * z).mean(axis=-1, keepdims=True)) / root).reshape(x.shape),)


class RmsNormDwLayer(NormLayer[RmsNormDwOp]):
    """The gradient of the scale."""

    op = RmsNormDwOp

    def evaluate(self, op: RmsNormDwOp, *arrays: Array) -> tuple[Array, ...]:
        dy, x, square = arrays
        z = x.reshape(*square.shape, -1) / _root(op, square)
        sums = (dy.reshape(z.shape) * z).sum(axis=tuple(range(square.ndim)))
        return (sums.reshape(shape_of(op.dgamma)),)


def rms_norm(
    b: GraphBuilder, x: Value, eps: float = 1e-6, axes: int = 1, affine: bool = True, weight: OptValue = None
) -> SSAValue:
    """
    Divide the last `axes` axes of x by the root of their mean square, then scale; `affine=false` leaves the scale out.

    `weight=` shares one made by `param`. PyTorch's eps is by default the machine epsilon of the element type; it is
    1e-6 here for all types.
    """
    sizes = last_axes(x, axes)
    check_not_negative("eps", eps)
    if not affine and weight is not None:
        raise ArgumentError("affine", "found false beside weight, which it leaves out")
    params = scale_and_shift(b, sizes, x, weight=weight, bias=False) if affine else []
    return b.emit(RmsNormOp(x, *params, axes=axes, eps=float(eps))).y


LAYERS = (RmsNormLayer(), RmsNormDxLayer(), RmsNormDwLayer())
FUNCTIONS = (rms_norm,)
