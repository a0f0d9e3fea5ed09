"""Random calls of running products, extremes and sums of exponentials."""

from hypothesis import strategies as st

from tests.calls import Call, Draw
from tests.calls.draw import axis_of, vectors


def _running(function: str) -> Draw:
    def draw(data: st.DataObject) -> Call:
        x = vectors(data)
        return Call(function, {"x": x}, {"axis": axis_of(data, x)})

    return draw


CALLS: dict[str, Draw] = {name: _running(name) for name in ("cumprod", "logcumsumexp", "cummax", "cummin")}
