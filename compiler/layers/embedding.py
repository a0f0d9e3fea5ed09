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
    Combine,
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


def _entries(op: EmbeddingOp | EmbeddingDwOp, rows: int) -> int:
    """How many rows ids may name: those of the whole table, of which an operation may have blocks, or of a group."""
    return int(op.of.value.data) or rows // max(1, int(op.groups.value.data))


def _found(op: EmbeddingOp | EmbeddingDwOp, rows: int, ids: Array, blocks: Array | None) -> tuple[Array, Array | bool]:
    """The row of each id in a table of so many rows, and whether the table has it (always, but of blocks of one)."""
    if op.groups.value.data:
        assert blocks is not None
        return _grouped(op, rows, ids, blocks), True
    ids = checked_indices(op, "ids", ids, _entries(op, rows))
    if blocks is None:
        return ids, True
    size = rows // len(blocks)
    place = np.searchsorted(blocks, ids // size).clip(max=len(blocks) - 1)
    return place * size + ids % size, blocks[place] == ids // size


def _grouped(op: EmbeddingOp | EmbeddingDwOp, rows: int, ids: Array, blocks: Array) -> Array:
    """The row of each id in the argument that holds its table."""
    groups, tables = int(op.groups.value.data), len(ids)
    found = np.empty_like(ids)
    for number, (first, count) in enumerate(blocks.tolist()):
        own = number * groups // tables * (rows // groups) + first
        found[number] = own + checked_indices(op, "ids", ids[number], count)
    return found


def _share(op: EmbeddingOp | EmbeddingDwOp, rows: int, count: int) -> int:
    """How many of `count` elements are of rows that a table of so many rows has, if all rows are named as often."""
    return min(count, -(-count * rows // _entries(op, rows)))


class EmbeddingLayer(Layer[EmbeddingOp]):
    """
    Rows of the table by index; only the rows that are looked up are read.

    Of a table that has blocks of the rows its share of them is read, as if all rows were looked up equally often.
    """

    op = EmbeddingOp
    kind = Kind.DATA

    def evaluate(self, op: EmbeddingOp, *arrays: Array) -> tuple[Array, ...]:
        ids, table, *blocks = arrays
        rows, has = _found(op, table.shape[0], ids, *(blocks or [None]))
        return (table[rows] if has is True else np.where(np.expand_dims(has, -1), table[rows], 0),)

    def vjp(
        self, op: EmbeddingOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        (g,) = grads
        assert g is not None
        blocks = () if op.blocks is None else (op.blocks,)
        dtable = emit(derivative(EmbeddingDwOp, op, g, op.ids, *blocks, results=[op.table.type])).dtable
        return [None, dtable, *(None for _ in blocks)]

    def work(self, op: EmbeddingOp) -> Work:
        blocks = () if op.blocks is None else (elements(op.blocks),)
        looked_up = _share(op, shape_of(op.table)[0], result_elements(op))
        return Work(reads=(elements(op.ids), looked_up, *blocks), writes=(result_elements(op),))

    def index_limit(self, op: EmbeddingOp, operand: int) -> int | None:
        return _entries(op, shape_of(op.table)[0]) if operand == 0 else None

    def cuts(self, op: EmbeddingOp) -> Sequence[Cut]:
        rank, width = len(shape_of(op.ids)), shape_of(op.table)[1]
        blocks = () if op.blocks is None else (None,)
        columns = [Cut((None, 1, *blocks), (rank,))] if width > 1 else []
        # a part has to know which rows it has
        if (groups := int(op.groups.value.data)) > 0:
            whole = [Cut((0, 0, 0), (0,), ("groups",))] if groups > 1 else []
            return whole + [cut for cut in row_cuts(op, rank) if cut.results != (0,)] + columns
        listed = op.blocks is not None and shape_of(op.blocks)[0] > 1
        rows = [Cut((None, 0, 0), (Combine.SUM,))] if listed else []
        return row_cuts(op, rank) + columns + rows


class EmbeddingDwLayer(Layer[EmbeddingDwOp]):
    """Rows of dy added into the rows of the table, those that it has; the whole table is written."""

    op = EmbeddingDwOp

    def evaluate(self, op: EmbeddingDwOp, *arrays: Array) -> tuple[Array, ...]:
        dy, ids, *blocks = arrays
        table = np.zeros(shape_of(op.dtable), dtype=dy.dtype, like=dy)
        rows, has = _found(op, table.shape[0], ids, *(blocks or [None]))
        padding = int(op.padding_idx.value.data)
        added = np.logical_and(ids != padding, has)
        np.add.at(table, rows[added], dy[added])
        return (table,)

    def work(self, op: EmbeddingDwOp) -> Work:
        return Work(vector_ops=_share(op, shape_of(op.dtable)[0], elements(op.dy)))


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
