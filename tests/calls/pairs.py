"""Random calls of functions of two tensors, clear of the places where they have no derivative."""

from hypothesis import strategies as st

from tests.calls import Call, Draw
from tests.calls.draw import broadcast_pair, vectors


def _pair(function: str) -> Draw:
    def draw(data: st.DataObject) -> Call:
        signs = st.sampled_from([(0.2, 1.5), (-1.5, -0.2)])
        ranges = {"x": data.draw(signs), "y": data.draw(signs)}
        if data.draw(st.integers(0, 3)) == 0:
            return Call(function, {"x": vectors(data)}, {"y": data.draw(st.sampled_from([-0.7, 2]))}, ranges=ranges)
        x, y = broadcast_pair(data)
        if data.draw(st.booleans()):
            x, y = y, x
        return Call(function, {"x": x, "y": y}, ranges=ranges)

    return draw


CALLS: dict[str, Draw] = {name: _pair(name) for name in ("atan2", "hypot", "logaddexp", "copysign")}
