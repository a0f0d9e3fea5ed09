"""
Functions of f64 for which IREE 3.13 has no program, by those that it has; of f32 it has all.

It has none of sin, cos and tan, of their inverses, of atan2 and fmod, either, which stay operations of math and arith.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log, pi, sqrt

from xdsl.dialects.builtin import f64, i64
from xdsl.ir import Block, Region, SSAValue

from npuc.compiler.emit.upstream.linalg.writer import INDEX, LinalgWriter

TERMS = 128
"""So many terms of the series of erf are as exact as f64 up to 6, where erf is 1."""


def _within(w: LinalgWriter, x: SSAValue, most: float) -> SSAValue:
    """A number, or the nearest one whose magnitude is at most `most`; NaN stays."""
    return w.same("arith.maximumf", w.same("arith.minimumf", x, w.number(most, f64)), w.number(-most, f64))


def _tanh(w: LinalgWriter, x: SSAValue) -> SSAValue:
    """e / (e + 2) with e = exp(2 x) - 1; from 20 on it is 1."""
    x = _within(w, x, 20.0)
    e = w.same("math.expm1", w.same("arith.addf", x, x))
    return w.same("arith.divf", e, w.same("arith.addf", e, w.number(2.0, f64)))


def _log2(w: LinalgWriter, x: SSAValue) -> SSAValue:
    """By the natural logarithm."""
    return w.same("arith.divf", w.same("math.log", x), w.number(log(2), f64))


def _erf(w: LinalgWriter, x: SSAValue) -> SSAValue:
    """
    2 / sqrt(pi) exp(-x^2) (x + 2 x^3 / 3 + 4 x^5 / 15 + …), a series of which no terms cancel.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 7.1.6.
    """
    x = _within(w, x, 6.0)
    square = w.same("arith.mulf", x, x)
    double = w.same("arith.addf", square, square)
    block = Block(arg_types=[INDEX, f64])
    loop, (number, found) = LinalgWriter(block), block.args
    # from the innermost factor on: 1 + 2 x^2 / 3 (1 + 2 x^2 / 5 (1 + …))
    term = loop.same("arith.subi", loop.index(TERMS), number)
    odd = loop.same("arith.addi", loop.same("arith.addi", term, term), loop.index(1))
    divisor = loop.one("arith.sitofp", [loop.one("arith.index_cast", [odd], i64)], f64)
    inner = loop.same("arith.mulf", found, loop.same("arith.divf", double, divisor))
    loop.op("scf.yield", [loop.same("arith.addf", loop.number(1.0, f64), inner)], ())
    bounds = [w.index(0), w.index(TERMS), w.index(1)]
    series = w.op("scf.for", [*bounds, w.number(1.0, f64)], [f64], regions=[Region(block)])[0]
    below = w.same("math.exp", w.same("arith.subf", w.number(0.0, f64), square))
    outer = w.same("arith.mulf", w.same("arith.mulf", w.number(2 / sqrt(pi), f64), x), below)
    return w.same("arith.mulf", outer, series)


DOUBLES: Mapping[str, Callable[[LinalgWriter, SSAValue], SSAValue]] = {"tanh": _tanh, "log2": _log2, "erf": _erf}
