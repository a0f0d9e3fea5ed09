"""The nests of one layer of the study: its forward product, the gradients, and both gradients in one nest."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from npuc.compiler.analysis.machine.compute import compute
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.bounds import compulsory_bytes
from npuc.compiler.analysis.nest.elements import Bits, uniform_widths
from npuc.compiler.analysis.nest.fusion import NestPart, union
from npuc.dialects.npu.nest import Axis, Nest, Schedule, Statement, Tensor
from npuc.dialects.npu.widths import Widths

INDEX = {"X": "mk", "W": "kn", "Y": "mn", "dY": "mn", "dX": "mk", "dW": "kn"}
FORWARD = Statement("Y", "X", "W")
WIDTH = 2
"""Bytes of a finished element."""
DX, DW = Statement("dX", "dY", "W"), Statement("dW", "X", "dY")


@dataclass(frozen=True)
class Size:
    """The sizes of a product X [m, k] W [k, n]."""

    m: int
    n: int
    k: int

    @property
    def dims(self) -> tuple[tuple[str, int], ...]:
        """The dimensions with their sizes."""
        return ("m", self.m), ("n", self.n), ("k", self.k)

    def cut(self, dim: str, parts: int) -> tuple["Size", ...]:
        """The product split along a dimension into parts that are as even as possible; a short dimension has fewer."""
        whole = dict(self.dims)
        share, more = divmod(whole[dim], parts)
        return tuple(Size(**(whole | {dim: share + (p < more)})) for p in range(parts) if share or p < more)


@lru_cache(maxsize=8192)
def nest_of(size: Size, statement: Statement) -> Nest:
    """The nest of one product over m, n, k of the forward product."""
    sizes = dict(size.dims)
    lhs, rhs, out = (
        Tensor(name, tuple(sizes[d] for d in INDEX[name]), tuple(Axis(((d, 1),)) for d in INDEX[name]))
        for name in (statement.lhs, statement.rhs, statement.out)
    )
    return Nest(size.dims, (lhs, rhs), (out,), (None,), (statement,))


@lru_cache(maxsize=8192)
def fused_nest(size: Size) -> Nest:
    """Both gradients in one nest."""
    names = {d: d for d in "mnk"}
    parts = [NestPart(nest, tuple(t.name for t in nest.ins), names) for nest in (nest_of(size, DX), nest_of(size, DW))]
    return union(parts).nest


def widths_of(nest: Nest, machine: Machine, width: int = WIDTH) -> Bits:
    """The bits of elements of so many bytes, and of the machine's partial sums."""
    return uniform_widths(nest, Widths(width, machine.accumulator_bits))


def floor_time(size: Size, machine: Machine, width: int = WIDTH) -> Fraction:
    """A lower bound of the cycles of both gradients: whole folds of all arrays, or every tensor once over DRAM."""
    nest = fused_nest(size)
    work = compute(nest, Schedule(), machine.array)
    folds = work.cycles - work.overhead - work.edge
    moved = compulsory_bytes(nest, widths_of(nest, machine, width))
    return max(Fraction(folds, machine.cores), moved / machine.channel)
