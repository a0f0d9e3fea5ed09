"""Constants: dense values, and ranges computed from the index of a loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.dialects.builtin import AnyFloat, i64
from xdsl.ir import Operation, SSAValue

from npuc.compiler.emit.upstream.linalg.elementwise import convert
from npuc.compiler.emit.upstream.linalg.writer import LinalgWriter, plain_type
from npuc.dialects.tensors import Tensor
from npuc.dialects.train.arithmetic import ConstantOp
from npuc.dialects.train.base import decode, ints
from npuc.dialects.train.constant import ArangeOp, IntegersOp, ListedNumbersOp


def _constant(w: LinalgWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    assert isinstance(op, ConstantOp)
    return [w.full(_type(op), op.value.value.data)]


def _integers(w: LinalgWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    assert isinstance(op, IntegersOp)
    return [w.listed(_type(op), ints(op.values))]


def _numbers(w: LinalgWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    assert isinstance(op, ListedNumbersOp)
    return [w.listed(_type(op), cast("tuple[float, ...]", decode(op.values)))]


def _arange(w: LinalgWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    """
    start + i step: of integers by integers, which are exact in any type that holds them; else as listed values, as no
    type of the program need be one in which the products are exact.
    """
    assert isinstance(op, ArangeOp)
    type, start, step = _type(op), op.start.value.data, op.step.value.data
    element = type.element_type
    if not (float(start).is_integer() and float(step).is_integer()):
        values = start + np.arange(type.get_shape()[0], dtype=np.float64) * step
        found = values if isinstance(element, AnyFloat) else np.trunc(values)
        return [w.listed(type, found.tolist())]

    def body(inside: LinalgWriter, args: Sequence[SSAValue]) -> SSAValue:
        number = inside.one("arith.index_cast", [inside.loop(0)], i64)
        scaled = inside.same("arith.muli", number, inside.number(step, i64))
        return convert(inside, inside.same("arith.addi", scaled, inside.number(start, i64)), i64, element)

    return list(w.generic_of([], [], [w.empty(type)], 1, body))


def _type(op: Operation) -> Tensor:
    return cast(Tensor, plain_type(op.results[0].type))


LOWERINGS = {
    "train.constant": _constant,
    "train.integers": _integers,
    "train.numbers": _numbers,
    "train.arange": _arange,
}
