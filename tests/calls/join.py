"""Random calls of the functions that join tensors and take them apart."""

from hypothesis import strategies as st

from tests.calls import Call, Draw
from tests.calls.draw import axis_of, sizes, vectors


def _concat(data: st.DataObject) -> Call:
    x = vectors(data)
    axis = axis_of(data, x)
    shapes = [x]
    for size in data.draw(st.lists(st.integers(1, 3), max_size=3)):
        other = list(x)
        other[axis] = size
        shapes.append(tuple(other))
    return Call("concat", {"tensors": shapes}, {"axis": axis})


def _split(data: st.DataObject) -> Call:
    parts = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    x = list(vectors(data))
    axis = axis_of(data, tuple(x))
    x[axis] = sum(parts)
    given = data.draw(st.one_of(st.just(parts), st.integers(1, sum(parts) + 1)))
    return Call("split", {"x": tuple(x)}, {"sizes": given, "axis": axis})


def _stack(data: st.DataObject) -> Call:
    x = sizes(data, *[(1, 3)] * data.draw(st.integers(1, 3)))
    count = data.draw(st.integers(1, 4))
    return Call("stack", {"tensors": [x] * count}, {"axis": data.draw(st.integers(-len(x) - 1, len(x)))})


def _unbind(data: st.DataObject) -> Call:
    x = sizes(data, *[(1, 4)] * data.draw(st.integers(1, 3)))
    return Call("unbind", {"x": x}, {"axis": axis_of(data, x)})


CALLS: dict[str, Draw] = {"concat": _concat, "split": _split, "stack": _stack, "unbind": _unbind}
