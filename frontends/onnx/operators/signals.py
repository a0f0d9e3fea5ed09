"""Fourier transforms as products with constant matrices, and operators along the time of a signal."""

from __future__ import annotations

import numpy as np

from npuc.frontends.dsl.syntax import Name
from npuc.frontends.onnx.container.element_types import Array
from npuc.frontends.onnx.context import TYPES, OnnxContext
from npuc.frontends.onnx.fold.limits import Limits
from npuc.frontends.onnx.operators import Meaning, Result, registry
from npuc.frontends.onnx.values import Constant

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


def _matrix(c: OnnxContext, length: int, parts: int, *, inverse: bool, onesided: bool) -> Array:
    """
    The matrix [length * parts, bins * parts of the result] of a discrete Fourier transform.

    Complex numbers are pairs, their real part first. The one-sided inverse takes the half of a spectrum whose other
    half is its conjugate, and gives real numbers.
    """
    back = inverse and onesided
    bins = length // 2 + 1 if onesided else length
    rows, columns = (bins, length) if back else (length, bins)
    if rows * parts * columns * 2 > Limits().elements:
        raise c.error(f"transforms {length} elements, more than fit into a matrix of {Limits().elements:,}")
    angle = 2 * np.pi * np.outer(np.arange(rows), np.arange(columns)) / length
    cosine, sine = np.cos(angle), np.sin(angle) if inverse else -np.sin(angle)
    if back:
        twice = np.full((rows, 1), 2.0)
        twice[0] = 1
        if length % 2 == 0:
            twice[-1] = 1
        return np.stack([cosine * twice, -sine * twice], 1).reshape(rows * 2, columns) / length
    real = np.stack([cosine, sine], -1)
    whole = real[:, None] if parts == 1 else np.stack([real, np.stack([-sine, cosine], -1)], 1)
    return whole.reshape(rows * parts, columns * 2) / (length if inverse else 1)


def _transformed(c: OnnxContext, x: Name, length: int, *, inverse: bool, onesided: bool) -> Name:
    """The transform of [..., rows, 1 or 2] along its rows, cut or filled with zeros to their number."""
    *lead, rows, parts = c.shape(x)
    back = inverse and onesided
    if parts not in (1, 2) or (back and parts != 2) or (onesided and not inverse and parts != 1):
        raise c.error(f"transforms numbers of {parts} parts, which does not fit its attributes")
    wanted = length // 2 + 1 if back else length
    if rows > wanted:
        x = c.let("slice", x, len(lead), 0, wanted)
    elif rows < wanted:
        x = c.let("pad", x, [0, 0, 0, wanted - rows])
    type = TYPES[c.element(x)]
    matrix = _matrix(c, length, parts, inverse=inverse, onesided=onesided).astype(type.held)
    flat = c.let("reshape", x, [*lead, wanted * parts])
    product = c.let("matmul", flat, c.variable(Constant(matrix, type)))
    return c.let("reshape", product, [*lead, length, 1] if back else [*lead, -1, 2])


@operator("DFT")
def fourier(c: OnnxContext) -> Result:
    x = c.x()
    given = c.onnx.int_at(2)
    axis = c.checked_axis(x, -2 if given is None else given)
    last = len(c.shape(x)) - 1
    inverse, onesided = c.onnx.int("inverse") != 0, c.onnx.int("onesided") != 0
    if axis == last:
        raise c.error("transforms the axis of the parts of complex numbers")
    length = c.onnx.int_at(1)
    if length is None:
        length = 2 * (c.shape(x)[axis] - 1) if inverse and onesided else c.shape(x)[axis]
    if length < 1:
        raise c.error(f"transforms {length} elements")
    order = [*(other for other in range(last) if other != axis), axis, last]
    moved = x if axis == last - 1 else c.let("transpose", x, order)
    out = _transformed(c, moved, length, inverse=inverse, onesided=onesided)
    return out if axis == last - 1 else c.call("transpose", out, [order.index(other) for other in range(last + 1)])


