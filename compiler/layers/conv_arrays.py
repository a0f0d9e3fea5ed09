"""
The three products of a convolution on numpy, one matrix product per position in the window.

`image` is the tensor that the window moves over, [b, c, …]; `rows` has an element for each position of the window,
[b, o, …]; the weight is [o, c / groups, …]. A transposed convolution is the same three products in other roles.
"""

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from npuc.compiler.layers.base import Array
from npuc.compiler.layers.window import window_places
from npuc.dialects.train.conv import Window

Shape = tuple[int, ...]


def correlate(window: Window, image: Array, w: Array, shape: Shape) -> Array:
    """An array of `shape`: out[b, o] += w[o, i, offset] image[b, i] at the places under the offset."""
    groups = window.groups
    b, o, *positions = shape
    padded, kernels = _padded(window, image), _grouped(w, 0, groups)
    out = np.zeros((b, groups, o // groups, prod(positions)), dtype=image.dtype)
    for offset, index in _places(window, w.shape[2:], positions):
        out += kernels[(..., *offset)] @ padded[index].reshape(b, groups, -1, prod(positions))
    return out.reshape(shape)


def spread(window: Window, rows: Array, w: Array, shape: Shape) -> Array:
    """An array of `shape`: out[b, i] at the places under an offset += w[o, i, offset]ᵀ rows[b, o]."""
    groups, axes = window.groups, window.axes
    b, c, *size = shape
    positions = rows.shape[2:]
    kernels = np.swapaxes(np.moveaxis(_grouped(w, 0, groups), range(-axes, 0), range(axes)), -1, -2)
    lines = _grouped(rows, 1, groups).reshape(b, groups, -1, prod(positions))
    whole = [n + before + after for n, before, after in zip(size, window.before, window.after, strict=True)]
    out = np.zeros((b, groups, c // groups, *whole), dtype=rows.dtype)
    for offset, index in _places(window, w.shape[2:], positions):
        out[index] += (kernels[offset] @ lines).reshape(b, groups, c // groups, *positions)
    inside = [slice(before, before + n) for n, before in zip(size, window.before, strict=True)]
    return out[(..., *inside)].reshape(shape)


def weigh(window: Window, image: Array, rows: Array, shape: Shape) -> Array:
    """An array of `shape`: out[o, i, offset] = sum over b and positions of rows[b, o] image[b, i] under the offset."""
    groups = window.groups
    o, i, *kernel = shape
    b, positions = rows.shape[0], rows.shape[2:]
    padded = _padded(window, image)
    lines = _grouped(rows, 1, groups).reshape(b, groups, o // groups, -1)
    out = np.zeros((groups, o // groups, i, *kernel), dtype=image.dtype)
    for offset, index in _places(window, kernel, positions):
        columns = padded[index].reshape(b, groups, i, -1)
        out[(..., *offset)] = (lines @ np.swapaxes(columns, -1, -2)).sum(axis=0)
    return out.reshape(shape)


def _grouped(array: Array, axis: int, groups: int) -> Array:
    """Split the channel axis in [groups, channels of a group]."""
    shape = list(array.shape)
    shape[axis : axis + 1] = [groups, shape[axis] // groups]
    return array.reshape(shape)


def _padded(window: Window, image: Array) -> Array:
    """The image with its padding, channels in groups: [b, g, i, …]."""
    pads = zip(window.before, window.after, strict=True)
    return _grouped(np.pad(image, ((0, 0), (0, 0), *pads)), 1, window.groups)


def _places(
    window: Window, kernel: Sequence[int], positions: Sequence[int]
) -> Iterator[tuple[Shape, tuple[slice, ...]]]:
    """Each offset in the window with the index of the elements of the padded image [b, g, i, …] under it."""
    for offset, places in window_places(tuple(kernel), tuple(positions), window.stride, window.dilation):
        yield offset, (slice(None), slice(None), slice(None), *places)
