"""Tensor contractions as transpositions and one product of matrices (TTGT)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, product
from math import prod
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import SSAValue

from npuc.compiler.layers.base import Emit
from npuc.compiler.transforms.contraction_form.layout import own_layout
from npuc.compiler.transforms.contraction_form.native import reshaped
from npuc.dialects.npu import ContractOp, MoveOp
from npuc.dialects.npu.contract import operand_tensors
from npuc.dialects.npu.gemm import gemm_view
from npuc.dialects.npu.nest import Axis, Nest, Tensor
from npuc.dialects.tensors import shape_of, tensor_of, tensor_type

Group = tuple[str, ...]
"""Dimensions that are one of the product of matrices, outermost first."""


@dataclass(frozen=True)
class _Way:
    """How a tensor is read as a matrix: its axes in another order, and the dimensions that each axis of it is."""

    axes: tuple[int, ...]
    groups: tuple[Group, ...]

    @property
    def is_copied(self) -> bool:
        """Whether elements change their places."""
        return self.axes != tuple(range(len(self.axes)))


@dataclass(frozen=True)
class Gemm:
    """The groups of a contraction in the order of its dimensions, and the way of each of its tensors by name."""

    groups: tuple[Group, ...]
    ways: Mapping[str, _Way]


def gemm_of(nest: Nest) -> Gemm | None:
    """
    The product of matrices that a contraction is, with as few elements transposed as possible.

    None where it is one already, or none: an index is not one dimension as it stands, there are several statements, or
    a dimension is of one tensor alone.
    """
    tensors = (*operand_tensors(nest), *nest.outs)
    if len(nest.statements) != 1 or any(own_layout(tensor, nest.sizes) is None for tensor in tensors):
        return None
    (statement,) = nest.statements
    view = gemm_view(nest, statement)
    out, lhs, rhs = (nest.tensors[name] for name in (statement.out, statement.lhs, statement.rhs))
    alone = (not set(view.m) <= lhs.dims) or (not set(view.k) <= lhs.dims & rhs.dims)
    if alone or all(len(dims) < 2 for dims in (view.m, view.n, view.k)):
        return None
    readers = {view.batch: (lhs, rhs, out), view.m: (lhs, out), view.n: (rhs, out), view.k: (lhs, rhs)}
    found: list[tuple[int, Gemm]] = []
    for orders in product(*(_orders(dims, among) for dims, among in readers.items() if dims)):
        ways = {tensor.name: _way(tensor, orders) for tensor in tensors}
        if any(way is None for way in ways.values()):
            return None
        known = {name: way for name, way in ways.items() if way is not None}
        moved = sum(tensor.elements for tensor in tensors if known[tensor.name].is_copied)
        order = list(nest.sizes)
        groups = tuple(sorted(orders, key=lambda group: min(map(order.index, group))))
        found.append((moved, Gemm(groups, known)))
    return min(found, key=lambda one: one[0])[1]


def _orders(dims: Group, among: Sequence[Tensor]) -> list[Group]:
    """The orders in which tensors have some dimensions, each once."""
    orders = [tuple(dim for axis in tensor.axes for dim in axis.dims if dim in dims) for tensor in among]
    return list(dict.fromkeys(orders))


def _way(tensor: Tensor, orders: Sequence[Group]) -> _Way | None:
    """
    How a tensor is read as a matrix; None if it has a part of a group alone, as a start may.

    Axes of size 1 without a dimension come first. A tensor whose groups stand together is not copied; else its groups
    come in the order batch, M, N, K.
    """
    own = [group for group in orders if not tensor.dims.isdisjoint(group)]
    if any(not tensor.dims.issuperset(group) for group in own):
        return None
    place = {dim: number for number, axis in enumerate(tensor.axes) for dim in axis.dims}
    ones = tuple(number for number, axis in enumerate(tensor.axes) if not axis.dims)
    listed = tuple(dim for axis in tensor.axes for dim in axis.dims)
    of = {dim: group for group in own for dim in group}
    standing = tuple(group for group, _ in groupby(listed, key=lambda dim: of[dim]))
    if tuple(dim for group in standing for dim in group) == listed:
        return _Way(tuple(range(len(tensor.axes))), standing)
    return _Way((*ones, *(place[dim] for group in own for dim in group)), tuple(own))


def contract_by_gemm(op: ContractOp, gemm: Gemm, emit: Emit[Any]) -> list[SSAValue]:
    """The product of matrices between transposed operands, and its result transposed back."""
    nest, names = op.nest, _names(gemm.groups)
    sizes = {group: prod(nest.sizes[dim] for dim in group) for group in gemm.groups}

    def matrix(tensor: Tensor) -> Tensor:
        groups = gemm.ways[tensor.name].groups
        return Tensor(tensor.name, tuple(sizes[g] for g in groups), tuple(Axis(((names[g], 1),)) for g in groups))

    operands: list[SSAValue] = []
    for tensor, value in zip(operand_tensors(nest), op.operands, strict=True):
        way = gemm.ways[tensor.name]
        moved = _transposed(value, way.axes, emit) if way.is_copied else value
        operands.append(reshaped(moved, matrix(tensor).shape, emit))
    made = Nest(
        tuple((names[group], sizes[group]) for group in gemm.groups),
        tuple(map(matrix, nest.ins)),
        tuple(map(matrix, nest.outs)),
        tuple(None if start is None else matrix(start) for start in nest.starts),
        nest.statements,
    )
    result = emit(ContractOp(operands, made, tensor_type(op.results[0]).element_type)).results[0]
    axes = gemm.ways[nest.outs[0].name].axes
    shape = shape_of(op.results[0])
    result = reshaped(result, [shape[axis] for axis in axes], emit)
    if axes != tuple(range(len(axes))):
        result = _transposed(result, tuple(axes.index(axis) for axis in range(len(axes))), emit)
    return [result]


def _transposed(value: SSAValue, axes: Sequence[int], emit: Emit[Any]) -> SSAValue:
    """A value with its axes in another order, by a copy."""
    type_, shape = tensor_type(value), shape_of(value)
    result = tensor_of(type_.element_type, [shape[axis] for axis in axes])
    return emit(MoveOp("transpose", [value], [result], {"axes": DenseArrayBase.from_list(i64, list(axes))})).results[0]


def _names(groups: Sequence[Group]) -> dict[Group, str]:
    """A name for each group: that of its only dimension, `m` of m0 and m1, else all of its dimensions' together."""
    found: dict[Group, str] = {}
    for group in groups:
        stems = {dim.rstrip("0123456789_") for dim in group}
        joined = "".join(group)
        name = group[0] if len(group) == 1 else stems.pop() if len(stems) == 1 else joined
        if name in found.values():
            name = joined
        while name in found.values():
            name += "_"
        found[group] = name
    return found
