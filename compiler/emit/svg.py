"""The program as a graph, as a picture."""

from npuc.compiler.emit.base import Drawing
from npuc.compiler.graph import Graph


class Picture(Drawing):
    """The program as a graph, as SVG."""

    def draw(self, graph: Graph) -> str:
        """See `Drawing`."""
        from npuc.compiler.core.drawing.figure import check_drawing
        from npuc.compiler.graph import draw_graph

        check_drawing("--emit svg")
        return draw_graph(graph, "svg").decode()


EMITTER = Picture()
