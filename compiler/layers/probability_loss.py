"""
Losses between probabilities.

Work in vector operations per element, forward and for the derivatives with respect to prediction and target: binary
cross entropy 6, 4 and 3, with logits 5, 2 and 1 (a weight of positives 2 more each), Kullback-Leibler divergence 4, 1
and 3. Each logarithm, exponential or sigmoid is one.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import inf
from typing import Any, TypeVar

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import ArgumentError, Value
from npuc.compiler.layers.arithmetic import scaled
from npuc.compiler.layers.base import Array, DataError, Emit, Gradients, PerElementLayer
from npuc.compiler.layers.domains import Domain, known_any
from npuc.compiler.layers.loss import checked_reduction, derivative
from npuc.compiler.layers.pair_loss import PairGradLayer, PairLossLayer, shared
from npuc.compiler.layers.smooth import sigmoid_of, softplus_of
from npuc.dialects.train.pair_loss import PairGradOp, PairLossOp
from npuc.dialects.train.probability_loss import (
    KL_REDUCTIONS,
    BinaryCrossEntropyGradOp,
    BinaryCrossEntropyOp,
    BinaryCrossEntropyTargetGradOp,
    KlDivGradOp,
    KlDivOp,
    KlDivTargetGradOp,
    LogitsLossGradOp,
    LogitsLossOp,
    LogitsLossTargetGradOp,
    OneOperandGradOp,
)

PairT = TypeVar("PairT", bound=PairLossOp)
OneT = TypeVar("OneT", bound=OneOperandGradOp)
_LOWEST_LOG = -100.0
_SMALLEST_VARIANCE = 1e-12


def _log(x: Array, *, lowest: float) -> Array:
    """The logarithm, at least `lowest`."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(x), lowest)


def _log_of_rest(x: Array, *, lowest: float) -> Array:
    """log(1 - x), at least `lowest`."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log1p(-x), lowest)


class _ProbabilityLossLayer(PairLossLayer[PairT]):
    """A loss whose derivatives with respect to prediction and target are operations of their own."""

    @abstractmethod
    def by_prediction(self, op: PairT) -> PairGradOp | OneOperandGradOp:
        """The derivative with respect to the prediction."""

    @abstractmethod
    def by_target(self, op: PairT) -> PairGradOp | OneOperandGradOp:
        """The derivative with respect to the target."""

    def vjp(self, op: PairT, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        dy = scaled(g, emit(self.by_prediction(op)).out, emit) if needs[0] else None
        return [dy, scaled(g, emit(self.by_target(op)).out, emit) if needs[1] else None]


class _OneOperandGradLayer(PerElementLayer[OneT], ABC):
    """A derivative that reads one operand."""

    @abstractmethod
    def slopes(self, op: OneT, x: Array) -> Array:
        """The derivative of each element's term."""

    def evaluate(self, op: OneT, *arrays: Array) -> tuple[Array, ...]:
        return (shared(op.reduction.data, self.slopes(op, *arrays)),)


class BinaryCrossEntropyLayer(_ProbabilityLossLayer[BinaryCrossEntropyOp]):
    """The mean of -(target log y + (1 - target) log(1 - y))."""

    op = BinaryCrossEntropyOp
    steps = 6

    def terms(self, op: BinaryCrossEntropyOp, y: Array, target: Array) -> Array:
        if known_any((y < 0) | (y > 1)):
            raise DataError(
                f"an input of binary_cross_entropy is {y.min() if y.min() < 0 else y.max()}, expected 0 to 1;"
                " binary_cross_entropy_with_logits takes any number"
            )
        return (target - 1) * _log_of_rest(y, lowest=_LOWEST_LOG) - target * _log(y, lowest=_LOWEST_LOG)

    def by_prediction(self, op: BinaryCrossEntropyOp) -> BinaryCrossEntropyGradOp:
        return derivative(BinaryCrossEntropyGradOp, op, op.y, op.target)

    def by_target(self, op: BinaryCrossEntropyOp) -> BinaryCrossEntropyTargetGradOp:
        return derivative(BinaryCrossEntropyTargetGradOp, op, op.y)

    def domain(self, op: BinaryCrossEntropyOp, operand: int) -> Domain | None:
        return Domain.EITHER if operand else Domain.INSIDE


class BinaryCrossEntropyGradLayer(PairGradLayer[BinaryCrossEntropyGradOp]):
    """(y - target) / (y (1 - y)), the divisor at least 1e-12."""

    op = BinaryCrossEntropyGradOp
    steps = 4

    def slopes(self, op: BinaryCrossEntropyGradOp, y: Array, target: Array) -> Array:
        return (y - target) / np.maximum(y * (1 - y), y.dtype.type(_SMALLEST_VARIANCE))


class BinaryCrossEntropyTargetGradLayer(_OneOperandGradLayer[BinaryCrossEntropyTargetGradOp]):
    """log(1 - y) - log y, each at least -100, as the loss takes them."""

    op = BinaryCrossEntropyTargetGradOp
    steps = 3

    def slopes(self, op: BinaryCrossEntropyTargetGradOp, x: Array) -> Array:
        return _log_of_rest(x, lowest=_LOWEST_LOG) - _log(x, lowest=_LOWEST_LOG)


class LogitsLossLayer(_ProbabilityLossLayer[LogitsLossOp]):
    """The mean of (1 - target) y + (1 + (pos_weight - 1) target) log(1 + exp(-y))."""

    op = LogitsLossOp
    steps = 5

    def terms(self, op: LogitsLossOp, y: Array, target: Array) -> Array:
        weight = 1 + (op.pos_weight.value.data - 1.0) * target
        return (1 - target) * y + weight * softplus_of(-y)

    def by_prediction(self, op: LogitsLossOp) -> LogitsLossGradOp:
        return derivative(LogitsLossGradOp, op, op.y, op.target)

    def by_target(self, op: LogitsLossOp) -> LogitsLossTargetGradOp:
        return derivative(LogitsLossTargetGradOp, op, op.y)

    def domain(self, op: LogitsLossOp, operand: int) -> Domain | None:
        return Domain.EITHER if operand else None

    def steps_of(self, op: LogitsLossOp) -> int:
        return self.steps + _weighing(op)


