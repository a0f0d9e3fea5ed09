"""What sets the time of products: the array, its edge, the DRAM channel, or waits of one for the other."""

from collections.abc import Sequence

from npuc.compiler.analysis.array import Array
from npuc.compiler.analysis.compute import Compute

IDLE = 0.1
"""The share of the time in which neither array nor DRAM channel works from which on `limit` is `latency`."""


def is_edge_bound(edge: int, streamed: int, stall: int) -> bool:
    """Whether waiting for the array's edge takes more cycles than streaming, and more than waiting for data."""
    return edge > max(streamed, stall)


def limit_of(cycles: int, compute: int, transfer: int) -> str:
    """What sets a time: the array, the DRAM channel, or the waits of one for the other."""
    if cycles - max(compute, transfer) > IDLE * cycles:
        return "latency"
    return "compute" if compute >= transfer else "dram"


def edge_columns(works: Sequence[Compute], busiest: Compute, array: Array) -> dict[str, int]:
    """
    Groups of folds on one stationary tile, of all cores, and the cycles in which those of the busiest wait for the edge
    of its array; nothing of an array that does not know them.
    """
    if array.fill != "overlap" or array.overlap is not None:
        return {}
    crossing = busiest.reloads * array.reload if array.dataflow == "in-place" else busiest.edge
    return {"groups": sum(work.groups for work in works), "edge_cycles": crossing}
