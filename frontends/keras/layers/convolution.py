"""Convolutions. Weights have the language's order of axes, [out, in, …], not Keras's."""

from __future__ import annotations

from npuc.frontends.dsl.syntax import Name
from npuc.frontends.keras.activations import activate
from npuc.frontends.keras.layer import KerasLayer
from npuc.frontends.keras.layers import Meaning, registry
from npuc.frontends.keras.layers.windows import padding, same, shown, steps
from npuc.frontends.keras.values import KerasValue
from npuc.frontends.script.weights import Refused

MEANINGS: dict[str, Meaning] = {}
layer = registry(MEANINGS)


def _axes(c: KerasLayer) -> int:
    """The number of axes of a layer by its class, `Conv2D`."""
    return int(next(letter for letter in reversed(c.spec.kind.removesuffix("Transpose")) if letter.isdigit()))


def _convolved(c: KerasLayer, x: Name, filters: int, groups: int, *, part: str = "", bias: bool) -> Name:
    """One convolution with the window of the layer's options."""
    axes = _axes(c)
    kernel = c.options.integers("kernel_size", axes)
    strides, dilation = (c.options.integers(name, axes, 1) for name in ("strides", "dilation_rate"))
    sizes = c.shape(x)[2:]
    kind = c.options.word("padding", "valid", ("valid", "same", "causal"))
    pads = [0] * (2 * axes)
    if kind == "same":
        pads = same(sizes, kernel, strides, dilation)
    elif kind == "causal":
        if axes != 1:
            raise Refused("padding: found causal, expected valid or same")
        pads = [dilation[0] * (kernel[0] - 1), 0]
    named = {
        **steps("stride", strides),
        **padding(pads),
        **steps("dilation", dilation),
        **({"groups": groups} if groups > 1 else {}),
    }
    return _with_weights(c, f"conv{axes}d", x, filters, kernel, groups, named, part, bias)


def _with_weights(
    c: KerasLayer,
    function: str,
    x: Name,
    filters: int,
    kernel: list[int],
    groups: int,
    named: dict[str, int | list[int]],
    part: str,
    bias: bool,
) -> Name:
    """A convolution that makes its weights, or of a shared layer takes those that stand alone."""
    channels = c.shape(x)[1]
    if channels % groups or filters % groups:
        raise Refused(f"groups: found {groups} for {channels} channels and {filters} filters, expected a divisor")
    if not c.shared:
        without = {} if bias else {"bias": False}
        return c.main_part(part, function, x, filters, kernel=shown(kernel), **named, **without)
    head = f"{part}." if part else ""
    ends = (channels, filters // groups) if "transpose" in function else (filters, channels // groups)
    weight = c.weight(f"{head}weight", [*ends, *kernel])
    made = c.let(function, x, weight=weight, bias=False, **named)
    if not bias:
        return made
    spread = c.let("reshape", c.weight(f"{head}bias", [filters]), [filters, *[1] * len(kernel)])
    return c.let("add", made, spread)


@layer("Conv1D", "Conv2D", "Conv3D", "Convolution1D", "Convolution2D", "Convolution3D")
def convolution(c: KerasLayer) -> KerasValue:
    x = c.image(c.x, _axes(c))
    filters, groups = c.options.integer("filters"), c.options.integer("groups", 1)
    made = _convolved(c, x, filters, groups, bias=c.options.flag("use_bias", True))
    return activate(c, c.of_image(made), c.options.get("activation"))


@layer("DepthwiseConv1D", "DepthwiseConv2D")
def depthwise(c: KerasLayer) -> KerasValue:
    x = c.image(c.x, _axes(c))
    channels = c.shape(x)[1]
    filters = channels * c.options.integer("depth_multiplier", 1)
    c.options.get("filters", "groups", "rank")
    made = _convolved(c, x, filters, channels, bias=c.options.flag("use_bias", True))
    return activate(c, c.of_image(made), c.options.get("activation"))


@layer("SeparableConv1D", "SeparableConv2D", "SeparableConvolution2D")
def separable(c: KerasLayer) -> KerasValue:
    """A depthwise convolution, and one of size 1 with the bias."""
    axes = _axes(c)
    x = c.image(c.x, axes)
    channels = c.shape(x)[1]
    c.options.get("groups", "rank")
    inner = channels * c.options.integer("depth_multiplier", 1)
    apart = _convolved(c, x, inner, channels, part="depthwise", bias=False)
    filters, bias = c.options.integer("filters"), c.options.flag("use_bias", True)
    made = _with_weights(c, f"conv{axes}d", apart, filters, [1] * axes, 1, {}, "pointwise", bias)
    return activate(c, c.of_image(made), c.options.get("activation"))


@layer("Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose", "Deconvolution2D")
def transposed(c: KerasLayer) -> KerasValue:
    """
    The gradient of a convolution's input.

    An axis of n elements gets n stride of "same" and n stride + max(span - stride, 0) of "valid"; with output_padding
    (n - 1) stride + span - 2 pad + output_padding, pad being half the kernel of "same" (`deconv_output_length`). Of
    "same" the smaller half of what is too much is left out at the beginning, as in TensorFlow.
    """
    axes = 2 if c.spec.kind == "Deconvolution2D" else _axes(c)
    x, sizes = c.image(c.x, axes), c.shape(c.image(c.x, axes))[2:]
    kernel = c.options.integers("kernel_size", axes)
    strides, dilation = (c.options.integers(name, axes, 1) for name in ("strides", "dilation_rate"))
    is_same = c.options.word("padding", "valid", ("valid", "same")) == "same"
    spare = None
    if c.options.get("output_padding") is not None:
        spare = c.options.integers("output_padding", axes, least=0)
    if c.options.integer("groups", 1) > 1:
        raise Refused("groups: transposed convolutions in groups are not Keras's")
    crops: list[tuple[int, int]] = []
    for axis, (size, length, stride, distance) in enumerate(zip(sizes, kernel, strides, dilation, strict=True)):
        span = (length - 1) * distance + 1
        whole = (size - 1) * stride + span
        if spare is None:
            wanted = size * stride + (0 if is_same else max(span - stride, 0))
        else:
            wanted = whole - (2 * (length // 2) if is_same else 0) + spare[axis]
        before = max(whole - wanted, 0) // 2 if is_same else 0
        if wanted < 1:
            raise Refused("its window leaves no element")
        crops.append((before, whole - before - wanted))
    common, extra = [before for before, _ in crops], [max(0, before - after) for before, after in crops]
    named = {**steps("stride", strides), **steps("dilation", dilation)}
    if all(after <= before for before, after in crops) and all(
        more < max(s, d) for more, s, d in zip(extra, strides, dilation, strict=True)
    ):
        named |= padding([one for before in common for one in (before, before)]) | steps("output_padding", extra, 0)
        crops = [(0, 0)] * axes
    filters, bias = c.options.integer("filters"), c.options.flag("use_bias", True)
    made = _with_weights(c, f"conv_transpose{axes}d", x, filters, kernel, 1, named, "", bias)
    if any(any(crop) for crop in crops):
        made = c.let("pad", made, [-one for crop in reversed(crops) for one in crop])
    return activate(c, c.of_image(made), c.options.get("activation"))
