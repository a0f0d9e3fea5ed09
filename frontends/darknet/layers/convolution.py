"""[convolutional], [deconvolutional] and [batchnorm] (convolutional_layer.c, deconvolutional_layer.c)."""

from __future__ import annotations

from npuc.frontends.darknet.layer import DarknetLayer, DarknetValue
from npuc.frontends.darknet.layers import Meaning, registry

MEANINGS: dict[str, Meaning] = {}
section = registry(MEANINGS)

# the rate and the storage of a layer, and what only darknet's own training does
_IGNORED = (
    "learning_rate",
    "dontload",
    "dontloadscales",
    "learning_rate_scale",
    "numload",
    "train_only_bn",
    "onlyforward",
)


@section("convolutional", "conv")
def convolutional(c: DarknetLayer) -> DarknetValue:
    """
    A convolution, batch normalisation or a bias, an activation.

    `pad=1` is a padding of half the size, also of a dilated kernel, whose padding grows as its size does.
    """
    own, x = c.section, c.image()
    own.refuse("binary", "xnor", "antialiasing", "share_index", "assisted_excitation", "deform", "flipped", "dot")
    own.refuse(
        "sway", "rotate", "stretch", "stretch_sway", "coordconv", "grad_centr", "reverse", "stream", "wait_stream"
    )
    own.read.update(_IGNORED)
    filters, size = own.integer("filters", 1, 1), own.integer("size", 1, 1)
    step = own.integer("stride", 1, 1)
    strides = [own.integer(name, step, 1) for name in ("stride_y", "stride_x")]
    groups = own.integer("groups", 1, 1)
    dilation = own.integer("dilation", 1, 1) if size > 1 else 1
    padding = own.integer("padding", 0)
    padding = (size // 2 if own.flag("pad") else padding) * dilation
    channels = c.shape(x)[1]
    if channels % groups or filters % groups:
        raise own.wrong("groups", f"found {groups} for {channels} channels and {filters} filters, expected a divisor")
    normalised = own.flag("batch_normalize")
    named = {
        **({"stride": strides[0] if strides[0] == strides[1] else strides} if set(strides) != {1} else {}),
        **({"padding": padding} if padding else {}),
        **({"dilation": dilation} if dilation > 1 else {}),
        **({"groups": groups} if groups > 1 else {}),
        **({"bias": False} if normalised else {}),
    }
    call = c.call("conv2d", x, filters, kernel=size, **named)
    if normalised:
        call = c.call("batch_norm", c.script.assign(f"{c.layer}.conv2d", call))
    return DarknetValue(c.activate(call, "logistic"))


@section("deconvolutional", "deconv")
def deconvolutional(c: DarknetLayer) -> DarknetValue:
    """A transposed convolution; its padding makes the result smaller."""
    own, x = c.section, c.image()
    filters, size, stride = own.integer("filters", 1, 1), own.integer("size", 1, 1), own.integer("stride", 1, 1)
    padding = own.integer("padding", 0)
    padding = size // 2 if own.flag("pad") else padding
    normalised = own.flag("batch_normalize")
    named = {"stride": stride, "padding": padding, **({"bias": False} if normalised else {})}
    call = c.call("conv_transpose2d", x, filters, kernel=size, **named)
    if normalised:
        call = c.call("batch_norm", c.script.assign(f"{c.layer}.conv_transpose2d", call))
    return DarknetValue(c.activate(call, "logistic"))


@section("batchnorm")
def batchnorm(c: DarknetLayer) -> DarknetValue:
    return DarknetValue(c.result("batch_norm", c.x))


@section("activation")
def activation(c: DarknetLayer) -> DarknetValue:
    return DarknetValue(c.activate(c.x, "linear"))
