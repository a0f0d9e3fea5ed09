"""A call of graphs while it is written: its blocks with their modes, and what they write in place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from npuc.frontends.dsl.syntax import Name
from npuc.frontends.script.weights import FLOATS, Empty, Refused, Uniform, Weight
from npuc.frontends.script.writer import CallWriter
from npuc.frontends.torch.graphs.control import Mode, operands_of
from npuc.frontends.torch.memory.values import Memory
from npuc.frontends.torch.program import TensorName, TorchGraph, TorchNode
from npuc.frontends.torch.values import Complex

if TYPE_CHECKING:
    from npuc.frontends.script.script import Script
    from npuc.frontends.torch.names import Layers

_OPERANDS = (Name, Weight, Empty, Uniform, Complex, int, float)


class Graphs(Protocol):
    """What writes the calls of a graph."""

    script: Script
    layers: Layers
    autocast: bool

    def inlined(self, graph: TorchGraph, operands: Sequence[object], made: Memory) -> list[object]:
        """The results of a graph's calls, which are written; `made` gets its values."""
        ...


@dataclass(frozen=True)
class GraphCall:
    """A call of graphs while it is written; see `control.Caller`."""

    run: Graphs
    node: TorchNode
    memory: Memory

    @property
    def writer(self) -> CallWriter:
        """See `Caller`."""
        return CallWriter(self.run.script, self.run.layers.name_of(self.node))

    def block(
        self, graph: TorchGraph, operands: Sequence[object], *, mode: Mode | None = None, writes: bool = False
    ) -> list[object]:
        """See `Caller`."""
        if not all(isinstance(one, _OPERANDS) for one in operands):
            raise Refused("found an operand of a graph that is no tensor and no number")
        run, mode, made = self.run, mode or Mode(), Memory()
        saved, run.autocast = run.autocast, run.autocast if mode.autocast is None else mode.autocast
        try:
            results = run.inlined(graph, operands, made)
        finally:
            run.autocast = saved
        for place, (name, operand) in enumerate(zip(graph.inputs, operands, strict=True)):
            if isinstance(name, TensorName) and made[name.name] is not operand:
                self._write(place, operand, made[name.name], allowed=writes, gradients=mode.gradients)
        return results if mode.gradients else [self._detached(value) for value in results]

    def _write(self, place: int, operand: object, value: object, *, allowed: bool, gradients: bool) -> None:
        """Write an operand that a graph has written."""
        outer = operands_of(self.node)[place]
        if not allowed or not isinstance(outer, TensorName) or not isinstance(value, Name):
            raise Refused("found a branch or loop that writes in place to its operand", "write to a clone of it")
        if not gradients and not (isinstance(operand, Weight) and not operand.trained):
            raise Refused("found a write in place to an activation without gradients", "write outside of no_grad")
        self.memory.write(outer.name, value)

    def _detached(self, value: object) -> object:
        if isinstance(value, Name) and self.run.script.element(value) in FLOATS:
            return self.run.script.let(f"{self.run.layers.name_of(self.node)}.detach", "detach", value)
        return value
