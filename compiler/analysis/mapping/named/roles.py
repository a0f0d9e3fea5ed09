"""
The roles of a nest's dimensions in a dataflow: which ones stand for its K, C, R, S, Y, X, its groups and its batch.

    Y[b, o, y, x] += X[b, i, y + r, x + s] * W[o, i, r, s]      K o, C i, R r, S s, Y y, X x, N b
    dX[b, i, …]   += dY[b, o, y, x] * W[o, i, r, s]             K i, C o: C is the summed dimension
    dW[o, i, …]   += X[b, i, …] * dY[b, o, y, x]                K o, C i: the elements hold dW as they hold W
    Y[m, n]       += X[m, k] * W[k, n]                          K n, C k, and the rows m
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from npuc.compiler.analysis.nest.gemm import forward_view
from npuc.dialects.npu.gemm import gemm_view
from npuc.dialects.npu.nest import Nest, Statement

_CONVOLUTION = frozenset("bgoizyxtrs")
Dims = tuple[str, ...]


@dataclass(frozen=True)
class Roles:
    """
    Dimensions of a nest by their part, outermost first.

    `rows` are those of a product, which a dataflow's Y and X both stand for. `depthwise`: there is no K, each of C has
    its own input and output.
    """

    dims: tuple[tuple[str, Dims], ...]
    rows: Dims = ()
    depthwise: bool = False

    def of(self, name: str) -> Dims:
        """The dimensions that stand for one of a dataflow: K, C, R, S, Y, X, N, G."""
        return dict(self.dims).get(name, ())


@lru_cache(maxsize=4096)
def roles_of(nest: Nest, statement: Statement) -> Roles:
    """The parts of a nest's dimensions in one of its statements."""
    names = frozenset(nest.sizes)
    if names <= _CONVOLUTION and names & frozenset("oizyxrs"):
        return _convolution(nest, statement)
    view = forward_view(nest) if statement.out == "dW" else gemm_view(nest, statement)
    return Roles((("G", view.batch), ("K", view.n), ("C", view.k)), rows=view.m)


def _convolution(nest: Nest, statement: Statement) -> Roles:
    out, lhs, rhs = (nest.tensors[name].dims for name in (statement.out, statement.lhs, statement.rhs))
    shared = out & lhs & rhs
    groups = tuple(d for d in nest.sizes if d in shared and d in "goi")
    left = [d for d in "oi" if d in nest.sizes and d not in groups]
    summed = tuple(d for d in left if d not in out)
    # Of dW both are in the output: the elements hold it as they hold the weights.
    channels = summed if summed else tuple(d for d in left if d == "i")
    filters = tuple(d for d in left if d not in channels)
    depthwise = bool(groups) and not filters and not channels
    found = {
        "G": () if depthwise else groups,
        "K": filters,
        "C": groups if depthwise else channels,
        "N": tuple(d for d in "b" if d in nest.sizes),
        "Y": tuple(d for d in "zy" if d in nest.sizes),
        "X": tuple(d for d in "x" if d in nest.sizes),
        "R": tuple(d for d in "tr" if d in nest.sizes),
        "S": tuple(d for d in "s" if d in nest.sizes),
    }
    return Roles(tuple(found.items()), depthwise=depthwise)
