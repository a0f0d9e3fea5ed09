"""
Lower bounds of the traffic of a nest, whatever its schedule.

*Compulsory*: every element of an input that is used is read once, every element of an output written once. *Capacity*
(Smith, Lowery, Langou and van de Geijn 2019): a product of V MACs with S elements of fast memory moves at least 2 V /
sqrt(S) - 2 S elements. Where windows overlap, an element of the image stands for up to `reuse` elements of the im2col
matrix, and the inequality behind the bound (Loomis and Whitney) gives 2 V / sqrt(reuse x S) - 2 S. It needs every
dimension in at least two of the three tensors, else it says nothing.
"""

from functools import lru_cache
from math import isqrt, prod

from npuc.compiler.analysis.blocks import touched
from npuc.dialects.npu.nest import Nest, Tensor


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
    volume = nest.points
    bounds = [0]
    for statement in nest.statements:
        tensors = [nest.tensors[name] for name in (statement.out, statement.lhs, statement.rhs)]
        if any(sum(dim in t.dims for t in tensors) < 2 for dim in nest.sizes):
            continue
        reuse = prod(_reuse(t, nest) for t in tensors)
        bounds.append(isqrt(4 * volume * volume // (reuse * spm_elements)) - 2 * spm_elements)
    return max(bounds)


def _reuse(tensor: Tensor, nest: Nest) -> int:
    """At most how many index tuples of the tensor's own dimensions reach one element."""
    reuse = 1
    for axis in tensor.axes:
        extents = [nest.sizes[d] for d in axis.dims]
        reuse *= prod(extents) // max(extents, default=1)
    return reuse


@lru_cache(maxsize=8192)
def lower_bound_bytes(nest: Nest, spm_bytes: int, widths: tuple[int, ...]) -> int:
    """The larger of both bounds in bytes; `widths` are bytes an element, in the order of `nest.tensors`."""
    by_name = dict(zip(nest.tensors, widths, strict=True))
    least = sum(by_name[name] * elements for name, elements in compulsory(nest).items())
    narrowest = min(widths)
    return max(least, narrowest * capacity(nest, max(1, spm_bytes // narrowest)))
