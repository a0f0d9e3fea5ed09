"""Values and operations of a module that is one list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TypeAlias

import numpy as np

from npuc.compiler.layers.base import Array
from npuc.frontends.jax.program import HloOp, HloType

MAX_FOLDED = 1 << 22
"""The most elements of what is computed of constants, of equal numbers apart."""


@dataclass(frozen=True, eq=False)
class Known:
    """Numbers that the program holds, or that follow from them; equal ones take no memory."""

    array: Array
    element: str

    @property
    def type(self) -> HloType:
        """Its type."""
        return HloType(self.array.shape, self.element)

    @property
    def stored(self) -> int:
        """The numbers in memory: rows that are views of one row are one."""
        return prod(size for step, size in zip(self.array.strides, self.array.shape, strict=True) if step)

    @property
    def scalar(self) -> float | int | bool | None:
        """The number that all its elements are; None where they differ."""
        a = self.array
        one = a.size > 0 and (
            a.size == 1 or all(step == 0 or size == 1 for step, size in zip(a.strides, a.shape, strict=True))
        )
        if not one and 0 < a.size <= MAX_FOLDED:
            one = bool((a == a.flat[0]).all()) or (a.dtype.kind == "f" and bool(np.isnan(a).all()))
        return a.flat[0].item() if one else None


@dataclass(frozen=True, eq=False)
class Rows:
    """A tensor by its rows along the first axis, each with that axis at size 1."""

    rows: tuple[Operand, ...]
    type: HloType


@dataclass(eq=False)
class HloValue:
    """A value that an operation computes, or an argument; `number` says which of the operation's results."""

    type: HloType
    op: FlatOp | None = None
    number: int = 0


Operand: TypeAlias = "Known | Rows | HloValue"


@dataclass(frozen=True, eq=False)
class Bits:
    """
    Unsigned integers that the network does not compute: keys of random numbers, places, the bits of a generator.

    Equal ones have equal numbers. `drawn` says whether they come from a generator. A few have `array`: what they are
    for stand-ins of the arguments. `shift` and `pattern` say of drawn bits by how much they were shifted to the right,
    and with what number they were combined by `or` then.
    """

    type: HloType
    number: int
    drawn: bool
    array: Array | None = None
    shift: int | None = None
    pattern: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False)
class Drawn:
    """Random numbers `offset + scale * u` with u uniform in [0, 1), of the bits with a number."""

    type: HloType
    number: int
    offset: float
    scale: float


Element: TypeAlias = "Operand | Bits | Drawn"
"""What a value may be while the list is made."""


@dataclass(eq=False)
class Unrolled:
    """A loop that is unrolled: how many turns it has."""

    turns: int = 0


Turn: TypeAlias = tuple[Unrolled, int]


@dataclass(eq=False)
class FlatOp:
    """An operation of the list: its place in it from 1, its operands and results."""

    number: int
    op: HloOp
    operands: tuple[Operand, ...]
    results: list[HloValue] = field(default_factory=list["HloValue"])
    stack: str = ""
    turns: tuple[Turn, ...] = ()
    role: str = "forward"
    layer: str = ""
    product: FlatOp | None = None
    """The product that an addition adds a bias to."""
    order: tuple[int, ...] | None = None
    """The order of the axes of images that a reshape makes one; None for that in which JAX has them."""
    is_biased: bool = False
    """Whether a product is read by the addition of a bias alone."""

    @property
    def kind(self) -> str:
        """The name without its dialect."""
        return self.op.kind


@dataclass
class FlatProgram:
    """The list: arguments, operations in order, results."""

    arguments: list[HloValue]
    ops: list[FlatOp]
    results: list[Operand]
    kept: tuple[int, ...] = ()
    """The numbers of the module's results that these are: keys of random numbers are left out."""
    given: int = 0
    """How many results the module has."""


def rows_of(value: Element) -> tuple[Operand, ...] | None:
    """A tensor by its rows; None where a row of it would have to be computed."""
    if isinstance(value, Rows):
        return value.rows
    if isinstance(value, Known):
        return tuple(replace(value, array=value.array[number : number + 1]) for number in range(value.type.shape[0]))
    return None


def made_of(operand: Operand) -> Iterator[HloValue]:
    """The values that an operand is made of: itself, or those of its rows."""
    if isinstance(operand, HloValue):
        yield operand
    elif isinstance(operand, Rows):
        for row in operand.rows:
            yield from made_of(row)


def needed(flat: FlatProgram, results: Sequence[Operand]) -> FlatProgram:
    """The list without the operations that no result depends on."""
    wanted = [made for result in results for made in made_of(result)]
    seen: set[HloValue] = set()
    while wanted:
        made = wanted.pop()
        if made not in seen:
            seen.add(made)
            if made.op is not None:
                wanted += [one for operand in made.op.operands for one in made_of(operand)]
    ops = [op for op in flat.ops if any(made in seen for made in op.results)]
    return replace(flat, ops=ops, results=list(results))
