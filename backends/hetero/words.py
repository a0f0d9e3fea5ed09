"""What the backend `hetero` says that may help."""

from npuc.backends.knobs import Knob
from npuc.compiler.report.report import Report
from npuc.compiler.report.text.words import Words


def unit_advice(report: Report, top: str) -> str | None:
    """What would help most on units that share products."""
    del report
    if top == "compute":
        return "more elements of the kind that has most of the products (native unit_utilization), or sparser operands"
    if top == "dram":
        return "more DRAM bandwidth (--set dram.gb_per_s=N), or larger buffers (buffer_kib of units)"
    return None


WORDS = Words(larger_memory="larger buffers (buffer_kib of units)", advice=unit_advice)
KNOBS = (
    Knob("twice the DRAM bandwidth", ("dram",), ("dram.gb_per_s",)),
    Knob("twice the clock of all units", ("macs",), ("clock_mhz",)),
)
