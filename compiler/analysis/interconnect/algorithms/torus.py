"""The algorithms on a torus: rings along all dimensions at once, lines where part of a ring is used; see `grid.py`."""

from npuc.compiler.analysis.interconnect.grid import Grid


class Torus(Grid):
    """Parts go around the rings of all dimensions; on parts of a ring as on a mesh."""

    kinds = ("torus",)


ALGORITHM = Torus()
