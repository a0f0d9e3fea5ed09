"""
Matrix products: linear layers, batched products, their gradients, and their loop nests.

A product of the training step is named after the forward product Y[m, n] = X[m, k] W[k, n] that it derives from, so
that dX and dW of a layer run over the same dimensions.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import (
    ArgumentError,
    Bias,
    OptDensity,
    OptInt,
    OptValue,
    Value,
    check_density,
    check_positive,
    check_shared,
    rank_at_least,
    weight_element,
)
from npuc.compiler.layers.base import Array, Cut, Emit, Gradients, Kind, Layer, Work
from npuc.compiler.layers.cuts import nest_cuts
from npuc.dialects.npu.attrs import NestAttr
from npuc.dialects.npu.contract import ContractOp
from npuc.dialects.npu.nest import Axis, Nest, Statement, Tensor
from npuc.dialects.provenance import Role, role_of
from npuc.dialects.tensors import shape_of, tensor_type
from npuc.dialects.train.arithmetic import AddOp
from npuc.dialects.train.matmul import MatmulOp, product_type
from npuc.dialects.train.rules import broadcast

_LETTERS = {"X W": "mkn", "dY W": "mnk", "W dY": "knm", "X dY": "kmn", "dY X": "nmk"}
"""Rows of the result, contracted, columns of the result, for the operands of each product."""
_DEFAULT_NAMES = {Role.DX: "dY W", Role.DW: "X dY"}
_RESULT = {"X W": "Y", "dY W": "dX", "W dY": "dX", "X dY": "dW", "dY X": "dW"}


class MatmulLayer(Layer[MatmulOp]):
    """out = lhs rhs over the last two axes; dX = dY Wᵀ and dW = Xᵀ dY are products of the same kind."""

    op = MatmulOp
    kind = Kind.MATRIX

    def evaluate(self, op: MatmulOp, *arrays: Array) -> tuple[Array, ...]:
        a, b = arrays
        a = np.swapaxes(a, -1, -2) if op.transpose_lhs else a
        b = np.swapaxes(b, -1, -2) if op.transpose_rhs else b
        target = shape_of(op.out)
        if len(target) == 2 and a.ndim == b.ndim > 2 and a.shape[:-2] == b.shape[:-2]:
            # a weight's gradient summed over the batch: one product, its inner axis the batch and the rows
            rows = np.moveaxis(a, -2, 0).reshape(a.shape[-2], -1)
            columns = np.moveaxis(b, -1, 0).reshape(b.shape[-1], -1)
            return (rows @ columns.T,)
        full = a @ b
        lead = full.ndim - len(target)
        kept = [lead + i for i, size in enumerate(target[:-2]) if size == 1 and full.shape[lead + i] != 1]
        return (full.sum(axis=(*range(lead), *kept)).reshape(target),)

    def vjp(self, op: MatmulOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        ta, tb = op.transpose_lhs is not None, op.transpose_rhs is not None
        da = db = None
        if needs[0]:
            if ta:
                new = MatmulOp(op.rhs, g, results=[op.lhs.type], transpose_lhs=tb, transpose_rhs=True, names="W dY")
            else:
                new = MatmulOp(g, op.rhs, results=[op.lhs.type], transpose_rhs=not tb, names="dY W")
            da = emit(new).out
        if needs[1]:
            if tb:
                new = MatmulOp(g, op.lhs, results=[op.rhs.type], transpose_lhs=True, transpose_rhs=ta, names="dY X")
            else:
                new = MatmulOp(op.lhs, g, results=[op.rhs.type], transpose_lhs=not ta, names="X dY")
            db = emit(new).out
        return [da, db]

    def work(self, op: MatmulOp) -> Work:
        return Work(macs=matmul_nest(op).data.points)

    def cuts(self, op: MatmulOp) -> Sequence[Cut]:
        return nest_cuts(op, matmul_nest(op).data)

    def lower(self, op: MatmulOp, emit: Emit[Any]) -> list[SSAValue]:
        contract = ContractOp(op.operands, matmul_nest(op), tensor_type(op.out).element_type)
        return list(emit(contract).results)


def product_names(op: MatmulOp) -> str:
    """Which tensors of the forward product the operands are: as written, else by the role."""
    return op.names.data if op.names is not None else _DEFAULT_NAMES.get(role_of(op), "X W")


def matmul_nest(op: MatmulOp) -> NestAttr:
    """
    The loop nest of a product, over m, n, k of the forward product and its batch axes b (b0, b1, … if several).

    An operand or result that lacks a batch axis, or has it at size 1, is not indexed by it: that is broadcasting, and
    for a result the sum over the batch.
    """
    transposed = (op.transpose_lhs is not None, op.transpose_rhs is not None)
    return _nest(product_names(op), transposed, shape_of(op.lhs), shape_of(op.rhs), shape_of(op.out))


@lru_cache(maxsize=4096)
def _nest(
    names: str, transposed: tuple[bool, bool], lhs: tuple[int, ...], rhs: tuple[int, ...], out: tuple[int, ...]
) -> NestAttr:
    rows, inner, columns = _LETTERS[names]
    lhs_name, rhs_name = names.split()
    whole = broadcast(lhs[:-2], rhs[:-2])
    assert whole is not None
    batch = ["b"] if len(whole) == 1 else [f"b{i}" for i in range(len(whole))]
    sizes = {rows: out[-2], inner: lhs[-2] if transposed[0] else lhs[-1], columns: out[-1]}
    dims = (*((d, s) for d, s in zip(batch, whole, strict=True) if s > 1), *((d, sizes[d]) for d in "mnk"))

    def tensor(name: str, shape: tuple[int, ...], last: str) -> Tensor:
        lead = zip(batch[len(batch) - len(shape) + 2 :], shape[:-2], strict=True)
        axes = [Axis(((dim, 1),)) if size > 1 else Axis(()) for dim, size in lead]
        return Tensor(name, shape, (*axes, Axis(((last[0], 1),)), Axis(((last[1], 1),))))

    ins = (
        tensor(lhs_name, lhs, inner + rows if transposed[0] else rows + inner),
        tensor(rhs_name, rhs, columns + inner if transposed[1] else inner + columns),
    )
    result = tensor(_RESULT[names], out, rows + columns)
    return NestAttr(Nest(dims, ins, (result,), (None,), (Statement(result.name, lhs_name, rhs_name),)))


def linear(
    b: GraphBuilder,
    x: Value,
    features: OptInt = None,
    bias: Bias = True,
    weight: OptValue = None,
    transpose_weight: bool = False,
    density: OptDensity = None,
) -> SSAValue:
    """
    x W + bias over the last axis of x. The weight is [in, features]; `weight=` and `bias=` share those made by `param`.

    With `transpose_weight` it is [features, in], as PyTorch keeps it. Its products are pruned to `density`: 0.1, "2:4".
    """
    check_density(density, weight)
    shape = rank_at_least("x", x, 1, "[…, features]")
    element = tensor_type(x).element_type
    width = _width(features, weight, transpose_weight)
    if weight is None:
        sizes = [width, shape[-1]] if transpose_weight else [shape[-1], width]
        weight = b.param("weight", sizes, weight_element("x", element), bound=shape[-1] ** -0.5, density=density)
    if len(shape) == 1:
        raise ArgumentError("x", "found a tensor of rank 1, expected [batch, features] or more axes")
    (out,) = product_type(tensor_type(x), tensor_type(weight), transpose_rhs=transpose_weight)
    y = b.emit(MatmulOp(x, weight, results=[out], transpose_rhs=transpose_weight)).out
    if bias is False:
        return y
    if isinstance(bias, SSAValue):
        return b.emit(AddOp(y, check_shared("bias", bias, [width]))).out
    return b.emit(AddOp(y, b.param("bias", [width], element, bound=shape[-1] ** -0.5))).out


def _width(features: OptInt, weight: OptValue, transposed: bool) -> int:
    """The number of output features, from the argument or the shared weight."""
    if weight is None:
        if features is None:
            raise ArgumentError("features", "missing, expected the number of output features, or weight=")
        check_positive("features", features)
        return features
    shape = shape_of(weight)
    if len(shape) < 2:
        raise ArgumentError("weight", f"found a weight of rank {len(shape)}, expected rank 2 or more")
    width = shape[-2 if transposed else 1]
    if features is not None and features != width:
        raise ArgumentError("features", f"found {features}, the weight has {width}")
    return width


def matmul(b: GraphBuilder, x: Value, y: Value, transpose_a: bool = False, transpose_b: bool = False) -> SSAValue:
    """The product of the last two axes of two tensors; leading axes broadcast. A transposed operand is not copied."""
    (out,) = product_type(tensor_type(x), tensor_type(y), transpose_lhs=transpose_a, transpose_rhs=transpose_b)
    return b.emit(MatmulOp(x, y, results=[out], transpose_lhs=transpose_a, transpose_rhs=transpose_b)).out


LAYERS = (MatmulLayer(),)
FUNCTIONS = (linear, matmul)
