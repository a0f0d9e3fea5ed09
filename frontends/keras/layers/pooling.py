"""Poolings of windows and of whole images."""

from __future__ import annotations

from npuc.frontends.keras.layer import KerasLayer
from npuc.frontends.keras.layers import Meaning, registry
from npuc.frontends.keras.layers.windows import padding, same, shown, steps
from npuc.frontends.keras.values import KerasValue
from npuc.frontends.script.weights import Refused

MEANINGS: dict[str, Meaning] = {}
layer = registry(MEANINGS)
_SUFFIX = {1: "1d", 2: "", 3: "3d"}


def _axes(c: KerasLayer) -> int:
    return int(next(letter for letter in c.spec.kind if letter.isdigit()))


@layer("MaxPooling1D", "MaxPooling2D", "MaxPooling3D", "MaxPool1D", "MaxPool2D", "MaxPool3D")
def max_pool(c: KerasLayer) -> KerasValue:
    return _pooled(c, "max_pool")


@layer("AveragePooling1D", "AveragePooling2D", "AveragePooling3D", "AvgPool1D", "AvgPool2D", "AvgPool3D")
def average_pool(c: KerasLayer) -> KerasValue:
    """The mean of what a window has of the image."""
    return _pooled(c, "avg_pool")


def _pooled(c: KerasLayer, function: str) -> KerasValue:
    axes = _axes(c)
    x = c.image(c.x, axes)
    sizes = c.shape(x)[2:]
    kernel = c.options.integers("pool_size", axes, 2)
    strides = kernel if c.options.get("strides") is None else c.options.integers("strides", axes)
    pads = [0] * (2 * axes)
    if c.options.word("padding", "valid", ("valid", "same")) == "same":
        pads = same(sizes, kernel, strides, [1] * axes)
    elif any(length > size for length, size in zip(kernel, sizes, strict=True)):
        raise Refused(f"pool_size: found {kernel} for an image of {list(sizes)}, expected no more")
    named = {
        **({} if strides == kernel else steps("stride", strides, 0)),
        **padding(pads),
        **({"count_include_pad": False} if function == "avg_pool" and any(pads) else {}),
    }
    return c.of_image(c.done(function + _SUFFIX[axes], x, kernel=shown(kernel), **named))


@layer(
    *("GlobalMaxPooling1D", "GlobalMaxPooling2D", "GlobalMaxPooling3D"),
    *("GlobalMaxPool1D", "GlobalMaxPool2D", "GlobalMaxPool3D"),
)
def global_max(c: KerasLayer) -> KerasValue:
    return _global(c, "global_max_pool", "amax")


@layer(
    *("GlobalAveragePooling1D", "GlobalAveragePooling2D", "GlobalAveragePooling3D"),
    *("GlobalAvgPool1D", "GlobalAvgPool2D", "GlobalAvgPool3D"),
)
def global_average(c: KerasLayer) -> KerasValue:
    return _global(c, "global_avg_pool", "mean")


def _global(c: KerasLayer, pool: str, reduction: str) -> KerasValue:
    """Of a sequence in Keras's order the mean is over its steps, so that no element moves."""
    axes, keep = _axes(c), c.options.flag("keepdims", False)
    if axes == 1 and not c.x.first and c.channels_last:
        if len(c.shape(c.x.name)) != 3:
            raise Refused(f"found a tensor of rank {len(c.shape(c.x.name))}, expected rank 3")
        return KerasValue(c.done(reduction, c.x.name, 1, keepdim=keep))
    x = c.image(c.x, axes)
    if axes == 3 or keep:
        made = c.done(reduction, x, list(range(2, axes + 2)), keepdim=keep)
    else:
        made = c.done(pool, x)
    return c.of_image(made) if keep else KerasValue(made)


@layer("AdaptiveAveragePooling1D", "AdaptiveAveragePooling2D", "AdaptiveAveragePooling3D")
def adaptive_average(c: KerasLayer) -> KerasValue:
    return _adaptive(c, "adaptive_avg_pool")


@layer("AdaptiveMaxPooling1D", "AdaptiveMaxPooling2D", "AdaptiveMaxPooling3D")
def adaptive_max(c: KerasLayer) -> KerasValue:
    return _adaptive(c, "adaptive_max_pool")


def _adaptive(c: KerasLayer, function: str) -> KerasValue:
    axes = _axes(c)
    x, size = c.image(c.x, axes), c.options.integers("output_size", axes)
    return c.of_image(c.done(function + ("3d" if axes == 3 else ""), x, size=shown(size)))
