"""
Normalisations that graphs spell out: (x - mean) / sqrt(variance + eps), or x / sqrt(mean square + eps), then a scale.

The factors may stand in any order and in any association; a shift that is added to the result becomes the layer's.
Which layer it is follows from the axes of the statistics and from what the scale has a value for.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.script.recognise.matching import either_way, is_number, made_by, operands, uncast
from npuc.frontends.script.recognise.statistics import (
    Factor,
    Over,
    centred_of,
    factors_of,
    kept,
    mean_square_of,
    one_tensor,
    still,
    stripped,
    variance_of,
)
from npuc.frontends.script.weights import FLOATS, Weight

if TYPE_CHECKING:
    from npuc.frontends.script.writer import CallWriter


class _Root(NamedTuple):
    """1 / sqrt(statistic + eps): of which tensor over which axes, and whether of its variance."""

    over: Over
    eps: float
    of_variance: bool


def product(c: CallWriter, x: Any, y: Any) -> Call | None:
    """A normalisation that ends in a product."""
    if isinstance(x, int | float) or isinstance(y, int | float):
        return None
    factors = [one for side in (x, y) for one in factors_of(c, side, stripped(c.shape(side)))]
    return _normalised(c, factors) if len(factors) <= _MOST else None


def quotient(c: CallWriter, x: Any, y: Any) -> Call | None:
    """A normalisation that ends in a division by the root."""
    if isinstance(x, int | float) or isinstance(y, int | float) or not operands(c, still(c, y), "sqrt"):
        return None
    factors = [*factors_of(c, x, stripped(c.shape(x))), Factor(y, stripped(c.shape(y)), divides=True)]
    return _normalised(c, factors) if len(factors) <= _MOST else None


_MOST = 3
"""The most factors that are looked at: x, its root and a scale."""


def _normalised(c: CallWriter, factors: list[Factor]) -> Call | None:
    """The layer of the factors of a product: a root, what it divides, a scale."""
    for place, factor in enumerate(factors):
        rest = [*factors[:place], *factors[place + 1 :]]
        root = _root_of(c, factor)
        if root is None or len(rest) > 2 or any(one.divides for one in rest):
            continue
        for source, scale in [(rest[0], None)] if len(rest) == 1 else either_way(rest):
            if (found := _of_parts(c, root, source, scale)) is not None:
                return found
    return None


def _root_of(c: CallWriter, factor: Factor) -> _Root | None:
    """What a factor is the inverse root of, or a divisor the root."""
    total = _radicand(c, still(c, factor.value), divided=factor.divides)
    for statistic, eps in either_way(operands(c, total, "add")):
        if not isinstance(eps, int | float) or isinstance(eps, bool) or eps < 0:
            continue
        for of_variance, find in ((True, variance_of), (False, mean_square_of)):
            over = find(c, statistic)
            if over is not None and factor.sizes == kept(c.shape(over.source), over.axes):
                return _Root(over, _eps(c, eps, over.source), of_variance)
    return None


def _eps(c: CallWriter, eps: float, source: Any) -> float:
    """An eps in single precision as one writes it."""
    return float(str(np.float32(eps))) if c.element(source) == "f32" else float(eps)


def _radicand(c: CallWriter, value: Any, *, divided: bool) -> Any:
    """The a of 1 / sqrt(a), or of sqrt(a) where a value divides; None for another value."""
    if divided:
        found = operands(c, value, "sqrt")
        return still(c, found[0]) if found else None
    if inverse := operands(c, value, "rsqrt"):
        return still(c, inverse[0])
    over = operands(c, value, "div")
    if len(over) == 2 and is_number(over[0], 1.0):
        return _radicand(c, still(c, over[1]), divided=True)
    power = operands(c, value, "pow")
    if len(power) == 2 and is_number(power[1], -1.0):
        return _radicand(c, still(c, power[0]), divided=True)
    return still(c, power[0]) if len(power) == 2 and is_number(power[1], -0.5) else None


def _of_parts(c: CallWriter, root: _Root, source: Factor, scale: Factor | None) -> Call | None:
    """The layer of a root, of what it divides, and of a scale."""
    x = source.value
    centred = centred_of(c, x)
    if root.of_variance:
        if centred is None or centred.axes != root.over.axes or not one_tensor(c, centred.source, root.over.source):
            return None
        return _layer(c, centred, root.eps, scale)
    if not one_tensor(c, x, root.over.source) or (centred is not None and centred.axes == root.over.axes):
        return None
    return _rms_norm(c, Over(x, root.over.axes), root.eps, scale)


def _trailing(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    """How many last axes axes are; 0 where they are others."""
    return len(axes) if axes == tuple(range(len(shape) - len(axes), len(shape))) else 0


def _rms_norm(c: CallWriter, over: Over, eps: float, scale: Factor | None) -> Call | None:
    """The layer that divides by the root of the mean square over axes."""
    shape = c.shape(over.source)
    count = _trailing(shape, over.axes)
    if not count:
        return None
    named: dict[str, Any] = {"eps": eps, **({} if count == 1 else {"axes": count})}
    if scale is None:
        return c.call("rms_norm", over.source, **named, affine=False)
    return _scaled_rms(c, over.source, named, scale)


def _scaled_rms(c: CallWriter, source: Any, named: dict[str, Any], scale: Factor) -> Call | None:
    """The layer with a scale; one of a module's own is computed in the precision of its scale."""
    weight, axes = still(c, scale.value), int(named.get("axes", 1))
    sizes = c.shape(source)[-axes:]
    if isinstance(weight, Weight) and weight.shape == sizes:
        narrow = uncast(c, source)
        own = narrow if c.element(narrow) == weight.element else source
        if c.element(own) == weight.element and c.adopt(weight=weight):
            return c.call("rms_norm", own, **named)
    given = _fitting(c, scale, sizes, sizes, source)
    return None if given is None else c.call("rms_norm", source, **named, weight=given)


