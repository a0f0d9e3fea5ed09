"""Random calls of convolution over one, two and three axes."""

from typing import Any

from hypothesis import strategies as st

from tests.calls import Call, Draw, Shape
from tests.calls.draw import image, sizes


def divisor(data: st.DataObject, channels: int) -> int:
    """A number of groups."""
    return data.draw(st.sampled_from([g for g in range(1, channels + 1) if channels % g == 0]))


def each(data: st.DataObject, axes: int, low: int, high: int) -> int | list[int]:
    """One number for all axes, or one each."""
    if data.draw(st.booleans()):
        return data.draw(st.integers(low, high))
    return list(sizes(data, *[(low, high)] * axes))


def sides(data: st.DataObject, axes: int, high: int) -> int | list[int]:
    """A padding: one number, one an axis, or one a side."""
    return each(data, data.draw(st.sampled_from([axes, 2 * axes])), 0, high)


def volume(data: st.DataObject, axes: int) -> Shape:
    """The shape of an input of a convolution over so many axes."""
    return sizes(data, (1, 2), (1, 4), *[(3, 8) if axes == 1 else (3, 4)] * axes)


def _window(data: st.DataObject, axes: int, padding: Any) -> dict[str, Any]:
    high = 2 if axes == 1 else 1
    return {
        "stride": each(data, axes, 1, 3),
        "padding": sides(data, axes, 2) if padding is None else padding,
        "dilation": each(data, axes, 1, high),
    }


def _conv(axes: int, *, shared: bool = False, padding: Any = None) -> Draw:
    def draw(data: st.DataObject) -> Call:
        x = volume(data, axes)
        groups = divisor(data, x[1])
        out = groups * data.draw(st.integers(1, 2))
        kernel = sizes(data, *[(1, 2)] * axes)
        arguments = {"groups": groups, "bias": data.draw(st.booleans())} | _window(data, axes, padding)
        if shared:
            return Call(f"conv{axes}d", {"x": x, "weight": (out, x[1] // groups, *kernel)}, arguments)
        return Call(f"conv{axes}d", {"x": x}, {"channels": out, "kernel": list(kernel)} | arguments)

    return draw


def _conv1d_same(data: st.DataObject) -> Call:
    x = volume(data, 1)
    arguments = {
        "channels": data.draw(st.integers(1, 3)),
        "kernel": data.draw(st.integers(1, 5)),
        "stride": data.draw(st.integers(1, 3)),
        "dilation": data.draw(st.integers(1, 3)),
        "padding": "same",
    }
    return Call("conv1d", {"x": x}, arguments)


def _image_window(data: st.DataObject, x: Shape) -> dict[str, Any]:
    return {
        "stride": list(sizes(data, (1, 2), (1, 3))),
        "padding": list(sizes(data, (0, 2), (0, 2), (0, 2), (0, 2))),
        "dilation": list(sizes(data, (1, 1), (1, 1)) if min(x[2:]) < 5 else sizes(data, (1, 2), (1, 2))),
    }


def _conv2d(*, shared: bool = False) -> Draw:
    def draw(data: st.DataObject) -> Call:
        x = image(data)
        groups = divisor(data, x[1])
        out, kernel = groups * data.draw(st.integers(1, 2)), sizes(data, (1, 3), (1, 3))
        arguments = {"groups": groups, "bias": data.draw(st.booleans())} | _image_window(data, x)
        if shared:
            return Call("conv2d", {"x": x, "weight": (out, x[1] // groups, *kernel)}, arguments)
        return Call("conv2d", {"x": x}, {"channels": out, "kernel": list(kernel)} | arguments)

    return draw


def _conv2d_same(data: st.DataObject) -> Call:
    kernel = list(sizes(data, (1, 4), (1, 4)))
    return Call("conv2d", {"x": image(data)}, {"channels": 2, "kernel": kernel, "padding": "same"})


def _conv2d_valid(data: st.DataObject) -> Call:
    return Call("conv2d", {"x": image(data)}, {"channels": 2, "kernel": each(data, 2, 1, 3), "padding": "valid"})


CALLS: dict[str, Draw] = {
    "conv1d": _conv(1),
    "conv1d shared": _conv(1, shared=True),
    "conv1d same": _conv1d_same,
    "conv1d valid": _conv(1, padding="valid"),
    "conv2d": _conv2d(),
    "conv2d shared": _conv2d(shared=True),
    "conv2d same": _conv2d_same,
    "conv2d valid": _conv2d_valid,
    "conv3d": _conv(3),
    "conv3d same": _conv(3, padding="same"),
}
