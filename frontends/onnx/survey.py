"""Which operators a model uses, and where."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from npuc.frontends.onnx.model import OnnxFunction, OnnxModel, OnnxNode


@dataclass(frozen=True)
class UsedOperator:
    """An operator, and the nodes of the top graph in which it is used, by their numbers."""

    domain: str
    op: str
    numbers: tuple[int, ...]


def used_operators(model: OnnxModel) -> list[UsedOperator]:
    """The operators that a model uses, in bodies and functions too, in the order of their first use."""
    found: dict[tuple[str, str], dict[int, None]] = {}
    for node in model.graph.nodes:
        for operator in _reached(model, [node]):
            found.setdefault(operator, {})[node.number] = None
    return [UsedOperator(domain, op, tuple(numbers)) for (domain, op), numbers in found.items()]


def _reached(model: OnnxModel, nodes: Iterable[OnnxNode]) -> dict[tuple[str, str], None]:
    """The operators of nodes, their bodies, and the functions that they call; each function is looked at once."""
    found: dict[tuple[str, str], None] = {}
    waiting, seen = deque(nodes), set[int]()
    while waiting:
        node = waiting.popleft()
        function: OnnxFunction | None = model.functions.get((node.domain, node.op, node.overload))
        if function is None:
            found[node.domain, node.op] = None
        elif id(function) not in seen:
            seen.add(id(function))
            waiting.extend(function.nodes)
        for graph in node.graphs():
            waiting.extend(graph.nodes)
    return found
