"""numpy's universal functions on traced arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f64, i1, i64
from xdsl.ir import Attribute

from npuc.compiler.transforms.decompose.tracing.array import Traced, lifted
from npuc.compiler.transforms.decompose.tracing.recorder import Recorder, Untraceable, element_of, is_real
from npuc.dialects.train import arithmetic, bitwise, compare, pointwise, smooth, stepwise, transcendental
from npuc.dialects.train.base import TrainOp

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


def _called(recorder: Recorder, name: str, inputs: Sequence[Any]) -> Any:
    from npuc.compiler.transforms.decompose.tracing.composed import RULES

    if name in _FLOATS:
        (x,) = reals(recorder, inputs)
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
    rule = RULES.get(name)
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


def reals(recorder: Recorder, inputs: Sequence[Any]) -> list[Traced]:
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
