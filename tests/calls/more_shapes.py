"""Random calls of the rearrangements that are made of others."""

from hypothesis import strategies as st

from tests.calls import Call, Draw
from tests.calls.draw import axis_of, image, sizes, vectors


def _pixel_unshuffle(data: st.DataObject) -> Call:
    batch, channels, height, width, factor = sizes(data, (1, 2), (1, 2), (1, 2), (1, 3), (1, 3))
    return Call("pixel_unshuffle", {"x": (batch, channels, height * factor, width * factor)}, {"factor": factor})


def _repeat_interleave(data: st.DataObject) -> Call:
    x = vectors(data)
    return Call("repeat_interleave", {"x": x}, {"repeats": data.draw(st.integers(1, 3)), "axis": axis_of(data, x)})


def _unfold(data: st.DataObject) -> Call:
    arguments = {"kernel": list(sizes(data, (1, 3), (1, 2))), "stride": list(sizes(data, (1, 2), (1, 3)))}
    arguments |= {"padding": list(sizes(data, (0, 1), (0, 2))), "dilation": [1, data.draw(st.integers(1, 2))]}
    return Call("unfold", {"x": image(data)}, arguments)


CALLS: dict[str, Draw] = {
    "pixel_unshuffle": _pixel_unshuffle,
    "repeat_interleave": _repeat_interleave,
    "unfold": _unfold,
}
