"""Random calls of the functions that give elements another shape."""

from hypothesis import strategies as st

from tests.calls import Call, Draw, Shape
from tests.calls.draw import axis_of, sizes, unary, vectors


def _with_ones(data: st.DataObject) -> Shape:
    return tuple(data.draw(st.sampled_from([1, 2, 3])) for _ in range(data.draw(st.integers(1, 4))))


def _squeeze(data: st.DataObject) -> Call:
    shape = list(vectors(data))
    axes = data.draw(st.lists(st.integers(0, 2), min_size=1, max_size=3, unique=True))
    for axis in axes:
        shape[axis] = 1
    given = [axis - data.draw(st.sampled_from([0, 3])) for axis in axes]
    return Call("squeeze", {"x": tuple(shape)}, {"axis": given[0] if len(given) == 1 else given})


def _unsqueeze(data: st.DataObject) -> Call:
    x = _with_ones(data)
    return Call("unsqueeze", {"x": x}, {"axis": data.draw(st.integers(-len(x) - 1, len(x)))})


def _expand(data: st.DataObject) -> Call:
    x = _with_ones(data)
    shape = list(sizes(data, *[(1, 3)] * data.draw(st.integers(0, 2))))
    for size in x:
        shape.append(data.draw(st.sampled_from([-1, 1, 2, 3] if size == 1 else [-1, size])))
    return Call("expand", {"x": x}, {"shape": shape})


def _repeat(data: st.DataObject) -> Call:
    x = _with_ones(data)
    return Call("repeat", {"x": x}, {"repeats": list(sizes(data, *[(1, 3)] * (len(x) + data.draw(st.integers(0, 2)))))})


def _transpose(data: st.DataObject) -> Call:
    axes = data.draw(st.permutations(range(3)))
    return Call("transpose", {"x": vectors(data)}, {"axes": [a - data.draw(st.sampled_from([0, 3])) for a in axes]})


CALLS: dict[str, Draw] = {
    "flatten": lambda data: Call("flatten", {"x": (x := vectors(data))}, {"start": axis_of(data, x)}),
    "reshape": unary("reshape", shape=[-1]),
    "transpose": _transpose,
    "squeeze": _squeeze,
    "squeeze all": lambda data: Call("squeeze", {"x": _with_ones(data)}),
    "unsqueeze": _unsqueeze,
    "expand": _expand,
    "repeat": _repeat,
    "detach": unary("detach"),
}
