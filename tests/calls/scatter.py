"""Random calls of indexing by several tensors and of putting elements at indices."""

from typing import Any

from hypothesis import strategies as st

from tests.calls import Call, Draw, Index, Shape
from tests.calls.draw import axis_of, sizes

_APART = {"src": (-0.9137, 1.0911)}
"""A range of src in which its elements are none of x's, as equal ones are kinks of extremes."""
_REDUCE = st.sampled_from(["set", "add", "mul", "max", "min"])


def _operand(data: st.DataObject) -> Shape:
    return sizes(data, *[(1, 3)] * data.draw(st.integers(1, 3)))


def _indices(data: st.DataObject, x: Shape) -> tuple[list[Index], list[int] | None, Shape]:
    """Index tensors for some axes of x, the axes, and the shape of what they pick."""
    along = data.draw(st.lists(st.integers(0, len(x) - 1), min_size=1, max_size=len(x), unique=True))
    both = sizes(data, *[(1, 3)] * data.draw(st.integers(0, 2)))
    own = [tuple(1 if data.draw(st.integers(0, 3)) == 0 else size for size in both) for _ in along]
    own[0] = both
    kept = [size for axis, size in enumerate(x) if axis not in along]
    at = min(along) if max(along) - min(along) == len(along) - 1 else 0
    axes = [axis - data.draw(st.sampled_from([0, len(x)])) for axis in along]
    pairs = [(shape, x[axis]) for shape, axis in zip(own, along, strict=True)]
    omitted = along == list(range(len(along))) and data.draw(st.booleans())
    return pairs, None if omitted else axes, (*kept[:at], *both, *kept[at:])


def _index(data: st.DataObject) -> Call:
    x = _operand(data)
    index, axes, _ = _indices(data, x)
    return Call("index", {"x": x}, {} if axes is None else {"axes": axes}, {"indices": index})


def _index_put(data: st.DataObject) -> Call:
    x = _operand(data)
    index, axes, picked = _indices(data, x)
    arguments: dict[str, Any] = {"reduce": data.draw(_REDUCE)} | ({} if axes is None else {"axes": axes})
    if data.draw(st.integers(0, 4)) == 0:
        return Call("index_put", {"x": x}, {"src": 0.5, **arguments}, {"indices": index})
    src = tuple(1 if data.draw(st.integers(0, 4)) == 0 else size for size in picked)
    src = src[1:] if src[:1] == (1,) and data.draw(st.booleans()) else src
    return Call("index_put", {"x": x, "src": src}, arguments, {"indices": index}, ranges=_APART)


def _scatter(data: st.DataObject) -> Call:
    x = sizes(data, *[(1, 4)] * data.draw(st.integers(1, 3)))
    axis = axis_of(data, x)
    shape = [data.draw(st.integers(1, size)) for size in x]
    shape[axis] = data.draw(st.integers(1, 4))
    src = tuple(size + data.draw(st.integers(0, 1)) for size in shape)
    arguments = {"axis": axis, "reduce": data.draw(_REDUCE)}
    return Call("scatter", {"x": x, "src": src}, arguments, {"index": (tuple(shape), x[axis])}, ranges=_APART)


def _rows(data: st.DataObject, batch: int) -> tuple[Shape, Index, Shape]:
    """A tensor, an index of rows of places in it after axes of a batch, and the shape of what they pick."""
    lead, count = sizes(data, *[(1, 3)] * batch), data.draw(st.integers(1, 2))
    behind, many = (sizes(data, *[(1, 3)] * data.draw(st.integers(0, 1))) for _ in range(2))
    along = data.draw(st.integers(1, 3))
    picked = (*lead, *many, *behind)
    return (*lead, *[along] * count, *behind), ((*lead, *many, count), along), picked


def _gather_nd(data: st.DataObject) -> Call:
    batch = data.draw(st.integers(0, 1))
    x, index, _ = _rows(data, batch)
    return Call("gather_nd", {"x": x}, {"batch": batch}, {"index": index})


def _scatter_nd(data: st.DataObject) -> Call:
    x, index, src = _rows(data, 0)
    return Call("scatter_nd", {"x": x, "src": src}, {"reduce": data.draw(_REDUCE)}, {"index": index}, ranges=_APART)


CALLS: dict[str, Draw] = {
    "index": _index,
    "gather_nd": _gather_nd,
    "index_put": _index_put,
    "scatter": _scatter,
    "scatter_nd": _scatter_nd,
}
