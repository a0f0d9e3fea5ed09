"""Windows spelt out: the padded operand from each place in the window, where no pooling of the language fits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.onnx.container.element_types import Array
from npuc.frontends.onnx.context import OnnxContext
from npuc.frontends.onnx.operators import Meaning, Result, registry
from npuc.frontends.onnx.parts.attending import FAR
from npuc.frontends.onnx.parts.windows import Window, window_of

MOST_COUNTED = 1 << 24
"""The most elements of all windows, padding included, whose numbers are counted one by one."""
MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


def _outputs(c: OnnxContext, window: Window, sizes: Sequence[int]) -> list[int]:
    """How many windows each axis has; none begins in the padding behind it."""
    axes, found = len(sizes), list[int]()
    for axis, size in enumerate(sizes):
        step = window.strides[axis]
        room = size + window.pads[axis] + window.pads[axis + axes] - window.span(axis)
        if room < 0:
            raise c.error(f"its window has {window.span(axis)} elements, more than axis {axis + 2}")
        count = room // step + 1
        if c.onnx.int("ceil_mode") and room % step and count * step < size + window.pads[axis]:
            count += 1
        found.append(count)
    return found


def _views(c: OnnxContext, x: Name, window: Window, outputs: Sequence[int], value: float) -> list[Name]:
    """The padded operand [batch, channels, windows…] from each place in the window, in row-major order."""
    axes, sizes = len(outputs), c.shape(x)[2:]
    padding: list[int] = []
    for axis in reversed(range(axes)):
        before, reach = window.pads[axis], (outputs[axis] - 1) * window.strides[axis] + window.span(axis)
        padding += [before, max(0, reach - before - sizes[axis])]
    if any(padding):
        x = c.let("pad", x, padding, **({"value": value} if value else {}))
    views: list[Name] = []
    for places in product(*map(range, window.kernel)):
        view = x
        for axis, place in enumerate(places):
            start, step = place * window.dilations[axis], window.strides[axis]
            stop = start + (outputs[axis] - 1) * step + 1
            if (start, stop, step) != (0, c.shape(x)[axis + 2], 1):
                view = c.let("slice", view, axis + 2, start, stop, **({} if step == 1 else {"step": step}))
        views.append(view)
    return views


def _together(c: OnnxContext, function: str, views: Sequence[Name]) -> Name:
    total = views[0]
    for view in views[1:]:
        total = c.let(function, total, view)
    return total


def _counts(c: OnnxContext, window: Window, sizes: Sequence[int], outputs: Sequence[int]) -> Array:
    """The number of elements that each window counts. Raises `SourceError` for more windows than can be counted."""
    axes, whole = len(sizes), np.ones((), np.int64)
    if prod(outputs) * prod(window.kernel) > MOST_COUNTED:
        raise c.error(f"its padding makes {prod(outputs):,} windows, too many to count what each has")
    for axis, size in enumerate(sizes):
        before, after = window.pads[axis], window.pads[axis + axes]
        places = np.arange(outputs[axis])[:, None] * window.strides[axis] - before
        places = places + np.arange(window.kernel[axis]) * window.dilations[axis]
        low, high = (-before, size + after) if c.onnx.int("count_include_pad") else (0, size)
        whole = np.multiply.outer(whole, ((places >= low) & (places < high)).sum(1))
    return whole


def average(c: OnnxContext, window: Window) -> Result:
    """The mean of each window, of any padding and with gaps between its elements."""
    x = c.x()
    outputs = _outputs(c, window, c.shape(x)[2:])
    total = _together(c, "add", _views(c, x, window, outputs, 0.0))
    counts = _counts(c, window, c.shape(x)[2:], outputs)
    if (counts == counts.flat[0]).all():
        return c.call("div", total, float(counts.flat[0]))
    listed = c.let("tensor", counts.ravel().tolist(), list(counts.shape), dtype=c.element(x))
    return c.call("div", total, listed)


def norm(c: OnnxContext, window: Window) -> Result:
    """The root of the sum of powers of each window."""
    x, order = c.let("abs", c.x()), c.onnx.int("p", 2)
    if order < 1:
        raise c.error(f"found a norm of order {order}, expected at least 1")
    power = x if order == 1 else c.let("mul", x, x) if order == 2 else c.let("pow", x, float(order))
    total = _together(c, "add", _views(c, power, window, _outputs(c, window, c.shape(x)[2:]), 0.0))
    return total if order == 1 else c.call("sqrt", total) if order == 2 else c.call("pow", total, 1 / order)


def _lowest(c: OnnxContext, x: Name) -> float:
    element = c.element(x)
    if element == "bool":
        raise c.error("found a tensor of bool, expected numbers")
    return FAR[element] if element in FAR else float(-(2 ** (int(element.removeprefix("i")) - 1)))


def largest(c: OnnxContext, window: Window) -> Result:
    """The largest element of each window, of any padding."""
    x = c.x()
    return _together(c, "max", _views(c, x, window, _outputs(c, window, c.shape(x)[2:]), _lowest(c, x)))


def max_with_places(c: OnnxContext, window: Window) -> Result:
    """The largest element of each window, and its place in the whole operand in row-major order."""
    x = c.x()
    shape = c.shape(x)
    outputs = _outputs(c, window, shape[2:])
    views = c.let("stack", _views(c, x, window, outputs, _lowest(c, x)), 0)
    order = list(range(len(outputs)))
    if c.onnx.int("storage_order"):
        order.reverse()  # the first axis is the innermost
    steps = [prod(shape[2 + other] for other in order[order.index(axis) + 1 :]) for axis in range(len(order))]
    first = np.zeros((), np.int64)
    for axis, count in enumerate(outputs):
        places = np.arange(count) * window.strides[axis] - window.pads[axis]
        first = np.add.outer(first, places * steps[axis])
    kernel = [np.arange(k) * d * s for k, d, s in zip(window.kernel, window.dilations, steps, strict=True)]
    inner = kernel[0]
    for more in kernel[1:]:
        inner = np.add.outer(inner, more)
    which = c.let("argmax", views, axis=0)
    table = c.let("tensor", inner.ravel().tolist(), [inner.size], dtype="i64")
    place = c.let("reshape", c.let("index_select", table, c.let("reshape", which, [-1]), 0), list(c.shape(which)))
    base = c.let("tensor", first.ravel().tolist(), outputs, dtype="i64")
    image = c.let("arange", prod(shape), 0, prod(shape[2:]), dtype="i64")
    image = c.let("reshape", image, [*shape[:2], *[1] * len(outputs)])
    return [c.call("amax", views, axis=0), c.call("add", c.let("add", place, base), image)]


@operator("Col2Im", ranks={0: 3})
def columns_to_image(c: OnnxContext) -> Result:
    """Columns [batch, channels * kernel, windows] added where the windows of an image lie."""
    x, image, kernel = c.x(0), c.onnx.ints_at(1) or (), c.onnx.ints_at(2) or ()
    batch, rows, count = c.shape(x)
    window = window_of(c, image, kernel)
    outputs = _outputs(c, window, image)
    if prod(outputs) != count or rows % prod(kernel):
        raise c.error(f"its columns are {list(c.shape(x))}, expected {prod(outputs)} windows of {list(kernel)}")
    whole = [size + window.pads[axis] + window.pads[axis + len(image)] for axis, size in enumerate(image)]
    places, behind = np.zeros((), np.int64), [prod(whole[axis + 1 :]) for axis in range(len(whole))]
    for axis, size in enumerate(kernel):
        places = np.add.outer(places, np.arange(size) * window.dilations[axis] * behind[axis])
    for axis, size in enumerate(outputs):
        places = np.add.outer(places, np.arange(size) * window.strides[axis] * behind[axis])
    channels = rows // prod(kernel)
    empty = c.let("zeros", [batch, channels, prod(whole)], dtype=c.element(x))
    index = c.let("tensor", places.ravel().tolist(), [places.size], dtype="i64")
    flat = c.let("reshape", x, [batch, channels, places.size])
    put: Name | Call = c.call("index_put", empty, [index], flat, [2], reduce="add")
    put = c.call("reshape", c.held(put), [batch, channels, *whole])
    for axis, size in enumerate(image):
        if size != whole[axis]:
            before = window.pads[axis]
            put = c.call("slice", c.held(put), axis + 2, before, before + size)
    return put
