"""The program as a graph, as a picture."""

from npuc.compiler.emit.base import Drawing
from npuc.compiler.graph import Graph


class Picture(Drawing):
    """The program as a graph, as SVG."""

    def draw(self, graph: Graph) -> str:
        """See `Drawing`."""
        from npuc.compiler.graph import to_svg

        return to_svg(graph)


EMITTER = Picture()
