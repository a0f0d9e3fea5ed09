"""Reductions, order and sums along axes."""

from __future__ import annotations

from functools import partial

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.onnx.context import OnnxContext
from npuc.frontends.onnx.fold.limits import Limits
from npuc.frontends.onnx.fold.rules import Folded
from npuc.frontends.onnx.operators import Meaning, Result, registry

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


def _axes(c: OnnxContext, x: Name) -> list[int]:
    """The axes that a reduction takes away; none where it does nothing."""
    rank = len(c.shape(x))
    axes = Folded(c.onnx, Limits()).axes(rank, 1)
    if axes:
        return list(axes)
    return [] if c.onnx.int("noop_with_empty_axes") else list(range(rank))


def _reduced(c: OnnxContext, function: str, x: Name) -> Name | Call:
    axes, keep = _axes(c, c.x()), c.onnx.int("keepdims", 1) != 0
    if not axes:
        return x
    over = {} if len(axes) == len(c.shape(x)) and not keep else {"axis": axes[0] if len(axes) == 1 else axes}
    return c.call(function, x, **over, **({"keepdim": True} if keep else {}))


def _plain(function: str, c: OnnxContext) -> Result:
    return _reduced(c, function, c.x())


_FUNCTIONS = {"Sum": "sum", "Mean": "mean", "Prod": "prod", "Max": "amax", "Min": "amin"}
MEANINGS.update({f"Reduce{op}": partial(_plain, function) for op, function in _FUNCTIONS.items()})


@operator("ReduceL1")
def l1(c: OnnxContext) -> Result:
    return _reduced(c, "sum", c.let("abs", c.x()))


@operator("ReduceSumSquare")
def sum_of_squares(c: OnnxContext) -> Result:
    return _reduced(c, "sum", c.let("mul", c.x(), c.x()))


@operator("ReduceL2")
def l2(c: OnnxContext) -> Result:
    return c.call("sqrt", c.held(_reduced(c, "sum", c.let("mul", c.x(), c.x()))))


@operator("ReduceLogSum")
def log_of_sum(c: OnnxContext) -> Result:
    return c.call("log", c.held(_reduced(c, "sum", c.x())))


@operator("ReduceLogSumExp")
def log_of_sum_of_exponentials(c: OnnxContext) -> Result:
    """Less the largest element, so that large ones do not overflow."""
    x = c.x()
    axes, keep = _axes(c, x), c.onnx.int("keepdims", 1) != 0
    if not axes:
        return c.call("log", c.let("exp", x))
    held = c.let("detach", c.let("amax", x, axis=axes, keepdim=True))
    total = c.let("sum", c.let("exp", c.let("sub", x, held)), axis=axes, keepdim=True)
    out = c.call("add", c.let("log", total), held)
    if keep:
        return out
    shape = [size for axis, size in enumerate(c.shape(x)) if axis not in axes]
    return c.call("reshape", c.held(out), shape)


@operator("ArgMax", "ArgMin")
def place(c: OnnxContext) -> Result:
    x = c.x()
    axis, keep = c.axis_of(x), c.onnx.int("keepdims", 1) != 0
    last = c.onnx.int("select_last_index") != 0
    source = c.let("flip", x, axis) if last else x
    found = c.let(c.onnx.op.lower(), source, axis=axis, **({"keepdim": True} if keep else {}))
    wide = c.call("cast", found, to="i64")
    return c.call("sub", c.shape(x)[axis] - 1, c.held(wide)) if last else wide


@operator("TopK")
def top_k(c: OnnxContext) -> Result:
    x, count = c.x(), c.onnx.int_at(1)
    axis = c.axis_of(x, -1)
    if count is None or not 1 <= count <= c.shape(x)[axis]:
        raise c.error(f"takes {count} elements of {c.shape(x)[axis]}")
    named = {} if c.onnx.int("largest", 1) else {"largest": False}
    values, places = c.several(["values", "places"], "topk", x, count, axis, **named)
    return [values, c.call("cast", places, to="i64")]


@operator("CumSum")
def running_sum(c: OnnxContext) -> Result:
    x, given = c.x(), c.onnx.int_at(1)
    axis = c.checked_axis(x, given or 0)
    backwards = c.onnx.int("reverse") != 0
    source = c.let("flip", x, axis) if backwards else x
    total = c.call("cumsum", source, axis)
    if c.onnx.int("exclusive"):
        total = c.call("sub", c.held(total), source)
    return c.call("flip", c.held(total), axis) if backwards else total


@operator("Hardmax")
def hardmax(c: OnnxContext) -> Result:
    x = c.x()
    axis, rank = c.axis_of(x, -1), len(c.shape(x))
    hot = c.call("one_hot", c.let("argmax", x, axis=axis), c.shape(x)[axis], dtype=c.element(x))
    order = list(range(rank - 1))
    order.insert(axis, rank - 1)
    return hot if axis == rank - 1 else c.call("transpose", c.held(hot), order)


@operator("LpNormalization")
def lp_normalization(c: OnnxContext) -> Result:
    x = c.x()
    axis, order = c.axis_of(x, -1), c.onnx.int("p", 2)
    if order not in (1, 2):
        raise c.error(f"found a norm of order {order}, expected 1 or 2")
    if order == 1:
        norm = c.let("sum", c.let("abs", x), axis=axis, keepdim=True)
    else:
        norm = c.let("sqrt", c.let("sum", c.let("mul", x, x), axis=axis, keepdim=True))
    return c.call("div", x, c.let("where", c.let("equal", norm, 0), 1, norm))  # what is zero stays zero
