"""The program as a graph, in the language DOT of Graphviz."""

from npuc.compiler.emit.base import Drawing
from npuc.compiler.graph import Graph


class DotGraph(Drawing):
    """The program as a graph, in DOT."""

    def draw(self, graph: Graph) -> str:
        """See `Drawing`."""
        from npuc.compiler.graph import to_dot

        return to_dot(graph)


EMITTER = DotGraph()
