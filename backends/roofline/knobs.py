"""What the backend `roofline` says that may help, and what the time of its rows is spent on."""

from npuc.backends.knobs import Knob
from npuc.backends.roofline.facts import StepFacts
from npuc.compiler.report.causes import Parts, parts_by_limit, shares_of_time
from npuc.compiler.report.rows import OpRow

KNOBS = (
    Knob("twice the DRAM bandwidth", ("dram",), ("dram.gb_per_s",)),
    Knob("twice the cache", ("dram",), ("memory.cache_mib",)),
    Knob("twice the throughput", ("macs", "vector"), ("compute.tflops",)),
    Knob("the best plan of any smaller cache", ("dram",), ("roofline.plan",), ("best",)),
)


def time_parts(row: OpRow) -> Parts:
    """
    The seconds of a row by cause: computation and transfers overlap, and the longer of both sets the time; of a step
    that does not overlap them, waiting and computing add up.
    """
    facts = StepFacts.found_in(row)
    if row.kind == "comm" or facts is None or row.seconds is None or row.limit == "dram":
        return parts_by_limit(row)
    stall = min(facts.stall_seconds, row.seconds)
    return shares_of_time(row, {"macs" if row.kind == "matrix" else "vector": row.seconds - stall, "dram": stall})
