"""Random calls of the arithmetic functions."""

from hypothesis import strategies as st

from tests.calls import Call, Draw
from tests.calls.draw import broadcast_pair, unary, vectors

_NUMBERS = st.sampled_from([-2.0, 0.5, 3.0])


def _binary(function: str, *, divides: bool = False) -> Draw:
    def draw(data: st.DataObject) -> Call:
        x, y = broadcast_pair(data)
        if data.draw(st.booleans()):
            x, y = y, x
        return Call(function, {"x": x, "y": y}, ranges={"y": (0.5, 2.0)} if divides else {})

    return draw


def _number(function: str, *, divides: bool = False) -> Draw:
    def draw(data: st.DataObject) -> Call:
        shape, number = vectors(data), data.draw(_NUMBERS)
        if data.draw(st.booleans()):
            return Call(function, {"x": shape}, {"y": number})
        return Call(function, {"y": shape}, {"x": number}, ranges={"y": (0.5, 2.0)} if divides else {})

    return draw


CALLS: dict[str, Draw] = {
    "add": _binary("add"),
    "sub": _binary("sub"),
    "mul": _binary("mul"),
    "div": _binary("div", divides=True),
    "add number": _number("add"),
    "sub number": _number("sub"),
    "mul number": _number("mul"),
    "div number": _number("div", divides=True),
    "cast": unary("cast", to="f64"),
    "cast bool": unary("cast", to="bool"),
    "cast integer": unary("cast", to="i32", range=(-3.0, 3.0)),
    "cast from-bool": lambda data: Call("cast", arguments={"to": "f64"}, masks={"x": vectors(data)}),
}
