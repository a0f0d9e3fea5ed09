"""
Operations whose numpy program picks elements by their values or draws numbers, as programs on all elements.

Each takes an operation and its operands, as the layer's `evaluate`, and computes the same. Labels become masks of one
class a row, rather than indices: a comparison and a sum, which every compiler fuses, in place of a gather or scatter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i64

from npuc.compiler.layers.softmax import softmax_of
from npuc.compiler.transforms.decompose.tracing.array import Traced
from npuc.compiler.transforms.decompose.tracing.recorder import Untraceable
from npuc.dialects.tensors import shape_of, tensor_of
from npuc.dialects.train.base import TrainOp, ints
from npuc.dialects.train.dropout import DropoutOp, RandomBitsOp
from npuc.dialects.train.embedding import EmbeddingDwOp
from npuc.dialects.train.loss import CrossEntropyGradOp, CrossEntropyOp, NllLossGradOp, NllLossOp
from npuc.dialects.train.roi_align import RoiAlignBase, RoiAlignGradOp, RoiAlignOp

Form = Callable[..., tuple[Any, ...]]
Classes = CrossEntropyOp | CrossEntropyGradOp | NllLossOp | NllLossGradOp


def _chosen(op: Classes, labels: Any, classes: int) -> tuple[Any, Any]:
    """Where a row has its label, [rows, classes], and which rows count (None: all)."""
    flat = labels.reshape(-1)
    hot = flat[:, None] == np.arange(classes)
    if op.ignore_index is None:
        return hot, None
    return hot, flat != int(op.ignore_index.value.data)


def _reduced(op: CrossEntropyOp | NllLossOp, terms: Any, counted: Any) -> Any:
    """The losses of the rows that count, as one number; the mean of none is NaN."""
    kept = terms if counted is None else np.where(counted, terms, 0)
    if op.reduction.data == "sum":
        return kept.sum()
    return kept.sum() / (terms.size if counted is None else counted.sum().astype(terms.dtype))


def _rows_of(op: Classes, counted: Any, rows: Any) -> Any:
    """The number of rows that share a mean; 1 for a sum, and where none counts."""
    if op.reduction.data == "sum":
        return 1
    return rows.shape[0] if counted is None else np.maximum(counted.sum(), 1).astype(rows.dtype)


def _cross_entropy(op: CrossEntropyOp, logits: Any, labels: Any) -> tuple[Any, ...]:
    rows = logits.reshape(-1, logits.shape[-1])
    rows = rows - rows.max(axis=1, keepdims=True)
    hot, counted = _chosen(op, labels, rows.shape[1])
    target, share = np.where(hot, rows, 0).sum(axis=1), op.label_smoothing.value.data
    if share:
        target = (1.0 - share) * target + share * rows.mean(axis=1)
    return (_reduced(op, np.log(np.exp(rows).sum(axis=1)) - target, counted),)


def _cross_entropy_grad(op: CrossEntropyGradOp, logits: Any, labels: Any) -> tuple[Any, ...]:
    rows = softmax_of(logits.reshape(-1, logits.shape[-1]), 1)
    hot, counted = _chosen(op, labels, rows.shape[1])
    share = op.label_smoothing.value.data
    rows = rows - np.where(hot, 1.0 - share, 0.0).astype(rows.dtype)
    if share:
        rows = rows - share / rows.shape[1]
    if counted is not None:
        rows = np.where(counted[:, None], rows, 0)
    return ((rows / _rows_of(op, counted, rows)).reshape(logits.shape),)


def _nll_loss(op: NllLossOp, scores: Any, labels: Any) -> tuple[Any, ...]:
    rows = scores.reshape(-1, scores.shape[-1])
    hot, counted = _chosen(op, labels, rows.shape[1])
    return (_reduced(op, -np.where(hot, rows, 0).sum(axis=1), counted),)


def _nll_loss_grad(op: NllLossGradOp, labels: Any) -> tuple[Any, ...]:
    shape = shape_of(op.dlogits)
    hot, counted = _chosen(op, labels, shape[-1])
    kept = hot if counted is None else hot & counted[:, None]
    rows = kept.as_float()
    return ((rows * -1 / _rows_of(op, counted, rows)).reshape(shape),)


def _embedding_dw(op: EmbeddingDwOp, dy: Any, ids: Any, *blocks: Any) -> tuple[Any, ...]:
    if blocks:
        raise Untraceable("its table is split over devices")
    table = np.zeros(shape_of(op.dtable), dtype=dy.dtype, like=dy)
    padding = int(op.padding_idx.value.data)
    np.add.at(table, ids, dy if padding < 0 else np.where((ids != padding)[..., None], dy, 0))
    return (table,)


def _dropout(op: DropoutOp, x: Any, step: Any, *places: Any) -> tuple[Any, ...]:
    """A number u of 53 bits is at least p where its bits are at least p 2^53 as an integer: no float is drawn."""
    if places or ints(op.of):
        raise Untraceable("its tensor is split over devices")
    recorder, p = step.recorder, op.p.value.data
    words = recorder.scalar(int(op.seed.value.data), i64), recorder.cast(step.value, i64)
    drawn: Any = Traced(recorder, recorder.one(RandomBitsOp(*words, results=[tensor_of(i64, x.shape)])))
    return (np.where(drawn >= ceil(p * 2.0**53), x * (1.0 / (1.0 - p)), 0),)


def _pixel_weights(start: Any, length: Any, parts: int, ratio: int, size: int) -> Any:
    """
    The mean weights [regions, parts, size] of the pixels of one axis in the parts of each region along it.

    A sample weighs a pixel at a distance d from it with max(0, 1 - d), which is linear interpolation between the two
    pixels beside it; samples more than a pixel beyond the image weigh nothing.
    """
    step = (length / parts)[:, None]
    part, sample = np.divmod(np.arange(parts * ratio), ratio)
    places = start[:, None] + part * step + (sample + 0.5) * step / ratio
    inside = (places >= -1.0) & (places <= size)
    apart = np.abs(np.clip(places, 0.0, size - 1.0)[..., None] - np.arange(size))
    weights = np.where(inside[..., None], np.maximum(1.0 - apart, 0), 0)
    return weights.reshape(-1, parts, ratio, size).sum(axis=2) / ratio


def _regions(op: RoiAlignBase, rois: Any, image: Sequence[int]) -> tuple[Any, Any, Any]:
    """The number of each region's image, and the weights of the image's rows and of its columns."""
    (height, width), ratio = ints(op.size), int(op.ratio.value.data)
    moved = rois[:, 1:] * op.scale.value.data - (0.5 if op.aligned is not None else 0.0)
    left, top, right, bottom = (moved[:, number] for number in range(4))
    rows, columns = bottom - top, right - left
    if op.aligned is None:
        rows, columns = np.maximum(rows, 1.0), np.maximum(columns, 1.0)
    at = np.rint(rois[:, 0]).astype(np.int64)
    return at, _pixel_weights(top, rows, height, ratio, image[2]), _pixel_weights(left, columns, width, ratio, image[3])


def _roi_align(op: RoiAlignOp, x: Any, rois: Any) -> tuple[Any, ...]:
    at, rows, columns = _regions(op, rois, x.shape)
    return (rows[:, None] @ x[at] @ columns[:, None].swapaxes(-1, -2),)


def _roi_align_grad(op: RoiAlignGradOp, dy: Any, rois: Any) -> tuple[Any, ...]:
    dx = np.zeros(shape_of(op.dx), dtype=dy.dtype, like=dy)
    at, rows, columns = _regions(op, rois, dx.shape)
    np.add.at(dx, at, rows[:, None].swapaxes(-1, -2) @ dy @ columns[:, None])
    return (dx,)


FORMS: dict[type[TrainOp], Form] = {
    CrossEntropyOp: _cross_entropy,
    CrossEntropyGradOp: _cross_entropy_grad,
    NllLossOp: _nll_loss,
    NllLossGradOp: _nll_loss_grad,
    EmbeddingDwOp: _embedding_dw,
    DropoutOp: _dropout,
    RoiAlignOp: _roi_align,
    RoiAlignGradOp: _roi_align_grad,
}
