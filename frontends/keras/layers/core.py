"""Dense layers, embeddings, and what scales values."""

from __future__ import annotations

from typing import cast

from npuc.frontends.dsl.syntax import Name
from npuc.frontends.keras.activations import activate
from npuc.frontends.keras.layer import KerasLayer
from npuc.frontends.keras.layers import Meaning, registry
from npuc.frontends.keras.values import KerasValue
from npuc.frontends.script.weights import Refused
from npuc.frontends.script.writer import MAX_LISTED

MEANINGS: dict[str, Meaning] = {}
layer = registry(MEANINGS)


@layer("Dense")
def dense(c: KerasLayer) -> KerasValue:
    x, units = c.last(c.x), c.options.integer("units")
    made = dense_product(c, x, units, bias=c.options.flag("use_bias", True))
    return activate(c, KerasValue(made), c.options.get("activation"))


def dense_product(c: KerasLayer, x: Name, units: int, *, bias: bool, part: str = "") -> Name:
    """x W + b over the last axis."""
    if not c.shared:
        return c.main_part(part, "linear", x, units, **({} if bias else {"bias": False}))
    head = f"{part}." if part else ""
    made = c.let("linear", x, bias=False, weight=c.weight(f"{head}weight", [c.shape(x)[-1], units]))
    return c.let("add", made, c.weight(f"{head}bias", [units])) if bias else made


@layer("EinsumDense")
def einsum_dense(c: KerasLayer) -> KerasValue:
    """A product that an equation names, `abc,cd->abd`, and a bias over `bias_axes`."""
    equation = c.options.get("equation")
    parts = equation.replace(" ", "").replace("->", ",").split(",") if isinstance(equation, str) else []
    if len(parts) != 3 or "..." in "".join(parts):
        raise Refused(f"equation: found {equation}, expected one as abc,cd->abd")
    left, right, result = parts
    x = c.last(c.x)
    given = c.options.get("output_shape")
    shape = [None, *given] if isinstance(given, list) else [None, given]
    if len(shape) != len(result) or len(left) != len(c.shape(x)):
        raise Refused("its equation does not fit its shapes")
    sizes = dict(zip(left, c.shape(x), strict=True))
    for letter, size in zip(result, shape, strict=True):
        if type(size) is int:
            sizes.setdefault(letter, size)
    if not set(right) <= sizes.keys():
        raise Refused("its equation names an axis without a size")
    made = c.let("einsum", f"{left},{right}->{result}", [x, c.weight("weight", [sizes[k] for k in right])])
    axes = c.options.get("bias_axes")
    if isinstance(axes, str):
        kept = [sizes[letter] if letter in axes else 1 for letter in result]
        first = next((at for at, letter in enumerate(result) if letter in axes), len(result))
        made = c.let("add", made, c.weight("bias", kept[first:]))
    return activate(c, KerasValue(made), c.options.get("activation"))


@layer("Embedding")
def embedding(c: KerasLayer) -> KerasValue:
    entries, width = c.options.integer("input_dim"), c.options.integer("output_dim")
    if c.options.flag("mask_zero", False):
        c.remark("steps of the index 0 are computed as others: masks are not followed")
    ids = c.last(c.x)
    if c.element(ids) not in ("i32", "i64", "i8"):
        ids = c.let("cast", ids, to="i32")
    if not c.shared:
        return KerasValue(c.main("embedding", ids, entries, width))
    return KerasValue(c.let("embedding", ids, weight=c.weight("weight", [entries, width])))


@layer("Masking")
def masking(c: KerasLayer) -> KerasValue:
    c.options.get("mask_value")
    c.remark("masks are not followed: all steps are computed")
    return c.x


@layer("ActivityRegularization")
def regularization(c: KerasLayer) -> KerasValue:
    if c.options.get("l1") or c.options.get("l2"):
        c.remark("what it adds to the loss is left out")
    return c.x


@layer("Rescaling")
def rescaling(c: KerasLayer) -> KerasValue:
    """x scale + offset; each a number, or one for each channel."""
    value = c.x
    for name, function, neutral in (("scale", "mul", 1.0), ("offset", "add", 0.0)):
        number = c.options.get(name)
        operand = _constant(c, number, value)
        if operand is not None and operand != neutral:
            value = KerasValue(c.let(function, value.name, operand), value.first)
    return value


def _constant(c: KerasLayer, number: object, value: KerasValue) -> Name | float | None:
    """A number, or numbers of the last axis as a tensor that broadcasts."""
    if isinstance(number, list):
        listed = cast("list[object]", number)
        if len(listed) > MAX_LISTED:
            raise Refused(f"found {len(listed):,} values, expected at most {MAX_LISTED:,}")
        reals = [float(one) for one in listed if isinstance(one, int | float)]
        channels = c.shape_of(value)[-1]
        if len(reals) != len(listed) or len(reals) not in (1, channels):
            raise Refused(f"found {len(listed)} values, expected one, or {channels} numbers")
        spread = [len(reals), *[1] * (len(c.shape(value.name)) - 2)] if value.first else [len(reals)]
        return c.let("tensor", reals, shape=spread)
    if isinstance(number, int | float) and not isinstance(number, bool):
        return float(number)
    if number is None:
        return None
    raise Refused("found a value that is no number")


@layer("Normalization")
def normalization(c: KerasLayer) -> KerasValue:
    """(x - mean) / sqrt(variance), with values of the file or of `adapt`: weights that are not trained."""
    x = c.last(c.x)
    rank = len(c.shape(x))
    axes = c.options.get("axis")
    kept = (
        [] if axes is None else [c.axis_of(one, KerasValue(x)) for one in (axes if isinstance(axes, list) else [axes])]
    )
    invert = c.options.flag("invert", False)
    mean, variance = c.options.get("mean"), c.options.get("variance")
    if mean is not None and variance is not None:
        low, spread = (_constant(c, one, KerasValue(x)) for one in (mean, variance))
        assert low is not None
        assert spread is not None
    else:
        shape = [c.shape(x)[axis] for axis in kept]
        wide = [c.shape(x)[axis] if axis in kept else 1 for axis in range(min(kept, default=rank - 1), rank)]
        low = c.let("reshape", c.weight("mean", shape or [1], 0.0, trained=False), wide)
        spread = c.let("reshape", c.weight("variance", shape or [1], 1.0, trained=False), wide)
    root = max(spread**0.5, 1e-7) if isinstance(spread, float) else c.let("max", c.let("sqrt", spread), 1e-7)
    if invert:
        return KerasValue(c.done("add", c.let("mul", x, root), low))
    return KerasValue(c.done("div", c.let("sub", x, low), root))