@operator("STFT", ranks={0: 3, 2: 1})
def short_time_fourier(c: OnnxContext) -> Result:
    """The transform of each frame of a signal [batch, length, 1 or 2]."""
    x, step = c.x(), c.onnx.int_at(1)
    batch, length, parts = c.shape(x)
    frame = c.onnx.int_at(3)
    if frame is None:
        frame = c.tensor(2).shape[0] if c.onnx.has(2) else length
    if step is None or step < 1 or not 1 <= frame <= length:
        raise c.error(f"frames of {frame} elements each {step} do not fit a signal of {length}")
    count = (length - frame) // step + 1
    places = [number * step + place for number in range(count) for place in range(frame)]
    frames = c.let("reshape", c.let("index_select", x, places, 1), [batch, count, frame, parts])
    if c.onnx.has(2):
        frames = c.let("mul", frames, c.let("reshape", c.x(2), [frame, 1]))
    return _transformed(c, frames, frame, inverse=False, onesided=c.onnx.int("onesided", 1) != 0 and parts == 1)


@operator("CausalConvWithState", ranks={0: 3, 1: 3, 3: 3})
def causal_convolution(c: OnnxContext) -> Result:
    """Each channel of [batch, channels, length] convolved with its past, which is passed on."""
    x, weight = c.x(0), c.weight(1)
    batch, channels, length = c.shape(x)
    kernel = c.tensor(1).shape[-1]
    if c.onnx.has(3) and kernel > 1:
        whole = c.let("concat", [c.x(3), x], 2)
    else:
        whole = c.let("pad", x, [kernel - 1, 0]) if kernel > 1 else x
    bias = c.weight(2)
    if weight is not None and (bias is not None or not c.onnx.has(2)) and c.own(weight=weight, bias=bias):
        plain = {} if bias is not None else {"bias": False}
        out = c.call("conv1d", whole, channels, kernel=kernel, groups=channels, **plain)
    else:
        out = c.call("conv1d", whole, weight=c.x(1), bias=False, groups=channels)
        if c.onnx.has(2):
            out = c.call("add", c.held(out), c.let("reshape", c.x(2), [channels, 1]))
    activation = c.onnx.string("activation", "none")
    if activation not in ("none", "silu", "swish"):
        raise c.error(f"found the activation '{activation}', expected silu, swish or none")
    if activation != "none":
        out = c.call("silu", c.settled(out))
    type = TYPES[c.element(x)]
    if kernel == 1:
        return [out, Constant(np.zeros((batch, channels, 0), type.held), type)]
    return [out, c.call("slice", whole, 2, length, length + kernel - 1)]


@operator("CumProd")
def running_product(c: OnnxContext) -> Result:
    """By doubling: after step n each element is the product of up to 2^n elements before it."""
    x, given = c.x(), c.onnx.int_at(1)
    axis = c.checked_axis(x, given or 0)
    size, backwards = c.shape(x)[axis], c.onnx.int("reverse") != 0
    total = c.let("flip", x, axis) if backwards else x
    ones = [1 if other == axis else extent for other, extent in enumerate(c.shape(x))]
    if c.onnx.int("exclusive"):
        total = _moved_on(c, total, axis, 1, ones)
    step = 1
    while step < size:
        total = c.let("mul", total, _moved_on(c, total, axis, step, ones))
        step *= 2
    return c.call("flip", total, axis) if backwards else total


def _moved_on(c: OnnxContext, x: Name, axis: int, step: int, ones: list[int]) -> Name:
    """The elements some places further along an axis, with ones before them."""
    size = c.shape(x)[axis]
    shape = [step if other == axis else extent for other, extent in enumerate(ones)]
    before = c.let("full", shape, 1, dtype=c.element(x))
    kept = c.let("slice", x, axis, 0, size - step) if step < size else None
    return before if kept is None else c.let("concat", [before, kept], axis)
