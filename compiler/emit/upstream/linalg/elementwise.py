"""Elementwise primitives: one `linalg.generic` each, of operations of arith and math on scalars."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import log
from typing import cast

from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerType, f32, f64, i1
from xdsl.ir import Attribute, Operation, SSAValue

from npuc.compiler.emit.upstream.linalg.doubles import DOUBLES
from npuc.compiler.emit.upstream.linalg.writer import INDEX, LinalgWriter, plain_type
from npuc.compiler.emit.upstream.ranges import is_unsigned
from npuc.dialects.tensors import Tensor, tensor_type

Scalar = Callable[[LinalgWriter, Attribute, Sequence[SSAValue]], SSAValue]
"""From scalars of the operands, whose element type in the program is given, to that of the result."""

OEQ, OGT, OGE, OLT, OLE, UNE, UNO = 1, 2, 3, 4, 5, 13, 14
"""Predicates of `arith.cmpf`: ordered ones are false for NaN, unordered ones true."""
EQ, NE, SLT, SLE, SGT, SGE, ULT, ULE, UGT, UGE = range(10)
"""Predicates of `arith.cmpi`."""


def _named(floats: str, signed: str, unsigned: str | None = None) -> Scalar:
    """The operation of floats, of integers with a sign and of those without one."""

    def write(w: LinalgWriter, element: Attribute, args: Sequence[SSAValue]) -> SSAValue:
        if isinstance(element, AnyFloat):
            return w.same(floats, *args)
        return w.same(unsigned if unsigned is not None and is_unsigned(element) else signed, *args)

    return write


def _math(name: str) -> Scalar:
    """The operation of math, or what stands for it in f64."""

    def write(w: LinalgWriter, element: Attribute, args: Sequence[SSAValue]) -> SSAValue:
        double = DOUBLES.get(name) if args[0].type == f64 else None
        return double(w, *args) if double is not None else w.same(f"math.{name}", *args)

    return write


def _compared(floats: int, signed: int, unsigned: int) -> Scalar:
    """A comparison by its predicates."""

    def write(w: LinalgWriter, element: Attribute, args: Sequence[SSAValue]) -> SSAValue:
        by = floats if isinstance(element, AnyFloat) else unsigned if is_unsigned(element) else signed
        return w.compare(by, args[0], args[1])

    return write


def _abs(w: LinalgWriter, element: Attribute, args: Sequence[SSAValue]) -> SSAValue:
    if isinstance(element, AnyFloat):
        return w.same("math.absf", *args)
    return args[0] if is_unsigned(element) else w.same("math.absi", *args)


def _inverted(w: LinalgWriter, element: Attribute, args: Sequence[SSAValue]) -> SSAValue:
    """All bits inverted, that of a boolean too."""
    return w.same("arith.xori", args[0], w.number(1 if element == i1 else -1, args[0].type))


def _shifted(name: str, *, keeps_sign: bool) -> Scalar:
    """
    A shift; beyond the width of the type, where that of arith has no value, nothing is left, or the sign alone.
    """

    def write(w: LinalgWriter, element: Attribute, args: Sequence[SSAValue]) -> SSAValue:
        x, by = args
        bits = cast(IntegerType, x.type).width.data
        inside = w.compare(ULT, by, w.number(bits, by.type))
        last = w.select(inside, by, w.number(bits - 1, by.type))
        if keeps_sign and not is_unsigned(element):
            return w.same("arith.shrsi", x, last)
        return w.select(inside, w.same(name, x, last), w.number(0, x.type))

    return write


def _log10(w: LinalgWriter, element: Attribute, args: Sequence[SSAValue]) -> SSAValue:
    """By the natural logarithm: IREE 3.13 calls a `log10f` for that of math, which its programs are not linked with."""
    return w.same("arith.divf", w.same("math.log", *args), w.number(log(10), args[0].type))


def _pow(w: LinalgWriter, element: Attribute, args: Sequence[SSAValue]) -> SSAValue:
    """
    Of integers by squaring, a bit of the exponent at a time, as IREE 3.13 does not take `math.ipowi`; exponents below 0
    have no value.
    """
    if isinstance(element, AnyFloat):
        return w.same("math.powf", *args)
    base, exponent = args
    one, zero = w.number(1, base.type), w.number(0, base.type)
    found = one
    for bit in range(cast(IntegerType, base.type).width.data):
        here = w.same("arith.andi", exponent, w.number(1 << bit, base.type))
        found = w.same("arith.muli", found, w.select(w.compare(NE, here, zero), base, one))
        base = w.same("arith.muli", base, base)
    return found


def _where(w: LinalgWriter, element: Attribute, args: Sequence[SSAValue]) -> SSAValue:
    return w.select(*args)


def extreme(*, largest: bool) -> Scalar:
    """The larger or smaller one of two; NaN if one is."""
    way = "max" if largest else "min"
    return _named(f"arith.{way}imumf", f"arith.{way}si", f"arith.{way}ui")


ADD, MUL = _named("arith.addf", "arith.addi"), _named("arith.mulf", "arith.muli")
MAX, MIN = extreme(largest=True), extreme(largest=False)
_MATH = (
    *("ceil", "floor", "exp", "expm1", "log", "log1p", "log2", "sqrt", "sin", "cos", "tan", "sinh", "cosh"),
    *("tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "erf", "atan2"),
)
SCALARS: Mapping[str, Scalar] = {
    **{f"train.{name}": _math(name) for name in _MATH},
    "train.abs": _abs,
    "train.round": _math("roundeven"),
    "train.add": ADD,
    "train.sub": _named("arith.subf", "arith.subi"),
    "train.mul": MUL,
    "train.div": _named("arith.divf", "arith.divsi", "arith.divui"),
    "train.fmod": _named("arith.remf", "arith.remsi", "arith.remui"),
    "train.log10": _log10,
    "train.pow": _pow,
    "train.max": MAX,
    "train.min": MIN,
    **{f"train.bitwise_{name}": _named("", f"arith.{name}i") for name in ("and", "or", "xor")},
    "train.bitwise_not": _inverted,
    "train.logical_and": _named("", "arith.andi"),
    "train.logical_or": _named("", "arith.ori"),
    "train.logical_not": _inverted,
    "train.shift_left": _shifted("arith.shli", keeps_sign=False),
    "train.shift_right": _shifted("arith.shrui", keeps_sign=True),
    "train.equal": _compared(OEQ, EQ, EQ),
    "train.not_equal": _compared(UNE, NE, NE),
    "train.less": _compared(OLT, SLT, ULT),
    "train.less_equal": _compared(OLE, SLE, ULE),
    "train.greater": _compared(OGT, SGT, UGT),
    "train.greater_equal": _compared(OGE, SGE, UGE),
    "train.where": _where,
}


def elementwise(w: LinalgWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    """One `linalg.generic`."""
    scalar = SCALARS[op.name]
    element = tensor_type(op.operands[-1]).element_type
    type = cast(Tensor, plain_type(op.results[0].type))
    return [w.elementwise(type, operands, lambda inside, args: scalar(inside, element, args[: len(operands)]))]


def convert(w: LinalgWriter, x: SSAValue, before: Attribute, after: Attribute) -> SSAValue:
    """
    A scalar in another element type: to integers towards zero, to a boolean whether it is not 0.

    `before` and `after` are the types in the program, which have a sign.
    """
    to = plain_type(after)
    if x.type == to and after != i1:
        return x
    if after == i1:
        if before == i1:
            return x
        return w.compare(UNE if isinstance(before, AnyFloat) else NE, x, w.number(0, x.type))
    if isinstance(before, AnyFloat):
        if isinstance(to, AnyFloat):
            if to.bitwidth == before.bitwidth:
                return w.one("arith.truncf", [w.one("arith.extf", [x], f32)], to)
            return w.one("arith.extf" if to.bitwidth > before.bitwidth else "arith.truncf", [x], to)
        return w.one("arith.fptoui" if is_unsigned(after) else "arith.fptosi", [x], to)
    if isinstance(to, AnyFloat):
        return w.one("arith.uitofp" if is_unsigned(before) else "arith.sitofp", [x], to)
    if isinstance(to, IndexType) or isinstance(x.type, IndexType):
        return w.one("arith.index_cast", [x], to)
    bits, own = cast(IntegerType, to).width.data, cast(IntegerType, x.type).width.data
    if bits < own:
        return w.one("arith.trunci", [x], to)
    return w.one("arith.extui" if is_unsigned(before) else "arith.extsi", [x], to)


def cast_op(w: LinalgWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    """`train.cast`."""
    before, after = tensor_type(op.operands[0]).element_type, tensor_type(op.results[0]).element_type
    if before == after:
        return [operands[0]]
    type = cast(Tensor, plain_type(op.results[0].type))
    return [w.elementwise(type, operands, lambda inside, args: convert(inside, args[0], before, after))]


def to_index(w: LinalgWriter, value: SSAValue) -> SSAValue:
    """An integer as an index."""
    return w.one("arith.index_cast", [value], INDEX)


LOWERINGS = {**dict.fromkeys(SCALARS, elementwise), "train.cast": cast_op}
