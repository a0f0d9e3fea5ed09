"""Shapes and the movement of elements."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.onnx.container.element_types import ELEMENT_TYPES
from npuc.frontends.onnx.context import TYPES, OnnxContext
from npuc.frontends.onnx.fold.limits import Limits
from npuc.frontends.onnx.fold.moves import range_of, reshaped, split_sizes
from npuc.frontends.onnx.fold.rules import Folded
from npuc.frontends.onnx.operators import Meaning, Result, registry
from npuc.frontends.onnx.values import Constant
from npuc.frontends.script.moves import transposed

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


def shaped(c: OnnxContext, x: Name, shape: Sequence[int]) -> Result:
    """The elements under another shape; the tensor itself where it has that."""
    return x if tuple(shape) == c.shape(x) else c.call("reshape", x, list(shape))


@operator("Reshape")
def reshape(c: OnnxContext) -> Result:
    x = c.x()
    return shaped(c, x, reshaped(Folded(c.onnx, Limits()), c.shape(x), c.onnx.ints_at(1) or ()))


@operator("Flatten")
def flatten(c: OnnxContext) -> Result:
    x = c.x()
    shape, axis = c.shape(x), c.onnx.int("axis", 1)
    if not -len(shape) <= axis <= len(shape):
        raise c.error(f"axis {axis} is outside of a tensor of rank {len(shape)}")
    at = axis if axis >= 0 else axis + len(shape)
    return shaped(c, x, [prod(shape[:at]), prod(shape[at:])])


@operator("Squeeze")
def squeeze(c: OnnxContext) -> Result:
    x = c.x()
    shape, axes = c.shape(x), Folded(c.onnx, Limits()).axes(len(c.shape(x)), 1)
    gone = [axis for axis, size in enumerate(shape) if size == 1] if axes is None else list(axes)
    if any(shape[axis] != 1 for axis in gone):
        raise c.error(f"axes {gone} of {list(shape)} are not all of size 1")
    return shaped(c, x, [size for axis, size in enumerate(shape) if axis not in gone])


@operator("Unsqueeze")
def unsqueeze(c: OnnxContext) -> Result:
    x = c.x()
    shape = list(c.shape(x))
    axes = Folded(c.onnx, Limits()).axes(len(shape) + len(c.onnx.ints_at(1) or ()), 1) or ()
    for axis in sorted(axes):
        shape.insert(axis, 1)
    return shaped(c, x, shape)


@operator("Transpose")
def transpose(c: OnnxContext) -> Result:
    x = c.x()
    rank = len(c.shape(x))
    axes = c.onnx.ints("perm") or tuple(reversed(range(rank)))
    if sorted(axes) != list(range(rank)):
        raise c.error(f"perm {list(axes)} is no order of {rank} axes")
    return transposed(c, x, axes)


@operator("Slice")
def slice_(c: OnnxContext) -> Result:
    x: Name | Call = c.x()
    shape = c.shape(x)
    folded = Folded(c.onnx, Limits())
    starts, ends = c.onnx.ints_at(1) or (), c.onnx.ints_at(2) or ()
    axes = folded.axes(len(shape), 3)
    axes = tuple(range(len(starts))) if axes is None else axes
    steps: tuple[int, ...] = c.onnx.ints_at(4) or (1,) * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps) or len(axes) > len(shape) or 0 in steps:
        raise c.error("starts, ends, axes and steps do not fit together")
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        bounds = range_of(shape[axis], start, end, step)
        places = range(*bounds.indices(shape[axis]))
        if not places:
            return _empty(c, c.held(x), axis)
        x = part(c, x, axis, places, shape[axis])
    return x


def part(c: OnnxContext, x: Name | Call, axis: int, places: range, size: int) -> Name | Call:
    """Elements along an axis at places of equal distances."""
    backwards = places.step < 0
    places = places[::-1] if backwards else places
    if places != range(size):
        step = {} if places.step == 1 else {"step": places.step}
        x = c.call("slice", c.held(x), axis, places[0], places[-1] + 1, **step)
    return c.call("flip", c.held(x), axis) if backwards and len(places) > 1 else x


@operator("Split")
def split(c: OnnxContext) -> Result:
    x = c.x()
    axis = c.axis_of(x)
    sizes = split_sizes(Folded(c.onnx, Limits()), c.shape(x)[axis], len(c.onnx.outputs))
    if len(sizes) == 1:
        return [x]
    whole = [size for size in sizes if size]
    parts = iter([x] if len(whole) == 1 else c.several([str(n) for n in range(len(whole))], "split", x, whole, axis))
    return [next(parts) if size else _empty(c, x, axis) for size in sizes]


def _empty(c: OnnxContext, x: Name, axis: int) -> Constant:
    """A part of a value that has no elements along an axis."""
    shape, type = list(c.shape(x)), TYPES[c.element(x)]
    shape[axis] = 0
    return Constant(np.zeros(shape, type.held), type)


@operator("Concat")
def concat(c: OnnxContext) -> Result:
    parts = [
        c.x(index) for index, value in enumerate(c.onnx.inputs) if value is not None and 0 not in c.tensor(index).shape
    ]
    if not parts:
        raise c.error("joins no elements")
    return parts[0] if len(parts) == 1 else c.call("concat", parts, c.axis_of(parts[0]))


@operator("Expand")
def expand(c: OnnxContext) -> Result:
    x, wanted = c.x(), c.onnx.ints_at(1) or ()
    try:
        shape = np.broadcast_shapes(c.shape(x), wanted)
    except ValueError:
        raise c.error(f"{list(c.shape(x))} does not expand to {list(wanted)}") from None
    return x if shape == c.shape(x) else c.call("expand", x, list(shape))


@operator("Tile")
def tile(c: OnnxContext) -> Result:
    x, repeats = c.x(), c.onnx.ints_at(1) or ()
    return x if set(repeats) <= {1} else c.call("repeat", x, list(repeats))


@operator("Pad")
def pad(c: OnnxContext) -> Result:
    x, pads = c.x(), c.onnx.ints_at(1) or ()
    rank = len(c.shape(x))
    axes = Folded(c.onnx, Limits()).axes(rank, 3)
    axes = tuple(range(rank)) if axes is None else axes
    if len(pads) != 2 * len(axes):
        raise c.error(f"found {len(pads)} pads for {len(axes)} axes")
    both = {axis: (pads[at], pads[at + len(axes)]) for at, axis in enumerate(axes)}
    first = min((axis for axis, sides in both.items() if any(sides)), default=rank)
    padding = [size for axis in reversed(range(first, rank)) for size in both.get(axis, (0, 0))]
    if not padding:
        return x
    mode = c.onnx.string("mode", "constant")
    if mode not in ("constant", "reflect", "edge"):
        raise c.error(f"pads by '{mode}', expected constant, reflect or edge")
    if mode != "constant":
        return c.call("pad", x, padding, mode="reflect" if mode == "reflect" else "replicate")
    value = c.number(2) if c.onnx.has(2) else 0.0
    if value is None:
        raise c.error("pads by a value that depends on data, expected a constant")
    return c.call("pad", x, padding, **({"value": float(value)} if value else {}))


@operator("CenterCropPad")
def center(c: OnnxContext) -> Result:
    """The middle of each axis, or the axis in the middle of zeros."""
    x: Name | Call = c.x()
    rank, sizes = len(c.shape(x)), c.onnx.ints_at(1) or ()
    axes = [c.checked_axis(x, axis) for axis in c.onnx.ints("axes") or range(rank)]
    if len(axes) != len(sizes) or min(sizes, default=1) < 1:
        raise c.error(f"found the sizes {list(sizes)} for the axes {axes}")
    padding = [0] * (2 * rank)
    for axis, size in zip(axes, sizes, strict=True):
        more = size - c.shape(c.held(x))[axis]
        if more < 0:
            first = -more // 2
            x = c.call("slice", c.held(x), axis, first, first + size)
        else:
            place = 2 * (rank - 1 - axis)
            padding[place : place + 2] = [more // 2, more - more // 2]
    return c.call("pad", c.held(x), padding) if any(padding) else x


@operator("EyeLike")
def eye(c: OnnxContext) -> Result:
    """Ones on a diagonal, of a known shape."""
    shape = c.tensor(0).shape
    code = c.onnx.int("dtype")
    element = c.language(ELEMENT_TYPES[code] if code in ELEMENT_TYPES else c.tensor(0).type)
    if len(shape) != 2:
        raise c.error(f"found a tensor of rank {len(shape)}, expected 2")
    row = c.let("arange", shape[1], dtype="i32")
    column = c.let("reshape", c.let("arange", shape[0] + c.onnx.int("k"), c.onnx.int("k"), dtype="i32"), [shape[0], 1])
    return c.call("cast", c.let("equal", column, row), to=element)


@operator("Trilu")
def triangle(c: OnnxContext) -> Result:
    return c.call("triu" if c.onnx.int("upper", 1) else "tril", c.x(), c.onnx.int_at(1) or 0)


@operator("DepthToSpace")
def depth_to_space(c: OnnxContext) -> Result:
    x, factor = c.x(), c.onnx.int("blocksize")
    batch, channels, height, width = _image(c, x)
    if factor < 1 or channels % factor**2:
        raise c.error(f"{channels} channels do not go into blocks of {factor}")
    if c.onnx.string("mode", "DCR") == "CRD":
        return c.call("pixel_shuffle", x, factor)
    apart = c.let("reshape", x, [batch, factor, factor, channels // factor**2, height, width])
    moved = c.let("transpose", apart, [0, 3, 4, 1, 5, 2])
    return c.call("reshape", moved, [batch, channels // factor**2, height * factor, width * factor])


@operator("SpaceToDepth")
def space_to_depth(c: OnnxContext) -> Result:
    x, factor = c.x(), c.onnx.int("blocksize")
    batch, channels, height, width = _image(c, x)
    if factor < 1 or height % factor or width % factor:
        raise c.error(f"an image of {height} by {width} does not go into blocks of {factor}")
    apart = c.let("reshape", x, [batch, channels, height // factor, factor, width // factor, factor])
    order = [0, 3, 5, 1, 2, 4] if c.onnx.string("mode", "DCR") == "DCR" else [0, 1, 3, 5, 2, 4]
    moved = c.let("transpose", apart, order)
    return c.call("reshape", moved, [batch, channels * factor**2, height // factor, width // factor])


def _image(c: OnnxContext, x: Name) -> tuple[int, ...]:
    shape = c.shape(x)
    if len(shape) != 4:
        raise c.error(f"found a tensor of rank {len(shape)}, expected [batch, channels, height, width]")
    return shape
