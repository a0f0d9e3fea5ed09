"""
Reductions over axes, and running sums.

Vector operations per element of x: 1 for a sum, product or running sum, 4 for a variance (the mean, subtract, square,
add); backward 4 for a product (the products of all elements before and behind, multiplied with each other and with
dy), 3 for a variance (the mean, subtract, scale). Backward x is read twice: for the mean, or for the product of its
nonzero elements and the number of zeros, and then for the result.
"""

from collections.abc import Sequence
from math import prod as product
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import ArgumentError, OptInts, Value, normal_axes, normal_axis
from npuc.compiler.layers.base import Array, Cut, Emit, Gradients, PerElementLayer, Reread, derivative, elements, slabs
from npuc.compiler.layers.cuts import same_axes
from npuc.compiler.layers.shape import shaped, view
from npuc.dialects.tensors import shape_of, tensor_type
from npuc.dialects.train.arithmetic import AffineOp, ReduceOp
from npuc.dialects.train.base import ints
from npuc.dialects.train.reduction import (
    AxesOp,
    CumsumOp,
    ProdGradOp,
    ProdOp,
    VarGradOp,
    VarOp,
    reduced_shape,
)
from npuc.dialects.train.rules import check_float, check_numbers


class ProdLayer(PerElementLayer[ProdOp]):
    """The product."""

    op = ProdOp

    def evaluate(self, op: ProdOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        return (np.prod(x, axis=ints(op.axes), keepdims=True, dtype=x.dtype),)

    def vjp(self, op: ProdOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(derivative(ProdGradOp, op, g, op.x)).dx]

    def cuts(self, op: ProdOp) -> Sequence[Cut]:
        return same_axes(op)


class ProdGradLayer(PerElementLayer[ProdGradOp]):
    """dy times the product of the others: no division, so that zeros are no exception."""

    op = ProdGradOp
    steps = 4

    def evaluate(self, op: ProdGradOp, *arrays: Array) -> tuple[Array, ...]:
        dy, x = arrays
        axes = ints(op.axes)
        kept = [i for i in range(x.ndim) if i not in axes]
        moved = x.transpose([*kept, *axes])
        rows = moved.reshape(*moved.shape[: len(kept)], product(moved.shape[len(kept) :]))
        ones = np.ones((*rows.shape[:-1], 1), dtype=x.dtype, like=x)
        before = np.cumprod(np.concatenate([ones, rows[..., :-1]], axis=-1), axis=-1)
        behind = np.cumprod(np.concatenate([ones, rows[..., :0:-1]], axis=-1), axis=-1)[..., ::-1]
        others = (before * behind).reshape(moved.shape).transpose(np.argsort([*kept, *axes]))
        return (dy * others,)

    def reread_of(self, op: ProdGradOp) -> Reread | None:
        return Reread((1,), slabs(op.x, ints(op.axes)))


class VarLayer(PerElementLayer[VarOp]):
    """The sum of squared distances from the mean, over n - correction."""

    op = VarOp
    steps = 4

    def evaluate(self, op: VarOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        axes = ints(op.axes)
        far = x - x.mean(axis=axes, keepdims=True)
        return ((far * far).sum(axis=axes, keepdims=True) / _freedom(op, x),)

    def vjp(self, op: VarOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(derivative(VarGradOp, op, g, op.x)).dx]

    def cuts(self, op: VarOp) -> Sequence[Cut]:
        return same_axes(op)


class VarGradLayer(PerElementLayer[VarGradOp]):
    """2 (x - mean) / (n - correction) dy; the terms of the mean's derivative add up to zero."""

    op = VarGradOp
    steps = 3

    def evaluate(self, op: VarGradOp, *arrays: Array) -> tuple[Array, ...]:
        dy, x = arrays
        far = x - x.mean(axis=ints(op.axes), keepdims=True)
        return (far * (dy * (2 / _freedom(op, x))),)

    def reread_of(self, op: VarGradOp) -> Reread | None:
        return Reread((1,), slabs(op.x, ints(op.axes)))


def _freedom(op: VarOp | VarGradOp, x: Array) -> Any:
    count = product(x.shape[axis] for axis in ints(op.axes))
    return x.dtype.type(count - op.correction.value.data)


class CumsumLayer(PerElementLayer[CumsumOp]):
    """Running sums from one end."""

    op = CumsumOp

    def evaluate(self, op: CumsumOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        axis = int(op.axis.value.data)
        if op.reverse is None:
            return (np.cumsum(x, axis=axis, dtype=x.dtype),)
        return (np.flip(np.cumsum(np.flip(x, axis), axis=axis, dtype=x.dtype), axis),)

    def vjp(self, op: CumsumOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(CumsumOp(g, axis=int(op.axis.value.data), reverse=op.reverse is None)).out]

    def cuts(self, op: CumsumOp) -> Sequence[Cut]:
        return same_axes(op, but=(int(op.axis.value.data) % len(shape_of(op.x)),))


def over_axes(b: GraphBuilder, op: type[AxesOp], x: Value, axis: OptInts, keepdim: bool) -> SSAValue:
    """A reduction over one axis, several, or all."""
    axes = normal_axes("axis", axis, len(shape_of(x)))
    return finished(b, b.emit(op(x, axes=axes)).out, axes, keepdim)


def finished(b: GraphBuilder, reduced: SSAValue, axes: Sequence[int], keepdim: bool) -> SSAValue:
    """A reduction without its axes, unless they are kept."""
    if keepdim:
        return reduced
    return view(reduced, [size for i, size in enumerate(shape_of(reduced)) if i not in axes], b.emit)


def sum(b: GraphBuilder, x: Value, axis: OptInts = None, keepdim: bool = False) -> SSAValue:
    """The sum over an axis, a list of axes, or all; `keepdim` keeps them with size 1."""
    check_numbers(tensor_type(x))
    axes = normal_axes("axis", axis, len(shape_of(x)))
    if axes == tuple(range(len(axes))) and not keepdim:
        return _summed(b, x, shape_of(x)[len(axes) :])
    return finished(b, _summed(b, x, reduced_shape(shape_of(x), axes)), axes, keepdim)


def _summed(b: GraphBuilder, x: Value, shape: Sequence[int]) -> SSAValue:
    """The sum that has a shape; x itself where there is nothing to add up."""
    if product(shape) == elements(x):
        return view(x, shape, b.emit)
    return b.emit(ReduceOp(x, results=[shaped(x, shape)])).out


def mean(b: GraphBuilder, x: Value, axis: OptInts = None, keepdim: bool = False) -> SSAValue:
    """The mean over an axis, a list of axes, or all; `keepdim` keeps them with size 1."""
    check_float(tensor_type(x))
    total = sum(b, x, axis, keepdim)
    if elements(total) == elements(x):
        return total
    return b.emit(AffineOp(total, scale=elements(total) / elements(x))).out


def var(b: GraphBuilder, x: Value, axis: OptInts = None, correction: int = 1, keepdim: bool = False) -> SSAValue:
    """The variance over axes: the squared distances from the mean, by their number less `correction`."""
    axes = normal_axes("axis", axis, len(shape_of(x)))
    count = product(shape_of(x)[i] for i in axes)
    if not 0 <= correction < count:
        raise ArgumentError("correction", f"found {correction}, expected 0 to {count - 1} for {count} elements")
    return finished(b, b.emit(VarOp(x, axes=axes, correction=float(correction))).out, axes, keepdim)


def prod(b: GraphBuilder, x: Value, axis: OptInts = None, keepdim: bool = False) -> SSAValue:
    """The product over an axis, a list of axes, or all; `keepdim` keeps them with size 1."""
    return over_axes(b, ProdOp, x, axis, keepdim)


def cumsum(b: GraphBuilder, x: Value, axis: int) -> SSAValue:
    """The sum of all elements up to each one along an axis."""
    return b.emit(CumsumOp(x, axis=normal_axis("axis", axis, len(shape_of(x))))).out


LAYERS = (
    ProdLayer(),
    ProdGradLayer(),
    VarLayer(),
    VarGradLayer(),
    CumsumLayer(),
)
FUNCTIONS = (sum, mean, var, prod, cumsum)
