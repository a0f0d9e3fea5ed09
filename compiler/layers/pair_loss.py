"""
Losses between a prediction and a target.

Work in vector operations per element: dot 2, squared and absolute error 3 forward and 2 backward, smooth L1 and Huber 4
and 2.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import ArgumentError, Value
from npuc.compiler.layers.arithmetic import negated, scaled
from npuc.compiler.layers.base import Array, Cut, Emit, Gradients, PerElementLayer
from npuc.compiler.layers.cuts import loss_cuts
from npuc.compiler.layers.loss import checked_reduction, derivative
from npuc.dialects.train.base import Param
from npuc.dialects.train.pair_loss import (
    DotLossOp,
    HuberLossGradOp,
    HuberLossOp,
    L1LossGradOp,
    L1LossOp,
    MseGradOp,
    MseOp,
    PairGradOp,
    PairLossOp,
    SmoothL1LossGradOp,
    SmoothL1LossOp,
)

PairT = TypeVar("PairT", bound=PairLossOp)
GradT = TypeVar("GradT", bound=PairGradOp)


def share(reduction: str, shape: Sequence[int]) -> float:
    """The derivative of a loss with respect to the term of an element, for terms of a shape."""
    if reduction == "sum":
        return 1.0
    return 1.0 / (shape[0] if reduction == "batchmean" else max(int(np.prod(shape)), 1))


def shared(reduction: str, slopes: Array) -> Array:
    """The derivatives of a loss, from those of its terms. Integers stay integers under a sum."""
    part = share(reduction, slopes.shape)
    return slopes if part == 1.0 else slopes * slopes.dtype.type(part)


class PairLossLayer(PerElementLayer[PairT], ABC):
    """A loss that reduces the terms of all elements."""

    @abstractmethod
    def terms(self, op: PairT, y: Array, target: Array) -> Array:
        """The loss of each element."""

    def evaluate(self, op: PairT, *arrays: Array) -> tuple[Array, ...]:
        terms = self.terms(op, *arrays)
        match op.reduction.data:
            case "mean":
                return (terms.mean(),)
            case "batchmean":
                return (terms.sum() / terms.shape[0],)
            case _:
                return (terms.sum(),)

    def cuts(self, op: PairT) -> Sequence[Cut]:
        return loss_cuts(op, op.reduction.data)


class PairGradLayer(PerElementLayer[GradT], ABC):
    """A derivative, from the slopes of the terms."""

    steps = 2

    @abstractmethod
    def slopes(self, op: GradT, y: Array, target: Array) -> Array:
        """The derivative of each element's term."""

    def evaluate(self, op: GradT, *arrays: Array) -> tuple[Array, ...]:
        return (shared(op.reduction.data, self.slopes(op, *arrays)),)


