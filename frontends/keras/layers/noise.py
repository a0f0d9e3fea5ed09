"""Layers that are random in training and change nothing otherwise."""

from __future__ import annotations

from npuc.frontends.keras.layer import KerasLayer
from npuc.frontends.keras.layers import Meaning, registry
from npuc.frontends.keras.values import KerasValue

MEANINGS: dict[str, Meaning] = {}
layer = registry(MEANINGS)


@layer("Dropout")
def dropout(c: KerasLayer) -> KerasValue:
    rate, shape = c.options.rate("rate"), c.options.get("noise_shape")
    if isinstance(shape, list):
        return _masked(c, rate, [whole if one is None else 1 for one, whole in zip(shape, _sizes(c), strict=False)])
    return KerasValue(c.done("dropout", c.x.name, rate), c.x.first)


def _sizes(c: KerasLayer) -> tuple[int, ...]:
    return c.shape_of(c.x)


@layer("SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D")
def spatial_dropout(c: KerasLayer) -> KerasValue:
    """Whole channels of each sample are zeroed."""
    batch, *sizes, last = _sizes(c)
    if c.channels_last:
        return _masked(c, c.options.rate("rate"), [batch, *[1] * len(sizes), last])
    return _masked(c, c.options.rate("rate"), [batch, sizes[0], *[1] * len(sizes)])


def _masked(c: KerasLayer, rate: float, shape: list[int]) -> KerasValue:
    if not c.script.training or rate == 0:
        return c.x
    own = [shape[0], shape[-1], *shape[1:-1]] if c.x.first else shape
    mask = c.let("dropout", c.let("ones", own, dtype=c.element(c.x.name)), rate)
    return KerasValue(c.done("mul", c.x.name, mask), c.x.first)


@layer("GaussianNoise", "GaussianDropout", "AlphaDropout")
def noise(c: KerasLayer) -> KerasValue:
    c.options.get("stddev", "rate")
    return _left_out(c, "its noise is left out: normal random numbers have no counterpart")


@layer(
    *("RandomFlip", "RandomRotation", "RandomZoom", "RandomTranslation", "RandomContrast", "RandomBrightness"),
    *("RandomHeight", "RandomWidth", "RandomShear", "RandomHue", "RandomSaturation", "RandomColorJitter"),
    *("RandomGrayscale", "RandomErasing", "RandomGaussianBlur", "RandomSharpness", "RandomInvert"),
)
def augmentation(c: KerasLayer) -> KerasValue:
    for name in c.spec.config:
        c.options.get(name)
    return _left_out(c, "its changes of images are left out: they are made of the data")


def _left_out(c: KerasLayer, message: str) -> KerasValue:
    if c.script.training:
        c.remark(message)
    return c.x
