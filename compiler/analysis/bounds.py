"""
Lower bounds of the traffic of a nest, whatever its schedule.

*Compulsory*: every element of an input that is used is read once, every element of an output written once. *Capacity*
(Smith, Lowery, Langou and van de Geijn 2019): a product of V MACs with S elements of fast memory moves at least 2 V /
sqrt(S) - 2 S elements. Where windows overlap, an element of the image stands for up to `reuse` elements of the im2col
matrix, and the inequality behind the bound (Loomis and Whitney) gives 2 V / sqrt(reuse x S) - 2 S. It needs every
dimension in at least two of the three tensors, else it says nothing. V leaves out the MACs by padding: they hold
nothing in fast memory.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import product
from math import isqrt, prod

from npuc.compiler.analysis.blocks import touched
from npuc.dialects.npu.nest import Axis, Nest, Tensor


def compulsory(nest: Nest) -> dict[str, int]:
    """The elements of each tensor that any schedule moves at least."""
    result = {t.name: touched(t, nest.sizes) for t in nest.ins}
    result |= {t.name: t.elements for t in nest.outs}
    return result | {s.name: s.elements for s in nest.starts if s is not None}


def capacity(nest: Nest, spm_elements: int) -> int:
    """
    The elements that any schedule moves at least with `spm_elements` of fast memory; 0 where the bound says nothing.

    With several statements it is that of the one that needs most, since each is part of the schedule.
    """
    bounds = [0]
    for statement in nest.statements:
        tensors = [nest.tensors[name] for name in (statement.out, statement.lhs, statement.rhs)]
        if any(sum(dim in t.dims for t in tensors) < 2 for dim in nest.sizes):
            continue
        reuse, volume = prod(_reuse(t, nest) for t in tensors), _points_inside(tensors, nest)
        bounds.append(isqrt(4 * volume * volume // (reuse * spm_elements)) - 2 * spm_elements)
    return max(bounds)


def _reuse(tensor: Tensor, nest: Nest) -> int:
    """At most how many index tuples of the tensor's own dimensions reach one element."""
    reuse = 1
    for axis in tensor.axes:
        extents = [nest.sizes[d] for d in axis.dims]
        reuse *= prod(extents) // max(extents, default=1)
    return reuse


def _points_inside(tensors: Iterable[Tensor], nest: Nest) -> int:
    """
    The points of the nest at which no tensor is indexed outside its shape.

    Axes with windows that share a dimension are not counted together: the result may then be too small.
    """
    points, counted = nest.points, set[str]()
    for axis, size in dict.fromkeys(place for t in tensors for place in zip(t.axes, t.shape, strict=True)):
        sizes = {d: nest.sizes[d] for d in axis.dims}
        reach = axis.offset + sum(c * (sizes[d] - 1) for d, c in axis.terms)
        if axis.offset >= 0 and reach < size:
            continue
        every, inside = prod(sizes.values()), _tuples_inside(axis, size, sizes)
        if counted.isdisjoint(sizes):
            points = points // every * inside
        else:
            points = max(0, points - nest.points // every * (every - inside))
        counted |= set(sizes)
    return points


def _tuples_inside(axis: Axis, size: int, sizes: Mapping[str, int]) -> int:
    """The index tuples of an axis' dimensions that lie in [0, size); those of the largest one are not walked."""
    if not axis.terms:
        return int(0 <= axis.offset < size)
    (dim, step), *others = sorted(axis.terms, key=lambda term: -sizes[term[0]])
    inside = 0
    for at in product(*(range(0, c * sizes[d], c) for d, c in others)):
        base = axis.offset + sum(at)
        first, last = max(0, -(base // step)), min(sizes[dim] - 1, (size - 1 - base) // step)
        inside += max(0, last - first + 1)
    return inside


@lru_cache(maxsize=8192)
def lower_bound_bytes(nest: Nest, spm_bytes: int, widths: tuple[int, ...]) -> int:
    """The larger of both bounds in bytes; `widths` are bytes an element, in the order of `nest.tensors`."""
    by_name = dict(zip(nest.tensors, widths, strict=True))
    least = sum(by_name[name] * elements for name, elements in compulsory(nest).items())
    narrowest = min(widths)
    return max(least, narrowest * capacity(nest, max(1, spm_bytes // narrowest)))
