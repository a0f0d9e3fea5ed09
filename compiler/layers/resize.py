"""
Resizing of one to three axes by weighted sums, with PyTorch's rules for their places.

Work: an operation for each element that is weighed, forward and backward: 2 or 4 an axis for each element of the
output, with antialiasing as many as the widened weights reach.
"""

from collections.abc import Sequence
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import SSAValue

from npuc.compiler.layers.base import Array, Cut, Emit, Gradients, Layer, Work, derivative
from npuc.compiler.layers.cuts import same_axes
from npuc.compiler.layers.taps import Taps, cubic_taps, linear_taps, smooth_taps, spread, weighed
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.base import decode
from npuc.dialects.train.resize import ResizeGradOp, ResizeOp


def _numbers(attr: DenseArrayBase) -> tuple[float, ...]:
    return cast("tuple[float, ...]", decode(attr))


def _taps(op: ResizeOp | ResizeGradOp, sizes: Sequence[int], outs: Sequence[int]) -> list[Taps]:
    """What each axis reads, by the sizes of input and output."""
    corners, cubic, found = op.corners is not None, op.cubic is not None, list[Taps]()
    for size, out, scale in zip(sizes, outs, _numbers(op.scales), strict=True):
        if op.antialias is not None:
            found.append(smooth_taps(size, out, scale, corners=corners, cubic=cubic))
        else:
            found.append((cubic_taps if cubic else linear_taps)(size, out, scale, corners=corners))
    return found


def _work(op: ResizeOp | ResizeGradOp, sizes: Sequence[int], outs: Sequence[int]) -> Work:
    lead, axes = outs[:2], _taps(op, sizes[2:], outs[2:])
    if op.antialias is None:
        weights = [len(taps) * out for taps, out in zip(axes, outs[2:], strict=True)]
    else:
        weights = [sum(int(np.count_nonzero(weight)) for _, weight in taps) for taps in axes]
    return Work(vector_ops=prod(lead) * prod(weights))


class ResizeLayer(Layer[ResizeOp]):
    """Weighted sums along one axis after the other, the last one first."""

    op = ResizeOp

    def evaluate(self, op: ResizeOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        for axis, taps in reversed(list(enumerate(_taps(op, x.shape[2:], shape_of(op.out)[2:]), 2))):
            x = np.moveaxis(weighed(np.moveaxis(x, axis, -1), taps), -1, axis)
        return (x,)

    def vjp(self, op: ResizeOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(derivative(ResizeGradOp, op, g, results=[op.x.type])).dx]

    def work(self, op: ResizeOp) -> Work:
        return _work(op, shape_of(op.x), shape_of(op.out))

    def cuts(self, op: ResizeOp) -> Sequence[Cut]:
        return same_axes(op, but=range(2, len(shape_of(op.out))))


class ResizeGradLayer(Layer[ResizeGradOp]):
    """The gradient of an element: those of the results that read it, by their weights."""

    op = ResizeGradOp

    def evaluate(self, op: ResizeGradOp, *arrays: Array) -> tuple[Array, ...]:
        (dy,) = arrays
        sizes = shape_of(op.dx)[2:]
        for axis, (size, taps) in enumerate(zip(sizes, _taps(op, sizes, dy.shape[2:]), strict=True), 2):
            dy = np.moveaxis(spread(np.moveaxis(dy, axis, -1), taps, size), -1, axis)
        return (dy,)

    def work(self, op: ResizeGradOp) -> Work:
        return _work(op, shape_of(op.dx), shape_of(op.dy))

    def cuts(self, op: ResizeGradOp) -> Sequence[Cut]:
        return same_axes(op, but=range(2, len(shape_of(op.dx))))


LAYERS = (ResizeLayer(), ResizeGradLayer())
FUNCTIONS = ()
