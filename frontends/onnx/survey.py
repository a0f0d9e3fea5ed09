"""Which operators a model uses, and where."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from npuc.frontends.onnx.container.model import OnnxFunction, OnnxGraph, OnnxModel, OnnxNode


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


def names_read(model: OnnxModel) -> frozenset[str]:
    """The names that nodes read or that graphs and functions return, anywhere in a model."""
    names = set(_read_in(model.graph.nodes)) | {output.name for output in model.graph.outputs}
    for function in model.functions.values():
        names.update(function.outputs, _read_in(function.nodes))
    return frozenset(names)


def uses(graph: OnnxGraph) -> Iterator[str]:
    """The names that the nodes of a graph read, those in bodies included, and its outputs: each as often as it is."""
    yield from _read_in(graph.nodes)
    yield from (output.name for output in graph.outputs)


def _read_in(nodes: Iterable[OnnxNode]) -> Iterator[str]:
    for node in nodes:
        yield from node.inputs
        for graph in node.graphs():
            yield from uses(graph)
