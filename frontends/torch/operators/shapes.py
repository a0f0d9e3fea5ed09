"""Shapes and the movement of elements; what PyTorch makes a view is a value here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.script.moves import transposed
from npuc.frontends.script.weights import Refused, Tensor
from npuc.frontends.torch.context import Context
from npuc.frontends.torch.operators import Meaning, registry
from npuc.frontends.torch.program import Keyword
from npuc.frontends.torch.values import finite

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


def shaped(c: Context, x: Tensor, shape: Sequence[int]) -> Tensor | Call:
    """The elements under another shape; the tensor itself where it has that."""
    return x if tuple(shape) == c.shape(x) else c.call("reshape", x, list(shape))


@operator("aten.view", "aten.reshape", "aten._unsafe_view", "aten.view_as", "aten.reshape_as", "aten.unflatten")
def view(c: Context, x: Tensor, *_: object, **__: object) -> Tensor | Call:
    return shaped(c, x, c.result_shape())


@operator("aten.squeeze", "aten.ravel")
def same_elements(c: Context, x: Tensor, *_: object, **__: object) -> Tensor | Call:
    return shaped(c, x, c.result_shape())


@operator("aten.flatten")
def flatten(c: Context, x: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor | Call:
    rank = len(c.shape(x))
    if rank < 2 or c.axis(end_dim, x) != rank - 1 or c.result_shape() == c.shape(x):
        return shaped(c, x, c.result_shape())
    start = c.axis(start_dim, x)
    return c.call("flatten", x, **({} if start == 1 else {"start": start}))


@operator("aten.unsqueeze")
def unsqueeze(c: Context, x: Tensor, dim: int) -> Call:
    return c.call("unsqueeze", x, dim % len(c.result_shape()))


@operator("aten.squeeze.dim")
def squeeze(c: Context, x: Tensor, dim: int) -> Tensor | Call:
    return x if c.result_shape() == c.shape(x) else c.call("squeeze", x, c.axis(dim, x))


@operator("aten.permute")
def permute(c: Context, x: Tensor, dims: Sequence[int]) -> Tensor | Call:
    return _moved(c, x, "permute", dims=dims)


def _moved(c: Context, x: Tensor, kind: str, **named: object) -> Tensor | Call:
    return transposed(c, x, moved_axes(kind, len(c.shape(x)), named))


def moved_axes(kind: str, rank: int, named: Mapping[str, object]) -> list[int]:
    """The axes of an operand in the order that an operator which moves them gives them, by its named arguments."""
    axes = list(range(rank))
    if kind == "permute":
        return [axis % rank for axis in cast("Sequence[int]", named["dims"])]
    if kind == "numpy_T":
        return axes[::-1]
    if kind in ("movedim", "moveaxis"):
        pairs = zip(_listed(named["source"]), _listed(named["destination"]), strict=True)
        there = {new % rank: old % rank for old, new in pairs}
        others = iter(axis for axis in axes if axis not in there.values())
        return [there[axis] if axis in there else next(others) for axis in axes]
    swapped = [named[name] for name in ("dim0", "dim1", "axis0", "axis1") if named.get(name) is not None] or [-2, -1]
    if rank > 1:
        a, b = cast("list[int]", swapped)
        axes[a], axes[b] = axes[b], axes[a]
    return axes


def _listed(value: object) -> list[int]:
    return cast("list[int]", value) if isinstance(value, list) else [cast(int, value)]


@operator("aten.transpose.int", "aten.transpose.default", "aten.swapaxes", "aten.swapdims")
def transpose(
    c: Context,
    x: Tensor,
    dim0: int | None = None,
    dim1: int | None = None,
    axis0: int | None = None,
    axis1: int | None = None,
) -> Tensor | Call:
    return _moved(c, x, "transpose", dim0=dim0, dim1=dim1, axis0=axis0, axis1=axis1)


@operator("aten.t", "aten.mT", "aten.mH", "aten.matrix_H", "aten.adjoint")
def t(c: Context, x: Tensor) -> Tensor | Call:
    return _moved(c, x, "t")


@operator("aten.numpy_T")
def numpy_transpose(c: Context, x: Tensor) -> Tensor | Call:
    return _moved(c, x, "numpy_T")


@operator("aten.movedim.intlist", "aten.moveaxis.intlist")
def movedims(c: Context, x: Tensor, source: Sequence[int], destination: Sequence[int]) -> Tensor | Call:
    return _moved(c, x, "movedim", source=source, destination=destination)


@operator("aten.movedim.int", "aten.moveaxis.int")
def movedim(c: Context, x: Tensor, source: int, destination: int) -> Tensor | Call:
    return _moved(c, x, "movedim", source=source, destination=destination)


@operator("aten.expand", "aten.expand_as", "aten.broadcast_to")
def expand(c: Context, x: Tensor, *_: object, **__: object) -> Tensor | Call:
    shape = c.result_shape()
    return x if shape == c.shape(x) else c.call("expand", x, list(shape))


@operator("aten.repeat")
def repeat(c: Context, x: Tensor, repeats: Sequence[int]) -> Tensor | Call:
    return x if c.result_shape() == c.shape(x) else c.call("repeat", x, list(repeats))


@operator("aten.repeat_interleave.self_int")
def repeat_interleave(
    c: Context, x: Tensor, repeats: int, dim: int | None = None, output_size: int | None = None
) -> Tensor | Call:
    if dim is None:
        x, dim = c.let("reshape", x, [-1]), 0
    if repeats == 1:
        return x
    return c.call("repeat_interleave", x, repeats, c.axis(dim, x))


@operator("aten.tile")
def tile(c: Context, x: Tensor, dims: Sequence[int]) -> Tensor | Call:
    return repeat(c, x, [*[1] * (len(c.shape(x)) - len(dims)), *dims])


@operator("aten.cat", "aten.concat", "aten.concatenate")
def cat(c: Context, tensors: Sequence[Tensor], dim: int = 0, axis: int | None = None) -> Tensor | Call:
    rank = len(c.result_shape())
    kept = [one for one in tensors if len(c.shape(one)) == rank and 0 not in c.shape(one)]
    parts = [c.cast(one, c.result_element()) for one in kept]
    place = (dim if axis is None else axis) % rank
    return parts[0] if len(parts) == 1 else c.call("concat", parts, place)


@operator("aten.stack")
def stack(c: Context, tensors: Sequence[Tensor], dim: int = 0) -> Call:
    return c.call("stack", [c.cast(one, c.result_element()) for one in tensors], dim % len(c.result_shape()))


@operator("aten.slice.Tensor")
def slice_(
    c: Context, x: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor | Call:
    axis = c.axis(dim, x)
    size = c.shape(x)[axis]
    first, last = _place(start, size, 0), _place(end, size, size)
    if (first, last, step) == (0, size, 1):
        return x
    return c.call("slice", x, axis, first, last, **({} if step == 1 else {"step": step}))


def _place(place: int | None, size: int, missing: int) -> int:
    """A place along an axis, from its start and within it."""
    if place is None:
        return missing
    return min(max(place + size if place < 0 else place, 0), size)


@operator("aten.select.int")
def select(c: Context, x: Tensor, dim: int, index: int) -> Call:
    axis = c.axis(dim, x)
    place = index % c.shape(x)[axis]
    return c.call("squeeze", c.let("slice", x, axis, place, place + 1), axis)


def written(c: Context, whole: Name, part: Name, place: Mapping[str, int]) -> Name:
    """A tensor in which a part, chosen as by slice, select or narrow, is another."""
    axis = c.axis(place.get("dim", 0), whole)
    size = c.shape(whole)[axis]
    step = place.get("step", 1)
    if "index" in place:
        return c.let("select_scatter", whole, part, axis, place["index"] % size)
    if "length" in place:
        first = _place(place["start"], size, 0)
        last = first + place["length"]
    else:
        first, last = _place(place.get("start"), size, 0), _place(place.get("end"), size, size)
    if (first, last, step) == (0, size, 1):
        return part
    return c.let("slice_scatter", whole, part, axis, first, last, **({} if step == 1 else {"step": step}))


@operator("aten.slice_scatter")
def slice_scatter(
    c: Context,
    x: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Name:
    place = {
        "dim": dim,
        "step": step,
        **({} if start is None else {"start": start}),
        **({} if end is None else {"end": end}),
    }
    return written(c, c.variable(x), c.variable(src), place)


@operator("aten.select_scatter")
def select_scatter(c: Context, x: Tensor, src: Tensor, dim: int, index: int) -> Name:
    return written(c, c.variable(x), c.variable(src), {"dim": dim, "index": index})


@operator("aten.narrow")
def narrow(c: Context, x: Tensor, dim: int, start: int, length: int) -> Tensor | Call:
    return slice_(c, x, dim, start, start + length)


@operator("aten.unbind")
def unbind(c: Context, x: Tensor, dim: int = 0) -> list[Name]:
    axis = c.axis(dim, x)
    return c.script.several([c.layer] * c.shape(x)[axis], "unbind", c.variable(x), axis)


@operator("aten.flip")
def flip(c: Context, x: Tensor, dims: Sequence[int]) -> Tensor | Call:
    if not dims:
        return x
    return c.call("flip", x, [c.axis(axis, x) for axis in dims])


@operator("aten.roll")
def roll(c: Context, x: Tensor, shifts: Sequence[int], dims: Sequence[int] = ()) -> Call:
    if not dims:
        return c.call("reshape", c.let("roll", c.let("reshape", x, [-1]), list(shifts), [0]), list(c.shape(x)))
    return c.call("roll", x, list(shifts), [c.axis(axis, x) for axis in dims])


@operator("aten.tril")
def tril(c: Context, x: Tensor, diagonal: int = 0) -> Call:
    return c.call("tril", x, diagonal)


@operator("aten.triu")
def triu(c: Context, x: Tensor, diagonal: int = 0) -> Call:
    return c.call("triu", x, diagonal)


@operator("aten.pad", "aten.constant_pad_nd")
def pad(c: Context, x: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Call:
    named: dict[str, str | float] = {} if mode == "constant" else {"mode": mode}
    if value:
        named["value"] = finite(float(value), c.element(x))
    return c.call("pad", x, list(pad), **named)


@operator("aten.reflection_pad1d", "aten.reflection_pad2d", "aten.reflection_pad3d")
def reflection_pad(c: Context, x: Tensor, padding: Sequence[int]) -> Call:
    return pad(c, x, padding, "reflect")


@operator("aten.replication_pad1d", "aten.replication_pad2d", "aten.replication_pad3d")
def replication_pad(c: Context, x: Tensor, padding: Sequence[int]) -> Call:
    return pad(c, x, padding, "replicate")


@operator("aten.one_hot")
def one_hot(c: Context, x: Tensor, num_classes: int = -1) -> Call:
    return c.call("one_hot", x, c.result_shape()[-1], dtype="i64")


@operator("aten.alias", "aten.view.dtype")
def alias(c: Context, x: Tensor, dtype: Keyword | None = None) -> Tensor:
    if dtype is not None:
        raise Refused("found the bits of a tensor as another type, which has no counterpart")
    return x
