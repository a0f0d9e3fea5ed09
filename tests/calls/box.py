"""Random calls of slices, of writing into them, and of padding."""

from hypothesis import strategies as st

from tests.calls import Call, Draw
from tests.calls.draw import axis_of, sizes, vectors


def _slice(data: st.DataObject) -> Call:
    x = sizes(data, (1, 3), (1, 6), (1, 5))
    axis = axis_of(data, x)
    size = x[axis]
    start = data.draw(st.integers(0, size - 1))
    stop = data.draw(st.integers(start + 1, size))
    arguments = {"axis": axis, "start": start - data.draw(st.sampled_from([0, size])), "step": sizes(data, (1, 3))[0]}
    if stop < size or data.draw(st.booleans()):
        arguments["stop"] = stop if stop == size else stop - data.draw(st.sampled_from([0, size]))
    return Call("slice", {"x": x}, arguments)


def _slice_scatter(data: st.DataObject) -> Call:
    """A call that leaves some of x, so that the network reads it."""
    x = sizes(data, (1, 3), (2, 5), (2, 5))
    axis = data.draw(st.integers(1, 2))
    size = x[axis]
    start, step = sizes(data, (0, size - 1), (1, 3))
    stop = data.draw(st.integers(start + 1, size if start or step > 1 else size - 1))
    src = list(x)
    src[axis] = len(range(start, stop, step))
    arguments = {"axis": axis - data.draw(st.sampled_from([0, 3])), "start": start, "stop": stop, "step": step}
    return Call("slice_scatter", {"x": x, "src": tuple(src)}, arguments)


def _select_scatter(data: st.DataObject) -> Call:
    x = sizes(data, *[(2, 4)] * 3)
    axis = axis_of(data, x)
    index = data.draw(st.integers(-x[axis], x[axis] - 1))
    src = tuple(size for number, size in enumerate(x) if number != axis % 3)
    return Call("select_scatter", {"x": x, "src": src}, {"axis": axis, "index": index})


def _pad(data: st.DataObject) -> Call:
    x = vectors(data)
    padding: list[int] = []
    for size in x[::-1][: data.draw(st.integers(1, 3))]:
        before = data.draw(st.integers(-size + 1, 3))
        padding += [before, data.draw(st.integers(-size + 1 - min(0, before), 3))]
    return Call("pad", {"x": x}, {"padding": padding, "value": data.draw(st.sampled_from([0.0, -1.5]))})


def _pad_border(mode: str) -> Draw:
    def draw(data: st.DataObject) -> Call:
        x = (*sizes(data, (1, 2), (1, 3), (2, 5)), data.draw(st.integers(3, 5)))
        padding: list[int] = []
        for size in x[::-1][: data.draw(st.integers(1, 2))]:
            widest = size - 1 if mode == "reflect" else size if mode == "circular" else 4
            padding += sizes(data, (0, widest), (0, widest))
        return Call("pad", {"x": x}, {"padding": padding, "mode": mode})

    return draw


CALLS: dict[str, Draw] = {
    "slice": _slice,
    "slice_scatter": _slice_scatter,
    "select_scatter": _select_scatter,
    "pad": _pad,
    "pad reflect": _pad_border("reflect"),
    "pad replicate": _pad_border("replicate"),
    "pad circular": _pad_border("circular"),
}
