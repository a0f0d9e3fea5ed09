"""Losses. Work: cross entropy 5 vector operations a logit forward and 2 backward, squared error 3 and 2, dot 2."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.builder import GraphBuilder
from npuc.compiler.layers.arithmetic import negated, scaled
from npuc.compiler.layers.base import Array, Emit, Gradients, Layer, Value, Work, elements
from npuc.compiler.layers.softmax import softmax_of
from npuc.dialects.train.loss import CrossEntropyGradOp, CrossEntropyOp, DotLossOp, MseGradOp, MseOp


def _one_hot_index(labels: Array, classes: int) -> tuple[Array, Array]:
    flat = labels.reshape(-1)
    if flat.size and (flat.min() < 0 or flat.max() >= classes):
        raise ValueError(
            f"a label is {flat.min() if flat.min() < 0 else flat.max()}, the logits have {classes} classes"
        )
    return np.arange(flat.size), flat


class CrossEntropyLayer(Layer[CrossEntropyOp]):
    """Mean over rows of log(sum(exp(logits))) - logits[label]."""

    op = CrossEntropyOp

    def evaluate(self, op: CrossEntropyOp, *arrays: Array) -> tuple[Array, ...]:
        logits, labels = arrays
        rows = logits.reshape(-1, logits.shape[-1])
        largest = rows.max(axis=1, keepdims=True)
        log_sum = np.log(np.exp(rows - largest).sum(axis=1)) + largest[:, 0]
        return ((log_sum - rows[_one_hot_index(labels, rows.shape[1])]).mean(),)

    def vjp(
        self, op: CrossEntropyOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        (g,) = grads
        assert g is not None
        return [scaled(g, emit(CrossEntropyGradOp(op.logits, op.labels)).dlogits, emit), None]

    def work(self, op: CrossEntropyOp) -> Work:
        return Work(vector_ops=5 * elements(op.logits))


class CrossEntropyGradLayer(Layer[CrossEntropyGradOp]):
    """(softmax(logits) - one hot) / rows."""

    op = CrossEntropyGradOp

    def evaluate(self, op: CrossEntropyGradOp, *arrays: Array) -> tuple[Array, ...]:
        logits, labels = arrays
        rows = softmax_of(logits.reshape(-1, logits.shape[-1]), 1)
        rows[_one_hot_index(labels, rows.shape[1])] -= 1
        return ((rows / rows.shape[0]).reshape(logits.shape),)

    def work(self, op: CrossEntropyGradOp) -> Work:
        return Work(vector_ops=2 * elements(op.logits))


class MseLayer(Layer[MseOp]):
    """The mean of (y - target)^2."""

    op = MseOp

    def evaluate(self, op: MseOp, *arrays: Array) -> tuple[Array, ...]:
        y, target = arrays
        return (((y - target) ** 2).mean(),)

    def vjp(self, op: MseOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        dy = scaled(g, emit(MseGradOp(op.y, op.target)).dy, emit)
        return [dy if needs[0] else None, negated(dy, emit) if needs[1] else None]

    def work(self, op: MseOp) -> Work:
        return Work(vector_ops=3 * elements(op.y))


class MseGradLayer(Layer[MseGradOp]):
    """2 (y - target) / elements."""

    op = MseGradOp

    def evaluate(self, op: MseGradOp, *arrays: Array) -> tuple[Array, ...]:
        y, target = arrays
        return ((y - target) * y.dtype.type(2.0 / y.size),)

    def work(self, op: MseGradOp) -> Work:
        return Work(vector_ops=2 * elements(op.y))


class DotLossLayer(Layer[DotLossOp]):
    """The sum of y * target."""

    op = DotLossOp

    def evaluate(self, op: DotLossOp, *arrays: Array) -> tuple[Array, ...]:
        y, target = arrays
        return ((y * target).sum(),)

    def vjp(self, op: DotLossOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        dy = scaled(g, op.target, emit) if needs[0] else None
        return [dy, scaled(g, op.y, emit) if needs[1] else None]

    def work(self, op: DotLossOp) -> Work:
        return Work(vector_ops=2 * elements(op.y))


def cross_entropy(b: GraphBuilder, logits: Value, labels: Value) -> SSAValue:
    """The mean over rows of -log softmax(logits)[label]; the classes are the last axis, labels are integers."""
    return b.emit(CrossEntropyOp(logits, labels)).loss


def mse(b: GraphBuilder, y: Value, target: Value) -> SSAValue:
    """The mean of (y - target)^2 over all elements."""
    return b.emit(MseOp(y, target)).loss


def dot_loss(b: GraphBuilder, y: Value, target: Value) -> SSAValue:
    """The sum of y * target; linear, so that integer data keeps integer gradients."""
    return b.emit(DotLossOp(y, target)).loss


LAYERS = (CrossEntropyLayer(), CrossEntropyGradLayer(), MseLayer(), MseGradLayer(), DotLossLayer())
FUNCTIONS = (cross_entropy, mse, dot_loss)
LOSSES = (cross_entropy, mse, dot_loss)
