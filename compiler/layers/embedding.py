"""Embedding: a lookup moves the rows that it reads; its gradient accumulates rows into a dense table."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import (
    ArgumentError,
    OptInt,
    OptValue,
    Value,
    check_word,
    element_type,
    rank_exactly,
    weight_element,
)
from npuc.compiler.layers.arithmetic import mul
from npuc.compiler.layers.base import (
    Array,
    Cut,
    Emit,
    Gradients,
    Kind,
    Layer,
    Work,
    derivative,
    elements,
    result_elements,
)
from npuc.compiler.layers.cuts import row_cuts
from npuc.compiler.layers.extreme import argmax
from npuc.compiler.layers.index import checked_indices, gather
from npuc.compiler.layers.reduction import mean, sum
from npuc.compiler.layers.shape import view
from npuc.dialects.tensors import shape_of, shape_text, tensor_type
from npuc.dialects.train.embedding import EmbeddingDwOp, EmbeddingOp


class EmbeddingLayer(Layer[EmbeddingOp]):
    """Rows of the table by index; only the rows that are looked up are read."""

    op = EmbeddingOp
    kind = Kind.DATA

    def evaluate(self, op: EmbeddingOp, *arrays: Array) -> tuple[Array, ...]:
        ids, table = arrays
        return (table[checked_indices(op, "ids", ids, table.shape[0])],)

    def vjp(
        self, op: EmbeddingOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        (g,) = grads
        assert g is not None
        return [None, emit(derivative(EmbeddingDwOp, op, g, op.ids, results=[op.table.type])).dtable]

    def work(self, op: EmbeddingOp) -> Work:
        return Work(reads=(elements(op.ids), result_elements(op)), writes=(result_elements(op),))

    def index_limit(self, op: EmbeddingOp, operand: int) -> int | None:
        return shape_of(op.table)[0] if operand == 0 else None

    def cuts(self, op: EmbeddingOp) -> Sequence[Cut]:
        rank, width = len(shape_of(op.ids)), shape_of(op.table)[1]
        columns = [Cut((None, 1), (rank,))] if width > 1 else []
        return row_cuts(op, rank) + columns


class EmbeddingDwLayer(Layer[EmbeddingDwOp]):
    """Rows of dy added into the rows of the table; the whole table is written."""

    op = EmbeddingDwOp

    def evaluate(self, op: EmbeddingDwOp, *arrays: Array) -> tuple[Array, ...]:
        dy, ids = arrays
        table = np.zeros(shape_of(op.dtable), dtype=dy.dtype)
        rows = checked_indices(op, "ids", ids, table.shape[0]).reshape(-1)
        np.add.at(table, rows, dy.reshape(-1, table.shape[1]))
        padding = int(op.padding_idx.value.data)
        if padding >= 0:
            table[padding] = 0
        return (table,)

    def work(self, op: EmbeddingDwOp) -> Work:
        return Work(vector_ops=elements(op.dy))


def embedding(
    b: GraphBuilder,
    ids: Value,
    entries: OptInt = None,
    width: OptInt = None,
    weight: OptValue = None,
    dtype: str = "f32",
    padding_idx: OptInt = None,
) -> SSAValue:
    """
    The row of a table [entries, width] for each index; `weight=` shares a table made by `param`.

    The row of the index `padding_idx`, which may count from the end, gets no gradient.
    """
    if weight is None:
        for name, size in (("entries", entries), ("width", width)):
            if size is None or size < 1:
                raise ArgumentError(name, f"found {'nothing' if size is None else size}, expected a size of at least 1")
        assert entries is not None
        assert width is not None
        weight = b.param(
            "weight", [entries, width], weight_element("dtype", element_type("dtype", dtype)), bound=width**-0.5
        )
    for name, given, size in zip(("entries", "width"), (entries, width), shape_of(weight), strict=False):
        if given is not None and given != size:
            raise ArgumentError(name, f"found {given}, the weight has {size}")
    rows = shape_of(weight)[0] if shape_of(weight) else 0
    if padding_idx is None:
        return b.emit(EmbeddingOp(ids, weight)).out
    if not -rows <= padding_idx < rows:
        raise ArgumentError("padding_idx", f"found {padding_idx}, expected {-rows} to {rows - 1}")
    return b.emit(EmbeddingOp(ids, weight, padding_idx=padding_idx % rows)).out


def embedding_bag(
    b: GraphBuilder,
    ids: Value,
    entries: OptInt = None,
    width: OptInt = None,
    weight: OptValue = None,
    dtype: str = "f32",
    mode: str = "mean",
    per_sample_weights: OptValue = None,
) -> SSAValue:
    """
    The "sum", "mean" or "max" of the rows of a table for each bag of ids [bags, size]: [bags, width].

    The table as for `embedding`. With `per_sample_weights` [bags, size] the rows are scaled before they are added up.
    """
    check_word("mode", mode, ("sum", "mean", "max"))
    shape = rank_exactly("ids", ids, 2, "[bags, size]")
    rows = embedding(b, ids, entries, width, weight, dtype)
    if mode == "max":
        if per_sample_weights is not None:
            raise ArgumentError("per_sample_weights", "found weights beside mode 'max', expected none")
        first = argmax(b, rows, 1, keepdim=True)  # PyTorch gives the gradient to the first of equal rows
        return view(gather(b, rows, first, 1), [shape[0], shape_of(rows)[2]], b.emit)
    if per_sample_weights is not None:
        if shape_of(per_sample_weights) != shape:
            found = shape_text(tensor_type(per_sample_weights))
            raise ArgumentError("per_sample_weights", f"found {found}, expected the shape of ids")
        rows = mul(b, rows, view(per_sample_weights, [*shape, 1], b.emit))
    return sum(b, rows, 1) if mode == "sum" else mean(b, rows, 1)


LAYERS = (EmbeddingLayer(), EmbeddingDwLayer())
FUNCTIONS = (embedding, embedding_bag)
