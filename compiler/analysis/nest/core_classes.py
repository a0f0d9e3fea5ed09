"""
The iterations of loops over cores, in classes of those whose parts of the nest are alike.

Two iterations of a loop are alike when their parts have the same size, and for every axis with a window, stride or
border the part has the same positions inside the tensor, counted from its own first one, and shares the same of them
with the parts before and after it. Where iterations add up to one output, the first one and the last one differ from
others too: it begins the sums, or completes them; and where an output has elements that no statement touches, which
belong to the first core. So one dimension of plain axes has at most two classes, or three, however many cores it is
split among; near a border, parts of an axis with a window differ. A core is an iteration of every loop over cores, and
cores of the same classes are alike.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby, product
from math import prod

from npuc.compiler.analysis.nest.blocks import inside, is_plain, touched
from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu.footprint import positions
from npuc.dialects.npu.nest import Axis, Loop, Nest

Range = tuple[int, int]
"""First index and number of indices."""


@frozen
class LikeIterations:
    """Like iterations of a loop over cores: the number of the first one, its range of the dimension, how many."""

    first: int
    range: Range
    count: int


@frozen
class LoopClasses:
    """
    The classes of a loop's iterations, by their first ones; `runs` are the classes of iterations one after another,
    with the number of each.
    """

    dim: str
    classes: tuple[LikeIterations, ...]
    runs: tuple[tuple[int, int], ...]

    @property
    def iterations(self) -> int:
        """The number of iterations."""
        return sum(one.count for one in self.classes)

    @property
    def of(self) -> list[int]:
        """The class of every iteration."""
        return [number for number, count in self.runs for _ in range(count)]


def loop_classes(nest: Nest, loops: tuple[Loop, ...]) -> tuple[LoopClasses, ...]:
    """The classes of each of the loops over cores of a schedule."""
    return tuple(_classes(nest, loops, number) for number in range(len(loops)))


def _classes(nest: Nest, loops: tuple[Loop, ...], number: int) -> LoopClasses:
    loop = loops[number]
    size, ends = nest.sizes[loop.dim], _ends_differ(nest, loop.dim)
    windows = list(_windows(nest, loops, loop.dim))
    if not windows:
        return _of_plain_axes(loop.dim, size, loop.step, ends=ends)
    ranges = _ranges(size, loop.step)
    known: dict[object, int] = {}
    of: list[int] = []
    firsts: list[int] = []
    for at, (_, extent) in enumerate(ranges):
        place = (at == 0, at == len(ranges) - 1) if ends else ()
        key = place, extent, tuple(shapes[at] for shapes in windows)
        if key not in known:
            known[key] = len(firsts)
            firsts.append(at)
        of.append(known[key])
    counts = Counter(of)
    found = tuple(LikeIterations(at, ranges[at], counts[one]) for one, at in enumerate(firsts))
    return LoopClasses(loop.dim, found, tuple((one, len(list(run))) for one, run in groupby(of)))


@lru_cache(maxsize=4096)
def _ends_differ(nest: Nest, dim: str) -> bool:
    """
    Whether the first and the last iteration of a loop over cores differ from others of their size: iterations add up to
    an output, or the first core has elements of one that no statement touches.
    """
    moved = (*nest.outs, *(start for start in nest.starts if start is not None))
    return any(dim not in out.dims for out in nest.outs) or any(
        touched(tensor, nest.sizes) < tensor.elements for tensor in moved
    )


def _of_plain_axes(dim: str, size: int, step: int, *, ends: bool) -> LoopClasses:
    """Whole iterations and the last one; if the `ends` differ, the first iteration, those between, and the last."""
    step = min(step, size)
    last = (size - 1) // step
    if not last:
        firsts = [0]
    elif ends:
        firsts = [0, last] if last == 1 else [0, 1, last]
    else:
        firsts = [0] if size % step == 0 else [0, last]
    counts = [end - first for first, end in zip(firsts, [*firsts[1:], last + 1], strict=True)]
    found = tuple(
        LikeIterations(at, (at * step, min(step, size - at * step)), count)
        for at, count in zip(firsts, counts, strict=True)
    )
    return LoopClasses(dim, found, tuple(enumerate(counts)))


def _ranges(size: int, step: int) -> list[Range]:
    return [(low, min(step, size - low)) for low in range(0, size, step)]


def _windows(nest: Nest, loops: tuple[Loop, ...], dim: str) -> Iterator[tuple[object, ...]]:
    """For each axis of a dimension that is not plain, what it looks like in each iteration of that dimension's loop."""
    outs = {out.name for out in nest.outs}
    for tensor in nest.tensors.values():
        for axis, size in zip(tensor.axes, tensor.shape, strict=True):
            if dim in axis.dims and not is_plain(axis):
                own = tuple((loop.dim, loop.step) for loop in loops if loop.dim in axis.dims)
                extents = tuple((d, nest.sizes[d]) for d in axis.dims)
                shapes = class_shapes(axis, size, extents, own, shared=tensor.name in outs)
                place = [d for d, _ in own].index(dim)
                yield shapes[place]


