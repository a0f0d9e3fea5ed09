"""
Means and variances that graphs spell out, and the factors of a product.

A variance is the mean of the squares of what is left of x without its mean, or the mean of squares less the square of
the mean. Source: Chan, Golub, LeVeque, "Algorithms for computing the sample variance", 1983.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.script.recognise.matching import either_way, is_number, made_by, operands, same, uncast
from npuc.frontends.script.weights import FLOATS

if TYPE_CHECKING:
    from npuc.frontends.script.writer import CallWriter

_SHAPES = ("reshape", "unsqueeze", "squeeze", "flatten")
MOST_SHAPES = 16
"""So many changes of shape, one after the other, are looked behind."""
Axes = tuple[int, ...]


class Over(NamedTuple):
    """A tensor, and the axes from 0 over which a statistic of it is."""

    source: Any
    axes: Axes


class Factor(NamedTuple):
    """A factor of a product, or its divisor, and the sizes that it broadcasts with, leading ones left out."""

    value: Any
    sizes: tuple[int, ...]
    divides: bool = False


def stripped(shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape without leading ones, which do not matter to broadcasting."""
    first = next((place for place, size in enumerate(shape) if size != 1), len(shape))
    return shape[first:]


def kept(shape: tuple[int, ...], axes: Axes) -> tuple[int, ...]:
    """The sizes of a statistic that broadcasts with what it is of, leading ones left out."""
    return stripped(tuple(1 if axis in axes else size for axis, size in enumerate(shape)))


def still(c: CallWriter, value: Any) -> Any:
    """A tensor before changes of its shape that keep its elements, each once."""
    for _ in range(MOST_SHAPES):
        found = next((one for name in _SHAPES if (one := operands(c, value, name))), None)
        if found is None:
            break
        value = found[0]
    return value


def mean(c: CallWriter, total: Any, count: Any) -> Call | None:
    """The sum over axes by the number of its elements."""
    found = made_by(c, total, "sum")
    if found is None or not isinstance(count, int | float) or (over := _over(c, found)) is None:
        return None
    shape = c.shape(over.source)
    if count != prod(shape[axis] for axis in over.axes) or c.element(over.source) not in FLOATS:
        return None
    if len(shape) == 4 and over.axes == (2, 3) and not found[1].get("keepdim"):
        return c.call("global_avg_pool", over.source)
    return c.call("mean", over.source, **found[1])


def _over(c: CallWriter, found: tuple[list[Any], dict[str, Any]]) -> Over | None:
    """What a reduction reduces, over axes that are said by name."""
    given, named = found
    if len(given) != 1 or named.keys() - {"axis", "keepdim"} or not isinstance(given[0], Name):
        return None
    axis, rank = named.get("axis"), len(c.shape(given[0]))
    listed = cast("list[Any]", axis) if isinstance(axis, list) else [axis] if axis is not None else list(range(rank))
    if not all(isinstance(one, int) and -rank <= one < rank for one in listed):
        return None
    return Over(given[0], tuple(sorted({one % rank for one in listed})))


def mean_of(c: CallWriter, value: Any) -> Over | None:
    """What a value is the mean of, in whatever shape; None for another value."""
    value = still(c, value)
    if pooled := operands(c, value, "global_avg_pool"):
        return Over(pooled[0], tuple(range(2, len(c.shape(pooled[0])))))
    found = made_by(c, value, "mean")
    return None if found is None else _over(c, found)


def centred_of(c: CallWriter, value: Any) -> Over | None:
    """The x of x less its mean over axes; None for another value."""
    sides = operands(c, value, "sub")
    over = mean_of(c, sides[1]) if len(sides) == 2 else None
    if over is None or not one_tensor(c, over.source, sides[0]):
        return None
    return Over(sides[0], over.axes) if _spreads(c, sides[1], over) else None


def _spreads(c: CallWriter, statistic: Any, over: Over) -> bool:
    """Whether a statistic in its shape is spread along the axes that it is of."""
    return stripped(c.shape(statistic)) == kept(c.shape(over.source), over.axes)


