"""Random calls of the rearrangements that are made of others."""

from math import prod

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


def _fold(data: st.DataObject) -> Call:
    """The windows that `_unfold` draws, of an image that they fit."""
    batch, channels, height, width = image(data)
    given = _unfold(data).arguments
    kernel, stride, padding, dilation = (given[name] for name in ("kernel", "stride", "padding", "dilation"))
    counts = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip((height, width), kernel, stride, padding, dilation, strict=True)
    ]
    x = (batch, channels * prod(kernel), prod(counts))
    return Call("fold", {"x": x}, {"size": [height, width], **given})


CALLS: dict[str, Draw] = {
    "pixel_unshuffle": _pixel_unshuffle,
    "repeat_interleave": _repeat_interleave,
    "unfold": _unfold,
    "fold": _fold,
}
