"""The windows of convolutions and poolings: sizes, steps, padding, as nodes say them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from npuc.frontends.onnx.context import OnnxContext


@dataclass(frozen=True)
class Window:
    """Sizes of a window, its steps, padding before all axes and then after all, and distances of its elements."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    pads: tuple[int, ...]
    dilations: tuple[int, ...]

    def span(self, axis: int) -> int:
        """How many elements of an axis lie between the first and the last of a window, both included."""
        return self.dilations[axis] * (self.kernel[axis] - 1) + 1


def window_of(c: OnnxContext, sizes: Sequence[int], kernel: Sequence[int], *, padded: bool = True) -> Window:
    """The window that the attributes of a call say, over axes of some sizes. Raises `SourceError`."""
    axes = len(sizes)
    given = c.onnx.ints("kernel_shape") or tuple(kernel)
    strides, dilations = (c.onnx.ints(name) or (1,) * axes for name in ("strides", "dilations"))
    pads = c.onnx.ints("pads") or (0,) * (2 * axes)
    lengths = (len(given), len(strides), len(dilations), len(pads))
    if lengths != (axes, axes, axes, 2 * axes) or (kernel and given != tuple(kernel)):
        raise c.error(f"its window does not fit a tensor of rank {axes + 2}")
    if min((*given, *strides, *dilations), default=1) < 1:
        raise c.error("its window has sizes or steps below 1")
    window = Window(given, strides, pads, dilations)
    automatic = c.onnx.string("auto_pad", "NOTSET")
    if not padded or automatic in ("NOTSET", ""):
        return window
    if automatic == "VALID":
        return Window(given, strides, (0,) * (2 * axes), dilations)
    if automatic not in ("SAME_UPPER", "SAME_LOWER"):
        raise c.error(f"found auto_pad '{automatic}', expected NOTSET, VALID, SAME_UPPER or SAME_LOWER")
    before, after = [0] * axes, [0] * axes
    for axis, size in enumerate(sizes):
        total = max((-(-size // strides[axis]) - 1) * strides[axis] + window.span(axis) - size, 0)
        half = total // 2
        before[axis], after[axis] = (half, total - half) if automatic == "SAME_UPPER" else (total - half, half)
    return Window(given, strides, (*before, *after), dilations)


def both_sides(pads: Sequence[int]) -> int | list[int]:
    """Padding as the language has it: before and after each axis, one number where all are equal."""
    if len(set(pads)) == 1:
        return pads[0]
    axes = len(pads) // 2
    return [pads[axis + side * axes] for axis in range(axes) for side in range(2)]
