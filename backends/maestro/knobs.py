"""What the backend `maestro` says that may help, and what the time of its rows is spent on."""

from npuc.backends.knobs import Knob
from npuc.compiler.report.causes import Parts, parts_by_limit, shares_of_time
from npuc.compiler.report.rows import OpRow

KNOBS = (
    Knob("twice the processing elements", ("macs", "space"), ("maestro.num_pes",)),
    Knob("twice the bandwidth of the network on the chip", ("noc", "waits"), ("maestro.noc_bw",)),
    Knob("twice the off-chip bandwidth", ("offchip", "waits"), ("maestro.offchip_bw",)),
    Knob(
        "another mapping",
        ("space", "noc", "latency", "waits"),
        ("maestro.mapping",),
        ("kcp_ws", "ckp_ws", "yxp_os", "rs"),
    ),
)


def time_parts(row: OpRow) -> Parts:
    """
    The seconds of a row by cause: MACs on all elements, elements without any, and waiting for what limits the row, or
    for several things where none takes longer than the work.
    """
    work, stall = row.compute_cycles, row.stall_cycles
    if row.kind != "matrix" or work is None or stall is None or not row.cycles:
        return parts_by_limit(row)
    macs = min(work, (row.utilization or 0.0) * row.cycles)
    waits = row.limit if row.limit in ("noc", "latency", "offchip") else "waits"
    return shares_of_time(row, {"macs": macs, "space": work - macs, waits: stall})
