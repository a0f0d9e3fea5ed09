"""Random calls of operations on the bits of integers."""

from hypothesis import strategies as st

from tests.calls import Call, Draw
from tests.calls.draw import broadcast_pair, vectors

_FUNCTIONS = ("bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right")


def _pair(function: str) -> Draw:
    def draw(data: st.DataObject) -> Call:
        x, y = broadcast_pair(data)
        if data.draw(st.booleans()):
            x, y = y, x
        return Call(function, indices={"x": (x, 200), "y": (y, 5)})

    return draw


def _number(function: str) -> Draw:
    def draw(data: st.DataObject) -> Call:
        tensor, other = data.draw(st.sampled_from(["xy", "yx"]))
        return Call(function, indices={tensor: (vectors(data), 28)}, arguments={other: 5})

    return draw


CALLS: dict[str, Draw] = {
    **{name: _pair(name) for name in _FUNCTIONS},
    **{f"{name} number": _number(name) for name in _FUNCTIONS},
    "bitwise_not": lambda data: Call("bitwise_not", indices={"x": (vectors(data), 100)}),
}
