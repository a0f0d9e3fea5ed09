"""Random small layers with random mappings, right and wrong ones, and what a mapping computes point by point."""

from collections import Counter
from dataclasses import replace
from itertools import product
from typing import TypeAlias

from hypothesis import strategies as st

from npuc.compiler.analysis.mapping.levels import DirectiveLevel, resolve
from npuc.dialects.mapping import Cluster, ClusterLevel, Clusters, Directive, Map, Mapping, Problem, Sz, TileLoop
from npuc.dialects.mapping.directives import Extent
from npuc.dialects.mapping.problem import KINDS, SLIDES, KindName
from npuc.dialects.npu.nest import Axis, Nest, Statement, Tensor

Point: TypeAlias = tuple[int, ...]
Span: TypeAlias = tuple[int, int]
Shape: TypeAlias = tuple[int, ...]


@st.composite
def layers(draw: st.DrawFn, kinds: tuple[KindName, ...] = KINDS) -> Problem:
    """A layer of a few points, any stride."""
    kind = draw(st.sampled_from(kinds))
    if kind == "GEMM":
        return Problem(kind, tuple((dim, draw(st.integers(1, 6))) for dim in "MNK"))
    dims = {dim: draw(st.integers(1, 4)) for dim in ("C" if kind == "DSCONV" else "KC")}
    if kind == "NGCONV":
        dims["G"] = draw(st.integers(1, 3))
    if draw(st.booleans()):
        dims["N"] = draw(st.integers(1, 2))
    for dim, window in SLIDES.items():
        dims[window] = draw(st.integers(1, 3))
        dims[dim] = dims[window] + draw(st.integers(0, 5 if dim == "Y" else 2))
    strides = {dim: draw(st.sampled_from((1, 1, 2, 3))) for dim in SLIDES}
    return Problem(kind, tuple(dims.items()), tuple(strides.items()))


