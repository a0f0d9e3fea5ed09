"""Rearrangements of elements made of other layers."""

from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import (
    IMAGE,
    ArgumentError,
    IntOrInts,
    Value,
    check_not_negative,
    check_positive,
    normal_axis,
    per_axis,
    rank_exactly,
)
from npuc.compiler.layers.box import pad
from npuc.compiler.layers.index import index_select
from npuc.compiler.layers.shape import expand, transpose, view
from npuc.dialects.tensors import shape_of


def pixel_unshuffle(b: GraphBuilder, x: Value, factor: int) -> SSAValue:
    """x [batch, channels, height r, width r] as [batch, channels r r, height, width], r = `factor`; moves elements."""
    batch, channels, height, width = rank_exactly("x", x, 4, IMAGE)
    if factor < 1 or height % factor or width % factor:
        raise ArgumentError("factor", f"found {factor}, expected a divisor of height {height} and width {width}")
    down, right = height // factor, width // factor
    moved = transpose(b, view(x, [batch, channels, down, factor, right, factor], b.emit), [0, 1, 3, 5, 2, 4])
    return view(moved, [batch, channels * factor**2, down, right], b.emit)


def repeat_interleave(b: GraphBuilder, x: Value, repeats: int, axis: int) -> SSAValue:
    """Each part of x along an axis `repeats` times in a row."""
    check_positive("repeats", repeats)
    shape = list(shape_of(x))
    axis = normal_axis("axis", axis, len(shape))
    before, behind = shape[: axis + 1], shape[axis + 1 :]
    copies = expand(b, view(x, [*before, 1, *behind], b.emit), [*before, repeats, *behind])
    return view(copies, [*shape[:axis], shape[axis] * repeats, *behind], b.emit)


def unfold(
    b: GraphBuilder,
    x: Value,
    kernel: IntOrInts,
    dilation: IntOrInts = 1,
    padding: IntOrInts = 0,
    stride: IntOrInts = 1,
) -> SSAValue:
    """
    The windows of x [batch, channels, height, width] as columns: [batch, channels kernel kernel, windows].

    Also known as im2col; elements are copied as often as windows hold them.
    """
    batch, channels, *size = rank_exactly("x", x, 4, IMAGE)
    kernels, spread = per_axis("kernel", kernel, 2), per_axis("dilation", dilation, 2)
    sides, steps = per_axis("padding", padding, 2), per_axis("stride", stride, 2)
    for name, values in (("kernel", kernels), ("dilation", spread), ("stride", steps)):
        check_positive(name, min(values))
    check_not_negative("padding", min(sides))
    counts: list[int] = []
    for n, k, d, side, step in zip(size, kernels, spread, sides, steps, strict=True):
        room = n + 2 * side - d * (k - 1) - 1
        if room < 0:
            raise ArgumentError("kernel", f"found a window of {d * (k - 1) + 1} over {n + 2 * side} elements")
        counts.append(room // step + 1)
    y = pad(b, x, [sides[1], sides[1], sides[0], sides[0]]) if any(sides) else x
    for axis in (0, 1):
        places = [i * steps[axis] + j * spread[axis] for j in range(kernels[axis]) for i in range(counts[axis])]
        y = index_select(b, y, places, axis + 2)
    split = view(y, [batch, channels, kernels[0], counts[0], kernels[1], counts[1]], b.emit)
    moved = transpose(b, split, [0, 1, 2, 4, 3, 5])
    return view(moved, [batch, channels * kernels[0] * kernels[1], counts[0] * counts[1]], b.emit)


LAYERS = ()
FUNCTIONS = (pixel_unshuffle, repeat_interleave, unfold)
