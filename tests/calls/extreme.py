"""Random calls of extremes and their places."""

from typing import Any

from hypothesis import strategies as st

from tests.calls import Call, Draw
from tests.calls.draw import axis_of, sizes
from tests.calls.reduction import reduction


def _place(function: str) -> Draw:
    def draw(data: st.DataObject) -> Call:
        x = sizes(data, *[(1, 4)] * data.draw(st.integers(1, 4)))
        arguments: dict[str, Any] = {"keepdim": data.draw(st.booleans())}
        if data.draw(st.booleans()):
            arguments["axis"] = axis_of(data, x)
        return Call(function, {"x": x}, arguments)

    return draw


CALLS: dict[str, Draw] = {
    "amax": reduction("amax"),
    "amin": reduction("amin"),
    "argmax": _place("argmax"),
    "argmin": _place("argmin"),
}