@lru_cache(maxsize=4096)
def class_shapes(
    axis: Axis, size: int, extents: tuple[tuple[str, int], ...], loops: tuple[tuple[str, int], ...], *, shared: bool
) -> tuple[tuple[object, ...], ...]:
    """
    For each of the loops over an axis, the axis in each of its iterations.

    It is, beside every iteration of the other loops, the positions of a part and, if `shared`, those of them that parts
    before and after it reach.
    """
    sizes = dict(extents)
    ranges = [_ranges(sizes[dim], step) for dim, step in loops]
    found: list[list[list[object]]] = [[[] for _ in of_loop] for of_loop in ranges]
    for numbers in product(*(range(len(of_loop)) for of_loop in ranges)):
        part = {loops[n][0]: ranges[n][at] for n, at in enumerate(numbers)}
        shape = _shape(axis, size, sizes, part, shared=shared)
        for n, at in enumerate(numbers):
            found[n][at].append(shape)
    return tuple(tuple(tuple(shapes) for shapes in of_loop) for of_loop in found)


def _shape(axis: Axis, size: int, sizes: Mapping[str, int], part: Mapping[str, Range], *, shared: bool) -> object:
    """The positions of an axis in a part, counted from its first, with those that it shares, as bit masks."""
    mine = {d: part.get(d, (0, sizes[d])) for d in axis.dims}
    base = axis.offset + sum(c * mine[d][0] for d, c in axis.terms)
    mask = reached_positions(axis, size, mine)
    seen = tuple(mask & reached_beside(axis, size, sizes, part, last=last) for last in (False, True)) if shared else ()
    return tuple(each >> base if base >= 0 else each << -base for each in (mask, *seen))


def reached_beside(
    axis: Axis, size: int, sizes: Mapping[str, int], part: Mapping[str, Range], *, last: bool = False
) -> int:
    """
    The positions of an axis, as a bit mask, that parts before a `part` reach; with `last`, those after it.

    Parts are ordered lexicographically by their indices, outermost dimension first.
    """
    mine = {d: part.get(d, (0, sizes[d])) for d in axis.dims}
    reached = 0
    for number, (dim, (low, extent)) in enumerate(part.items()):
        if dim not in axis.dims:
            continue
        end = low + extent
        fixed = {*list(part)[:number]}
        before = {d: mine[d] if d in fixed else (0, sizes[d]) for d in axis.dims}
        reached |= reached_positions(axis, size, before | {dim: (end, sizes[dim] - end) if last else (0, low)})
    return reached


def reached_positions(axis: Axis, size: int, ranges: Mapping[str, Range]) -> int:
    """The positions of an axis that these ranges of its dimensions reach, as a bit mask."""
    mask = positions(tuple((c, ranges[d][1]) for d, c in axis.terms))
    return inside(mask, axis.offset + sum(c * ranges[d][0] for d, c in axis.terms), size)


def spread(loops: Sequence[LoopClasses]) -> Iterator[int]:
    """The number of each core's class among the products of classes, core by core in program order."""
    strides = [prod(len(loop.classes) for loop in loops[number + 1 :]) for number in range(len(loops))]
    for of in product(*(loop.of for loop in loops)):
        yield sum(number * stride for number, stride in zip(of, strides, strict=True))
