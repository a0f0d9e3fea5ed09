"""
The tensors of an iteration: a number for each part of memory, and for its gradient.

Parameters that exactly the same layers read are one tensor, as a layer's weight and bias are in the published counts.
"""

from __future__ import annotations

from npuc.backends.roofline.iteration.graph import Graph, Weight
from npuc.backends.roofline.iteration.parts import MemoryPart
from npuc.backends.roofline.iteration.steps import IterationTensor, TensorKind


class TensorNumbers:
    """Assigns numbers to tensors on demand."""

    def __init__(self, graph: Graph):
        self._graph = graph
        self._tensors: list[IterationTensor] = []
        self._numbers: dict[MemoryPart, int] = {}
        self._gradients: dict[int, int] = {}
        self._inputs = {leaf: name for name, part in graph.inputs for leaf in part.leaves()}
        self._together: dict[MemoryPart, list[tuple[Weight, MemoryPart]]] = {}
        groups: dict[object, list[tuple[Weight, MemoryPart]]] = {}
        for weight in graph.weights:
            for leaf in weight.part.leaves():
                key = (frozenset(graph.read_by.get(leaf, ())), weight.trained, leaf.width)
                groups.setdefault(key, []).append((weight, leaf))
        for members in groups.values():
            self._together.update((leaf, members) for _, leaf in members)

    def of(self, part: MemoryPart) -> int:
        """The number of the tensor that an uncut part belongs to."""
        number = self._numbers.get(part)
        if number is not None:
            return number
        members = self._together.get(part)
        if members is None:
            name, kind = self._value(part)
            number = self._new(name, kind, part.bytes, part.row_bytes)
            self._numbers[part] = number
            return number
        name = members[0][0].name if len(members) == 1 else f"{members[0][0].name.rpartition('.')[0]}.weights"
        number = self._new(
            name,
            "weight",
            sum(leaf.bytes for _, leaf in members),
            sum(leaf.row_bytes for _, leaf in members),
        )
        self._numbers.update((leaf, number) for _, leaf in members)
        return number

    def _value(self, part: MemoryPart) -> tuple[str, TensorKind]:
        if part in self._inputs:
            return self._inputs[part], "input"
        name = self._graph.received.get(part)
        return self._graph.made_by[part].name if name is None else name, "value"

    def known(self, part: MemoryPart) -> list[int]:
        """The numbers of a part's tensors that have been assigned."""
        return [self._numbers[leaf] for leaf in part.leaves() if leaf in self._numbers]

    def gradient(self, part: MemoryPart) -> int:
        """The number of the gradient of an uncut part's tensor."""
        return self.gradient_of(self.of(part))

    def gradient_of(self, number: int) -> int:
        """The number of the gradient of a tensor."""
        if number not in self._gradients:
            of = self._tensors[number]
            kind = "weight_gradient" if of.kind == "weight" else "gradient"
            self._gradients[number] = self._new(of.name, kind, of.bytes, of.row_bytes)
        return self._gradients[number]

    def gradients(self) -> dict[int, int]:
        """The existing gradients, by the number of their tensor."""
        return dict(self._gradients)

    def state(self, name: str, size: int, row: int) -> int:
        """A new tensor of an optimizer."""
        return self._new(name, "state", size, row)

    def trained(self) -> dict[int, list[Weight]]:
        """The parameters in each tensor of trained weights that has a gradient."""
        found: dict[int, dict[Weight, None]] = {}
        for part, members in self._together.items():
            number = self._numbers.get(part)
            if number in self._gradients:
                assert number is not None
                found.setdefault(number, {}).update((weight, None) for weight, _ in members)
        return {number: list(weights) for number, weights in found.items()}

    def tensor(self, number: int) -> IterationTensor:
        """A tensor."""
        return self._tensors[number]

    def tensors(self) -> tuple[IterationTensor, ...]:
        """All tensors, by number."""
        return tuple(self._tensors)

    def _new(self, name: str, kind: TensorKind, size: int, row: int) -> int:
        self._tensors.append(IterationTensor(name, size, kind, row))
        return len(self._tensors) - 1
