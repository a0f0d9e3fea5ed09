"""[maxpool], [local_avgpool] and [avgpool] (maxpool_layer.c, avgpool_layer.c)."""

from __future__ import annotations

from npuc.frontends.darknet.layer import DarknetLayer, DarknetValue
from npuc.frontends.darknet.layers import Meaning, registry

MEANINGS: dict[str, Meaning] = {}
section = registry(MEANINGS)


@section("maxpool", "max")
def maxpool(c: DarknetLayer) -> DarknetValue:
    return _pooled(c, "max_pool")


@section("local_avgpool", "local_avg")
def local_avgpool(c: DarknetLayer) -> DarknetValue:
    """Means of what a window has of the image."""
    return _pooled(c, "avg_pool", count_include_pad=False)


def _pooled(c: DarknetLayer, function: str, **named: bool) -> DarknetValue:
    """
    The largest value or the mean of each window.

    An axis of n elements has (n + padding - size) / stride + 1 windows, rounded down, where `padding`, by default
    size - 1, is that of both sides; its smaller half is before the first element. Elements outside do not count.
    """
    own, x = c.section, c.image()
    own.refuse("maxpool_depth", "antialiasing")
    step = own.integer("stride", 1, 1)
    strides = [own.integer(name, step, 1) for name in ("stride_y", "stride_x")]
    size = own.integer("size", step, 1)
    padding = own.integer("padding", size - 1)
    before = padding // 2
    pads: list[int] = []
    for length, stride in zip(c.shape(x)[2:], strides, strict=True):
        count = (length + padding - size) // stride + 1
        if count < 1:
            raise own.wrong("size", f"found {size} for {length} elements and a padding of {padding}, expected less")
        pads += [before, max(0, (count - 1) * stride + size - before - length)]
    if max(pads) * 2 > size:
        raise own.wrong("padding", f"found {padding}, expected at most {size - 1}, the size less one")
    if any(pads):
        named_padding = {"padding": pads[0] if len(set(pads)) == 1 else pads}
    else:
        named_padding, named = {}, {}
    stride = {} if strides == [size, size] else {"stride": strides[0] if strides[0] == strides[1] else strides}
    return DarknetValue(c.result(function, x, kernel=size, **stride, **named_padding, **named))


@section("avgpool", "avg")
def avgpool(c: DarknetLayer) -> DarknetValue:
    """The mean of each channel: a vector."""
    x = c.x
    return DarknetValue(x if len(c.shape(x)) == 2 else c.result("global_avg_pool", c.image()))
