"""Reductions and sorting, which combine or compare scalars in a region."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import AnyFloat, BoolAttr, IntegerAttr, i1, i32, i64
from xdsl.ir import Operation, SSAValue

from npuc.compiler.emit.upstream.ranges import bounds, reduced_axes, wide
from npuc.compiler.emit.upstream.stablehlo.writer import Combine, StablehloWriter, axes_attr
from npuc.dialects.tensors import shape_of, tensor_of, tensor_type
from npuc.dialects.train.base import ints
from npuc.dialects.train.extreme import AmaxOp, AminOp, ArgmaxOp, ArgminOp
from npuc.dialects.train.reduction import ProdOp
from npuc.dialects.train.sort import ArgsortOp, SortOp

_LATE = (1 << 31) - 1
"""A place behind all others."""


def named(name: str) -> Combine:
    """The operation of a name on two scalars."""
    return lambda w, a, b: w.same(name, a, b)


def _reduced(w: StablehloWriter, x: SSAValue, axes: Sequence[int], start: float, combine: Combine) -> SSAValue:
    """x combined over axes, in f32 for shorter floats, which are rounded at the end."""
    element = tensor_type(x).element_type
    return w.convert(w.reduce(w.convert(x, wide(element)), axes, start, combine), element)


def _reduce(w: StablehloWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    """Sums; of booleans, whether one is true."""
    (x,), shape = operands, shape_of(op.results[0])
    combine = named("or" if tensor_type(x).element_type == i1 else "add")
    return [w.reshape(_reduced(w, x, reduced_axes(shape_of(x), shape), 0, combine), shape)]


def _over_axes(w: StablehloWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    """Extremes and products over listed axes."""
    assert isinstance(op, AmaxOp | AminOp | ProdOp)
    least, greatest = bounds(tensor_type(op.x).element_type)
    start, name = {
        "train.amax": (least, "maximum"),
        "train.amin": (greatest, "minimum"),
        "train.prod": (1, "multiply"),
    }[op.name]
    return [w.reshape(_reduced(w, operands[0], ints(op.axes), start, named(name)), shape_of(op.out))]


def _either(w: StablehloWriter, a: SSAValue, b: SSAValue) -> SSAValue:
    return w.same("or", a, b)


def _both(w: StablehloWriter, a: SSAValue, b: SSAValue) -> SSAValue:
    return w.same("and", a, b)


def _is_nan(w: StablehloWriter, x: SSAValue) -> SSAValue:
    return w.compare("NE", x, x)


def _place(w: StablehloWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    """
    The extreme and its place, reduced together in any order: of equal ones the first, and NaN before all others.
    """
    assert isinstance(op, ArgmaxOp | ArgminOp)
    (x,), largest = operands, isinstance(op, ArgmaxOp)
    shape, element = shape_of(x), tensor_type(x).element_type
    axis = op.axis.value.data % len(shape)

    def body(inside: StablehloWriter, args: Sequence[SSAValue]) -> list[SSAValue]:
        a, at, b, bt = args
        better, equal = inside.compare("GT" if largest else "LT", a, b), inside.compare("EQ", a, b)
        if isinstance(element, AnyFloat):
            nan, other = _is_nan(inside, a), _is_nan(inside, b)
            better = _either(inside, better, _both(inside, nan, inside.same("not", other)))
            equal = _either(inside, equal, _both(inside, nan, other))
        chosen = _either(inside, better, _both(inside, equal, inside.compare("LT", at, bt)))
        return [inside.select(chosen, a, b), inside.select(chosen, at, bt)]

    places = w.iota(tensor_of(i32, shape), axis)
    starts = [w.scalar(bounds(element)[0 if largest else 1], element), w.scalar(_LATE, i32)]
    kept = [size for number, size in enumerate(shape) if number != axis]
    types = [tensor_of(element, kept), tensor_of(i32, kept)]
    region = w.region([element, i32, element, i32], body)
    found = w.op("reduce", [x, places, *starts], types, {"dimensions": axes_attr([axis])}, [region])
    return [w.reshape(found[1], shape_of(op.out))]


def _sort(w: StablehloWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    """Elements with their places, in a stable order in which NaN is the largest number."""
    assert isinstance(op, SortOp | ArgsortOp)
    (x,), element = operands, tensor_type(op.x).element_type
    axis = op.axis.value.data % len(shape_of(x))

    def before(inside: StablehloWriter, args: Sequence[SSAValue]) -> list[SSAValue]:
        a, b = (args[1], args[0]) if op.descending is not None else (args[0], args[1])
        less = inside.compare("LT", a, b)
        if isinstance(element, AnyFloat):
            known = inside.same("not", _is_nan(inside, a))
            less = _either(inside, less, _both(inside, known, _is_nan(inside, b)))
        return [less]

    places = w.iota(tensor_of(i32, shape_of(x)), axis)
    properties = {"dimension": IntegerAttr(axis, i64), "is_stable": BoolAttr.from_bool(True)}
    region = w.region([element, element, i32, i32], before)
    found = list(w.op("sort", [x, places], [x.type, places.type], properties, [region]))
    return found if isinstance(op, SortOp) else found[1:]


LOWERINGS = {
    "train.reduce": _reduce,
    **dict.fromkeys(("train.amax", "train.amin", "train.prod"), _over_axes),
    **dict.fromkeys(("train.argmax", "train.argmin"), _place),
    **dict.fromkeys(("train.sort", "train.argsort"), _sort),
}