class _DifferenceLossLayer(PairLossLayer[PairT]):
    """A loss of y - target alone; `gradient` is the operation of its derivative by y."""

    gradient: type[PairGradOp]

    def vjp(self, op: PairT, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        dy = scaled(g, emit(derivative(self.gradient, op, op.y, op.target)).out, emit)
        return [dy if needs[0] else None, negated(dy, emit) if needs[1] else None]


class MseLayer(_DifferenceLossLayer[MseOp]):
    """The mean of (y - target)^2."""

    op = MseOp
    gradient = MseGradOp
    steps = 3

    def terms(self, op: MseOp, y: Array, target: Array) -> Array:
        return (y - target) ** 2


class MseGradLayer(PairGradLayer[MseGradOp]):
    """2 (y - target) / elements."""

    op = MseGradOp

    def slopes(self, op: MseGradOp, y: Array, target: Array) -> Array:
        return (y - target) * 2


class L1LossLayer(_DifferenceLossLayer[L1LossOp]):
    """The mean of |y - target|."""

    op = L1LossOp
    gradient = L1LossGradOp
    steps = 3

    def terms(self, op: L1LossOp, y: Array, target: Array) -> Array:
        return np.abs(y - target)


class L1LossGradLayer(PairGradLayer[L1LossGradOp]):
    """The sign of y - target / elements."""

    op = L1LossGradOp

    def slopes(self, op: L1LossGradOp, y: Array, target: Array) -> Array:
        return np.sign(y - target)


class SmoothL1LossLayer(_DifferenceLossLayer[SmoothL1LossOp]):
    """d^2 / (2 beta) where d = |y - target| < beta, else d - beta / 2 (Girshick 2015)."""

    op = SmoothL1LossOp
    gradient = SmoothL1LossGradOp
    steps = 4

    def terms(self, op: SmoothL1LossOp, y: Array, target: Array) -> Array:
        distance, beta = np.abs(y - target), op.beta.value.data
        if beta == 0.0:
            return distance
        near = np.minimum(distance, beta)  # where the distance is large the square might not be finite
        return np.where(distance < beta, near * near / (2 * beta), distance - beta / 2)


class SmoothL1LossGradLayer(PairGradLayer[SmoothL1LossGradOp]):
    """(y - target) / beta within [-1, 1]."""

    op = SmoothL1LossGradOp

    def slopes(self, op: SmoothL1LossGradOp, y: Array, target: Array) -> Array:
        difference, beta = y - target, op.beta.value.data
        return np.sign(difference) if beta == 0.0 else np.clip(difference, -beta, beta) / beta


class HuberLossLayer(_DifferenceLossLayer[HuberLossOp]):
    """d^2 / 2 where d = |y - target| <= delta, else delta (d - delta / 2) (Huber 1964)."""

    op = HuberLossOp
    gradient = HuberLossGradOp
    steps = 4

    def terms(self, op: HuberLossOp, y: Array, target: Array) -> Array:
        distance, delta = np.abs(y - target), op.delta.value.data
        near = np.minimum(distance, delta)
        return near * (distance - near / 2)


class HuberLossGradLayer(PairGradLayer[HuberLossGradOp]):
    """y - target within [-delta, delta]."""

    op = HuberLossGradOp

    def slopes(self, op: HuberLossGradOp, y: Array, target: Array) -> Array:
        return np.clip(y - target, -op.delta.value.data, op.delta.value.data)


class DotLossLayer(PerElementLayer[DotLossOp]):
    """The sum of y * target."""

    op = DotLossOp
    steps = 2

    def evaluate(self, op: DotLossOp, *arrays: Array) -> tuple[Array, ...]:
        y, target = arrays
        return ((y * target).sum(),)

    def vjp(self, op: DotLossOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        dy = scaled(g, op.target, emit) if needs[0] else None
        return [dy, scaled(g, op.y, emit) if needs[1] else None]

    def cuts(self, op: DotLossOp) -> Sequence[Cut]:
        return loss_cuts(op, "sum")


def mse(b: GraphBuilder, y: Value, target: Value, reduction: str = "mean") -> SSAValue:
    """The mean of (y - target)^2 over all elements; `reduction="sum"` for the sum."""
    return b.emit(MseOp(y, target, results=None, **checked_reduction(reduction))).loss


def l1_loss(b: GraphBuilder, x: Value, target: Value, reduction: str = "mean") -> SSAValue:
    """The mean of |x - target| over all elements; `reduction="sum"` for the sum."""
    return b.emit(L1LossOp(x, target, results=None, **checked_reduction(reduction))).loss


def smooth_l1_loss(b: GraphBuilder, x: Value, target: Value, beta: float = 1.0, reduction: str = "mean") -> SSAValue:
    """The mean of d^2 / (2 beta) where d = |x - target| is below beta, else d - beta / 2."""
    if not beta >= 0.0:
        raise ArgumentError("beta", f"found {beta}, expected at least 0")
    params = checked_reduction(reduction) | _unless_one("beta", beta)
    return b.emit(SmoothL1LossOp(x, target, results=None, **params)).loss


def huber_loss(b: GraphBuilder, x: Value, target: Value, delta: float = 1.0, reduction: str = "mean") -> SSAValue:
    """The mean of d^2 / 2 where d = |x - target| is at most delta, else delta (d - delta / 2)."""
    if not delta > 0.0:
        raise ArgumentError("delta", f"found {delta}, expected more than 0")
    params = checked_reduction(reduction) | _unless_one("delta", delta)
    return b.emit(HuberLossOp(x, target, results=None, **params)).loss


def _unless_one(name: str, value: float) -> dict[str, Param]:
    return {} if value == 1.0 else {name: float(value)}


def dot_loss(b: GraphBuilder, y: Value, target: Value) -> SSAValue:
    """The sum of y * target; linear, so that integer data keeps integer gradients."""
    return b.emit(DotLossOp(y, target)).loss


LAYERS = (
    MseLayer(),
    MseGradLayer(),
    L1LossLayer(),
    L1LossGradLayer(),
    SmoothL1LossLayer(),
    SmoothL1LossGradLayer(),
    HuberLossLayer(),
    HuberLossGradLayer(),
    DotLossLayer(),
)
FUNCTIONS = (mse, l1_loss, smooth_l1_loss, huber_loss, dot_loss)
LOSSES = FUNCTIONS
