"""numpy's universal functions that are one primitive, and the types in which they compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f64, i1, i64
from xdsl.ir import Attribute

from npuc.compiler.transforms.decompose.tracing.array import Traced, lifted
from npuc.compiler.transforms.decompose.tracing.recorder import Recorder, element_of, is_real
from npuc.dialects.train import arithmetic, bitwise, compare, pointwise, smooth, stepwise, transcendental
from npuc.dialects.train.base import TrainOp

Rule = Callable[..., Traced]
FLOATS: dict[str, type[TrainOp]] = {
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
NUMBERS: dict[str, type[TrainOp]] = {
    "add": arithmetic.AddOp,
    "subtract": arithmetic.SubOp,
    "multiply": arithmetic.MulOp,
    "maximum": pointwise.MaxOp,
    "minimum": pointwise.MinOp,
    "fmod": stepwise.FmodOp,
}
"""Functions of two numbers of one type."""
BITS: dict[str, tuple[type[TrainOp], type[TrainOp] | None]] = {
    "bitwise_and": (bitwise.BitwiseAndOp, compare.LogicalAndOp),
    "bitwise_or": (bitwise.BitwiseOrOp, compare.LogicalOrOp),
    "bitwise_xor": (bitwise.BitwiseXorOp, compare.NotEqualOp),
    "left_shift": (bitwise.ShiftLeftOp, None),
}
"""Functions of two integers, and what they are of two booleans."""
COMPARED: dict[str, type[TrainOp]] = {
    "equal": compare.EqualOp,
    "not_equal": compare.NotEqualOp,
    "less": compare.LessOp,
    "less_equal": compare.LessEqualOp,
    "greater": compare.GreaterOp,
    "greater_equal": compare.GreaterEqualOp,
}


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
