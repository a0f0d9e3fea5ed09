"""Random calls of two-dimensional convolution."""

from typing import Any

from hypothesis import strategies as st

from tests.calls import Call, Draw
from tests.calls.draw import image, sizes


def _window(data: st.DataObject, x: tuple[int, ...]) -> dict[str, Any]:
    return {
        "stride": list(sizes(data, (1, 2), (1, 3))),
        "padding": list(sizes(data, (0, 2), (0, 2), (0, 2), (0, 2))),
        "dilation": list(sizes(data, (1, 1), (1, 1)) if min(x[2:]) < 5 else sizes(data, (1, 2), (1, 2))),
    }


def _groups(data: st.DataObject, channels: int) -> int:
    return data.draw(st.sampled_from([g for g in range(1, channels + 1) if channels % g == 0]))


def _conv2d(data: st.DataObject) -> Call:
    x = image(data)
    groups = _groups(data, x[1])
    arguments = {
        "channels": groups * data.draw(st.integers(1, 2)),
        "kernel": list(sizes(data, (1, 3), (1, 3))),
        "groups": groups,
        "bias": data.draw(st.booleans()),
    }
    return Call("conv2d", {"x": x}, arguments | _window(data, x))


def _conv2d_shared(data: st.DataObject) -> Call:
    x = image(data)
    groups = _groups(data, x[1])
    weight = (groups * data.draw(st.integers(1, 2)), x[1] // groups, *sizes(data, (1, 3), (1, 3)))
    arguments = {"groups": groups, "bias": data.draw(st.booleans())}
    return Call("conv2d", {"x": x, "weight": weight}, arguments | _window(data, x))


def _conv2d_same(data: st.DataObject) -> Call:
    return Call(
        "conv2d", {"x": image(data)}, {"channels": 2, "kernel": list(sizes(data, (1, 4), (1, 4))), "padding": "same"}
    )


CALLS: dict[str, Draw] = {"conv2d": _conv2d, "conv2d shared": _conv2d_shared, "conv2d same": _conv2d_same}
