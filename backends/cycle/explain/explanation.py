"""The explanation of an operation as data, which text and pictures show."""

from __future__ import annotations

from dataclasses import dataclass

from npuc.backends.cycle.explain.order import Order
from npuc.compiler.analysis.timing.states import Timeline
from npuc.compiler.report import OpRow

Table = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class ProgramCost:
    """A program of the products of a layer: cycles, those in which the array works, bytes; is it the compiled one?"""

    name: str
    cycles: int
    compute: int
    moved: int
    taken: bool


@dataclass(frozen=True)
class Explanation:
    """
    The explanation of an operation.

    `facts` are (heading, sentence) pairs, where an empty heading continues the one before; `tensors` is a table with
    its header. `timeline` is None without a schedule; `loops` (pseudocode) and `order` (of tiles) belong to the core
    that it shows. `row` is what the operation costs, `shares` the cycles of what it uses, each at most as long as the
    whole; `elements` are those of the array, `nests` the names of contractions that run in turn. `programs` are those
    of a backward pass, of which this is no operation.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    tensors: Table
    timeline: Timeline | None
    loops: tuple[str, ...] = ()
    order: Order | None = None
    row: OpRow | None = None
    shares: tuple[tuple[str, int], ...] = ()
    elements: int = 0
    nests: tuple[str, ...] = ()
    programs: tuple[ProgramCost, ...] = ()
