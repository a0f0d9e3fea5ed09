"""Layers that move elements: [upsample], [reorg], [crop]."""

from __future__ import annotations

from npuc.frontends.darknet.layer import DarknetLayer, DarknetValue
from npuc.frontends.darknet.layers import Meaning, registry

MEANINGS: dict[str, Meaning] = {}
section = registry(MEANINGS)


@section("upsample")
def upsample(c: DarknetLayer) -> DarknetValue:
    """Each element `stride` times in rows and columns, times `scale` (upsample_layer.c)."""
    own = c.section
    stride, scale = own.integer("stride", 2, 1), own.real("scale", 1.0)
    own.refuse("reverse")
    if scale == 1:
        return DarknetValue(c.result("upsample", c.image(), stride))
    return DarknetValue(c.result("mul", c.let("upsample", c.image(), stride), scale))


@section("reorg3d")
def reorg3d(c: DarknetLayer) -> DarknetValue:
    """Blocks of `stride` x `stride` places as channels: those of the first place, those of the second, …"""
    _, channels, height, width = c.shape(c.image())
    return _reorganised(c, channels, height, width)


@section("reorg", "reorg_old")
def reorg(c: DarknetLayer) -> DarknetValue:
    """
    As darknet wrote it first, and YOLOv2 was trained: `reorg_cpu` of blas.c.

    It takes the memory of its input as an image of fewer channels, stride times as high and wide, and gathers the
    places of that.
    """
    stride = c.section.integer("stride", 1, 1)
    _, channels, height, width = c.shape(c.image())
    if channels % stride**2 or height % stride or width % stride:
        raise _no_fit(c, stride)
    return _reorganised(c, channels // stride**2, height * stride, width * stride)


def _no_fit(c: DarknetLayer, stride: int) -> Exception:
    found = list(c.shape(c.image())[1:])
    return c.section.wrong("stride", f"found {stride} for {found}, expected a divisor of its sizes")


def _reorganised(c: DarknetLayer, channels: int, height: int, width: int) -> DarknetValue:
    """The memory of the input as [channels, height, width], of which blocks of places become channels."""
    own, x = c.section, c.image()
    own.refuse("reverse", "flatten", "extra")
    stride = own.integer("stride", 1, 1)
    if height % stride or width % stride:
        raise _no_fit(c, stride)
    batch, before, rows, columns = c.shape(x)
    high, wide = height // stride, width // stride
    blocks = c.let("reshape", x, [batch, channels, high, stride, wide, stride])
    moved = c.let("transpose", blocks, [0, 3, 5, 1, 2, 4])
    made = [before * stride**2, rows // stride, columns // stride]
    return DarknetValue(c.result("reshape", moved, [batch, *made]))


@section("crop")
def crop(c: DarknetLayer) -> DarknetValue:
    """
    The middle of an image, its values from -1 to 1 unless `noadjust` (crop_layer.c).

    Where darknet crops and turns at random in training, it makes other data of the same size.
    """
    own, x = c.section, c.image()
    own.read |= {"flip", "angle", "saturation", "exposure", "shift"}
    _, _, height, width = c.shape(x)
    high, wide = own.integer("crop_height", 1, 1), own.integer("crop_width", 1, 1)
    if high > height or wide > width:
        raise own.wrong("crop_height", f"found {high} x {wide} of {height} x {width}, expected no more")
    top, left = (height - high) // 2, (width - wide) // 2
    value = x if high == height else c.let("slice", x, 2, top, top + high)
    value = value if wide == width else c.let("slice", value, 3, left, left + wide)
    if own.flag("noadjust"):
        return DarknetValue(value)
    return DarknetValue(c.result("sub", c.let("mul", value, 2.0), 1.0))
