"""What numpy asks of traced arrays, handed to what knows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i1

from npuc.compiler.transforms.decompose.tracing import running
from npuc.compiler.transforms.decompose.tracing.array import Traced
from npuc.compiler.transforms.decompose.tracing.composed import RULES
from npuc.compiler.transforms.decompose.tracing.functions import FUNCTIONS, LIKE
from npuc.compiler.transforms.decompose.tracing.indexing import combine_at, picked, put
from npuc.compiler.transforms.decompose.tracing.recorder import Numpy, Recorder, Untraceable
from npuc.compiler.transforms.decompose.tracing.ufuncs import BITS, COMPARED, FLOATS, NUMBERS, reals, unified
from npuc.dialects.train import compare


def apply(recorder: Recorder, ufunc: np.ufunc, method: str, inputs: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """What numpy calls for a universal function with a traced operand. Raises `Untraceable` for what is not known."""
    name, (out,) = ufunc.__name__, keywords.pop("out", None) or (None,)
    wanted = keywords.pop("dtype", None)
    if method == "at":
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
    if name in FLOATS:
        (x,) = reals(recorder, inputs)
        return x.like(recorder.one(FLOATS[name](x.value)))
    if name in NUMBERS:
        return _numbers(recorder, name, inputs)
    if name in BITS:
        a, b = unified(recorder, inputs)
        kind, logical = BITS[name]
        kind = logical if a.element == i1 and logical is not None else kind
        return a.like(recorder.one(kind(a.value, b.value)))
    if name in COMPARED:
        a, b = unified(recorder, inputs)
        return Traced(recorder, recorder.one(COMPARED[name](a.value, b.value)))
    rule = RULES.get(name)
    if rule is None:
        raise Untraceable(f"it calls numpy's {name}")
    return rule(recorder, *inputs)


def _numbers(recorder: Recorder, name: str, inputs: Sequence[Any]) -> Traced:
    a, b = unified(recorder, inputs)
    if a.element == i1:
        logical = {"add": compare.LogicalOrOp, "maximum": compare.LogicalOrOp}.get(name, compare.LogicalAndOp)
        if name in ("subtract", "fmod"):
            raise Untraceable(f"it calls {name} with booleans")
        return a.like(recorder.one(logical(a.value, b.value)))
    return a.like(recorder.one(NUMBERS[name](a.value, b.value)))


def call(x: Traced, function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """What numpy calls for another function with a traced argument, or with one after which a result is made."""
    if function in LIKE:  # called with like= a traced array, which numpy does not hand on
        return LIKE[function](x, *arguments, **keywords)
    known = FUNCTIONS.get(function)
    if known is None:
        raise Untraceable(f"it calls numpy's {function.__name__}")
    return known(*arguments, **keywords)


NUMPY = Numpy(apply, call, picked, put)
"""All that traced arrays need."""
