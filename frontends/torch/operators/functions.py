"""Functions of elements that the language spells out, and other names of those that it has."""

from __future__ import annotations

from math import log, pi, sqrt

from npuc.frontends.dsl.syntax import Call
from npuc.frontends.script.weights import FLOATS, Refused, Tensor
from npuc.frontends.torch.context import Context
from npuc.frontends.torch.operators import Meaning, registry
from npuc.frontends.torch.operators.pointwise import Operand, arithmetic, common
from npuc.frontends.torch.values import LARGEST

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


def _pair(function: str) -> Meaning:
    def meaning(c: Context, x: Operand, other: Operand) -> Call:
        element = c.result_element()
        return c.call(function, c.operand(x, element), c.operand(other, element))

    return meaning


for _own, _function in (("atan2", "atan2"), ("arctan2", "atan2"), ("hypot", "hypot"), ("logaddexp", "logaddexp")):
    MEANINGS[f"aten.{_own}"] = _pair(_function)
MEANINGS["aten.copysign"] = _pair("copysign")
for _own in ("left", "right"):
    MEANINGS[f"aten.bitwise_{_own}_shift"] = _pair(f"shift_{_own}")


@operator("aten.logaddexp2")
def logaddexp2(c: Context, x: Tensor, other: Tensor) -> Call:
    both = c.let("logaddexp", c.let("mul", x, log(2)), c.let("mul", other, log(2)))
    return c.call("mul", both, 1 / log(2))


@operator("aten.erfc")
def erfc(c: Context, x: Tensor) -> Call:
    return c.call("sub", 1.0, c.let("erf", c.cast(x, c.result_element())))


@operator("aten.special_ndtr")
def ndtr(c: Context, x: Tensor) -> Call:
    scaled = c.let("mul", c.cast(x, c.result_element()), sqrt(0.5))
    return c.call("mul", c.let("add", c.let("erf", scaled), 1.0), 0.5)


@operator("aten.exp2", "aten.special_exp2")
def exp2(c: Context, x: Tensor) -> Call:
    return c.call("pow", 2.0, c.cast(x, c.result_element()))


@operator("aten.deg2rad")
def deg2rad(c: Context, x: Tensor) -> Call:
    return c.call("mul", c.cast(x, c.result_element()), pi / 180)


@operator("aten.rad2deg")
def rad2deg(c: Context, x: Tensor) -> Call:
    return c.call("mul", c.cast(x, c.result_element()), 180 / pi)


@operator("aten.frac")
def frac(c: Context, x: Tensor) -> Call:
    return c.call("sub", x, c.let("trunc", x))


@operator("aten.sinc", "aten.special_sinc")
def sinc(c: Context, x: Tensor) -> Call:
    own = c.let("mul", c.cast(x, c.result_element()), pi)
    zero = c.let("equal", own, 0.0)
    safe = c.let("where", zero, 1.0, own)
    return c.call("where", zero, 1.0, c.let("div", c.let("sin", safe), safe))


@operator("aten.heaviside")
def heaviside(c: Context, x: Tensor, values: Tensor) -> Call:
    above = c.let("cast", c.let("greater", x, 0), to=c.element(x))
    return c.call("where", c.let("equal", x, 0), values, above)


@operator("aten.xlogy", "aten.special_xlogy")
def xlogy(c: Context, x: Operand, other: Operand) -> Call:
    return _times_log(c, "log", x, other, 0.0)


@operator("aten.special_xlog1py")
def xlog1py(c: Context, x: Operand, other: Operand) -> Call:
    return _times_log(c, "log1p", x, other, -1.0)


def _times_log(c: Context, function: str, x: Operand, other: Operand, least: float) -> Call:
    """x times a logarithm, 0 where x is 0 and the logarithm has no finite value."""
    element = c.result_element()
    factor, argument = _tensor(c, x, element), _tensor(c, other, element)
    none = c.let("logical_and", c.let("equal", factor, 0.0), c.let("less_equal", argument, least))
    safe = c.let("where", none, 1.0, argument)
    return c.call("mul", factor, c.let(function, safe))


def _tensor(c: Context, value: Operand, element: str) -> Tensor:
    if isinstance(value, int | float):
        return c.let("full", [], float(value), dtype=element)
    return c.cast(value, element)


@operator("aten.logit", "aten.special_logit")
def logit(c: Context, x: Tensor, eps: float | None = None) -> Call:
    own = c.cast(x, c.result_element())
    share = own if eps is None else c.let("clip", own, low=eps, high=1 - eps)
    return c.call("log", c.let("div", share, c.let("sub", 1.0, share)))


