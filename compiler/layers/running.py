"""
Running products, extremes and sums of exponentials along an axis.

Vector operations per element: 1 for a product or an extreme; 4 for a sum of exponentials (the distance from the sum so
far, exp, log, the larger of both plus it); backward 4 for a product (the factors before, dy and the factors behind
multiplied and added up, both multiplied), 5 for the exponentials (two distances and exp of each, a sum). Backward of a
product x is read from both ends, so twice.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import Value, normal_axis
from npuc.compiler.layers.base import Array, Cut, Emit, Gradients, PerElementLayer, Reread, derivative, slabs
from npuc.compiler.layers.cuts import same_axes
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.index import GatherDxOp
from npuc.dialects.train.running import (
    CummaxOp,
    CumminOp,
    CumprodGradOp,
    CumprodOp,
    LogcumsumexpGradOp,
    LogcumsumexpOp,
    RunningExtremeOp,
)


def _axis(op: CumprodOp | CumprodGradOp | LogcumsumexpOp | LogcumsumexpGradOp | RunningExtremeOp) -> int:
    return int(op.axis.value.data) % len(shape_of(op.results[0]))


def _along(op: TrainOp, axis: int) -> Sequence[Cut]:
    """Each line along the axis is work of its own."""
    return same_axes(op, but=(axis,))


class CumprodLayer(PerElementLayer[CumprodOp]):
    """Running products."""

    op = CumprodOp

    def evaluate(self, op: CumprodOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        return (np.cumprod(x, axis=_axis(op), dtype=x.dtype),)

    def vjp(self, op: CumprodOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(derivative(CumprodGradOp, op, g, op.x)).dx]

    def cuts(self, op: CumprodOp) -> Sequence[Cut]:
        return _along(op, _axis(op))


class CumprodGradLayer(PerElementLayer[CumprodGradOp]):
    """The factors before an element, times dy and the factors behind it: no division, so zeros are no exception."""

    op = CumprodGradOp
    steps = 4

    def evaluate(self, op: CumprodGradOp, *arrays: Array) -> tuple[Array, ...]:
        dy, x = (np.moveaxis(array, _axis(op), 0) for array in arrays)
        before = np.roll(np.cumprod(x, axis=0, dtype=x.dtype), 1, 0)
        before[0] = 1
        behind = dy.copy()
        for place in range(len(x) - 2, -1, -1):
            behind[place] += x[place + 1] * behind[place + 1]
        return (np.moveaxis(before * behind, 0, _axis(op)),)

    def reread_of(self, op: CumprodGradOp) -> Reread | None:
        return Reread((1,), slabs(op.x, (_axis(op),)))

    def cuts(self, op: CumprodGradOp) -> Sequence[Cut]:
        return _along(op, _axis(op))


class LogcumsumexpLayer(PerElementLayer[LogcumsumexpOp]):
    """Running sums of exponentials, as logarithms."""

    op = LogcumsumexpOp
    steps = 4

    def evaluate(self, op: LogcumsumexpOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        return (np.logaddexp.accumulate(x, axis=_axis(op), dtype=x.dtype),)

    def vjp(
        self, op: LogcumsumexpOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(derivative(LogcumsumexpGradOp, op, g, op.x, op.out)).dx]

    def cuts(self, op: LogcumsumexpOp) -> Sequence[Cut]:
        return _along(op, _axis(op))


class LogcumsumexpGradLayer(PerElementLayer[LogcumsumexpGradOp]):
    """The shares of an element in all sums from its place on; outputs grow along the axis, so no share overflows."""

    op = LogcumsumexpGradOp
    steps = 5

    def evaluate(self, op: LogcumsumexpGradOp, *arrays: Array) -> tuple[Array, ...]:
        dy, x, y = (np.moveaxis(array, _axis(op), 0) for array in arrays)
        total = dy.copy()
        for place in range(len(x) - 2, -1, -1):
            total[place] += np.exp(y[place] - y[place + 1]) * total[place + 1]
        return (np.moveaxis(np.exp(x - y) * total, 0, _axis(op)),)

    def cuts(self, op: LogcumsumexpGradOp) -> Sequence[Cut]:
        return _along(op, _axis(op))


class RunningExtremeLayer(PerElementLayer[RunningExtremeOp]):
    """The extreme so far, which `compute` finds of two, and its place, which dy goes back to."""

    def __init__(self, op: type[RunningExtremeOp], compute: np.ufunc):
        self.op = op
        self.compute = compute

    def evaluate(self, op: RunningExtremeOp, *arrays: Array) -> tuple[Array, ...]:
        x = np.moveaxis(arrays[0], _axis(op), 0)
        found = self.compute.accumulate(x, axis=0)
        own = np.arange(len(x)).reshape(-1, *[1] * (x.ndim - 1))
        places = np.maximum.accumulate(np.where((x == found) | (x != x), own, 0), axis=0)
        return np.moveaxis(found, 0, _axis(op)), np.moveaxis(places, 0, _axis(op))

    def vjp(
        self, op: RunningExtremeOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        g = grads[0]
        assert g is not None
        return [emit(derivative(GatherDxOp, op, g, op.places, results=[op.x.type])).dx]

    def cuts(self, op: RunningExtremeOp) -> Sequence[Cut]:
        return _along(op, _axis(op))


def cumprod(b: GraphBuilder, x: Value, axis: int) -> SSAValue:
    """The product of all elements up to each one along an axis."""
    return b.emit(CumprodOp(x, axis=normal_axis("axis", axis, len(shape_of(x))))).out


def logcumsumexp(b: GraphBuilder, x: Value, axis: int) -> SSAValue:
    """log(sum(exp(x))) of all elements up to each one along an axis, without overflow."""
    return b.emit(LogcumsumexpOp(x, axis=normal_axis("axis", axis, len(shape_of(x))))).out


def cummax(b: GraphBuilder, x: Value, axis: int) -> list[SSAValue]:
    """The largest element up to each one along an axis, and its i32 place, the last one of equals, as a list."""
    return list(b.emit(CummaxOp(x, axis=normal_axis("axis", axis, len(shape_of(x))))).results)


def cummin(b: GraphBuilder, x: Value, axis: int) -> list[SSAValue]:
    """The smallest element up to each one along an axis, and its i32 place, the last one of equals, as a list."""
    return list(b.emit(CumminOp(x, axis=normal_axis("axis", axis, len(shape_of(x))))).results)


LAYERS = (
    CumprodLayer(),
    CumprodGradLayer(),
    LogcumsumexpLayer(),
    LogcumsumexpGradLayer(),
    RunningExtremeLayer(CummaxOp, np.maximum),
    RunningExtremeLayer(CumminOp, np.minimum),
)
FUNCTIONS = (cumprod, logcumsumexp, cummax, cummin)
