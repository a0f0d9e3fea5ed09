"""Convolutions as matrix products over an explicit matrix of windows (im2col), with the traffic that inflates."""

from collections.abc import Sequence
from math import prod
from typing import Any

from xdsl.ir import SSAValue

from npuc.compiler.layers.base import Emit
from npuc.compiler.layers.conv_nest import OFFSETS, POSITIONS, conv_nest
from npuc.dialects.npu import Col2ImOp, ContractOp, Im2ColOp, ViewOp
from npuc.dialects.npu.nest import Axis, Nest, Statement, Tensor
from npuc.dialects.tensors import shape_of, tensor_of, tensor_type
from npuc.dialects.train.conv import ConvOp


def lower_by_im2col(op: ConvOp, emit: Emit[Any]) -> list[SSAValue] | None:
    """
    One product of a convolution as a product of matrices; None where the window is a single element.

    The matrix of windows is [groups, batch, positions, window]; w is seen as [groups, features, window] and y as
    [batch, groups, features, positions], which are views of the tensors as they are. The gradient of x is added up by
    col2im. Of a transposed convolution y is the tensor of windows and x the other.
    """
    nest = conv_nest(op).data
    sizes = nest.sizes
    moved, inner, outer = ("Y", "o", "i") if op.TRANSPOSED else ("X", "i", "o")
    image = next(t for t in (*nest.ins, *nest.outs) if t.name.removeprefix("d") == moved)
    group = _group_of(nest)
    rows = [(d, sizes[d]) for d in "b" + POSITIONS if d in sizes]
    cols = [(d, sizes[d]) for d in inner + OFFSETS if d in sizes and d != group]
    if not cols:
        return None
    batch = [(group, sizes[group])] if group else []
    features = 1 if outer == group else sizes.get(outer, 1)
    counts = {"b": sizes["b"], "g": _size(batch), "m": _size(rows) // sizes["b"], "n": features, "k": _size(cols)}
    if op.TRANSPOSED:
        counts = counts | {"n": counts["k"], "k": counts["n"]}
    gemm = _gemm(op.PRODUCT, op.TRANSPOSED, counts)
    element = tensor_type(op.results[0]).element_type

    def view(value: SSAValue, shape: Sequence[int]) -> SSAValue:
        return emit(ViewOp("reshape", [value], [tensor_of(element, shape)])).results[0]

    operands: list[SSAValue] = []
    for tensor, value in zip(gemm.ins, op.operands, strict=True):
        windows = tensor.name == image.name
        source = emit(Im2ColOp(value, rows, cols, image.axes, batch)).result if windows else value
        operands.append(view(source, tensor.shape))
    contract = emit(ContractOp(operands, gemm, element))
    contract.mapping_attr = None  # a mapping is written for the convolution
    out = contract.results[0]
    if gemm.outs[0].name != image.name:
        return [view(out, shape_of(op.results[0]))]
    matrix = view(out, [_size(g) for g in (batch, rows, cols) if g])
    return [emit(Col2ImOp(matrix, rows, cols, image.axes, shape_of(op.results[0]), batch)).result]


def _group_of(nest: Nest) -> str | None:
    """The dimension of the groups: the one that all three tensors have, other than in the batch."""
    return next((d for d in nest.sizes if all(d in t.dims for t in nest.tensors.values())), None)


def _size(dims: Sequence[tuple[str, int]]) -> int:
    return prod(size for _, size in dims)


def _gemm(product: str, transposed: bool, sizes: dict[str, int]) -> Nest:
    """The product over windows in the names of the forward product."""
    dims = tuple((d, s) for d, s in sizes.items() if d != "g" or s > 1)
    known = dict(dims)

    def tensor(name: str, order: str) -> Tensor:
        kept = [d for d in order if d in known]
        return Tensor(name, tuple(sizes[d] for d in kept), tuple(Axis(((d, 1),)) for d in kept))

    orders = ("bgkm", "gkn", "gbmn") if transposed else ("gbmk", "gnk", "bgnm")
    names = ("dX" if product == "dx" else "X", "dW" if product == "dw" else "W", "Y" if product == "forward" else "dY")
    x, w, y = (tensor(name, order) for name, order in zip(names, orders, strict=True))
    lhs, rhs, out = {"forward": (x, w, y), "dx": (y, w, x), "dw": (x, y, w)}[product]
    return Nest(dims, (lhs, rhs), (out,), (None,), (Statement(out.name, lhs.name, rhs.name),))
