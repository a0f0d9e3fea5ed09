"""The GEMM view of a contraction: which dimensions of a statement play M, N, K and batch."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from math import prod

from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu.nest import Nest, Statement


@frozen
class GemmView:
    """The dimensions of a nest by their role in one statement, each group in the nest's order."""

    batch: tuple[str, ...]
    m: tuple[str, ...]
    n: tuple[str, ...]
    k: tuple[str, ...]

    def sizes(self, extents: Mapping[str, int]) -> tuple[int, int, int, int]:
        """The sizes of batch, M, N, K for these extents of the dimensions."""

        def size(dims: Iterable[str]) -> int:
            return prod(extents[d] for d in dims)

        return size(self.batch), size(self.m), size(self.n), size(self.k)


@lru_cache(maxsize=4096)
def gemm_view(nest: Nest, statement: Statement) -> GemmView:
    """
    The GEMM that a statement is, by membership of each dimension.

    In out and lhs: M; in out and rhs: N; in lhs and rhs: K; in all three: batch. A dimension of the output alone
    repeats rows (M); one of an operand alone is summed (K).
    """
    out, lhs, rhs = (nest.tensors[name].dims for name in (statement.out, statement.lhs, statement.rhs))
    groups: dict[str, list[str]] = {"batch": [], "m": [], "n": [], "k": []}
    for dim in nest.sizes:
        if dim in out and dim in lhs and dim in rhs:
            groups["batch"].append(dim)
        elif dim in out:
            groups["n" if dim in rhs else "m"].append(dim)
        else:
            groups["k"].append(dim)
    return GemmView(*(tuple(groups[g]) for g in ("batch", "m", "n", "k")))
