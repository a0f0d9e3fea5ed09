"""Random calls of rounding and remainders, clear of their steps."""

from hypothesis import strategies as st

from tests.calls import Call, Draw
from tests.calls.draw import broadcast_pair, unary, vectors


def _remainder(function: str) -> Draw:
    def draw(data: st.DataObject) -> Call:
        x, y = broadcast_pair(data)
        divisor = data.draw(st.sampled_from([(3.0, 4.0), (-4.0, -3.0)]))
        return Call(function, {"x": x, "y": y}, ranges={"x": (0.3, 2.7), "y": divisor})

    return draw


def _remainder_number(function: str) -> Draw:
    def draw(data: st.DataObject) -> Call:
        if data.draw(st.booleans()):
            return Call(
                function, indices={"x": (vectors(data), 9)}, arguments={"y": data.draw(st.sampled_from([-4, 3]))}
            )
        if data.draw(st.booleans()):
            return Call(function, {"y": vectors(data)}, {"x": 2}, ranges={"y": (2.1, 2.9)})
        return Call(
            function, {"x": vectors(data)}, {"y": data.draw(st.sampled_from([-0.7, 2]))}, ranges={"x": (0.1, 0.6)}
        )

    return draw


CALLS: dict[str, Draw] = {
    **{name: unary(name, range=(0.1, 0.4)) for name in ("floor", "ceil", "round", "trunc", "sign")},
    **{f"{name} negative": unary(name, range=(-2.9, -2.6)) for name in ("floor", "ceil", "round", "trunc", "sign")},
    **{name: _remainder(name) for name in ("remainder", "fmod")},
    **{f"{name} number": _remainder_number(name) for name in ("remainder", "fmod")},
}
