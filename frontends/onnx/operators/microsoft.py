"""
Operators of onnxruntime's domain, com.microsoft, which its optimizer and the exporters of transformers write.

Source: https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md.
"""

from __future__ import annotations

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.onnx.context import OnnxContext
from npuc.frontends.onnx.operators import Meaning, Result, registry
from npuc.frontends.onnx.operators.indexing import gather_nd
from npuc.frontends.onnx.operators.norms import layer_normed, rms_normed
from npuc.frontends.onnx.operators.products import convolution, gemm
from npuc.frontends.onnx.operators.shapes import triangle
from npuc.frontends.onnx.values import Constant
from npuc.frontends.script.moves import matrix_product

MEANINGS: dict[str, Meaning] = {"com.microsoft.Trilu": triangle, "com.microsoft.GatherND": gather_nd}
operator = registry(MEANINGS)


# activations


@operator("com.microsoft.Gelu")
def gelu(c: OnnxContext) -> Result:
    return c.call("gelu", c.x())


@operator("com.microsoft.BiasGelu")
def bias_gelu(c: OnnxContext) -> Result:
    return c.call("gelu", c.let("add", c.x(0), c.x(1)))


@operator("com.microsoft.FastGelu")
def fast_gelu(c: OnnxContext) -> Result:
    x = c.let("add", c.x(0), c.x(1)) if c.onnx.has(1) else c.x()
    return c.call("gelu", x, approximate="tanh")


@operator("com.microsoft.QuickGelu")
def quick_gelu(c: OnnxContext) -> Result:
    x, alpha = c.x(), c.onnx.float("alpha", 1.702)
    if alpha == 1:
        return c.call("silu", x)
    return c.call("mul", x, c.let("sigmoid", c.let("mul", x, float(f"{alpha:.7g}"))))


@operator("com.microsoft.BiasSplitGelu")
def bias_split_gelu(c: OnnxContext) -> Result:
    x = c.let("add", c.x(0), c.x(1))
    half = c.shape(x)[-1] // 2
    value, gate = c.several(["value", "gate"], "split", x, [half, half], len(c.shape(x)) - 1)
    return c.call("mul", value, c.let("gelu", gate))


@operator("com.microsoft.BiasAdd")
def bias_add(c: OnnxContext) -> Result:
    return c.call("add", c.let("add", c.x(0), c.x(1)), c.x(2))


@operator("com.microsoft.BiasSoftmax")
def bias_softmax(c: OnnxContext) -> Result:
    """Over the axes from `axis` on as one; the bias repeats along the batch, or within it."""
    x, bias = c.x(0), c.x(1)
    rank, axis = len(c.shape(x)), c.axis_of(x, 1)
    if axis != rank - 1:
        raise c.error(f"normalises the axes from {axis} on together, expected the last one")
    if len(c.shape(bias)) == rank or not c.onnx.int("is_inner_broadcast"):
        return c.call("softmax", c.let("add", x, bias), axis)
    raise c.error("repeats its bias along inner axes, which has no counterpart")


# products


@operator("com.microsoft.FusedMatMul", "com.microsoft.TransposeMatMul")
def fused_matmul(c: OnnxContext) -> Result:
    if c.onnx.int("transBatchA") or c.onnx.int("transBatchB"):
        raise c.error("moves axes of the batch, which has no counterpart")
    product = matrix_product(c, c.x(0), c.x(1), c.onnx.int("transA") != 0, c.onnx.int("transB") != 0)
    alpha = c.onnx.float("alpha", 1.0)
    return product if alpha == 1 else c.call("mul", c.held(product), float(f"{alpha:.7g}"))


_AFTER = {"Relu": "relu", "Tanh": "tanh", "Sigmoid": "sigmoid", "Gelu": "gelu"}


def _activated(c: OnnxContext, value: Result) -> Result:
    """The activation that a fused node ends with."""
    assert isinstance(value, Name | Call)
    name = c.onnx.string("activation")
    if not name:
        return value
    numbers = c.onnx.attributes.get("activation_params", ())
    parameters = [float(n) for n in numbers if isinstance(n, int | float)] if isinstance(numbers, tuple) else []
    if name == "Clip" and len(parameters) == 2:
        return c.call("clip", c.settled(value), *parameters)
    if name == "LeakyRelu":
        alpha = parameters[0] if parameters else c.onnx.float("activation_alpha", 0.01)
        return c.call("leaky_relu", c.settled(value), float(f"{alpha:.7g}"))
    if name not in _AFTER:
        raise c.error(f"found the activation '{name}', which has no counterpart")
    return c.call(_AFTER[name], c.settled(value))


@operator("com.microsoft.FusedConv")
def fused_conv(c: OnnxContext) -> Result:
    """A convolution, what is added to it, an activation."""
    out = convolution(c)
    assert isinstance(out, Name | Call)
    if c.onnx.has(3):
        out = c.call("add", c.settled(out), c.x(3))
    return _activated(c, out)


@operator("com.microsoft.FusedGemm")
def fused_gemm(c: OnnxContext) -> Result:
    return _activated(c, gemm(c))


# normalisations


def _skipped(c: OnnxContext, bias: int) -> Name:
    """The sum of the first two operands, and of a bias where there is one."""
    total = c.let("add", c.x(0), c.x(1))
    return c.let("add", total, c.x(bias)) if c.onnx.has(bias) else total


@operator("com.microsoft.LayerNormalization")
def layer_norm(c: OnnxContext) -> Result:
    x = c.x()
    axes = len(c.shape(x)) - c.axis_of(x, -1)
    return layer_normed(c, x, 1, 2, axes, c.onnx.float("epsilon", 1e-5), any(c.onnx.outputs[1:]))


@operator("com.microsoft.SkipLayerNormalization")
def skip_layer_norm(c: OnnxContext) -> Result:
    total = _skipped(c, 4)
    statistics = any(c.onnx.outputs[1:3])
    out = layer_normed(c, total, 2, 3, 1, c.onnx.float("epsilon", 1e-12), statistics)
    if isinstance(out, Name | Call):
        return [out, None, None, total]
    assert not isinstance(out, Constant)
    return [*out, total]


@operator("com.microsoft.SkipSimplifiedLayerNormalization")
def skip_rms_norm(c: OnnxContext) -> Result:
    if any(c.onnx.outputs[1:3]):
        c.only(1)
    total = _skipped(c, 3)
    return [rms_normed(c, total, 2, 1, c.onnx.float("epsilon", 1e-12)), None, None, total]


@operator("com.microsoft.EmbedLayerNormalization", ranks={0: 2, 1: 2, 2: 2, 3: 2, 8: 2})
def embed_layer_norm(c: OnnxContext) -> Result:
    """Rows of the tables of words, positions and segments, added and normalised."""
    if any(c.onnx.outputs[1:2]):
        raise c.error("returns the index of its mask, which has no counterpart")
    ids = c.x(0)
    _, length = c.shape(ids)
    total = c.let("embedding", ids, weight=c.x(2))
    if c.onnx.has(8):
        rows = c.let("embedding", c.x(8), weight=c.x(3))
    else:
        rows = c.let("slice", c.x(3), 0, 0, length)
    total = c.let("add", total, rows)
    if c.onnx.has(1) and c.onnx.has(4):
        total = c.let("add", total, c.let("embedding", c.x(1), weight=c.x(4)))
    out = layer_normed(c, total, 5, 6, 1, c.onnx.float("epsilon", 1e-12))
    assert isinstance(out, Name | Call)
    return [out, None, total]
