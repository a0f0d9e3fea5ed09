"""
The loop nests of a convolution's three products, without im2col.

All three run over the same dimensions: b batch, o output channels, i input channels (of a group), y and x output
positions, r and s window positions, g groups (named i where a group has one input channel: depthwise). A dimension of
size 1 among y, x, r, s is left out.

    Y[b, o, y, x] += X[b, i, y * 2 + r - 1, x * 2 + s - 1] * W[o, i, r, s]         stride 2, padding 1
"""

from functools import lru_cache

from npuc.dialects.npu.attrs import NestAttr
from npuc.dialects.npu.nest import Axis, Nest, Statement, Tensor
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.base import ints
from npuc.dialects.train.conv2d import Conv2dBase, Conv2dDwOp, Conv2dDxOp

Window = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], int]
"""Stride, padding, dilation, groups."""

_PRODUCTS: dict[type[Conv2dBase], str] = {Conv2dDxOp: "dx", Conv2dDwOp: "dw"}


def product_of(op: Conv2dBase) -> str:
    """Which of the three products an operation is: `forward`, `dx` or `dw`."""
    return _PRODUCTS.get(type(op), "forward")


def conv_nest(op: Conv2dBase) -> NestAttr:
    """The loop nest of a convolution or of one of its derivatives."""
    product = product_of(op)
    first, second, result = shape_of(op.operands[0]), shape_of(op.operands[1]), shape_of(op.results[0])
    x, w, y = {
        "forward": (first, second, result),
        "dx": (result, second, first),
        "dw": (first, result, second),
    }[product]
    window = (ints(op.stride), ints(op.padding), ints(op.dilation), op.groups.value.data)
    return _nest(product, window, x, w, y)


@lru_cache(maxsize=4096)
def _nest(product: str, window: Window, x: tuple[int, ...], w: tuple[int, ...], y: tuple[int, ...]) -> NestAttr:
    dims, (x_axes, w_axes, y_axes) = _conv_axes(window, x, w, y)
    tensors = {
        "X": Tensor("dX" if product == "dx" else "X", x, x_axes),
        "W": Tensor("dW" if product == "dw" else "W", w, w_axes),
        "Y": Tensor("Y" if product == "forward" else "dY", y, y_axes),
    }
    ins, out = {"forward": (("X", "W"), "Y"), "dx": (("Y", "W"), "X"), "dw": (("X", "Y"), "W")}[product]
    lhs, rhs = (tensors[name] for name in ins)
    statement = Statement(tensors[out].name, lhs.name, rhs.name)
    return NestAttr(Nest(dims, (lhs, rhs), (tensors[out],), (None,), (statement,)))


def _window_dims(dims: dict[str, int], size: int, steps: tuple[int, int], before: int) -> dict[str, int]:
    """
    The output and window dimensions of one axis that are worth a loop: those larger than 1.

    Both stay where a single one would seem to run over the whole axis, but the axis has another size.
    """
    kept = {d: s for d, s in dims.items() if s > 1}
    if len(kept) == 1:
        (dim,) = kept
        step = steps[list(dims).index(dim)]
        if step == 1 and before == 0 and kept[dim] != size:
            return dims
    return kept


def _conv_axes(
    window: Window, x: tuple[int, ...], w: tuple[int, ...], y: tuple[int, ...]
) -> tuple[tuple[tuple[str, int], ...], tuple[tuple[Axis, ...], tuple[Axis, ...], tuple[Axis, ...]]]:
    """Dimensions of a convolution's nest and the indices of x, w and y."""
    stride, padding, dilation, groups = window
    o, i = w[0] // groups, w[1]
    group = ("g" if i > 1 else "i") if groups > 1 else ""
    sizes = {"b": y[0]}
    if group:
        sizes[group] = groups
    if o > 1 or not group:
        sizes["o"] = o
    if i > 1 or not group:
        sizes["i"] = i
    kept: dict[str, int] = {}
    for n, (position, offset) in enumerate((("y", "r"), ("x", "s"))):
        kept |= _window_dims({position: y[2 + n], offset: w[2 + n]}, x[2 + n], (stride[n], dilation[n]), padding[2 * n])
    sizes |= {d: kept[d] for d in "yxrs" if d in kept}

    def axis(*terms: tuple[str, int], offset: int = 0) -> Axis:
        return Axis(tuple((d, c) for d, c in terms if d in sizes), offset)

    channels = axis((group, i), ("i", 1)) if group != "i" else axis(("i", 1))
    features = axis((group, o), ("o", 1))
    window_axes = (
        axis(("y", stride[0]), ("r", dilation[0]), offset=-padding[0]),
        axis(("x", stride[1]), ("s", dilation[1]), offset=-padding[2]),
    )
    inner = axis(("i", 1)) if group != "i" else Axis(())
    return tuple(sizes.items()), (
        (axis(("b", 1)), channels, *window_axes),
        (features, inner, axis(("r", 1)), axis(("s", 1))),
        (axis(("b", 1)), features, axis(("y", 1)), axis(("x", 1))),
    )
