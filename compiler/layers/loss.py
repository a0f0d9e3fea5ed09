"""
Losses between class scores and integer labels.

Work in vector operations: cross entropy 5 per logit forward and 2 backward, label smoothing 1 more each; nll_loss 1
per row, forward (which reads one score per row) and backward. The backward of cross entropy computes the softmax of
the logits again, in two passes over a row (`softmax`); forward one pass is enough.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import OptInt, Value, check_share, check_word, normal_axis
from npuc.compiler.layers.arithmetic import scaled
from npuc.compiler.layers.base import (
    Array,
    Cut,
    DataError,
    Emit,
    Gradients,
    Layer,
    OpT,
    PerElementLayer,
    Reread,
    Work,
    derivative,
    elements,
    result_elements,
)
from npuc.compiler.layers.cuts import loss_cuts
from npuc.compiler.layers.domains import known_any
from npuc.compiler.layers.shape import transpose
from npuc.compiler.layers.softmax import softmax_of
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.base import Param
from npuc.dialects.train.loss import (
    REDUCTIONS,
    ClassesBase,
    CrossEntropyBase,
    CrossEntropyGradOp,
    CrossEntropyOp,
    NllLossGradOp,
    NllLossOp,
)


def checked_reduction(reduction: str, known: Sequence[str] = REDUCTIONS) -> dict[str, Param]:
    """The property for an argument `reduction`, none for the mean; an error for an unknown one."""
    check_word("reduction", reduction, known)
    return {} if reduction == "mean" else {"reduction": reduction}


def _counted_rows(op: ClassesBase | NllLossGradOp, labels: Array, classes: int) -> tuple[Array, Array]:
    """The numbers of the rows that are not ignored, and their labels."""
    flat = labels.reshape(-1)
    rows = np.arange(flat.size)
    if op.ignore_index is not None:
        rows = np.flatnonzero(flat != op.ignore_index.value.data)
        flat = flat[rows]
    if known_any((flat < 0) | (flat >= classes)):
        raise DataError(f"a label is {flat.min() if flat.min() < 0 else flat.max()}, the logits have {classes} classes")
    return rows, flat


def _reduced(op: ClassesBase, terms: Array) -> Array:
    """The losses of the rows that count, reduced to one value; as in PyTorch, the mean of none is NaN."""
    if op.reduction.data == "sum":
        return terms.sum()
    return terms.mean() if terms.size else np.asarray(np.nan, dtype=terms.dtype)


def _cuts(op: ClassesBase) -> list[Cut]:
    """The cuts of the rows; none for a mean over rows that count, whose number differs from part to part."""
    ignores = op.ignore_index is not None and op.reduction.data == "mean"
    return [] if ignores else loss_cuts(op, op.reduction.data)


class CrossEntropyLayer(PerElementLayer[CrossEntropyOp]):
    """Mean over rows of log(sum(exp(logits))) - logits[label], or minus a smoothed mean of the logits."""

    op = CrossEntropyOp

    def evaluate(self, op: CrossEntropyOp, *arrays: Array) -> tuple[Array, ...]:
        logits, labels = arrays
        rows = logits.reshape(-1, logits.shape[-1])
        # A common offset of a row's logits cancels; it is removed, as it would round the rest away.
        rows = rows - rows.max(axis=1, keepdims=True)
        log_sum = np.log(np.exp(rows).sum(axis=1))
        counted, label = _counted_rows(op, labels, rows.shape[1])
        target, share = rows[counted, label], op.label_smoothing.value.data
        if share:
            real = rows.dtype.type
            target = real(1.0 - share) * target + real(share) * rows[counted].mean(axis=1)
        return (_reduced(op, log_sum[counted] - target),)

    def vjp(
        self, op: CrossEntropyOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        (g,) = grads
        assert g is not None
        return [scaled(g, emit(derivative(CrossEntropyGradOp, op, op.logits, op.labels)).dlogits, emit), None]

    def steps_of(self, op: CrossEntropyOp) -> int:
        return 5 + _smooths(op)

    def index_limit(self, op: CrossEntropyOp, operand: int) -> int | None:
        return shape_of(op.logits)[-1] if operand == 1 else None

    def cuts(self, op: CrossEntropyOp) -> Sequence[Cut]:
        return _cuts(op)


class CrossEntropyGradLayer(PerElementLayer[CrossEntropyGradOp]):
    """(softmax(logits) - smoothed one hot) / rows, zero in ignored rows."""

    op = CrossEntropyGradOp

    def evaluate(self, op: CrossEntropyGradOp, *arrays: Array) -> tuple[Array, ...]:
        logits, labels = arrays
        rows = softmax_of(logits.reshape(-1, logits.shape[-1]), 1)
        counted, label = _counted_rows(op, labels, rows.shape[1])
        share, real = op.label_smoothing.value.data, rows.dtype.type
        rows[counted, label] -= real(1.0 - share)
        if share:
            rows -= real(share / rows.shape[1])
        if op.ignore_index is not None:
            slopes = np.zeros_like(rows)
            slopes[counted] = rows[counted]
            rows = slopes
        if op.reduction.data == "mean":
            rows = rows / max(counted.size, 1)
        return (rows.reshape(logits.shape),)

    def steps_of(self, op: CrossEntropyGradOp) -> int:
        return 2 + _smooths(op)

    def reread_of(self, op: CrossEntropyGradOp) -> Reread | None:
        return Reread((0,), elements(op.labels))


def _smooths(op: CrossEntropyBase) -> bool:
    return op.label_smoothing.value.data != 0.0


class _NllLayer(Layer[OpT]):
    """One vector operation per row; the loss reads one score per row."""

    def work(self, op: OpT) -> Work:
        assert isinstance(op, NllLossOp | NllLossGradOp)
        rows = elements(op.labels)
        return Work(vector_ops=rows, reads=(rows, rows) if isinstance(op, NllLossOp) else None)


class NllLossLayer(_NllLayer[NllLossOp]):
    """Mean over rows of -log_probs[label]."""

    op = NllLossOp

    def evaluate(self, op: NllLossOp, *arrays: Array) -> tuple[Array, ...]:
        scores, labels = arrays
        rows = scores.reshape(-1, scores.shape[-1])
        return (_reduced(op, -rows[_counted_rows(op, labels, rows.shape[1])]),)

    def vjp(self, op: NllLossOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        grad = derivative(NllLossGradOp, op, op.labels, results=[op.logits.type])
        return [scaled(g, emit(grad).dlogits, emit), None]

    def index_limit(self, op: NllLossOp, operand: int) -> int | None:
        return shape_of(op.logits)[-1] if operand == 1 else None

    def cuts(self, op: NllLossOp) -> Sequence[Cut]:
        return _cuts(op)


class NllLossGradLayer(_NllLayer[NllLossGradOp]):
    """-1 / rows at the label of each row that counts."""

    op = NllLossGradOp

    def evaluate(self, op: NllLossGradOp, *arrays: Array) -> tuple[Array, ...]:
        (labels,) = arrays
        shape = shape_of(op.dlogits)
        rows = np.zeros((result_elements(op) // shape[-1], shape[-1]))
        counted, label = _counted_rows(op, labels, shape[-1])
        rows[counted, label] = -1.0 if op.reduction.data == "sum" else -1.0 / max(counted.size, 1)
        return (rows.reshape(shape),)


def cross_entropy(
    b: GraphBuilder,
    logits: Value,
    labels: Value,
    label_smoothing: float = 0.0,
    ignore_index: OptInt = None,
    reduction: str = "mean",
    axis: int = -1,
) -> SSAValue:
    """
    The mean over rows of -log softmax(logits)[label] along an axis of classes, the last by default.

    Labels are integers of the shape without that axis.
    `label_smoothing` spreads that share of the target evenly over all classes; rows whose label is `ignore_index` do
    not count; `reduction="sum"` adds the rows.
    """
    check_share("label_smoothing", label_smoothing)
    params = checked_reduction(reduction) | _ignoring(ignore_index)
    if label_smoothing:
        params["label_smoothing"] = float(label_smoothing)
    return b.emit(CrossEntropyOp(_classes_last(b, logits, axis), labels, results=None, **params)).loss


def nll_loss(
    b: GraphBuilder,
    log_probs: Value,
    labels: Value,
    ignore_index: OptInt = None,
    reduction: str = "mean",
    axis: int = -1,
) -> SSAValue:
    """
    The mean over rows of -log_probs[label], as after log_softmax; the classes are an axis, the last by default.

    Rows whose label is `ignore_index` do not count; `reduction="sum"` adds the rows.
    """
    params = checked_reduction(reduction) | _ignoring(ignore_index)
    return b.emit(NllLossOp(_classes_last(b, log_probs, axis), labels, results=None, **params)).loss


def _classes_last(b: GraphBuilder, x: Value, axis: int) -> SSAValue:
    """A tensor whose classes are the last axis, of one where they are another."""
    rank = len(shape_of(x))
    if axis in (-1, rank - 1):
        return x
    classes = normal_axis("axis", axis, rank)
    return transpose(b, x, [*(i for i in range(rank) if i != classes), classes])


def _ignoring(index: OptInt) -> dict[str, Param]:
    return {} if index is None else {"ignore_index": index}


LAYERS = (CrossEntropyLayer(), CrossEntropyGradLayer(), NllLossLayer(), NllLossGradLayer())
FUNCTIONS = (cross_entropy, nll_loss)
LOSSES = (cross_entropy, nll_loss)
