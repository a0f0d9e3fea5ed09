"""Layers of darknet element by element, as its C code computes them: images [channels, height, width]."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Image = npt.NDArray[Any]


def maxpool(x: Image, size: int, stride: int, padding: int) -> Image:
    channels, height, width = x.shape
    high, wide = (height + padding - size) // stride + 1, (width + padding - size) // stride + 1
    out = np.full((channels, high, wide), -np.inf)
    for k, i, j, n, m in np.ndindex(channels, high, wide, size, size):
        row, column = i * stride + n - padding // 2, j * stride + m - padding // 2
        if 0 <= row < height and 0 <= column < width:
            out[k, i, j] = max(out[k, i, j], x[k, row, column])
    return out


def convolution(x: Image, weight: Image, stride: int, padding: int, dilation: int, groups: int) -> Image:
    _, height, width = x.shape
    filters, each, size, _ = weight.shape
    high, wide = (height + 2 * padding - size) // stride + 1, (width + 2 * padding - size) // stride + 1
    out = np.zeros((filters, high, wide))
    for f, i, j, k, n, m in np.ndindex(filters, high, wide, each, size, size):
        row = i * stride + n * dilation - padding * dilation
        column = j * stride + m * dilation - padding * dilation
        if 0 <= row < height and 0 <= column < width:
            out[f, i, j] += weight[f, k, n, m] * x[f // (filters // groups) * each + k, row, column]
    return out


def reorg(x: Image, stride: int, *, old: bool) -> Image:
    channels, height, width = x.shape
    flat, out = x.ravel(), np.zeros(x.size)
    if old:  # the loop runs over the sizes of the input
        own, high, wide = channels, height, width
    else:
        own, high, wide = channels * stride**2, height // stride, width // stride
    less = own // stride**2
    for k, j, i in np.ndindex(own, high, wide):
        offset = k // less
        column, row = i * stride + offset % stride, j * stride + offset // stride
        source = column + wide * stride * (row + high * stride * (k % less))
        out[i + wide * (j + high * k)] = flat[source]
    return out.reshape(channels * stride**2, height // stride, width // stride)


def shortcut(x: Image, add: Image) -> Image:
    """`shortcut_cpu`: each n-th row and column of `add`, and the channels that both have."""
    out = x.copy()
    step = add.shape[2] // x.shape[2]
    for k, j, i in np.ndindex(min(x.shape[0], add.shape[0]), *x.shape[1:]):
        out[k, j, i] += add[k, j * step, i * step]
    return out


def upsample(x: Image, stride: int, scale: float) -> Image:
    channels, height, width = x.shape
    out = np.zeros((channels, height * stride, width * stride))
    for k, j, i in np.ndindex(*out.shape):
        out[k, j, i] = scale * x[k, j // stride, i // stride]
    return out
