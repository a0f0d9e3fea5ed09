"""
Contractions of a program as products of sparse matrices, and the boxes of the nest that units compute.

    product_of(op)                       # C[M, N] = A[M, K] B[K, N] with densities of !npu.sparse operands
    boxes_of(op.nest, assignment)        # for each part its boxes: ranges of the nest's dimensions

M, N, K and batch are those of `npuc.dialects.npu.gemm`: A is the left factor, B the right one. An operand in CSR or CSC
is one of the product in the orientation in which the product reads it: W in CSR is the transpose of W in CSC. Dense
operands, bitmaps, runs, N:M and blocks have no format of the units: each unit reads them in its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from npuc.compiler.analysis.hetero.classes import MatrixFormat
from npuc.compiler.analysis.hetero.product import SparseProduct
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.gemm import GemmView, gemm_view
from npuc.dialects.npu.nest import Nest, Tensor
from npuc.dialects.npu.units import Assignment
from npuc.dialects.npu.units.assignment import dims_of_axis
from npuc.dialects.npu.widths import widths_of
from npuc.dialects.sparse import SparseType, dense_element, density_of
from npuc.dialects.sparse_formats import CompressedColumns, CompressedRows
from npuc.dialects.tensors import tensor_type

Ranges = Mapping[str, tuple[int, int]]
"""First index and one past the last of each dimension."""
OTHER: Mapping[MatrixFormat, MatrixFormat] = {"csr": "csc", "csc": "csr"}
"""The format of the transpose."""


def product_of(op: ContractOp, number: int = 0, element_bytes: int | None = None) -> SparseProduct:
    """
    A statement of a contraction as a product. Values take the bytes of the widest of A, B and C, or of every float
    where the machine says so.
    """
    nest = op.nest
    statement = nest.statements[number]
    names = [tensor.name for tensor in nest.ins]
    a, b = (op.operands[names.index(name)] for name in (statement.lhs, statement.rhs))
    view, widths = gemm_view(nest, statement), widths_of(op)
    widths = widths if element_bytes is None else replace(widths, element_bytes=element_bytes)
    batch, m, n, k = view.sizes(nest.sizes)
    values = (a, b, op.result_of(statement.out))
    bits = max(Fraction(widths.element_bits(dense_element(tensor_type(one).element_type))) for one in values)
    matrices = (batch * m * k, batch * k * n, batch * m * n)
    stored = [min(Fraction(1), Fraction(_elements(v), size)) for v, size in zip(values, matrices, strict=True)]
    return SparseProduct(
        "product",
        m,
        n,
        k,
        _density(a),
        _density(b),
        bits / 8,
        _format(a, nest.tensors[statement.lhs], view, view.k),
        _format(b, nest.tensors[statement.rhs], view, view.n),
        batch,
        (stored[0], stored[1], stored[2]),
    )


def widths_differ(op: ContractOp) -> bool:
    """Whether the operands and results of a contraction have values of several widths."""
    widths = widths_of(op)
    values = (*op.operands[: len(op.nest.ins)], *op.results)
    return len({widths.element_bits(dense_element(tensor_type(one).element_type)) for one in values}) > 1


def _elements(value: SSAValue) -> int:
    return prod(tensor_type(value).get_shape())


def _density(value: SSAValue) -> Fraction:
    return density_of(tensor_type(value).element_type) if isinstance(value.type, TensorType) else Fraction(1)


def _format(value: SSAValue, tensor: Tensor, view: GemmView, columns: tuple[str, ...]) -> MatrixFormat | None:
    """CSR or CSC of the operand as the product reads it, whose columns have these dimensions; None of all else."""
    element = tensor_type(value).element_type
    if not isinstance(element, SparseType) or not isinstance(element.format, CompressedRows):
        return None
    own: MatrixFormat = "csc" if isinstance(element.format, CompressedColumns) else "csr"
    first = set(tensor.axes[0].dims) - set(view.batch) if tensor.axes else set[str]()
    return OTHER[own] if first and first <= set(columns) else own


@lru_cache(maxsize=4096)
def boxes_of(nest: Nest, assignment: Assignment) -> tuple[tuple[Ranges, ...], ...]:
    """
    The boxes of each part of an assignment: together each point of the nest once.

    A range of an axis of several dimensions is one of their positions in order, so that it has boxes at its two ends
    and one between for each of them.
    """
    whole: dict[str, tuple[int, int]] = {dim: (0, size) for dim, size in nest.dims}
    if assignment.axis is None:
        return ((whole,),)
    dims = dims_of_axis(nest, assignment.axis)
    found: list[tuple[Ranges, ...]] = []
    begin = 0
    for part in assignment.parts:
        sizes = [nest.sizes[dim] for dim in dims]
        found.append(tuple({**whole, **box} for box in _boxes(dims, sizes, begin, begin + part.size)))
        begin += part.size
    return tuple(found)


def _boxes(dims: Sequence[str], sizes: Sequence[int], begin: int, end: int) -> Iterator[dict[str, tuple[int, int]]]:
    """The boxes of the positions from one to before another, in the order of the dimensions, the last one fastest."""
    if not dims:
        yield {}
        return
    inner = prod(sizes[1:])
    first, last = begin // inner, (end - 1) // inner
    if first == last:
        if end - begin == inner:
            yield {dims[0]: (first, first + 1), **{d: (0, s) for d, s in zip(dims[1:], sizes[1:], strict=True)}}
            return
        for box in _boxes(dims[1:], sizes[1:], begin - first * inner, end - first * inner):
            yield {dims[0]: (first, first + 1), **box}
        return
    low, high = -(-begin // inner), end // inner
    if begin % inner:
        yield from _boxes(dims, sizes, begin, low * inner)
    if low < high:
        yield {dims[0]: (low, high), **{d: (0, s) for d, s in zip(dims[1:], sizes[1:], strict=True)}}
    if end % inner:
        yield from _boxes(dims, sizes, high * inner, end)
