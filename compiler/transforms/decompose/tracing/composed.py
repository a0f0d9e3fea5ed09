"""numpy's universal functions that consist of several primitives, or of one with rules of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i1, i32
from xdsl.ir import SSAValue

from npuc.compiler.transforms.decompose.contractions import contraction
from npuc.compiler.transforms.decompose.tracing.array import Traced
from npuc.compiler.transforms.decompose.tracing.recorder import Recorder, Untraceable, is_real
from npuc.compiler.transforms.decompose.tracing.ufuncs import reals, unified
from npuc.dialects.tensors import tensor_of, tensor_type
from npuc.dialects.train import arithmetic, bitwise, compare, pairs, pointwise
from npuc.dialects.train.matmul import MatmulOp

Rule = Callable[..., Any]
_choose: Rule = np.where


def _divide(recorder: Recorder, x: Any, y: Any) -> Any:
    a, b = reals(recorder, (x, y))
    return a.like(recorder.one(arithmetic.DivOp(a.value, b.value)))


def _floor_divide(recorder: Recorder, x: Any, y: Any) -> Any:
    a, b = unified(recorder, (x, y))
    if is_real(a.element):
        return np.floor(_divide(recorder, a, b))
    quotient = a.like(recorder.one(arithmetic.DivOp(a.value, b.value)))  # rounded towards zero
    low: Any = (quotient * b != a) & ((a < 0) != (b < 0))
    return quotient - low.astype(a.dtype)


def _remainder(recorder: Recorder, x: Any, y: Any) -> Any:
    a, b = unified(recorder, (x, y))
    rest: Any = np.fmod(a, b)
    return _choose((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest)


def _right_shift(recorder: Recorder, x: Any, y: Any) -> Any:
    a, b = unified(recorder, (x, y))
    shifted: Any = a.like(recorder.one(bitwise.ShiftRightOp(a.value, b.value)))
    if not a.unsigned:
        return shifted
    if isinstance(y, Traced):
        raise Untraceable("it shifts unsigned integers by numbers that are not known")
    return shifted & np.uint64((1 << (8 * a.dtype.itemsize - int(y))) - 1)  # the sign comes in from the left


def _power(recorder: Recorder, x: Any, y: Any) -> Any:
    if isinstance(x, Traced) and isinstance(y, int | float) and is_real(x.element):
        base: Any = x
        if y in (1, 2):
            return base * base if y == 2 else base.copy()
        if y in (0.5, -1):  # numpy computes these powers in other ways than the rest
            return np.sqrt(base) if y == 0.5 else 1 / base
    a, b = unified(recorder, (x, y))
    return a.like(recorder.one(pointwise.PowOp(a.value, b.value)))


def _negative(recorder: Recorder, x: Any) -> Any:
    return x * -1


def _invert(recorder: Recorder, x: Traced) -> Any:
    kind = compare.LogicalNotOp if x.element == i1 else bitwise.BitwiseNotOp
    return x.like(recorder.one(kind(x.value)))


def _absolute(recorder: Recorder, x: Traced) -> Any:
    return x.like(recorder.one(pointwise.AbsOp(x.value)))


def _sign(recorder: Recorder, x: Any) -> Any:
    # neither holds of NaN, which stays
    return np.where(x > 0, 1, np.where(x < 0, -1, x))


def _signbit(recorder: Recorder, x: Any) -> Any:
    """Whether a float has a minus sign, that of -0.0 included."""
    return (x < 0) | ((x == 0) & (1 / x < 0))


def _copysign(recorder: Recorder, x: Any, y: Any) -> Any:
    a, b = reals(recorder, (x, y))
    size: Any = np.abs(a)
    return _choose(_signbit(recorder, b), -size, size)


def _logaddexp(recorder: Recorder, x: Any, y: Any) -> Any:
    a, b = reals(recorder, (x, y))
    apart = np.maximum(a, b) + np.log1p(np.exp(-np.abs(a - b)))
    return _choose(a == b, a + float(np.log(2.0)), apart)  # equal ones, as infinite ones, may have no difference


def _atan2(recorder: Recorder, x: Any, y: Any) -> Any:
    a, b = reals(recorder, (x, y))
    return a.like(recorder.one(pairs.Atan2Op(a.value, b.value)))


def _matmul(recorder: Recorder, x: Any, y: Any) -> Any:
    a, b = unified(recorder, (x, y), least=i32)
    left = a.reshape(1, -1) if a.ndim == 1 else a
    right = b.reshape(-1, 1) if b.ndim == 1 else b
    shape = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    result = tensor_of(a.element, (*shape, left.shape[-2], right.shape[-1]))
    product = a.like(_contracted(recorder, MatmulOp(left.value, right.value, results=[result])))
    rows = left.shape[-2:-1] if a.ndim > 1 else ()
    return product.reshape([*shape, *rows, *(right.shape[-1:] if b.ndim > 1 else ())])


def _contracted(recorder: Recorder, op: MatmulOp) -> SSAValue:
    """A matrix product as a contraction; the operation itself leaves the program again."""
    result = contraction(recorder, op, op.operands, tensor_type(op.out).element_type)
    op.erase()
    return result


def _isfinite(recorder: Recorder, x: Any) -> Any:
    return np.abs(x) < np.inf


def _isinf(recorder: Recorder, x: Any) -> Any:
    return np.abs(x) == np.inf


def _isnan(recorder: Recorder, x: Any) -> Any:
    return x != x


def _square(recorder: Recorder, x: Any) -> Any:
    return x * x


def _reciprocal(recorder: Recorder, x: Any) -> Any:
    return 1 / x


def _hypot(recorder: Recorder, x: Any, y: Any) -> Any:
    return np.sqrt(x * x + y * y)


def _trunc(recorder: Recorder, x: Any) -> Any:
    return _choose(x < 0, np.ceil(x), np.floor(x))


def _truth(recorder: Recorder, x: Any) -> Any:
    """Whether elements are not 0."""
    if not isinstance(x, Traced):
        return np.asarray(x, np.bool_)
    return x if x.element == i1 else x.like(recorder.cast(x.value, i1))


def _logical_and(recorder: Recorder, x: Any, y: Any) -> Any:
    return _truth(recorder, x) & _truth(recorder, y)


def _logical_or(recorder: Recorder, x: Any, y: Any) -> Any:
    return _truth(recorder, x) | _truth(recorder, y)


def _logical_not(recorder: Recorder, x: Any) -> Any:
    return ~_truth(recorder, x)


RULES: dict[str, Rule] = {
    "absolute": _absolute,
    "arctan2": _atan2,
    "copysign": _copysign,
    "divide": _divide,
    "floor_divide": _floor_divide,
    "hypot": _hypot,
    "invert": _invert,
    "isfinite": _isfinite,
    "isinf": _isinf,
    "isnan": _isnan,
    "logaddexp": _logaddexp,
    "logical_and": _logical_and,
    "logical_not": _logical_not,
    "logical_or": _logical_or,
    "matmul": _matmul,
    "negative": _negative,
    "power": _power,
    "reciprocal": _reciprocal,
    "remainder": _remainder,
    "right_shift": _right_shift,
    "sign": _sign,
    "signbit": _signbit,
    "square": _square,
    "trunc": _trunc,
}
"""By their names, of the recorder and the operands."""
