"""Products: linear layers, matrix products, convolutions, attention, embeddings."""

from __future__ import annotations

from collections.abc import Sequence

from npuc.frontends.dsl.syntax import Call
from npuc.frontends.script.moves import matrix_product
from npuc.frontends.script.weights import Refused, Tensor
from npuc.frontends.torch.context import Context
from npuc.frontends.torch.operators import Meaning, registry

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


@operator("aten.linear")
def linear(c: Context, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Call:
    features = c.shape(weight)[0]
    if len(c.shape(input)) > 1:
        if c.adopt(weight=weight, bias=bias):
            return c.call("linear", input, features, bias=bias is not None, transpose_weight=True)
        product = "linear", input
        named = {"bias": False, "weight": weight, "transpose_weight": True}
        return c.call(*product, **named) if bias is None else c.call("add", c.let(*product, **named), bias)
    row = c.let("linear", c.let("unsqueeze", input, 0), bias=False, weight=weight, transpose_weight=True)
    out = c.call("squeeze", row, 0)
    return out if bias is None else c.call("add", c.script.assign(f"{c.layer}.squeeze", out), bias)


@operator("aten.matmul", "aten.mm", "aten.bmm", "aten.mv", "aten.dot")
def matmul(
    c: Context,
    x: Tensor,
    other: Tensor | None = None,
    mat2: Tensor | None = None,
    vec: Tensor | None = None,
    tensor: Tensor | None = None,
) -> Call:
    y = next(one for one in (other, mat2, vec, tensor) if one is not None)
    left, right = len(c.shape(x)) == 1, len(c.shape(y)) == 1
    if not left and not right:
        return matrix_product(c, x, y)
    a: Tensor = c.let("unsqueeze", x, 0) if left else x
    b: Tensor = c.let("unsqueeze", y, 1) if right else y
    whole = c.script.assign(f"{c.layer}.matmul", matrix_product(c, a, b))
    return c.call("reshape", whole, list(c.result_shape()))


@operator("aten.addmm", "aten.baddbmm", "aten.addmv")
def addmm(
    c: Context,
    x: Tensor,
    mat1: Tensor | None = None,
    mat2: Tensor | None = None,
    batch1: Tensor | None = None,
    batch2: Tensor | None = None,
    mat: Tensor | None = None,
    vec: Tensor | None = None,
    beta: float = 1,
    alpha: float = 1,
) -> Call:
    if mat is not None and vec is not None:
        column = c.let("reshape", c.script.assign(f"{c.layer}.matmul", matmul(c, mat, vec=vec)), [c.shape(mat)[0]])
        return _scaled_sum(c, x, column, beta, alpha)
    a, b = (mat1, mat2) if mat1 is not None else (batch1, batch2)
    if a is None or b is None:
        raise Refused("found no matrices")
    if beta == alpha == 1 and len(c.shape(x)) == 1 and c.adopt(weight=b, bias=x):
        return c.call("linear", a, c.shape(b)[1])
    return _scaled_sum(c, x, c.script.assign(f"{c.layer}.matmul", matrix_product(c, a, b)), beta, alpha)


def _scaled_sum(c: Context, x: Tensor, product: Tensor, beta: float, alpha: float) -> Call:
    """alpha product + beta x."""
    scaled = product if alpha == 1 else c.let("mul", product, alpha)
    return c.call("add", scaled, x if beta == 1 else c.let("mul", x, beta))


@operator("aten.addbmm")
def addbmm(c: Context, x: Tensor, batch1: Tensor, batch2: Tensor, beta: float = 1, alpha: float = 1) -> Call:
    products = c.script.assign(f"{c.layer}.matmul", matrix_product(c, batch1, batch2))
    return _scaled_sum(c, x, c.let("sum", products, axis=0), beta, alpha)


@operator("aten.addr")
def addr(c: Context, x: Tensor, vec1: Tensor, vec2: Tensor, beta: float = 1, alpha: float = 1) -> Call:
    element = c.result_element()
    columns = c.let("mul", c.let("unsqueeze", c.cast(vec1, element), 1), c.cast(vec2, element))
    return _scaled_sum(c, c.cast(x, element), columns, beta, alpha)


_Option = int | list[int] | None
"""An option of a convolution; None: as it usually is."""


def _convolve(c: Context, name: str, x: Tensor, weight: Tensor, bias: Tensor | None, **named: _Option) -> Call:
    """A convolution with the weights that it owns, or with others."""
    options: dict[str, int | list[int]] = {key: value for key, value in named.items() if value is not None}
    if c.adopt(weight=weight, bias=bias):
        kernel = list(c.shape(weight)[2:])
        shape = c.shape(weight)
        groups = options.get("groups", 1)
        channels = shape[1] * groups if "transpose" in name and isinstance(groups, int) else shape[0]
        return c.call(name, x, channels, kernel=_short(kernel), bias=bias is not None, **options)
    if bias is None:
        return c.call(name, x, weight=weight, bias=False, **options)
    out = c.let(name, x, weight=weight, bias=False, **options)
    width = c.shape(out)[1]
    return c.call("add", out, c.let("reshape", bias, [width, *[1] * (len(c.shape(out)) - 2)]))


def _short(values: Sequence[int]) -> int | list[int]:
    """One number where all are equal."""
    return values[0] if len(set(values)) == 1 else list(values)


def _unless(values: Sequence[int], usual: int) -> int | list[int] | None:
    """Numbers an axis, None where all are the usual one."""
    short = _short(values)
    return None if short == usual else short


@operator("aten.conv1d", "aten.conv2d", "aten.conv3d")
def convolution(
    c: Context,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sequence[int] = (1,),
    padding: Sequence[int] | str = (0,),
    dilation: Sequence[int] = (1,),
    groups: int = 1,
) -> Call:
    axes = len(c.shape(weight)) - 2
    kernel = c.shape(weight)[2:]
    uneven: list[int] | None = None
    if isinstance(padding, str):
        pads = [(d * (k - 1)) for k, d in zip(kernel, _wide(dilation, axes), strict=True)]
        if padding != "valid" and any(pad % 2 for pad in pads):
            uneven = [side for pad in pads for side in (pad // 2, pad - pad // 2)]
        padding = [0] * axes if padding == "valid" else [pad // 2 for pad in pads]
    batched = len(c.shape(input)) == axes + 2
    x = input if batched else c.let("unsqueeze", input, 0)
    named: dict[str, _Option] = {
        "stride": _unless(_wide(stride, axes), 1),
        "padding": _unless(_wide(padding, axes), 0),
        "dilation": _unless(_wide(dilation, axes), 1),
        "groups": None if groups == 1 else groups,
    }
    if isinstance(named["padding"], list) or uneven is not None:
        named["padding"] = uneven or _both_sides(_wide(padding, axes))
    call = _convolve(c, f"conv{axes}d", x, weight, bias, **named)
    return call if batched else c.call("squeeze", c.script.assign(f"{c.layer}.conv", call), 0)


def _wide(values: Sequence[int], axes: int) -> list[int]:
    return list(values) * axes if len(values) == 1 else list(values)


def _both_sides(padding: Sequence[int]) -> list[int]:
    """Padding before and after each axis: [top, bottom, left, right]."""
    return [pad for pad in padding for _ in range(2)]


@operator("aten.conv_transpose1d", "aten.conv_transpose2d.input", "aten.conv_transpose3d.input")
def convolution_transposed(
    c: Context,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sequence[int] = (1,),
    padding: Sequence[int] = (0,),
    output_padding: Sequence[int] = (0,),
    groups: int = 1,
    dilation: Sequence[int] = (1,),
) -> Call:
    axes = len(c.shape(weight)) - 2
    named: dict[str, _Option] = {
        "stride": _unless(_wide(stride, axes), 1),
        "padding": _unless(_wide(padding, axes), 0),
        "output_padding": _unless(_wide(output_padding, axes), 0),
        "dilation": _unless(_wide(dilation, axes), 1),
        "groups": None if groups == 1 else groups,
    }
    if isinstance(named["padding"], list):
        named["padding"] = _both_sides(_wide(padding, axes))
    batched = len(c.shape(input)) == axes + 2
    x = input if batched else c.let("unsqueeze", input, 0)
    call = _convolve(c, f"conv_transpose{axes}d", x, weight, bias, **named)
    return call if batched else c.call("squeeze", c.script.assign(f"{c.layer}.conv", call), 0)


@operator("aten.embedding")
def embedding(
    c: Context,
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Call:
    if scale_grad_by_freq:
        raise Refused("found scale_grad_by_freq=True, which has no counterpart")
    padding = {} if padding_idx < 0 else {"padding_idx": padding_idx}
    if c.adopt(weight=weight):
        entries, width = c.shape(weight)
        return c.call("embedding", indices, entries, width, **_typed(c, weight), **padding)
    return c.call("embedding", indices, weight=weight, **padding)


def _typed(c: Context, weight: Tensor) -> dict[str, str]:
    element = c.element(weight)
    return {} if element == "f32" else {"dtype": element}


@operator("aten.scaled_dot_product_attention")
def attention(
    c: Context,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Call:
    rank = len(c.shape(query))
    named: dict[str, Tensor | float | bool] = {}
    if attn_mask is not None:
        if rank != 4 and len(c.shape(attn_mask)) > 2:
            lead = _merged(c, query)
            attn_mask = c.let("reshape", attn_mask, [1, *lead, *c.shape(attn_mask)[-2:]])
        named["mask"] = attn_mask
    if is_causal:
        named["causal"] = True
    if dropout_p:
        named["dropout"] = dropout_p
    if scale is not None:
        named["scale"] = scale
    if rank == 4:
        return c.call("scaled_dot_product_attention", query, key, value, **named)
    four = [c.let("reshape", one, [1, *_merged(c, one), *c.shape(one)[-2:]]) for one in (query, key, value)]
    out = c.let("scaled_dot_product_attention", *four, **named)
    return c.call("reshape", out, list(c.result_shape()))


def _merged(c: Context, value: Tensor) -> list[int]:
    """The leading axes of a tensor as one."""
    count = 1
    for size in c.shape(value)[:-2]:
        count *= size
    return [count]


@operator("aten.einsum")
def einsum(c: Context, equation: str, tensors: Sequence[Tensor], path: Sequence[int] | None = None) -> Call:
    return c.call("einsum", equation.replace(" ", ""), list(tensors))
