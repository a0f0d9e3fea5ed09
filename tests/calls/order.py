"""Random calls of flip, roll and triangles."""

from hypothesis import strategies as st

from tests.calls import Call, Draw
from tests.calls.draw import sizes, vectors


def _axes(data: st.DataObject) -> list[int]:
    axes = data.draw(st.lists(st.integers(0, 2), min_size=1, max_size=3, unique=True))
    return [axis - data.draw(st.sampled_from([0, 3])) for axis in axes]


def _flip(data: st.DataObject) -> Call:
    axes = _axes(data)
    return Call("flip", {"x": vectors(data)}, {"axis": axes[0] if len(axes) == 1 else axes})


def _roll(data: st.DataObject) -> Call:
    axes = _axes(data)
    shifts = list(sizes(data, *[(-7, 7)] * len(axes)))
    if len(axes) == 1:
        return Call("roll", {"x": vectors(data)}, {"shift": shifts[0], "axis": axes[0]})
    return Call("roll", {"x": vectors(data)}, {"shift": shifts, "axis": axes})


def _triangle(function: str) -> Draw:
    def draw(data: st.DataObject) -> Call:
        x = sizes(data, *[(1, 4)] * data.draw(st.integers(2, 4)))
        return Call(function, {"x": x}, {"diagonal": data.draw(st.integers(-5, 5))})

    return draw


CALLS: dict[str, Draw] = {"flip": _flip, "roll": _roll, "tril": _triangle("tril"), "triu": _triangle("triu")}
