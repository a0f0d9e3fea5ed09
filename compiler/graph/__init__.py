"""
Programs as graphs: boxes of operations with their costs, values as edges, in DOT and as pictures.

    flow.py       operations, and which values one hands to another
    names.py      layers folded by their names, runs of like blocks
    costs.py      the rows of a report, by operation; what devices exchange
    model.py      boxes, cells, edges
    build.py      the graph of a program
    words.py      what boxes and labels say
    rows.py       the row of each box
    layout.py     places and paths
    colours.py    colours of kinds and shares
    dot.py, picture.py
"""

from npuc.compiler.graph.build import build
from npuc.compiler.graph.dot import to_dot
from npuc.compiler.graph.model import Graph
from npuc.compiler.graph.names import AUTO, Depth, depth_of
from npuc.compiler.graph.picture import draw_graph

__all__ = ["AUTO", "Depth", "Graph", "build", "depth_of", "draw_graph", "to_dot"]
