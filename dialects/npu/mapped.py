"""
The correspondence between the dimensions of a nest and those of a layer of data-centric directives (MAESTRO).

    (b = 1, o = 64, i = 3, y = 112, x = 112, r = 7, s = 7) ins(X = %x[b, i, y * 2 + r - 3, x * 2 + s - 3], …
    CONV  K 64 (o)  C 3 (i)  R 7 (r)  S 7 (s)  Y 230 (y)  X 230 (x)  N 1 (b)  stride Y 2 X 2

A convolution is a CONV, DSCONV, NGCONV or TRCONV, by the names and indices of its nest. Every product of one statement
without a batch is a GEMM, whose M, N and K correspond to the dimensions of the nest with these roles. Any product that
is no convolution is also a CONV with a single tap: K are its columns, C the summed dimension, and N, Y or X its rows.
With a batch it is an NGCONV, whose G is the batch.
"""

from collections.abc import Iterator
from functools import lru_cache
from math import prod

from npuc.compiler.core.frozen import frozen
from npuc.dialects.mapping import ClustersAttr, MappingAttr
from npuc.dialects.mapping.problem import SLIDES, KindName, Problem
from npuc.dialects.npu.gemm import gemm_view
from npuc.dialects.npu.nest import Axis, Nest, Tensor

_CONV = {"K": "o", "C": "i", "G": "g", "N": "b", "Y": "y", "X": "x", "R": "r", "S": "s"}
_NAMES = {name: dim for dim, name in _CONV.items()}


@frozen
class Layout:
    """
    A nest as a layer: the dimensions of the nest, outermost first, for each dimension of the layer.

    Y and X are the positions of the window; strides are None if there is one position only. `rows` are the rows and
    columns of the whole input with padding, if the nest has them.
    """

    kind: KindName
    dims: tuple[tuple[str, tuple[str, ...]], ...]
    strides: tuple[tuple[str, int | None], ...] = ()
    rows: tuple[tuple[str, int], ...] = ()

    def problem(self, nest: Nest) -> Problem:
        """The layer, with the smallest input that the nest admits; a batch of one is left out."""
        sizes = {dim: prod(nest.sizes[d] for d in own) for dim, own in self.dims}
        strides = {dim: stride or 1 for dim, stride in self.strides}
        for dim in SLIDES if self.strides else ():
            count, window = sizes[dim], sizes[SLIDES[dim]]
            whole = dict(self.rows).get(dim, 0)
            fits = whole >= window and (whole - window) // strides[dim] + 1 == count
            sizes[dim] = whole if fits else (count - 1) * strides[dim] + window
        kept = tuple((d, s) for d, s in sizes.items() if d != "N" or s > 1 or self.kind == "GEMM")
        return Problem(self.kind, kept, tuple((d, s) for d, s in strides.items() if s > 1))

    def difference(self, nest: Nest, problem: Problem) -> str | None:
        """The first difference between this layer and another, as a sentence; None if there is none."""
        stands = dict(self.dims)
        for dim in problem.sizes:
            own = stands.get(dim, ())
            found, size = problem.outputs(dim), prod(nest.sizes[d] for d in own)
            if found != size:
                what = f"{dim} is {found}" if dim not in SLIDES or not self.strides else f"{dim}' is {found}"
                return f"{what}, the nest has {' x '.join(own) or 'one'}" + (f" = {size}" if own else "")
        for dim, own in self.dims:
            if dim not in problem.sizes and prod(nest.sizes[d] for d in own) > 1:
                return f"it has no size of {dim}, the nest has {' x '.join(own)}"
        for dim, stride in self.strides:
            if stride is not None and problem.stride[dim] != stride:
                return f"the stride of {dim} is {problem.stride[dim]}, that of the nest {stride}"
        return None


@lru_cache(maxsize=4096)
def layouts(nest: Nest) -> tuple[Layout, ...]:
    """All layers that correspond to a nest, the most structured one first; none for several statements."""
    if len(nest.statements) != 1:
        return ()
    found = tuple(_convolutions(nest))
    products = () if found and set(nest.sizes) & set("yxrs") else tuple(_products(nest))
    return (*found, *_gemms(nest), *products)


@lru_cache(maxsize=4096)
def problem_of(nest: Nest) -> Problem | None:
    """The most structured layer that corresponds to a nest; None if there is none."""
    return next((layout.problem(nest) for layout in layouts(nest)), None)


@lru_cache(maxsize=4096)
def layout_of(nest: Nest, problem: Problem) -> Layout | str:
    """The layout of a layer over a nest; a sentence if the layer does not correspond to the nest."""
    if len(nest.statements) != 1:
        return f"the nest has {len(nest.statements)} statements: only a mapping in cluster form is for all of them"
    found = layouts(nest)
    same = [layout for layout in found if layout.kind == problem.kind]
    said = [layout.difference(nest, problem) for layout in same]
    if None in said:
        return same[said.index(None)]
    if not said:
        kinds = " or ".join(dict.fromkeys(layout.kind for layout in found))
        return f"the nest is no {problem.kind}" + (f", expected {kinds}" if kinds else ": use cluster form")
    return f"the mapping is of another {problem.kind}: {said[0]}"


