"""The algorithms on a mesh: lines along all dimensions at once; see `interconnect/grid.py`."""

from npuc.compiler.analysis.interconnect.grid import Grid


class OpenMesh(Grid):
    """Parts go along the lines of all dimensions, both ways."""

    kinds = ("mesh",)


ALGORITHM = OpenMesh()
