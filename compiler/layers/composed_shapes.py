"""Rearrangements of elements made of other layers."""

from collections.abc import Sequence
from math import prod
from typing import Self

from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.core.frozen import frozen
from npuc.compiler.layers.arguments import (
    IMAGE,
    ArgumentError,
    IntOrInts,
    Value,
    check_not_negative,
    check_positive,
    image_size,
    normal_axis,
    per_axis,
    rank_exactly,
)
from npuc.compiler.layers.box import pad
from npuc.compiler.layers.constant import integers
from npuc.compiler.layers.index import index_select
from npuc.compiler.layers.scatter import index_put
from npuc.compiler.layers.shape import expand, transpose, view
from npuc.dialects.tensors import shape_of, tensor_of, tensor_type


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


@frozen
class Windows:
    """Windows over an image: sizes and distances along its two axes, and how many there are."""

    kernel: tuple[int, ...]
    dilation: tuple[int, ...]
    padding: tuple[int, ...]
    stride: tuple[int, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(
        cls,
        size: Sequence[int],
        kernel: IntOrInts,
        dilation: IntOrInts,
        padding: IntOrInts,
        stride: IntOrInts,
    ) -> Self:
        """The windows over an image of a size. Raises `ArgumentError`."""
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
        return cls(kernels, spread, sides, steps, tuple(counts))

    def places(self, axis: int) -> list[int]:
        """Of each element of a window, along an axis, its places in all windows; padding counts."""
        step, spread = self.stride[axis], self.dilation[axis]
        return [i * step + j * spread for j in range(self.kernel[axis]) for i in range(self.counts[axis])]


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
    windows = Windows.of(size, kernel, dilation, padding, stride)
    sides, kernels, counts = windows.padding, windows.kernel, windows.counts
    y = pad(b, x, [sides[1], sides[1], sides[0], sides[0]]) if any(sides) else x
    for axis in (0, 1):
        y = index_select(b, y, windows.places(axis), axis + 2)
    split = view(y, [batch, channels, kernels[0], counts[0], kernels[1], counts[1]], b.emit)
    moved = transpose(b, split, [0, 1, 2, 4, 3, 5])
    return view(moved, [batch, channels * kernels[0] * kernels[1], counts[0] * counts[1]], b.emit)


def fold(
    b: GraphBuilder,
    x: Value,
    size: IntOrInts,
    kernel: IntOrInts,
    dilation: IntOrInts = 1,
    padding: IntOrInts = 0,
    stride: IntOrInts = 1,
) -> SSAValue:
    """
    Windows x [batch, channels kernel kernel, windows] added where they overlap in an image: the reverse of unfold.

    `size` is the image's height and width: [batch, channels, height, width]. Also known as col2im; each element of x is
    added once.
    """
    batch, rows, count = rank_exactly("x", x, 3, "[batch, channels kernel kernel, windows]")
    image = image_size("size", size)
    windows = Windows.of(image, kernel, dilation, padding, stride)
    if rows % prod(windows.kernel):
        raise ArgumentError("x", f"found {rows} rows, expected a multiple of the window's {prod(windows.kernel)}")
    if count != prod(windows.counts):
        raise ArgumentError("x", f"found {count} windows, expected {prod(windows.counts)} over {list(image)}")
    channels, whole = rows // prod(windows.kernel), [n + 2 * p for n, p in zip(image, windows.padding, strict=True)]
    split = view(x, [batch, channels, *windows.kernel, *windows.counts], b.emit)
    moved = transpose(b, split, [0, 1, 2, 4, 3, 5])
    places = [windows.places(axis) for axis in (0, 1)]
    parts = view(moved, [batch, channels, *map(len, places)], b.emit)
    empty = b.constant(tensor_of(tensor_type(x).element_type, [batch, channels, *whole]), 0.0)
    down = view(integers(b, places[0]), [len(places[0]), 1], b.emit)
    y = index_put(b, empty, [down, integers(b, places[1])], parts, [2, 3], "add")
    top, left = windows.padding
    return pad(b, y, [-left, -left, -top, -top]) if top or left else y


LAYERS = ()
FUNCTIONS = (pixel_unshuffle, repeat_interleave, unfold, fold)
