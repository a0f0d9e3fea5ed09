"""Embedding: a lookup moves the rows that it reads; its gradient accumulates rows into a dense table."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import ArgumentError, OptInt, OptValue, Value, element_type, weight_element
from npuc.compiler.layers.base import Array, Cut, Emit, Gradients, Kind, Layer, Work, elements, result_elements
from npuc.compiler.layers.cuts import row_cuts
from npuc.compiler.layers.index import checked_indices
from npuc.dialects.tensors import shape_of
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
        return [None, emit(EmbeddingDwOp(g, op.ids, results=[op.table.type])).dtable if needs[1] else None]

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
) -> SSAValue:
    """The row of a table [entries, width] for each index; `weight=` shares a table made by `param`."""
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
    return b.emit(EmbeddingOp(ids, weight)).out


LAYERS = (EmbeddingLayer(), EmbeddingDwLayer())
FUNCTIONS = (embedding,)
