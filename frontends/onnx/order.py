"""The order in which nodes can be computed: the one of the file, unless a node reads what a later one makes."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush

from npuc.compiler.core.errors import Location, SourceError
from npuc.frontends.onnx.container.model import OnnxGraph, OnnxNode


def ordered(nodes: tuple[OnnxNode, ...], filename: str) -> tuple[OnnxNode, ...]:
    """The nodes in an order in which they can be computed, as in the file where possible. Raises `SourceError`."""
    maker = {name: place for place, node in enumerate(nodes) for name in node.outputs if name}
    waits = [{maker[name] for name in _read(node) if name in maker} for node in nodes]
    if all(other < place for place, others in enumerate(waits) for other in others):
        return nodes
    readers: dict[int, list[int]] = {}
    for place, others in enumerate(waits):
        for other in others:
            readers.setdefault(other, []).append(place)
    left = [len(others) for others in waits]
    ready = [place for place, count in enumerate(left) if not count]
    heapify(ready)
    order: list[int] = []
    while ready:
        place = heappop(ready)
        order.append(place)
        for reader in readers.get(place, ()):
            left[reader] -= 1
            if not left[reader]:
                heappush(ready, reader)
    if len(order) < len(nodes):
        raise _cycle(nodes, waits, set(range(len(nodes))) - set(order), filename)
    return tuple(nodes[place] for place in order)


def _read(node: OnnxNode) -> Iterator[str]:
    """The names that a node reads, its bodies included."""
    yield from (name for name in node.inputs if name)
    for graph in node.graphs():
        yield from _free(graph)


def _free(graph: OnnxGraph) -> Iterator[str]:
    """The names that a body reads from the graphs around it."""
    own = {value.name for value in graph.inputs} | set(graph.initializers)
    own.update(name for node in graph.nodes for name in node.outputs)
    read = [output.name for output in graph.outputs]
    for node in graph.nodes:
        read += _read(node)
    yield from (name for name in read if name not in own)


def _cycle(nodes: tuple[OnnxNode, ...], waits: list[set[int]], left: set[int], filename: str) -> SourceError:
    """The error of nodes that wait for each other."""
    place, seen = min(left), list[int]()
    while place not in seen:
        seen.append(place)
        place = min(waits[place] & left)
    cycle = seen[seen.index(place) :]
    first = nodes[min(cycle)]
    others = ", ".join(str(nodes[other].number) for other in sorted(cycle)[:8])
    message = f"{first.full_op}: reads what is made of its own results (nodes {others})"
    return SourceError(message, location=Location(filename, first.number, 1), source_line=str(first))
