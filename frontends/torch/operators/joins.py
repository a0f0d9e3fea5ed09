"""Tensors side by side, in grids and in blocks, and parts of them; names that share a meaning with others."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from npuc.frontends.dsl.syntax import Call
from npuc.frontends.script.weights import Empty, Tensor
from npuc.frontends.torch.context import Context
from npuc.frontends.torch.operators import Meaning, registry

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


def _shaped(c: Context, x: Tensor, shape: Sequence[int]) -> Tensor:
    return x if c.shape(x) == tuple(shape) else c.let("reshape", x, list(shape))


@operator("aten.atleast_1d", "aten.atleast_2d", "aten.atleast_3d")
def atleast(c: Context, x: Tensor | None = None, tensors: Sequence[Tensor] = ()) -> list[Tensor]:
    given = [x] if x is not None else list(tensors)
    return [_shaped(c, one, c.result_shape(number)) for number, one in enumerate(given)]


def _joined(c: Context, tensors: Sequence[Tensor], rank: int, axis: int) -> Tensor | Call:
    """Tensors one behind the other along an axis; axes that they lack have size 1, after `rank` leading ones."""
    parts = [c.cast(one, c.result_element()) for one in tensors if 0 not in c.shape(one)]
    shapes = [list(c.shape(one)) for one in parts]
    wide = [shape if len(shape) >= rank else _padded(shape, rank) for shape in shapes]
    given = [_shaped(c, one, shape) for one, shape in zip(parts, wide, strict=True)]
    return given[0] if len(given) == 1 else c.call("concat", given, axis if len(wide[0]) > 1 else 0)


def _padded(shape: list[int], rank: int) -> list[int]:
    """A shape with axes of size 1: before it, and behind two for a rank of 3."""
    if rank < 3:
        return [1] * (rank - len(shape)) + shape
    return ([1] * (2 - len(shape)) + shape if len(shape) < 2 else shape) + [1]


@operator("aten.hstack")
def hstack(c: Context, tensors: Sequence[Tensor]) -> Tensor | Call:
    return _joined(c, tensors, 1, 1)


@operator("aten.vstack")
def vstack(c: Context, tensors: Sequence[Tensor]) -> Tensor | Call:
    return _joined(c, tensors, 2, 0)


@operator("aten.dstack")
def dstack(c: Context, tensors: Sequence[Tensor]) -> Tensor | Call:
    return _joined(c, tensors, 3, 2)


@operator("aten.column_stack")
def column_stack(c: Context, tensors: Sequence[Tensor]) -> Tensor | Call:
    columns = [_shaped(c, one, [prod(c.shape(one)), 1]) if len(c.shape(one)) < 2 else one for one in tensors]
    return _joined(c, columns, 2, 1)


@operator("aten.meshgrid")
def meshgrid(c: Context, tensors: Sequence[Tensor], indexing: str = "ij") -> list[Tensor]:
    found: list[Tensor] = []
    for number, one in enumerate(tensors):
        shape = list(c.result_shape(number))
        place = number if indexing == "ij" or number > 1 or len(tensors) < 2 else 1 - number
        line = _shaped(c, one, [size if axis == place else 1 for axis, size in enumerate(shape)])
        found.append(line if list(c.shape(line)) == shape else c.let("expand", line, shape))
    return found


@operator("aten.broadcast_tensors")
def broadcast_tensors(c: Context, tensors: Sequence[Tensor]) -> list[Tensor]:
    shape = list(c.result_shape())
    return [one if list(c.shape(one)) == shape else c.let("expand", one, shape) for one in tensors]


@operator("aten.cartesian_prod")
def cartesian_prod(c: Context, tensors: Sequence[Tensor]) -> Tensor | Call:
    if len(tensors) == 1:
        return tensors[0]
    sizes = [c.shape(one)[0] for one in tensors]
    columns: list[Tensor] = []
    for number, one in enumerate(tensors):
        line = _shaped(c, one, [size if axis == number else 1 for axis, size in enumerate(sizes)])
        columns.append(c.let("reshape", c.let("expand", line, sizes), [-1]))
    return c.call("stack", columns, 1)


@operator("aten.block_diag")
def block_diag(c: Context, tensors: Sequence[Tensor]) -> Tensor | Call:
    blocks = [_shaped(c, c.cast(one, c.result_element()), _padded(list(c.shape(one)), 2)) for one in tensors]
    width, before, rows = c.result_shape()[1], 0, list[Tensor]()
    for block in blocks:
        columns = c.shape(block)[1]
        sides = [before, width - before - columns]
        before += columns
        rows.append(block if not any(sides) else c.let("pad", block, sides))
    return rows[0] if len(rows) == 1 else c.call("concat", rows, 0)


@operator("aten.kron")
def kron(c: Context, x: Tensor, other: Tensor) -> Call:
    a, b = (c.cast(one, c.result_element()) for one in (x, other))
    rank = max(len(c.shape(a)), len(c.shape(b)))
    left, right = ([1] * (rank - len(c.shape(one))) + list(c.shape(one)) for one in (a, b))
    spread = _shaped(c, a, [size for one in left for size in (one, 1)])
    laid = _shaped(c, b, [size for one in right for size in (1, one)])
    return c.call("reshape", c.let("mul", spread, laid), list(c.result_shape()))


@operator("aten.fliplr")
def fliplr(c: Context, x: Tensor) -> Call:
    return c.call("flip", x, 1)


@operator("aten.flipud")
def flipud(c: Context, x: Tensor) -> Call:
    return c.call("flip", x, 0)


@operator("aten.rot90")
def rot90(c: Context, x: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor | Call:
    a, b = (c.axis(axis, x) for axis in dims)
    turns = k % 4
    if turns == 0:
        return x
    if turns == 2:
        return c.call("flip", x, [a, b])
    order = list(range(len(c.shape(x))))
    order[a], order[b] = b, a
    return c.call("flip", c.let("transpose", x, order), a if turns == 1 else b)


@operator("aten.pixel_unshuffle")
def pixel_unshuffle(c: Context, x: Tensor, downscale_factor: int) -> Call:
    return _images(c, "pixel_unshuffle", x, downscale_factor)


@operator("aten.pixel_shuffle")
def pixel_shuffle(c: Context, x: Tensor, upscale_factor: int) -> Call:
    return _images(c, "pixel_shuffle", x, upscale_factor)


def _images(c: Context, function: str, x: Tensor, factor: int) -> Call:
    """A function of images of one batch; several leading axes are one."""
    shape = c.shape(x)
    if len(shape) == 4:
        return c.call(function, x, factor)
    moved = c.let(function, c.let("reshape", x, [prod(shape[:-3]), *shape[-3:]]), factor)
    return c.call("reshape", moved, list(c.result_shape()))


@operator("aten.channel_shuffle")
def channel_shuffle(c: Context, x: Tensor, groups: int) -> Call:
    return c.call("channel_shuffle", x, groups)


def parts(c: Context, x: Tensor, axis: int) -> list[Tensor]:
    """A tensor in parts along an axis, of the sizes that the file tells; those of no elements are folded away."""
    sizes = [c.result_shape(number)[axis] for number in range(c.result_count)]
    some = [size for size in sizes if size]
    if len(some) == 1 and sum(sizes) == c.shape(x)[axis]:
        pieces: list[Tensor] = [x]
    else:
        names = [c.layer for size in sizes if size]
        pieces = [*c.script.several(names, "split", c.variable(x), some, axis)]
    left = iter(pieces)
    return [next(left) if size else Empty(c.result_shape(n), c.element(x)) for n, size in enumerate(sizes)]


def _split(axis_of: int) -> Meaning:
    def meaning(c: Context, x: Tensor, *_: object, **__: object) -> list[Tensor]:
        return parts(c, x, 0 if axis_of == 1 and len(c.shape(x)) == 1 else axis_of)

    return meaning


for _name, _axis in (("vsplit", 0), ("hsplit", 1), ("dsplit", 2)):
    MEANINGS[f"aten.{_name}"] = _split(_axis)


@operator(
    *("aten.split", "aten.split_with_sizes", "aten.chunk", "aten.tensor_split", "aten.unsafe_split"),
    *("aten.unsafe_chunk", "aten.unsafe_split_with_sizes"),
)
def split(c: Context, x: Tensor, *_: object, dim: int = 0, **__: object) -> list[Tensor]:
    return parts(c, x, c.axis(dim, x))


@operator("aten.sum_to_size")
def sum_to_size(c: Context, x: Tensor, size: Sequence[int]) -> Tensor | Call:
    shape = c.shape(x)
    lead = len(shape) - len(size)
    axes = [axis for axis, old in enumerate(shape) if axis < lead or size[axis - lead] != old]
    own = c.cast(x, c.result_element())
    return c.call("reshape", c.let("sum", own, axis=axes), list(size)) if axes else own
