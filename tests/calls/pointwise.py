"""Random calls of the mathematical functions."""

from hypothesis import strategies as st

from tests.calls import Call, Draw
from tests.calls.draw import broadcast_pair, unary, vectors

_POSITIVE = (0.3, 3.0)


def _pow_number(data: st.DataObject) -> Call:
    exponent = data.draw(st.sampled_from([-2.0, -0.5, 0, 0.5, 1, 2, 3, 2.5]))
    range = (-2.0, 2.0) if exponent in (0, 1, 2, 3) else _POSITIVE
    return Call("pow", {"x": vectors(data)}, {"exponent": exponent}, ranges={"x": range})


def _pow(data: st.DataObject) -> Call:
    x, exponent = broadcast_pair(data)
    if data.draw(st.booleans()):
        x, exponent = exponent, x
    return Call("pow", {"x": x, "exponent": exponent}, ranges={"x": _POSITIVE, "exponent": (-2.0, 3.0)})


def _pow_of_number(data: st.DataObject) -> Call:
    return Call("pow", {"exponent": vectors(data)}, {"x": data.draw(st.sampled_from([0.5, 1, 2, 3.5]))})


def _extreme(function: str) -> Draw:
    def draw(data: st.DataObject) -> Call:
        x, y = broadcast_pair(data)
        if data.draw(st.booleans()):
            x, y = y, x
        return Call(function, {"x": x, "y": y}, ranges={"y": (-0.93, 1.0)})

    return draw


def _extreme_number(function: str) -> Draw:
    def draw(data: st.DataObject) -> Call:
        number = data.draw(st.sampled_from([-2, -0.31, 0.017, 0.43]))
        tensor, other = data.draw(st.sampled_from(["xy", "yx"]))
        return Call(function, {tensor: vectors(data)}, {other: number})

    return draw


CALLS: dict[str, Draw] = {
    "exp": unary("exp", range=(-3.0, 3.0)),
    "log": unary("log", range=_POSITIVE),
    "sqrt": unary("sqrt", range=_POSITIVE),
    "rsqrt": unary("rsqrt", range=_POSITIVE),
    "abs": unary("abs"),
    "neg": unary("neg"),
    "sin": unary("sin", range=(-7.0, 7.0)),
    "cos": unary("cos", range=(-7.0, 7.0)),
    "erf": unary("erf", range=(-2.0, 2.0)),
    "pow": _pow,
    "pow number": _pow_number,
    "pow of-number": _pow_of_number,
    "max": _extreme("max"),
    "max number": _extreme_number("max"),
    "min": _extreme("min"),
    "min number": _extreme_number("min"),
}
