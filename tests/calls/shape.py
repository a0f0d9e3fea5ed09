"""Random calls of the functions that rearrange elements."""

from hypothesis import strategies as st

from tests.calls import Call, Draw
from tests.calls.draw import axis_of, unary, vectors


def _concat(data: st.DataObject) -> Call:
    x = vectors(data)
    axis = axis_of(data, x)
    other = list(x)
    other[axis] = data.draw(st.integers(1, 3))
    return Call("concat", {"tensors": [x, tuple(other), x]}, {"axis": axis})


CALLS: dict[str, Draw] = {
    "flatten": unary("flatten", start=1),
    "reshape": unary("reshape", shape=[-1]),
    "transpose": unary("transpose", axes=[2, 0, 1]),
    "concat": _concat,
}
