"""Graphs as data: boxes with cells of operations, edges with values, and what they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

from xdsl.ir import SSAValue

from npuc.compiler.graph.flow import Lane, Port, Step
from npuc.dialects.distributed import DistOp

Number = TypeVar("Number", int, float)
WorkKind = Literal["matrix", "vector", "data", "comm", "value"]


@dataclass(frozen=True)
class Cost:
    """Seconds, and bytes of DRAM traffic; None: not known."""

    seconds: float | None = None
    bytes: int | None = None

    def __add__(self, other: Cost) -> Cost:
        return Cost(_sum(self.seconds, other.seconds), _sum(self.bytes, other.bytes))


def _sum(one: Number | None, other: Number | None) -> Number | None:
    if one is None or other is None:
        return other if one is None else one
    return one + other


@dataclass(frozen=True)
class Cell:
    """Operations that are drawn together: what they are called in their box, what is said of them, what they cost."""

    label: str
    lines: tuple[str, ...]
    tip: tuple[str, ...]
    kind: WorkKind
    steps: tuple[Step, ...] = ()
    cost: Cost = Cost()
    share: float | None = None
    """The part of the step's time; None where that is not known."""


@dataclass(frozen=True)
class Box:
    """
    A box of one cell, or of several side by side under a title: a block in one lane, an operation, or a port.

    `group` is the block: boxes of one block stand side by side. `moves` are collectives inside the box, `held` the
    parameters and states that it reads.
    """

    group: tuple[str, ...]
    lane: Lane
    title: str
    cells: tuple[Cell, ...]
    moves: tuple[DistOp, ...] = ()
    held: tuple[SSAValue, ...] = ()
    port: Port | None = None


@dataclass(frozen=True)
class Edge:
    """Values that go from a cell (the number of its box, its own number there) to another, and what devices move."""

    source: tuple[int, int]
    target: tuple[int, int]
    values: tuple[SSAValue, ...]
    moves: tuple[DistOp, ...] = ()
    label: tuple[str, ...] = ()
    tip: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outline:
    """Boxes that stand for as many like blocks, with what is written above them."""

    title: str
    boxes: frozenset[int]


@dataclass
class Graph:
    """A program as it is drawn: `title` has a line of headings each, `peak` is the largest share of the time."""

    title: tuple[str, ...]
    boxes: list[Box] = field(default_factory=list[Box])
    edges: list[Edge] = field(default_factory=list[Edge])
    outlines: list[Outline] = field(default_factory=list[Outline])
    peak: float | None = None

    def of_boxes(self) -> Graph:
        """The same with at most one edge from a box to another."""
        found: dict[tuple[int, int], list[Edge]] = {}
        for edge in self.edges:
            found.setdefault((edge.source[0], edge.target[0]), []).append(edge)
        edges = [_joined(edges) for edges in found.values()]
        return Graph(self.title, self.boxes, edges, self.outlines, self.peak)

    @property
    def lanes(self) -> list[Lane]:
        """The lanes that have boxes, in their order."""
        order: tuple[Lane, ...] = ("forward", "backward", "update")
        present = {box.lane for box in self.boxes}
        return [lane for lane in order if lane in present]


def _joined(edges: Sequence[Edge]) -> Edge:
    """Edges between the cells of two boxes as one."""
    if len(edges) == 1:
        return edges[0]
    return replace(
        edges[0],
        values=tuple(dict.fromkeys(value for edge in edges for value in edge.values)),
        moves=tuple(dict.fromkeys(move for edge in edges for move in edge.moves)),
        label=tuple(dict.fromkeys(line for edge in edges for line in edge.label)),
        tip=tuple(dict.fromkeys(line for edge in edges for line in edge.tip)),
    )