def _wholes(problem: Problem, dim: str) -> list[tuple[Extent, Extent]]:
    """Tiles that are most likely right: windows one after the other, whole taps, halves."""
    if dim in SLIDES and problem.slides:
        return [(Sz(SLIDES[dim]), 1), (Sz(dim), Sz(dim))]
    if dim in SLIDES.values() and problem.slides:
        return [(Sz(dim), Sz(dim))]
    half = max(1, problem.sizes[dim] // 2)
    return [(1, 1), (half, half), (Sz(dim), Sz(dim))]


@st.composite
def maps(draw: st.DrawFn, problem: Problem, dim: str, *, spatial: bool) -> Map:
    """A map of one dimension, mostly a sensible one."""
    window = SLIDES.get(dim) if problem.slides else None
    if window is not None and draw(st.integers(0, 4)) == 0:
        size = draw(st.integers(1, 3))
        return Map(f"{dim}'", size, size, spatial)
    if problem.slides and dim in SLIDES.values() and not spatial:
        return Map(dim, Sz(dim), Sz(dim))
    tiles: tuple[Extent, Extent] = draw(st.sampled_from(_wholes(problem, dim)))
    if draw(st.integers(0, 5)) == 0:
        tiles = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    elif spatial and draw(st.booleans()):
        tiles = 1, 1
    return Map(dim, *tiles, spatial)


@st.composite
def mappings(draw: st.DrawFn, problem: Problem, most: int = 3) -> Mapping:
    """A mapping of up to so many levels that passes the verifier; most compute each point once, many do not."""
    directives: list[Directive] = []
    for number in range(draw(st.integers(1, most))):
        if number:
            directives.append(Cluster(draw(st.sampled_from((1, 2, 3, Sz("R") if problem.slides else 4)))))
        directives += draw(_levels(problem))
    return Mapping(problem, tuple(directives))


@st.composite
def _levels(draw: st.DrawFn, problem: Problem) -> list[Map]:
    names = list(draw(st.permutations(problem.named)))
    if problem.slides and draw(st.integers(0, 5)) == 0:
        own = draw(st.sampled_from(list(SLIDES)))
        level = [Map(own, 1, 1, True), Map(SLIDES[own], 1, 1, True)]
        names = [name for name in names if name not in (own, SLIDES[own])]
    else:
        count = 2 if len(names) > 1 and draw(st.integers(0, 4)) == 0 else 1
        level = [draw(maps(problem, name, spatial=True)) for name in names[:count]]
        names = names[count:]
    level += [draw(maps(problem, name, spatial=False)) for name in names[: draw(st.integers(0, len(names)))]]
    for one in tuple(level):
        window = SLIDES[one.dim[0]] if one.dim.endswith("'") else None
        if window is not None and all(other.dim != window for other in level):
            level.append(Map(window, Sz(window), Sz(window)))
    return list(draw(st.permutations(level)))


def times_computed(mapping: Mapping, num_pes: int) -> Counter[Point]:
    """How often each point of the layer is computed, from a visit of every tile; dimensions as in `named`."""
    problem = mapping.problem
    levels = resolve(mapping, num_pes)
    apart = {dim: min(problem.stride[dim], problem.sizes[window]) for dim, window in SLIDES.items() if problem.slides}
    whole = {dim: (0, size) for dim, size in problem.dims}
    for dim, step in apart.items():
        whole[dim] = (0, (problem.outputs(dim) - 1) * step + problem.sizes[SLIDES[dim]])
    found: Counter[Point] = Counter()

    def visit(depth: int, given: dict[str, Span]) -> None:
        if depth < len(levels):
            for inside in _tiles(mapping, levels[depth], depth, given):
                visit(depth + 1, inside)
            return
        axes = [[i for i in range(problem.outputs(d)) if _has(problem, apart, given, d, i)] for d in problem.named]
        found.update(product(*axes))

    visit(0, whole)
    return found


def _has(problem: Problem, apart: dict[str, int], given: dict[str, Span], dim: str, index: int) -> bool:
    low, high = given[dim]
    if dim not in apart:
        return low <= index < high
    first, last = given[SLIDES[dim]]
    return low <= index * apart[dim] + first and index * apart[dim] + last - 1 < high


def _tiles(mapping: Mapping, level: DirectiveLevel, depth: int, given: dict[str, Span]) -> list[dict[str, Span]]:
    """What each sub-cluster is given in each step of a level; the empty ones are left out."""
    problem, folds = mapping.problem, list[range]()
    offsets: dict[str, int] = {}
    count: dict[str, int] = {}
    for t in level.tiles:
        offsets[t.dim] = t.offset
        window = problem.sizes[SLIDES[t.dim]] if problem.slides and t.dim in SLIDES else 0
        if depth == 0 and window and window < problem.stride[t.dim] and t.size >= window:
            offsets[t.dim] = t.offset // problem.stride[t.dim] * window
        length = given[t.dim][1] - given[t.dim][0]
        count[t.dim] = next(n for n in range(1, length + 2) if (n - 1) * offsets[t.dim] + t.size >= length)
        folds.append(range(-(-count[t.dim] // level.width) if t.spatial else count[t.dim]))
    found: list[dict[str, Span]] = []
    for step in product(*folds):
        for j in range(level.width):
            inside = dict(given)
            for t, fold in zip(level.tiles, step, strict=True):
                index = fold * level.width + j if t.spatial else fold
                low = given[t.dim][0] + index * offsets[t.dim]
                high = min(low + t.size, given[t.dim][1]) if index < count[t.dim] else low
                inside[t.dim] = (low, high)
            if all(low < high for low, high in inside.values()):
                found.append(inside)
    return found


def nest_of(problem: Problem) -> Nest:
    """The forward product that a layer is."""
    sizes = {**problem.sizes, **({d: problem.outputs(d) for d in SLIDES} if problem.slides else {})}
    if problem.kind == "GEMM":
        order, names = "MNK", {"X": "MK", "W": "KN", "Y": "MN"}
        own = {dim: dim.lower() for dim in order}
        axes = {name: tuple(Axis(((own[d], 1),)) for d in dims) for name, dims in names.items()}
        shapes = {name: tuple(sizes[d] for d in dims) for name, dims in names.items()}
    else:
        order = "".join(d for d in "NGKCYXRS" if d in sizes)
        own = {"N": "b", "G": "g", "K": "o", "C": "i", "Y": "y", "X": "x", "R": "r", "S": "s"}
        sizes = {"N": 1, "G": 1, "K": 1} | sizes
        axes, shapes = _convolution(problem, sizes)
    tensors = {name: Tensor(name, shapes[name], axes[name]) for name in "XWY"}
    ins = (tensors["X"], tensors["W"])
    dims = tuple((own[d], sizes[d]) for d in order)
    return Nest(dims, ins, (tensors["Y"],), (None,), (Statement("Y", "X", "W"),))


def gradient_of(nest: Nest, out: str) -> Nest:
    """The nest of dX or dW of a forward product."""
    x, w, y = (replace(nest.tensors[name], name=f"d{name}" if f"d{name}" in (out, "dY") else name) for name in "XWY")
    lhs, rhs, result = (y, w, x) if out == "dX" else (x, y, w)
    return Nest(nest.dims, (lhs, rhs), (result,), (None,), (Statement(result.name, lhs.name, rhs.name),))


def _convolution(problem: Problem, sizes: dict[str, int]) -> tuple[dict[str, tuple[Axis, ...]], dict[str, Shape]]:
    """The indices and shapes of a convolution without padding; of a transposed one the window is over Y."""
    depthwise = problem.kind == "DSCONV"
    outer, inner = sizes["K"], 1 if depthwise else sizes["C"]
    groups = sizes["C"] if depthwise else sizes["G"]

    def channels(dim: str, count: int) -> Axis:
        if depthwise:
            return Axis((("i", 1),))
        return Axis((("g", count), (dim, 1))) if "G" in problem.sizes else Axis(((dim, 1),))

    batch = Axis((("b", 1),)) if "N" in problem.sizes else Axis(())
    moved = tuple(Axis(((d.lower(), problem.stride[d]), (w.lower(), 1))) for d, w in SLIDES.items())
    still = tuple(Axis(((d.lower(), 1),)) for d in SLIDES)
    filters = Axis(()) if depthwise else Axis((("i", 1),))
    taps = tuple(Axis(((w.lower(), 1),)) for w in SLIDES.values())
    large, small = tuple(problem.sizes[d] for d in SLIDES), tuple(sizes[d] for d in SLIDES)
    window = tuple(problem.sizes[w] for w in SLIDES.values())
    x, y = (still, moved) if problem.kind == "TRCONV" else (moved, still)
    x_size, y_size = (small, large) if problem.kind == "TRCONV" else (large, small)
    axes = {
        "X": (batch, channels("i", inner), *x),
        "W": (channels("o", outer), filters, *taps),
        "Y": (batch, channels("o", outer), *y),
    }
    shapes = {
        "X": (sizes["N"], groups * inner, *x_size),
        "W": (groups * outer, inner, *window),
        "Y": (sizes["N"], groups * outer, *y_size),
    }
    return axes, shapes


@st.composite
def clusters(draw: st.DrawFn, sizes: dict[str, int], most: int = 3, shared: int = 2) -> Clusters:
    """A mapping in cluster form with up to so many levels and dimensions side by side at a level."""
    given = dict(sizes)
    levels: list[ClusterLevel] = []
    for _ in range(draw(st.integers(1, most))):
        loops: list[TileLoop] = []
        names = draw(st.permutations(list(sizes)))
        spread = names[: draw(st.integers(0, shared))]
        parts = 1
        for name in draw(st.permutations(names[: draw(st.integers(len(spread), len(names)))])):
            temporal = spatial = draw(st.integers(1, given[name]))
            if name in spread:
                spatial = draw(st.integers(1, temporal))
            loops.append(TileLoop(name, temporal, spatial))
            parts *= loops[-1].parts
            given[name] = spatial
        levels.append(ClusterLevel(parts + draw(st.integers(0, 1)), tuple(loops)))
    return Clusters(tuple(levels))
