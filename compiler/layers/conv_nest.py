"""
The loop nests of a convolution's three products, without im2col.

All three run over the same dimensions: b batch, o output channels, i input channels (of a group), z, y, x positions of
the window, t, r, s positions in the window, g groups (named i where a group has one input channel: depthwise). A
dimension of size 1 among positions is left out.

    Y[b, o, y, x] += X[b, i, y * 2 + r - 1, x * 2 + s - 1] * W[o, i, r, s]         stride 2, padding 1

The window of a transposed convolution moves over the output:

    Y[b, o, y * 2 + r - 1, x * 2 + s - 1] += X[b, i, y, x] * W[i, o, r, s]
"""

from functools import lru_cache

from npuc.dialects.npu.attrs import NestAttr
from npuc.dialects.npu.nest import Axis, Nest, Statement, Tensor
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.conv import ConvOp, Window

Shape = tuple[int, ...]
Axes = tuple[Axis, ...]

POSITIONS = "zyx"
"""The dimensions of the window's positions; windows over fewer axes use the last of them."""
OFFSETS = "trs"
"""The dimensions of the positions in the window."""


def conv_nest(op: ConvOp) -> NestAttr:
    """The loop nest of a convolution or of one of its derivatives."""
    first, second, result = shape_of(op.operands[0]), shape_of(op.operands[1]), shape_of(op.results[0])
    x, w, y = {
        "forward": (first, second, result),
        "dx": (result, second, first),
        "dw": (first, result, second),
    }[op.PRODUCT]
    return _nest(op.PRODUCT, op.TRANSPOSED, op.window, x, w, y)


@lru_cache(maxsize=4096)
def _nest(product: str, transposed: bool, window: Window, x: Shape, w: Shape, y: Shape) -> NestAttr:
    if transposed:
        dims, (y_axes, w_axes, x_axes) = _conv_axes(window, y, w, x, ("i", "o"))
    else:
        dims, (x_axes, w_axes, y_axes) = _conv_axes(window, x, w, y, ("o", "i"))
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
    The position dimensions of one axis that get a loop: those larger than 1.

    Both get one where a single one would seem to run over the whole axis, although the axis has another size.
    """
    kept = {d: s for d, s in dims.items() if s > 1}
    if len(kept) == 1:
        (dim,) = kept
        step = steps[list(dims).index(dim)]
        if step == 1 and before == 0 and kept[dim] != size:
            return dims
    return kept


def _conv_axes(
    window: Window, image: Shape, w: Shape, small: Shape, channels: tuple[str, str]
) -> tuple[tuple[tuple[str, int], ...], tuple[Axes, Axes, Axes]]:
    """
    Dimensions of a convolution's nest and the indices of the tensor under the window, the weight and the third.

    `channels` names the first two axes of the weight: the channels of the third tensor and of the one under the window.
    """
    groups = window.groups
    outer, inner = channels
    own = {outer: w[0] // groups, inner: w[1]}
    group = ("g" if own["i"] > 1 else "i") if groups > 1 else ""
    sizes = {"b": small[0]}
    if group:
        sizes[group] = groups
    for d in "oi":
        if own[d] > 1 or not group:
            sizes[d] = own[d]
    pairs = list(zip(POSITIONS[-window.axes :], OFFSETS[-window.axes :], strict=True))
    kept: dict[str, int] = {}
    for n, (position, offset) in enumerate(pairs):
        steps = (window.stride[n], window.dilation[n])
        kept |= _window_dims({position: small[2 + n], offset: w[2 + n]}, image[2 + n], steps, window.before[n])
    sizes |= {d: kept[d] for d in POSITIONS + OFFSETS if d in kept}

    def axis(*terms: tuple[str, int], offset: int = 0) -> Axis:
        return Axis(tuple((d, c) for d, c in terms if d in sizes), offset)

    def all_channels(d: str) -> Axis:
        return axis((d, 1)) if d == group else axis((group, own[d]), (d, 1))

    steps = zip(pairs, window.stride, window.dilation, window.before, strict=True)
    moved = [axis((position, s), (offset, d), offset=-before) for (position, offset), s, d, before in steps]
    return tuple(sizes.items()), (
        (axis(("b", 1)), all_channels(inner), *moved),
        (all_channels(outer), Axis(()) if inner == group else axis((inner, 1)), *(axis((o, 1)) for _, o in pairs)),
        (axis(("b", 1)), all_channels(outer), *(axis((p, 1)) for p, _ in pairs)),
    )
