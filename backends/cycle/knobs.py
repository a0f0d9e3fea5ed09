"""What the backend `cycle` says that may help, and what the time of its rows is spent on."""

from npuc.backends.cycle.facts import ArrayFacts
from npuc.backends.knobs import Knob
from npuc.compiler.report.causes import Cause, Parts, parts_by_limit, shares_of_time
from npuc.compiler.report.rows import OpRow
from npuc.compiler.report.sections import EdgeFacts, TransferFacts

KNOBS = (
    Knob("twice the DRAM bandwidth", ("dram", "latency"), ("dram.gb_per_s",)),
    Knob("twice the scratchpad", ("dram", "latency"), ("memory.spm_kib",), blocks=True),
    Knob("two buffers: load while the array works", ("dram", "latency"), ("memory.double_buffer",), (True,)),
    Knob("twice the vector lanes", ("vector",), ("vector.lanes",)),
    Knob("an array of four times the elements", ("macs", "fill", "edge"), ("array.rows", "array.cols")),
    Knob("another dataflow", ("space", "fill", "edge"), ("array.dataflow",), ("os", "ws", "is")),
    Knob("twice the elements across the array's edge", ("edge",), ("array.edge_elements",)),
    Knob("folds that overlap", ("fill",), ("array.fill",), ("overlap",)),
    Knob("vector work on blocks before they are stored", ("dram", "vector"), passes="schedule=fuse-vector"),
    Knob("values that stay on chip between operations", ("dram",), passes="schedule=keep-resident"),
)


def time_parts(row: OpRow) -> Parts:
    """
    The seconds of a row by cause.

    Array and DRAM channel work at the same time. Where the channel sets the time, it takes as long as it transfers, and
    what is left is latency. Elsewhere the array's cycles are those of its MACs at the peak, those in which it fills and
    drains, those in which it waits for its edge, and the rest, in which it streams with some of its elements idle; all
    others wait for data: for DRAM, or for a level on the chip where that sets the time.
    """
    work, stall = row.compute_cycles, row.stall_cycles
    if row.kind == "comm" or work is None or stall is None or not row.cycles:
        return parts_by_limit(row)
    channel = TransferFacts.found_in(row)
    if row.limit == "dram":
        transfer = row.cycles if channel is None else min(channel.transfer_cycles, row.cycles)
        return shares_of_time(row, {"dram": transfer, "latency": row.cycles - transfer})
    waits: Cause = "latency" if row.limit == "latency" else "waits" if row.limit == "level" else "dram"
    if row.kind != "matrix":
        return shares_of_time(row, {"vector": work, waits: stall})
    macs = min(work, (row.utilization or 0.0) * row.cycles)
    left = work - macs
    array, edge = ArrayFacts.found_in(row), EdgeFacts.found_in(row)
    fill = min(left, 0 if array is None else array.fill_drain_cycles)
    at_edge = min(left - fill, 0 if edge is None else edge.edge_cycles)
    parts: dict[Cause, float] = {"macs": macs, "space": left - fill - at_edge, "fill": fill, "edge": at_edge}
    return shares_of_time(row, {**parts, waits: stall})
