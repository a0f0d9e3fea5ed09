"""Borders of images, and other sizes of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from npuc.frontends.keras.layer import KerasLayer
from npuc.frontends.keras.layers import Meaning, registry
from npuc.frontends.keras.layers.windows import shown
from npuc.frontends.keras.model import items
from npuc.frontends.keras.values import KerasValue
from npuc.frontends.script.weights import Refused
from npuc.frontends.script.writer import MAX_LISTED

MEANINGS: dict[str, Meaning] = {}
layer = registry(MEANINGS)


def _axes(c: KerasLayer) -> int:
    return int(next(letter for letter in c.spec.kind if letter.isdigit()))


def _sides(c: KerasLayer, name: str, axes: int) -> list[tuple[int, int]]:
    """Elements before and after each axis: a number, one for each axis, or two for each."""
    given = c.options.get(name)
    given = 1 if given is None else given
    whole = items(given)
    listed: list[object] = [given] * axes if whole is None else [*whole]
    if axes == 1 and len(listed) == 2:
        listed = [listed]
    found: list[tuple[int, int]] = []
    for one in listed:
        both: Sequence[object] = items(one) or (one, one)
        sizes = [size for size in both if type(size) is int and 0 <= size < 1 << 31]
        if len(sizes) != 2 or len(both) != 2:
            raise Refused(f"{name}: found {given}, expected sizes of at least 0 on both sides of {axes} axes")
        found.append((sizes[0], sizes[1]))
    if len(found) != axes:
        raise Refused(f"{name}: found {given}, expected sizes for {axes} axes")
    return found


@layer("ZeroPadding1D", "ZeroPadding2D", "ZeroPadding3D")
def zero_padding(c: KerasLayer) -> KerasValue:
    axes = _axes(c)
    x, sides = c.image(c.x, axes), _sides(c, "padding", axes)
    return c.of_image(c.done("pad", x, [size for pair in reversed(sides) for size in pair]))


@layer("Cropping1D", "Cropping2D", "Cropping3D")
def cropping(c: KerasLayer) -> KerasValue:
    axes = _axes(c)
    x, sides = c.image(c.x, axes), _sides(c, "cropping", axes)
    for size, (before, after) in zip(c.shape(x)[2:], sides, strict=True):
        if before + after >= size:
            raise Refused(f"cropping: found {before} and {after} of {size} elements, expected less")
    return c.of_image(c.done("pad", x, [-size for pair in reversed(sides) for size in pair]))


@layer("CenterCrop")
def center_crop(c: KerasLayer) -> KerasValue:
    x = c.image(c.x, 2)
    wanted = [c.options.integer(name) for name in ("height", "width")]
    sides: list[int] = []
    for size, kept in zip(c.shape(x)[2:], wanted, strict=True):
        if kept > size:
            raise Refused(f"found a height and width of {wanted}, expected at most {list(c.shape(x)[2:])}")
        before = (size - kept) // 2
        sides[:0] = [-before, kept + before - size]
    return c.of_image(c.done("pad", x, sides))


@layer("UpSampling1D", "UpSampling2D", "UpSampling3D")
def up_sampling(c: KerasLayer) -> KerasValue:
    """Each element several times in a row, or values between by their distances (half-pixel centres)."""
    axes = _axes(c)
    x, factors = c.image(c.x, axes), c.options.integers("size", axes, 2)
    mode = c.options.word("interpolation", "nearest", ("nearest", "bilinear", "bicubic", "lanczos3", "lanczos5"))
    if mode in ("bicubic", "lanczos3", "lanczos5"):
        raise Refused(f"interpolation: '{mode}' has no counterpart: TensorFlow's kernel is another one")
    if axes == 2:
        named = {} if mode == "nearest" else {"mode": mode}
        return c.of_image(c.done("upsample", x, shown(factors), **named))
    for axis, factor in enumerate(factors, 2):
        x = c.let("repeat_interleave", x, factor, axis)
    return c.of_image(x)


@layer("Resizing")
def resizing(c: KerasLayer) -> KerasValue:
    x = c.image(c.x, 2)
    size = [c.options.integer(name) for name in ("height", "width")]
    mode = c.options.word("interpolation", "bilinear", ("nearest", "bilinear"))
    for name in ("crop_to_aspect_ratio", "pad_to_aspect_ratio", "antialias"):
        if c.options.flag(name, False):
            raise Refused(f"{name} has no counterpart")
    c.options.get("fill_mode", "fill_value")
    if list(c.shape(x)[2:]) == size:
        return c.x
    if mode == "bilinear":
        return c.of_image(c.done("upsample", x, size=size, mode=mode))
    if max(size) > MAX_LISTED:
        raise Refused(f"height and width: found {size}, expected at most {MAX_LISTED:,}")
    for axis, (old, new) in enumerate(zip(c.shape(x)[2:], size, strict=True), 2):
        nearest = [min(old - 1, (2 * place + 1) * old // (2 * new)) for place in range(new)]  # of half-pixel centres
        x = c.let("index_select", x, c.listed(np.array(nearest), "i32"), axis)
    return c.of_image(x)