def _gemms(nest: Nest) -> Iterator[Layout]:
    view = gemm_view(nest, nest.statements[0])
    if not view.batch:
        yield Layout("GEMM", (("M", view.m), ("N", view.n), ("K", view.k)))


def _products(nest: Nest) -> Iterator[Layout]:
    """
    Products as convolutions with one tap: the rows are N, Y or X, a batch is G.

    A nest without a batch that is no plain product, such as the gradient of a convolution, is a GEMM only.
    """
    view = gemm_view(nest, nest.statements[0])
    if not view.batch and any(len(axis.terms) > 1 for tensor in nest.tensors.values() for axis in tensor.axes):
        return
    kind: KindName = "NGCONV" if view.batch else "CONV"
    for rows in ("N", "Y", "X"):
        own: dict[str, tuple[str, ...]] = {"G": view.batch} if view.batch else {}
        own |= {"K": view.n, "C": view.k, "R": (), "S": (), "Y": (), "X": (), "N": (), rows: view.m}
        yield Layout(kind, tuple(own.items()), (("Y", None), ("X", None)))


def _convolutions(nest: Nest) -> Iterator[Layout]:
    """
    The convolutions that correspond to a nest, by the names of its dimensions and the tensors that have them.

    A window of one element may slide over either tensor, unless only one of them has a stride.
    """
    statement = nest.statements[0]
    out, lhs, weight = (nest.tensors[name] for name in (statement.out, statement.lhs, statement.rhs))
    has = frozenset(nest.sizes)
    if not has <= set(_NAMES):
        return
    depthwise = "g" not in has and "i" in out.dims and "i" in weight.dims
    shared = frozenset("gi" if depthwise else "g")
    for image, other, channels in ((lhs, out, "io"), (out, lhs, "oi")):
        members = [frozenset(dims) | shared for dims in (f"b{channels[0]}yxrs", f"b{channels[1]}yx", "oirs")]
        if [image.dims, other.dims, weight.dims] == [dims & has for dims in members]:
            strides = {dim: _stride(image, dim) for dim in "YX"}
            if 0 not in strides.values() and all(_stride(other, dim) in (None, 1) for dim in "YX"):
                yield from _kinds(nest, image, strides, image is out, depthwise)


def _kinds(
    nest: Nest, image: Tensor, strides: dict[str, int | None], transposed: bool, depthwise: bool
) -> Iterator[Layout]:
    rows = tuple((dim, n) for dim in "YX" if (n := _rows(image, dim)))

    def layout(kind: KindName, dims: str, **other: tuple[str, ...]) -> Layout:
        stand = {d: (_CONV[d],) if _CONV[d] in nest.sizes else () for d in dims} | other
        return Layout(kind, tuple(stand.items()), tuple(strides.items()), rows)

    if transposed:
        if not depthwise and "g" not in nest.sizes:
            yield layout("TRCONV", "NKCRSYX")
    elif depthwise:
        if "o" not in nest.sizes:
            yield layout("DSCONV", "NCRSYX")
        yield layout("NGCONV", "NGKCRSYX", G=("i",), C=())
    elif "g" in nest.sizes:
        yield layout("NGCONV", "NGKCRSYX")
    else:
        yield layout("CONV", "NKCRSYX")
        yield layout("NGCONV", "NGKCRSYX")
        if nest.sizes.get("o", 1) == nest.sizes.get("i", 1) == 1:
            yield layout("DSCONV", "NCRSYX")


def _axis(tensor: Tensor, dim: str) -> tuple[Axis, int] | None:
    """The index and the size of the axis over which the window slides along Y or X."""
    names = {_CONV[dim], _CONV[SLIDES[dim]]}
    pairs = zip(tensor.axes, tensor.shape, strict=True)
    return next(((axis, size) for axis, size in pairs if names & set(axis.dims)), None)


def _stride(image: Tensor, dim: str) -> int | None:
    """The stride along Y or X; None if there is one position at most, 0 if it is no plain window."""
    found = _axis(image, dim)
    if found is None:
        return None
    terms = dict(found[0].terms)
    position, tap = terms.pop(_CONV[dim], None), terms.pop(_CONV[SLIDES[dim]], 1)
    return 0 if terms or tap != 1 else position


def _rows(image: Tensor, dim: str) -> int:
    """The rows or columns of the input with equal padding on both sides; 0 if the nest does not give them."""
    found = _axis(image, dim)
    return 0 if found is None else found[1] + 2 * max(0, -found[0].offset)


@lru_cache(maxsize=4096)
def mapping_problem(nest: Nest, attr: MappingAttr) -> str | None:
    """The first thing that is wrong with a mapping, by itself and for a right nest."""
    if isinstance(attr, ClustersAttr):
        return next(attr.data.problems(nest.sizes), None)
    if attr.problems:
        return attr.problems[0]
    layout = layout_of(nest, attr.data.problem)
    return layout if isinstance(layout, str) else None
