"""Contractions: the index maps of `npu.contract` are those of a `linalg.generic`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from npuc.compiler.emit.upstream.linalg.elementwise import ADD, MUL, convert
from npuc.compiler.emit.upstream.linalg.writer import LinalgWriter, plain, plain_type
from npuc.compiler.emit.upstream.ranges import wide
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.nest import Axis
from npuc.dialects.tensors import Tensor, tensor_of, tensor_type


def _contract(w: LinalgWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    """
    Products are added up in the type of the result, in f32 for shorter floats, which are rounded at the end.
    """
    assert isinstance(op, ContractOp)
    nest = op.nest
    loops = {name: AffineExpr.dimension(number) for number, (name, _) in enumerate(nest.dims)}

    def exprs(axes: Sequence[Axis]) -> list[AffineExpr]:
        return [_expr(axis, loops) for axis in axes]

    (statement,), (out,) = nest.statements, nest.outs
    values = {tensor.name: (value, of) for tensor, value, of in zip(nest.ins, operands, op.operands, strict=False)}
    read = [values[statement.lhs], values[statement.rhs]]
    elements = [tensor_type(of).element_type for _, of in read]
    element: Attribute = tensor_type(op.results[0]).element_type
    sums = wide(element)
    type = cast(Tensor, plain_type(op.results[0].type))

    def body(inside: LinalgWriter, args: Sequence[SSAValue]) -> SSAValue:
        factors = [convert(inside, arg, own, sums) for arg, own in zip(args, elements, strict=False)]
        return ADD(inside, sums, [args[2], MUL(inside, sums, factors)])

    start = w.filled(tensor_of(plain(sums), type.get_shape()), 0)
    ins = [
        (value, exprs(nest.tensors[name].axes))
        for (value, _), name in zip(read, (statement.lhs, statement.rhs), strict=True)
    ]
    (found,) = w.generic(ins, [(start, exprs(out.axes))], len(nest.dims), body)
    if sums == element:
        return [found]
    return [w.elementwise(type, [found], lambda inside, args: convert(inside, args[0], sums, element))]


def _expr(axis: Axis, loops: dict[str, AffineExpr]) -> AffineExpr:
    """An index as an expression of loops; 0 for that of an axis of size 1 which no dimension walks."""
    found: AffineExpr | None = None
    for name, coefficient in axis.terms:
        term = loops[name] * coefficient if coefficient != 1 else loops[name]
        found = term if found is None else found + term
    return AffineExpr.constant(0) if found is None else found


LOWERINGS = {"npu.contract": _contract}
