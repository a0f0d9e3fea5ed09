"""numpy's universal functions on traced arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f64, i1, i32, i64
from xdsl.ir import Attribute, SSAValue

from npuc.compiler.transforms.decompose.contractions import contraction
from npuc.compiler.transforms.decompose.tracing.array import Traced, lifted
from npuc.compiler.transforms.decompose.tracing.recorder import Recorder, Untraceable, element_of, is_real
from npuc.dialects.tensors import tensor_of, tensor_type
from npuc.dialects.train import arithmetic, bitwise, compare, pairs, pointwise, smooth, stepwise, transcendental
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.matmul import MatmulOp

Rule = Callable[..., Traced]
_FLOATS: dict[str, type[TrainOp]] = {
    "ceil": stepwise.CeilOp,
    "floor": stepwise.FloorOp,
    "rint": stepwise.RoundOp,
    "exp": pointwise.ExpOp,
    "expm1": transcendental.Expm1Op,
    "log": pointwise.LogOp,
    "log1p": transcendental.Log1pOp,
    "log2": transcendental.Log2Op,
    "log10": transcendental.Log10Op,
    "sqrt": pointwise.SqrtOp,
    "sin": pointwise.SinOp,
    "cos": pointwise.CosOp,
    "tan": transcendental.TanOp,
    "arcsin": transcendental.AsinOp,
    "arccos": transcendental.AcosOp,
    "arctan": transcendental.AtanOp,
    "sinh": transcendental.SinhOp,
    "cosh": transcendental.CoshOp,
    "tanh": smooth.TanhOp,
    "arcsinh": transcendental.AsinhOp,
    "arccosh": transcendental.AcoshOp,
    "arctanh": transcendental.AtanhOp,
    "erf (vectorized)": pointwise.ErfOp,
}
"""Functions of one float."""
_NUMBERS: dict[str, type[TrainOp]] = {
    "add": arithmetic.AddOp,
    "subtract": arithmetic.SubOp,
    "multiply": arithmetic.MulOp,
    "maximum": pointwise.MaxOp,
    "minimum": pointwise.MinOp,
    "fmod": stepwise.FmodOp,
}
"""Functions of two numbers of one type."""
_BITS: dict[str, tuple[type[TrainOp], type[TrainOp] | None]] = {
    "bitwise_and": (bitwise.BitwiseAndOp, compare.LogicalAndOp),
    "bitwise_or": (bitwise.BitwiseOrOp, compare.LogicalOrOp),
    "bitwise_xor": (bitwise.BitwiseXorOp, compare.NotEqualOp),
    "left_shift": (bitwise.ShiftLeftOp, None),
}
"""Functions of two integers, and what they are of two booleans."""
_COMPARED: dict[str, type[TrainOp]] = {
    "equal": compare.EqualOp,
    "not_equal": compare.NotEqualOp,
    "less": compare.LessOp,
    "less_equal": compare.LessEqualOp,
    "greater": compare.GreaterOp,
    "greater_equal": compare.GreaterEqualOp,
}


def apply(recorder: Recorder, ufunc: np.ufunc, method: str, inputs: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """What numpy calls for a universal function with a traced operand. Raises `Untraceable` for what is not known."""
    from npuc.compiler.transforms.decompose.tracing import running

    name, (out,) = ufunc.__name__, keywords.pop("out", None) or (None,)
    wanted = keywords.pop("dtype", None)
    if method == "at":
        from npuc.compiler.transforms.decompose.tracing.indexing import combine_at

        target, index, values = inputs
        return combine_at(recorder, name, target, index, values)
    if method == "accumulate":
        return running.accumulated(recorder, ufunc, *inputs, **keywords)
    if method == "reduce" and name in running.REDUCERS:
        return running.REDUCERS[name](*inputs, **keywords)
    if method != "__call__" or any(value is not True for value in keywords.values()):
        raise Untraceable(f"it calls {name}.{method} with {', '.join(keywords) or 'other arguments'}")
    if name == "divmod":
        return np.floor_divide(*inputs), np.remainder(*inputs)
    result = _called(recorder, name, inputs)
    if wanted is not None:
        result = result.astype(wanted)
    if out is None:
        return result
    if not isinstance(out, Traced):
        raise Untraceable(f"it writes the result of {name} into an array that is known")
    return out.become(recorder.expand(recorder.cast(result.value, out.element), out.shape))


def _called(recorder: Recorder, name: str, inputs: Sequence[Any]) -> Traced:
    if name in _FLOATS:
        (x,) = _real(recorder, inputs)
        return x.like(recorder.one(_FLOATS[name](x.value)))
    if name in _NUMBERS:
        return _numbers(recorder, name, inputs)
    if name in _BITS:
        a, b = unified(recorder, inputs)
        kind, logical = _BITS[name]
        kind = logical if a.element == i1 and logical is not None else kind
        return a.like(recorder.one(kind(a.value, b.value)))
    if name in _COMPARED:
        a, b = unified(recorder, inputs)
        return Traced(recorder, recorder.one(_COMPARED[name](a.value, b.value)))
    rule = _RULES.get(name)
    if rule is None:
        raise Untraceable(f"it calls numpy's {name}")
    return rule(recorder, *inputs)


def unified(recorder: Recorder, inputs: Sequence[Any], *, least: Attribute | None = None) -> list[Traced]:
    """
    Operands in the element type that numpy computes in, of all floats in the widest that the program has of them.

    Python's numbers have no type of their own. `least` stands for a type that another operand would have.
    """
    traced = [one for one in inputs if isinstance(one, Traced)]
    known = [one if isinstance(one, bool | int | float) else one.dtype for one in inputs]
    dtype = np.result_type(*known)
    if dtype.kind == "f":
        reals = [one.element for one in traced if is_real(one.element)]
        element: Attribute = max(reals, key=lambda e: getattr(e, "bitwidth", 0)) if reals else f64
    else:
        element = i64 if dtype.kind == "u" else element_of(dtype)
    if least is not None and element == i1:
        element = least
    unsigned = any(one.unsigned for one in traced) and dtype.kind in "iu"
    found = [lifted(recorder, one, element) for one in inputs]
    for one in found:
        one.unsigned = unsigned
    return found


def _real(recorder: Recorder, inputs: Sequence[Any]) -> list[Traced]:
    """Operands as floats; integers become f64, as numpy has it."""
    found = unified(recorder, inputs)
    return [one if is_real(one.element) else lifted(recorder, one, f64) for one in found]


def _numbers(recorder: Recorder, name: str, inputs: Sequence[Any]) -> Traced:
    a, b = unified(recorder, inputs)
    if a.element == i1:
        logical = {"add": compare.LogicalOrOp, "maximum": compare.LogicalOrOp}.get(name, compare.LogicalAndOp)
        if name in ("subtract", "fmod"):
            raise Untraceable(f"it calls {name} with booleans")
        return a.like(recorder.one(logical(a.value, b.value)))
    return a.like(recorder.one(_NUMBERS[name](a.value, b.value)))


def _divide(recorder: Recorder, x: Any, y: Any) -> Traced:
    a, b = _real(recorder, (x, y))
    return a.like(recorder.one(arithmetic.DivOp(a.value, b.value)))


def _floor_divide(recorder: Recorder, x: Any, y: Any) -> Traced:
    a, b = unified(recorder, (x, y))
    if is_real(a.element):
        return np.floor(a / b)
    quotient = a.like(recorder.one(arithmetic.DivOp(a.value, b.value)))  # rounded towards zero
    low = (quotient * b != a) & ((a < 0) != (b < 0))
    return quotient - low.astype(a.dtype)


def _remainder(recorder: Recorder, x: Any, y: Any) -> Traced:
    a, b = unified(recorder, (x, y))
    rest = np.fmod(a, b)
    return np.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest)


def _right_shift(recorder: Recorder, x: Any, y: Any) -> Traced:
    a, b = unified(recorder, (x, y))
    shifted = a.like(recorder.one(bitwise.ShiftRightOp(a.value, b.value)))
    if not a.unsigned:
        return shifted
    if isinstance(y, Traced):
        raise Untraceable("it shifts unsigned integers by numbers that are not known")
    return shifted & np.uint64((1 << (8 * a.dtype.itemsize - int(y))) - 1)  # the sign comes in from the left


def _power(recorder: Recorder, x: Any, y: Any) -> Traced:
    if isinstance(x, Traced) and isinstance(y, int | float) and is_real(x.element):
        # numpy computes these powers in other ways than the rest
        known = {2: lambda: x * x, 0.5: lambda: np.sqrt(x), 1: lambda: x.copy(), -1: lambda: 1 / x}.get(y)
        if known is not None:
            return known()
    a, b = unified(recorder, (x, y))
    return a.like(recorder.one(pointwise.PowOp(a.value, b.value)))


def _negative(recorder: Recorder, x: Traced) -> Traced:
    return x * -1


def _invert(recorder: Recorder, x: Traced) -> Traced:
    kind = compare.LogicalNotOp if x.element == i1 else bitwise.BitwiseNotOp
    return x.like(recorder.one(kind(x.value)))


def _absolute(recorder: Recorder, x: Traced) -> Traced:
    return x.like(recorder.one(pointwise.AbsOp(x.value)))


def _sign(recorder: Recorder, x: Traced) -> Traced:
    # neither holds of NaN, which stays
    return np.where(x > 0, 1, np.where(x < 0, -1, x))


def signbit(x: Traced) -> Traced:
    """Whether a float has a minus sign, that of -0.0 included."""
    return (x < 0) | ((x == 0) & (1 / x < 0))


def _copysign(recorder: Recorder, x: Any, y: Any) -> Traced:
    a, b = _real(recorder, (x, y))
    size = np.abs(a)
    return np.where(signbit(b), -size, size)


def _logaddexp(recorder: Recorder, x: Any, y: Any) -> Traced:
    a, b = _real(recorder, (x, y))
    # equal ones, infinite ones among them, have no difference
    apart = np.maximum(a, b) + np.log1p(np.exp(-np.abs(a - b)))
    return np.where(a == b, a + float(np.log(2.0)), apart)


def _atan2(recorder: Recorder, x: Any, y: Any) -> Traced:
    a, b = _real(recorder, (x, y))
    return a.like(recorder.one(pairs.Atan2Op(a.value, b.value)))


def _matmul(recorder: Recorder, x: Any, y: Any) -> Traced:
    a, b = unified(recorder, (x, y), least=i32)
    left = a.reshape(1, -1) if a.ndim == 1 else a
    right = b.reshape(-1, 1) if b.ndim == 1 else b
    shape = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    result = tensor_of(a.element, (*shape, left.shape[-2], right.shape[-1]))
    product = a.like(_contracted(recorder, MatmulOp(left.value, right.value, results=[result])))
    kept = [*shape, *left.shape[-2:-1][: int(a.ndim > 1)], *right.shape[-1:][: int(b.ndim > 1)]]
    return product.reshape(kept)


def _contracted(recorder: Recorder, op: MatmulOp) -> SSAValue:
    """A matrix product as a contraction; the operation itself leaves the program again."""
    result = contraction(recorder, op, op.operands, tensor_type(op.out).element_type)
    op.erase()
    return result


def _isfinite(recorder: Recorder, x: Traced) -> Traced:
    return np.abs(x) < np.inf


def _isinf(recorder: Recorder, x: Traced) -> Traced:
    return np.abs(x) == np.inf


def _not(recorder: Recorder, x: Traced) -> Traced:
    return x.astype(np.bool_) == False  # noqa: E712  an array's comparison


_RULES: dict[str, Rule] = {
    "divide": _divide,
    "floor_divide": _floor_divide,
    "remainder": _remainder,
    "right_shift": _right_shift,
    "power": _power,
    "float_power": _power,
    "negative": _negative,
    "invert": _invert,
    "absolute": _absolute,
    "sign": _sign,
    "copysign": _copysign,
    "logaddexp": _logaddexp,
    "arctan2": _atan2,
    "matmul": _matmul,
    "isfinite": _isfinite,
    "isinf": _isinf,
    "isnan": lambda recorder, x: x != x,
    "signbit": lambda recorder, x: signbit(x),
    "square": lambda recorder, x: x * x,
    "reciprocal": lambda recorder, x: 1 / x,
    "hypot": lambda recorder, x, y: np.sqrt(x * x + y * y),
    "trunc": lambda recorder, x: np.where(x < 0, np.ceil(x), np.floor(x)),
    "logical_and": lambda recorder, x, y: _truth(recorder, x) & _truth(recorder, y),
    "logical_or": lambda recorder, x, y: _truth(recorder, x) | _truth(recorder, y),
    "logical_not": lambda recorder, x: ~_truth(recorder, x),
}


def _truth(recorder: Recorder, x: Any) -> Any:
    """Whether elements are not 0."""
    if not isinstance(x, Traced):
        return np.asarray(x, np.bool_)
    return x if x.element == i1 else x.like(recorder.cast(x.value, i1))


def is_bool(x: Traced) -> bool:
    """Whether the elements are booleans."""
    return tensor_type(x.value).element_type == i1
