"""Random calls of sorting."""

from hypothesis import strategies as st

from tests.calls import Call, Draw, Shape
from tests.calls.draw import axis_of, sizes


def _operand(data: st.DataObject) -> Shape:
    return sizes(data, *[(1, 4)] * data.draw(st.integers(1, 3)))


def _sorting(function: str) -> Draw:
    def draw(data: st.DataObject) -> Call:
        x = _operand(data)
        return Call(function, {"x": x}, {"axis": axis_of(data, x), "descending": data.draw(st.booleans())})

    return draw


def _topk(data: st.DataObject) -> Call:
    x = _operand(data)
    axis = axis_of(data, x)
    k = data.draw(st.integers(1, x[axis]))
    return Call("topk", {"x": x}, {"k": k, "axis": axis, "largest": data.draw(st.booleans())})


CALLS: dict[str, Draw] = {"sort": _sorting("sort"), "argsort": _sorting("argsort"), "topk": _topk}
