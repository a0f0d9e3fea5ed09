"""Random calls of lookups."""

from hypothesis import strategies as st

from tests.calls import Call, Draw
from tests.calls.draw import axis_of, sizes, vectors


def _index_select(data: st.DataObject) -> Call:
    x = vectors(data)
    axis = axis_of(data, x)
    index = {"index": (sizes(data, (1, 6)), x[axis])}
    return Call("index_select", {"x": x}, {"axis": axis}, indices=index)


def _listed(data: st.DataObject) -> Call:
    x = vectors(data)
    axis = axis_of(data, x)
    index = data.draw(st.lists(st.integers(-x[axis], x[axis] - 1), min_size=1, max_size=6))
    return Call("index_select", {"x": x}, {"axis": axis, "index": index})


def _gather(data: st.DataObject) -> Call:
    x = sizes(data, *[(1, 4)] * data.draw(st.integers(1, 3)))
    axis = axis_of(data, x)
    shape = [data.draw(st.integers(1, size)) for size in x]
    shape[axis] = data.draw(st.integers(1, 5))
    return Call("gather", {"x": x}, {"axis": axis}, indices={"index": (tuple(shape), x[axis])})


def _one_hot(data: st.DataObject) -> Call:
    classes = data.draw(st.integers(1, 4))
    shape = sizes(data, *[(1, 3)] * data.draw(st.integers(0, 2)))
    dtype = data.draw(st.sampled_from(["f32", "f64", "i32", "bool"]))
    return Call("one_hot", arguments={"classes": classes, "dtype": dtype}, indices={"ids": (shape, classes)})


CALLS: dict[str, Draw] = {
    "index_select": _index_select,
    "index_select list": _listed,
    "gather": _gather,
    "one_hot": _one_hot,
}
