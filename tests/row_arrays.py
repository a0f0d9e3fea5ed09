"""Random row-stationary arrays."""

from random import Random

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.row_stationary import RowStationary


def draw_row_array(r: Random, most: int = 6) -> Array:
    """An array of up to so many rows and columns, with scratchpads from a word on."""
    words = r.randint(1, 12), r.randint(1, 30), r.randint(1, 8)
    inputs, filters, sums = (r.choice([1, 2, 4, None]) for _ in range(3))
    own = RowStationary(*words, inputs, filters, sums)
    return Array(r.randint(1, most), r.randint(1, most), "rs", row_stationary=own)