def square_of(c: CallWriter, value: Any) -> Any:
    """The x of x^2; None for another value."""
    power = operands(c, value, "pow")
    if len(power) == 2 and is_number(power[1], 2):
        return power[0]
    sides = operands(c, value, "mul")
    return sides[0] if len(sides) == 2 and same(*sides) else None


def mean_square_of(c: CallWriter, value: Any) -> Over | None:
    """The x of mean(x^2) over axes; None for another value."""
    over = mean_of(c, value)
    source = None if over is None else square_of(c, over.source)
    return None if over is None or source is None else Over(source, over.axes)


def variance_of(c: CallWriter, value: Any) -> Over | None:
    """The x whose variance, divided by the count, a value is, in whatever shape; None for another value."""
    value = _unclamped(c, still(c, value))
    if found := made_by(c, value, "var"):
        given, named = found
        return _over(c, (given, named)) if named.pop("correction", 1) == 0 else None
    if over := mean_square_of(c, value):
        inner = centred_of(c, over.source)
        return inner if inner is not None and inner.axes == over.axes else None
    return _of_squares(c, operands(c, value, "sub"))


def _unclamped(c: CallWriter, value: Any) -> Any:
    """A value before what is below 0 becomes 0, as rounding may make a difference."""
    if clamped := operands(c, value, "relu"):
        return still(c, clamped[0])
    return next((still(c, one) for one, low in either_way(operands(c, value, "max")) if is_number(low, 0.0)), value)


def _of_squares(c: CallWriter, sides: list[Any]) -> Over | None:
    """The x of mean(x^2) - mean(x)^2."""
    if len(sides) != 2 or c.shape(sides[0]) != c.shape(sides[1]):
        return None
    squares, root = mean_square_of(c, sides[0]), square_of(c, still(c, sides[1]))
    over = None if root is None else mean_of(c, root)
    if squares is None or over is None or squares.axes != over.axes:
        return None
    return squares if one_tensor(c, squares.source, over.source) else None


def one_tensor(c: CallWriter, a: Any, b: Any, depth: int = 4) -> bool:
    """Whether two operands are one tensor, in the same or another precision: one value, or equal calls of such."""
    a, b = uncast(c, a), uncast(c, b)
    if same(a, b):
        return True
    first, second = (c.script.written(one) if isinstance(one, Name) else None for one in (a, b))
    if not isinstance(first, Call) or not isinstance(second, Call) or depth == 0:
        return False
    if (
        first.function != second.function
        or first.function not in _PURE
        or len(first.arguments) != len(second.arguments)
    ):
        return False
    for one, other in zip(first.arguments, second.arguments, strict=True):
        left, right = c.script.constant(one.value), c.script.constant(other.value)
        if one.name != other.name:
            return False
        if isinstance(left, Name) or isinstance(right, Name):
            if not one_tensor(c, left, right, depth - 1):
                return False
        elif left != right:
            return False
    return True


_PURE = ("add", "sub", "mul", "div", "reshape", "transpose", "mean", "sum")
"""Functions whose calls give equal values for equal arguments."""


def factors_of(c: CallWriter, value: Any, sizes: tuple[int, ...], depth: int = 4) -> list[Factor]:
    """The factors of a product of tensors that broadcasts with sizes."""
    if isinstance(value, int | float):
        return [Factor(value, sizes)]
    plain = still(c, value)
    divided = not (sides := operands(c, plain, "mul"))
    sides = sides or operands(c, plain, "div")
    if len(sides) != 2 or depth == 0 or any(isinstance(one, int | float) for one in sides):
        return [Factor(value, sizes)]
    inner = c.shape(plain)
    moved = inner != c.shape(value)
    if moved and any(stripped(c.shape(side)) != stripped(inner) for side in sides):
        return [Factor(value, sizes)]
    first, second = (sizes if moved else stripped(c.shape(side)) for side in sides)
    last = [Factor(sides[1], second, divides=True)] if divided else factors_of(c, sides[1], second, depth - 1)
    return [*factors_of(c, sides[0], first, depth - 1), *last]


PATTERNS = {"div": [mean]}