class LogitsLossGradLayer(PairGradLayer[LogitsLossGradOp]):
    """(1 - target) sigmoid(y) - pos_weight target sigmoid(-y), which does not cancel for large logits."""

    op = LogitsLossGradOp

    def slopes(self, op: LogitsLossGradOp, y: Array, target: Array) -> Array:
        return (1 - target) * sigmoid_of(y) - op.pos_weight.value.data * target * sigmoid_of(-y)

    def steps_of(self, op: LogitsLossGradOp) -> int:
        return self.steps + _weighing(op)


class LogitsLossTargetGradLayer(_OneOperandGradLayer[LogitsLossTargetGradOp]):
    """(pos_weight - 1) log(1 + exp(-y)) - y."""

    op = LogitsLossTargetGradOp
    steps = 1

    def slopes(self, op: LogitsLossTargetGradOp, x: Array) -> Array:
        extra = op.pos_weight.value.data - 1.0
        return extra * softplus_of(-x) - x if extra else -x

    def steps_of(self, op: LogitsLossTargetGradOp) -> int:
        return self.steps + _weighing(op)


def _weighing(op: LogitsLossOp | LogitsLossGradOp | LogitsLossTargetGradOp) -> int:
    """The vector operations per element that a weight of positives adds."""
    return 2 * (op.pos_weight.value.data != 1.0)


class KlDivLayer(_ProbabilityLossLayer[KlDivOp]):
    """The mean of target (log target - y); target log target is 0 where the target is not positive."""

    op = KlDivOp
    steps = 4

    def terms(self, op: KlDivOp, y: Array, target: Array) -> Array:
        if op.log_target is not None:
            return np.exp(target) * (target - y)
        return target * (_log_of_positive(target) - y)

    def by_prediction(self, op: KlDivOp) -> KlDivGradOp:
        return derivative(KlDivGradOp, op, op.target)

    def by_target(self, op: KlDivOp) -> KlDivTargetGradOp:
        return derivative(KlDivTargetGradOp, op, op.y, op.target)

    def domain(self, op: KlDivOp, operand: int) -> Domain | None:
        return Domain.SHARES if operand and op.log_target is None else Domain.LOG_SHARES


class KlDivGradLayer(_OneOperandGradLayer[KlDivGradOp]):
    """-target or -exp(target)."""

    op = KlDivGradOp
    steps = 1

    def slopes(self, op: KlDivGradOp, x: Array) -> Array:
        return -np.exp(x) if op.log_target is not None else -x

    def steps_of(self, op: KlDivGradOp) -> int:
        return self.steps + (op.log_target is not None)


class KlDivTargetGradLayer(PairGradLayer[KlDivTargetGradOp]):
    """log target + 1 - y, or exp(target) (target + 1 - y); where the target is not positive -y."""

    op = KlDivTargetGradOp
    steps = 3

    def slopes(self, op: KlDivTargetGradOp, y: Array, target: Array) -> Array:
        if op.log_target is not None:
            return np.exp(target) * (target + 1 - y)
        return _log_of_positive(target) + (target > 0) - y


def _log_of_positive(x: Array) -> Array:
    """The logarithm where it is defined, else 0."""
    return np.log(np.where(x > 0, x, 1))


def binary_cross_entropy(b: GraphBuilder, x: Value, target: Value, reduction: str = "mean") -> SSAValue:
    """The mean of -(target log x + (1 - target) log(1 - x)), x being probabilities; logarithms are at least -100."""
    return b.emit(BinaryCrossEntropyOp(x, target, results=None, **checked_reduction(reduction))).loss


def binary_cross_entropy_with_logits(
    b: GraphBuilder, x: Value, target: Value, pos_weight: float | None = None, reduction: str = "mean"
) -> SSAValue:
    """The mean of the binary cross entropy of sigmoid(x), exact for large x; `pos_weight` weighs the positive part."""
    params = checked_reduction(reduction)
    if pos_weight is not None and not 0.0 <= pos_weight < inf:
        raise ArgumentError("pos_weight", f"found {pos_weight}, expected at least 0")
    if pos_weight is not None and pos_weight != 1.0:
        params["pos_weight"] = float(pos_weight)
    return b.emit(LogitsLossOp(x, target, results=None, **params)).loss


def kl_div(b: GraphBuilder, x: Value, target: Value, reduction: str = "mean", log_target: bool = False) -> SSAValue:
    """
    The mean of target (log target - x), x being logarithms of probabilities, as after log_softmax.

    `reduction="batchmean"` divides the sum by the size of the first axis alone, as the definition of the divergence
    wants. With `log_target` the target holds logarithms too.
    """
    params = checked_reduction(reduction, KL_REDUCTIONS) | {"log_target": log_target}
    return b.emit(KlDivOp(x, target, results=None, **params)).loss


LAYERS = (
    BinaryCrossEntropyLayer(),
    BinaryCrossEntropyGradLayer(),
    BinaryCrossEntropyTargetGradLayer(),
    LogitsLossLayer(),
    LogitsLossGradLayer(),
    LogitsLossTargetGradLayer(),
    KlDivLayer(),
    KlDivGradLayer(),
    KlDivTargetGradLayer(),
)
FUNCTIONS = (binary_cross_entropy, binary_cross_entropy_with_logits, kl_div)
LOSSES = FUNCTIONS
