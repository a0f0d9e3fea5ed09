"""Products and convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.onnx.context import OnnxContext, short
from npuc.frontends.onnx.operators import Meaning, Result, registry
from npuc.frontends.onnx.parts.windows import Window, both_sides, window_of
from npuc.frontends.script.moves import matrix_product

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


@operator("Gemm")
def gemm(c: OnnxContext) -> Result:
    """A linear layer where the second operand is a weight of its own; else a product, scaled and added."""
    alpha, beta = c.onnx.float("alpha", 1.0), c.onnx.float("beta", 1.0)
    ta, tb = c.onnx.int("transA") != 0, c.onnx.int("transB") != 0
    weight, bias = c.weight(1), c.weight(2)
    if weight is not None and len(weight.shape) == 2 and not ta and alpha == beta == 1:
        features = weight.shape[0 if tb else 1]
        fits = bias is not None and bias.shape == (features,)
        named = {"transpose_weight": True} if tb else {}
        if (fits or not c.onnx.has(2)) and c.own(weight=weight, bias=bias):
            return c.call("linear", c.x(0), features, **named, **({} if fits else {"bias": False}))
    product: Name | Call = matrix_product(c, c.x(0), c.x(1), ta, tb)
    if alpha != 1:
        product = c.call("mul", c.held(product), alpha)
    if not c.onnx.has(2) or beta == 0:
        return product
    added = c.x(2) if beta == 1 else c.let("mul", c.x(2), beta)
    return c.call("add", c.held(product), added)


@operator("MatMul")
def matmul(c: OnnxContext) -> Result:
    weight = c.weight(1)
    a, b = c.tensor(0).shape, c.tensor(1).shape
    if not a or not b:
        raise c.error("multiplies a scalar")
    if weight is not None and len(b) == 2 and len(a) >= 2 and weight.uses == 1:
        bias = c.added_bias(b[1])
        if c.own(weight=weight, bias=bias):
            return c.call("linear", c.x(0), b[1], **({} if bias is not None else {"bias": False}))
        if bias is not None:
            return c.call("add", c.let("linear", c.x(0), bias=False, weight=c.x(1)), c.variable(bias))
    left, right = c.x(0), c.x(1)
    if len(a) > 1 and len(b) > 1:
        return matrix_product(c, left, right)
    if len(a) == 1:
        left = c.let("unsqueeze", left, 0)
    if len(b) == 1:
        right = c.let("unsqueeze", right, 1)
    whole = c.held(matrix_product(c, left, right))
    shape = list(c.shape(whole))
    if len(a) == 1:
        del shape[-2]
    if len(b) == 1:
        del shape[-1]
    return c.call("reshape", whole, shape)


@operator("Conv")
def convolution(c: OnnxContext) -> Result:
    kernel = _kernel(c)
    window = window_of(c, c.tensor(0).shape[2:], kernel)
    groups = c.onnx.int("group", 1)
    named = {**_options(window), **({"groups": groups} if groups != 1 else {})}
    return _convolve(c, f"conv{len(kernel)}d", c.tensor(1).shape[0], window, **named)


def _kernel(c: OnnxContext) -> tuple[int, ...]:
    """The shape of a convolution's windows, that of its weights without the channels. Raises `SourceError`."""
    kernel = c.tensor(1).shape[2:]
    if len(kernel) not in (1, 2, 3):
        raise c.error(f"convolves {len(kernel)} axes, which has no counterpart")
    return kernel


def _options(window: Window) -> dict[str, int | list[int]]:
    """Stride, padding and dilation where they are not the usual ones."""
    named: dict[str, int | list[int]] = {}
    if set(window.strides) != {1}:
        named["stride"] = short(window.strides)
    if any(window.pads):
        named["padding"] = both_sides(window.pads)
    if set(window.dilations) != {1}:
        named["dilation"] = short(window.dilations)
    return named


def _convolve(c: OnnxContext, name: str, channels: int, window: Window, **named: int | list[int]) -> Result:
    """A convolution with the weights that it owns, or with others."""
    weight, bias = c.weight(1), c.weight(2)
    if weight is not None and (bias is not None or not c.onnx.has(2)) and c.own(weight=weight, bias=bias):
        plain = {} if bias is not None else {"bias": False}
        return c.call(name, c.x(0), channels, kernel=short(window.kernel), **named, **plain)
    out = c.call(name, c.x(0), weight=c.x(1), bias=False, **named)
    if not c.onnx.has(2):
        return out
    return c.call("add", c.held(out), c.let("reshape", c.x(2), [channels, *[1] * len(window.kernel)]))


@operator("ConvTranspose")
def transposed_convolution(c: OnnxContext) -> Result:
    shape, kernel = c.tensor(0).shape[2:], _kernel(c)
    groups = c.onnx.int("group", 1)
    window = window_of(c, shape, kernel, padded=False)
    extra = c.onnx.ints("output_padding") or (0,) * len(kernel)
    wanted = c.onnx.ints("output_shape")
    pads, extra = _output_pads(c, shape, window, list(extra), wanted)
    window = Window(window.kernel, window.strides, tuple(pads), window.dilations)
    named = {**_options(window), **({"groups": groups} if groups != 1 else {})}
    if any(extra):
        named["output_padding"] = short(extra)
    return _convolve(c, f"conv_transpose{len(kernel)}d", c.tensor(1).shape[1] * groups, window, **named)


def _output_pads(
    c: OnnxContext, shape: Sequence[int], window: Window, extra: list[int], wanted: Sequence[int] | None
) -> tuple[list[int], list[int]]:
    """The padding of a transposed convolution, before and after each axis, and what is added to its output."""
    automatic, axes = c.onnx.string("auto_pad", "NOTSET"), len(shape)
    if wanted is None and automatic in ("SAME_UPPER", "SAME_LOWER"):
        wanted = [size * stride for size, stride in zip(shape, window.strides, strict=True)]
    if wanted is None:
        given = c.onnx.ints("pads") or (0,) * (2 * axes)
        return list(given), extra
    before, after = [0] * axes, [0] * axes
    for axis, size in enumerate(list(wanted)[-axes:]):
        whole = window.strides[axis] * (shape[axis] - 1) + extra[axis] + window.span(axis)
        total = whole - size
        if total < 0:
            extra[axis] -= total
            total = 0
        half = total // 2
        before[axis], after[axis] = (half, total - half) if automatic == "SAME_UPPER" else (total - half, half)
    return [*before, *after], extra


@operator("Einsum")
def einsum(c: OnnxContext) -> Result:
    return c.call("einsum", c.onnx.string("equation"), [c.x(index) for index in range(len(c.onnx.inputs))])
