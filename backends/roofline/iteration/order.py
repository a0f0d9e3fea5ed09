"""
The order of layers.

Depth-first from the inputs: a layer comes as soon as all its producers have come (joins wait), before the other
consumers of what it read. The listed order is that of the source.
"""

from collections.abc import Sequence

from npuc.backends.roofline.iteration.graph import Graph, GraphLayer


def ordered_layers(graph: Graph, order: str) -> Sequence[GraphLayer]:
    """The layers of a graph in the order `dfs` or `listed`; ties are broken by the source."""
    if order == "listed":
        return graph.layers
    producers, consumers = _edges(graph)
    waiting = {layer: len(found) for layer, found in producers.items()}
    result: list[GraphLayer] = []
    stack = [layer for layer in reversed(graph.layers) if not producers[layer]]
    while stack:
        layer = stack.pop()
        result.append(layer)
        ready: list[GraphLayer] = []
        for consumer in consumers[layer]:
            waiting[consumer] -= 1
            if not waiting[consumer]:
                ready.append(consumer)
        stack += reversed(ready)
    return result


def _edges(graph: Graph) -> tuple[dict[GraphLayer, set[GraphLayer]], dict[GraphLayer, list[GraphLayer]]]:
    """The producers and the consumers of each layer, in source order."""
    number = {layer: i for i, layer in enumerate(graph.layers)}
    producers: dict[GraphLayer, set[GraphLayer]] = {layer: set() for layer in graph.layers}
    consumers: dict[GraphLayer, set[GraphLayer]] = {layer: set() for layer in graph.layers}
    for part, readers in graph.read_by.items():
        maker = graph.made_by.get(part)
        for reader in readers:
            if maker is not None and maker is not reader:
                producers[reader].add(maker)
                consumers[maker].add(reader)
    return producers, {layer: sorted(found, key=number.__getitem__) for layer, found in consumers.items()}