@operator("aten.nan_to_num")
def nan_to_num(
    c: Context, x: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Tensor | Call:
    element = c.element(x)
    if element not in FLOATS:
        return x
    largest = LARGEST[element]
    infinite = c.let("isinf", x)
    ends = c.let("where", c.let("greater", x, 0.0), *_scalars(c, x, posinf, largest, neginf, -largest))
    finite = c.let("where", infinite, ends, x)
    return c.call("where", c.let("isnan", x), 0.0 if nan is None else nan, finite)


def _scalars(c: Context, x: Tensor, high: float | None, most: float, low: float | None, least: float) -> list[Tensor]:
    """The numbers that stand for both infinities, as tensors."""
    numbers = (most if high is None else high, least if low is None else low)
    return [c.let("full", [], number, dtype=c.element(x)) for number in numbers]


@operator("aten.fmax")
def fmax(c: Context, x: Tensor, other: Tensor) -> Call:
    return _known(c, "greater_equal", "max", x, other)


@operator("aten.fmin")
def fmin(c: Context, x: Tensor, other: Tensor) -> Call:
    return _known(c, "less_equal", "min", x, other)


def _known(c: Context, compare: str, function: str, x: Tensor, other: Tensor) -> Call:
    """One of two that is a number where only one is; of equal ones the first has the gradient."""
    element = c.result_element()
    a, b = c.cast(x, element), c.cast(other, element)
    if element not in FLOATS:
        return arithmetic(c, function, a, b)
    first = c.let("logical_or", c.let(compare, a, b), c.let("isnan", b))
    return c.call("where", first, a, b)


@operator("aten.float_power")
def float_power(c: Context, x: Operand, exponent: Operand) -> Call:
    return c.call("pow", c.operand(x, "f64"), c.operand(exponent, "f64"))


@operator("aten.isclose")
def isclose(
    c: Context, x: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor | Call:
    a, b = common(c, x, other)
    same = c.let("equal", a, b)
    if equal_nan and isinstance(b, Tensor) and c.element(a) in FLOATS:
        same = c.let("logical_or", same, c.let("logical_and", c.let("isnan", a), c.let("isnan", b)))
    if rtol == atol == 0:
        return same
    wide = [one if c.element(one) in FLOATS else c.cast(one, "f64") for one in (a, b) if isinstance(one, Tensor)]
    distance = c.let("abs", c.let("sub", *wide))
    allowed = c.let("add", c.let("mul", c.let("abs", wide[1]), rtol), atol)
    near = c.let("logical_and", c.let("isfinite", distance), c.let("less_equal", distance, allowed))
    return c.call("logical_or", same, near)


def _finite(function: str, *, of_integers: bool) -> Meaning:
    def meaning(c: Context, x: Tensor) -> Call:
        if c.element(x) in FLOATS:
            return c.call(function, x)
        return c.call("full", list(c.shape(x)), int(of_integers), dtype="bool")

    return meaning


MEANINGS.update({f"aten.{name}": _finite(name, of_integers=False) for name in ("isnan", "isinf")})
MEANINGS["aten.isfinite"] = _finite("isfinite", of_integers=True)


@operator("aten.isposinf")
def isposinf(c: Context, x: Tensor) -> Call:
    return _infinite(c, x, "greater")


@operator("aten.isneginf")
def isneginf(c: Context, x: Tensor) -> Call:
    return _infinite(c, x, "less")


def _infinite(c: Context, x: Tensor, side: str) -> Call:
    if c.element(x) not in FLOATS:
        return c.call("full", list(c.shape(x)), 0, dtype="bool")
    return c.call("logical_and", c.let("isinf", x), c.let(side, x, 0.0))


@operator("aten.signbit")
def signbit(c: Context, x: Tensor) -> Call:
    if c.element(x) in FLOATS:
        return c.call("less", c.let("copysign", c.let("full", [], 1.0, dtype=c.element(x)), x), 0.0)
    return c.call("full", list(c.shape(x)), 0, dtype="bool") if c.element(x) == "bool" else c.call("less", x, 0)


@operator("aten.positive")
def positive(c: Context, x: Tensor) -> Tensor:
    return x


@operator("aten.isreal")
def isreal(c: Context, x: Tensor) -> Call:
    return c.call("full", list(c.shape(x)), 1, dtype="bool")


@operator("aten.isin")
def isin(
    c: Context,
    elements: Operand | None = None,
    test_elements: Operand | None = None,
    element: Operand | None = None,
    test_element: Operand | None = None,
    assume_unique: bool = False,
    invert: bool = False,
) -> Tensor | Call:
    sought = elements if elements is not None else element
    among = test_elements if test_elements is not None else test_element
    if not isinstance(sought, Tensor):
        raise Refused("found a number to look for, expected a tensor")
    if isinstance(among, Tensor):
        flat = c.let("reshape", among, [-1])
        a, b = common(c, c.let("unsqueeze", sought, len(c.shape(sought))), flat)
        found = c.let("any", c.let("equal", a, b), axis=-1)
    else:
        found = c.let("equal", *common(c, sought, among if among is not None else 0))
    return c.call("logical_not", found) if invert else found


@operator("aten.bucketize.Tensor", "aten.searchsorted.Tensor")
def searchsorted(
    c: Context,
    x: Tensor,
    boundaries: Tensor | None = None,
    sorted_sequence: Tensor | None = None,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: None = None,
) -> Call:
    edges = boundaries if boundaries is not None else sorted_sequence
    if edges is None:
        raise Refused("found no boundaries")
    last = len(c.shape(edges)) - 1
    wide: Tensor = edges if last == 0 else c.let("unsqueeze", edges, last)
    a, b = common(c, wide, c.let("unsqueeze", x, len(c.shape(x))))
    below = c.let("less_equal" if right or side == "right" else "less", a, b)
    return c.call("sum", c.let("cast", below, to=c.result_element()), axis=-1)