def _fitting(c: CallWriter, given: Factor, sizes: tuple[int, ...], spread: tuple[int, ...], source: Any) -> Any:
    """A scale or shift in the sizes of the layer's, where it is spread as the layer spreads it; else None."""
    value = given.value
    if not isinstance(value, Name | Weight) or c.element(value) != c.element(source):
        return None
    if given.sizes != stripped(spread) and not (prod(sizes) == 1 and given.sizes == ()):
        return None
    origin = still(c, value)
    if c.shape(origin) == sizes:
        return origin
    return value if c.shape(value) == sizes else c.let("reshape", value, list(sizes))


def _layer(c: CallWriter, over: Over, eps: float, scale: Factor | None) -> Call | None:
    """The layer that normalises by mean and variance over axes."""
    shape, source = c.shape(over.source), over.source
    count, rank = _trailing(shape, over.axes), len(shape)
    if count and scale is not None:
        weight = _fitting(c, scale, shape[-count:], shape[-count:], source)
        if weight is not None:
            axes = {} if count == 1 else {"axes": count}
            return c.call("layer_norm", source, eps=eps, **axes, bias=False, weight=weight)
    if rank < 2 or c.element(source) not in FLOATS:
        return None
    affine = _affine_of_channels(c, scale, shape, source)
    if affine is None:
        return None
    if over.axes == (0, *range(2, rank)):
        return c.call("batch_norm", source, eps=eps, **affine, running=False)
    return None


def _affine_of_channels(c: CallWriter, scale: Factor | None, shape: tuple[int, ...], source: Any) -> Any:
    """The arguments of a scale of channels [batch, channels, …]; None where it is another one."""
    if scale is None:
        return {"affine": False}
    weight = _fitting(c, scale, shape[1:2], (shape[1], *(1 for _ in shape[2:])), source)
    return None if weight is None else {"weight": weight, "bias": False}


def scaled(c: CallWriter, x: Any, y: Any) -> Call | None:
    """A scale behind a normalisation without one."""
    for norm, scale in either_way([x, y]):
        if not isinstance(scale, Name | Weight):
            continue
        for name in ("batch_norm", "group_norm", "rms_norm"):
            given, named = made_by(c, uncast(c, norm) if name == "rms_norm" else norm, name) or ([], {})
            if named.pop("affine", True):
                continue
            if name == "rms_norm":
                return _scaled_rms(c, given[0], named, Factor(scale, stripped(c.shape(scale))))
            if (weight := _own(c, name, given[0], named, scale)) is not None:
                return c.call(name, *given, **named, weight=weight, bias=False)
    return None


def shifted(c: CallWriter, x: Any, y: Any) -> Call | None:
    """A shift behind a normalisation with a scale of its own."""
    for norm, shift in either_way([x, y]):
        for name in ("layer_norm", "batch_norm", "group_norm"):
            found = made_by(c, norm, name)
            if found is None or found[1].get("bias") is not False or not isinstance(shift, Name | Weight):
                continue
            given, named = found
            bias = _own(c, name, given[0], named, shift)
            if bias is not None and "weight" in named:
                return c.call(name, *given, **{**named, "bias": bias})
    return None


def _own(c: CallWriter, name: str, source: Any, named: dict[str, Any], value: Any) -> Any:
    """A scale or shift of a layer that stands already, in its sizes; None where it does not fit."""
    shape, given = c.shape(source), Factor(value, stripped(c.shape(value)))
    if name in ("layer_norm", "rms_norm"):
        sizes = shape[-int(named.get("axes", 1)) :]
        return _fitting(c, given, sizes, sizes, source)
    return _fitting(c, given, shape[1:2], (shape[1], *(1 for _ in shape[2:])), source)


PATTERNS = {"mul": [scaled, product], "div": [quotient], "add": [shifted]}
