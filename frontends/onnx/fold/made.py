"""What makes constants: values in a file, filled shapes, ranges, reductions, triangles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from npuc.dialects.tensors import MAX_ELEMENTS
from npuc.frontends.onnx.container.element_types import FLOAT, INT64, STRING, Array
from npuc.frontends.onnx.container.tensors import OnnxTensor, SparseTensor
from npuc.frontends.onnx.fold.elementwise import held
from npuc.frontends.onnx.fold.limits import NotFolded
from npuc.frontends.onnx.fold.rules import Folded, RuleBook
from npuc.frontends.onnx.values import Constant

BOOK = RuleBook()


@BOOK.rule("Constant")
def _constant(folded: Folded) -> Sequence[Constant]:
    given = list(folded.call.attributes.items())
    if len(given) != 1:
        raise folded.call.error(f"found {len(given)} attributes, expected one value")
    name, value = given[0]
    if isinstance(value, OnnxTensor) and name == "value":
        return [Constant(value)]
    if isinstance(value, SparseTensor) and name == "sparse_value":
        return [Constant(value.numpy(folded.limits.elements), value.values.type)]
    types = {"value_float": FLOAT, "value_int": INT64, "value_string": STRING}
    type = types.get(name.removesuffix("s"))
    if type is None:
        raise folded.call.error(f"found the attribute '{name}', expected a value")
    folded.limits.claim((len(value) if isinstance(value, tuple) else 1,))
    return [Constant(np.array(value, type.held), type)]


@BOOK.rule("ConstantOfShape")
def _filled(folded: Folded) -> Sequence[Constant]:
    """One value everywhere, which takes no memory."""
    shape, value = folded.sizes(0), folded.call.tensor_attribute("value")
    if any(size < 0 for size in shape) or (value is not None and value.count != 1):
        raise folded.call.error(f"found the shape {list(shape)}, expected sizes from 0 and one value")
    element = np.zeros((), np.float32) if value is None else value.numpy().reshape(())
    if np.prod(shape, dtype=object) > MAX_ELEMENTS:
        raise folded.call.error(f"found a tensor of shape {list(shape)}, expected at most 2^44 elements")
    return [Constant(np.broadcast_to(element, shape), FLOAT if value is None else value.type)]


@BOOK.rule("Range")
def _range(folded: Folded) -> Sequence[Constant]:
    start, limit, step = (folded.array(index) for index in range(3))
    if any(a.size != 1 for a in (start, limit, step)) or step == 0:
        raise folded.call.error("start, limit and delta are not numbers, or delta is 0")
    # exact for integers: floats would round those beyond 2^53
    first, last, each = (a.item() for a in (start, limit, step))
    if not all(np.isfinite(v) for v in (first, last, each)):
        raise folded.call.error(f"found a range from {first} to {last} by {each}, expected finite numbers")
    whole = all(isinstance(v, int) for v in (first, last, each))
    count = max(-((first - last) // each), 0) if whole else _steps((last - first) / each)
    folded.limits.claim((count,))
    values = first + np.arange(count, dtype=np.int64 if whole else np.float64) * each
    return [Constant(held(values, folded.type), folded.type)]


def _steps(quotient: float) -> int:
    """How many steps there are, of a quotient that may be infinite. Raises `NotFolded`."""
    if abs(quotient) > MAX_ELEMENTS:
        raise NotFolded("a range of more than 2^44 elements")
    return max(int(np.ceil(quotient)), 0)


_REDUCTIONS = {
    "ReduceProd": np.prod,
    "ReduceSum": np.sum,
    "ReduceMax": np.max,
    "ReduceMin": np.min,
    "ReduceMean": np.mean,
}


@BOOK.rule(*_REDUCTIONS)
def _reduction(folded: Folded) -> Sequence[Constant]:
    array = folded.array(0)
    if array.dtype.kind not in "iuf" or not array.size:
        raise NotFolded(f"a reduction of {folded.type.name}{list(array.shape)}")
    axes = folded.axes(array.ndim, 1)
    if not axes:
        axes = () if folded.call.int("noop_with_empty_axes") else tuple(range(array.ndim))
    folded.limits.claim(array.shape)
    function = _REDUCTIONS[folded.call.op]
    keep = folded.call.int("keepdims", 1) != 0
    return [Constant(np.asarray(function(array, axis=axes, keepdims=keep)).astype(array.dtype), folded.type)]


@BOOK.rule("ArgMax", "ArgMin")
def _extreme(folded: Folded) -> Sequence[Constant]:
    array = folded.array(0)
    axis = folded.axis(array.ndim)
    if not array.size or array.dtype.kind not in "iuf":
        raise folded.call.error(f"found an input of {folded.type.name}{list(array.shape)}")
    folded.limits.claim(array.shape)
    found = np.argmax if folded.call.op == "ArgMax" else np.argmin
    last = folded.call.int("select_last_index") != 0
    place: Array = np.asarray(found(np.flip(array, axis) if last else array, axis))
    place = array.shape[axis] - 1 - place if last else place
    keep = folded.call.int("keepdims", 1) != 0
    return [Constant((np.expand_dims(place, axis) if keep else place).astype(np.int64), INT64)]


@BOOK.rule("CumSum")
def _running_sum(folded: Folded) -> Sequence[Constant]:
    array = folded.array(0)
    axis = folded.checked_axis(folded.call.int_at(1) or 0, array.ndim)
    if folded.call.int("exclusive") or folded.call.int("reverse"):
        raise NotFolded("an exclusive or reverse sum")
    folded.limits.claim(array.shape)
    return [Constant(np.cumsum(array, axis, dtype=array.dtype), folded.type)]


@BOOK.rule("Trilu")
def _triangle(folded: Folded) -> Sequence[Constant]:
    array = folded.array(0)
    if array.ndim < 2:
        raise folded.call.error(f"found a tensor of rank {array.ndim}, expected at least 2")
    folded.limits.claim(array.shape)
    sides = max(array.shape[-2:])
    diagonal = min(max(folded.call.int_at(1) or 0, -sides), sides)
    return [Constant((np.triu if folded.call.int("upper", 1) else np.tril)(array, diagonal), folded.type)]
