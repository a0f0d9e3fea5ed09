"""The verdict on a report in a few sentences: time, bottleneck, traffic, and what to try."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from npuc.compiler.report.layers import time_by_limit
from npuc.compiler.report.report import Report
from npuc.compiler.report.sections import ExchangeFacts, TransferFacts, has_residents
from npuc.compiler.report.text.quantities import time_text
from npuc.compiler.report.text.words import PLAIN, Words


def share_of(report: Report, tensor: str) -> float | None:
    """The share of a tensor in the DRAM traffic of the report; None where no row lists its tensors."""
    moved = (report.totals.dram_read_bytes or 0) + (report.totals.dram_write_bytes or 0)
    if not moved or not any(row.tensors for row in report.ops):
        return None
    own = 0
    for row in report.ops:
        traffic = row.tensors.get(tensor)
        if traffic is not None:
            own += row.repeat * (traffic.read_bytes + traffic.write_bytes)
    return own / moved


def is_training(report: Report) -> bool:
    """Whether the report has more than a forward pass; what is exchanged in one belongs to it."""
    for row in report.ops:
        exchange = ExchangeFacts.found_in(row)
        if row.phase != "forward" and (exchange is None or exchange.of != "forward"):
            return True
    return False


def bound_holds(report: Report, words: Words = PLAIN) -> str:
    """
    For which programs of the same operations the report's lower bounds hold.

    They are sums over rows. Of values resident between operations the rows' bounds account only for those that this
    program keeps; the roofline's bounds cover the whole iteration under any cache.
    """
    memory = report.hardware.get("memory")
    if words.bound is not None:
        return words.bound
    if isinstance(memory, dict) and memory.get("policy") == "lru":
        return "with no more resident between operations than the pool holds"
    if any(has_residents(row) for row in report.ops):
        return "with no more resident between operations than here"
    return "with nothing resident between operations"


def verdict(report: Report, words: Words = PLAIN) -> str:
    """The verdict: a few sentences on time, bottleneck, traffic, and what to try first."""
    totals = report.totals
    if not report.ops:
        return "Nothing to score: the program has no operations."
    if totals.seconds is None:
        return f"The backend '{report.backend}' does not model time."
    what = "One training step" if is_training(report) else "One forward pass"
    parts = [f"{what} takes {time_text(totals.seconds)}"]
    limits = time_by_limit(report.ops)
    if limits and totals.seconds > 0:
        top = max(limits, key=lambda name: limits[name])
        parts.append(f"{_LIMITS.get(top, top)} limits {limits[top] / totals.seconds:.0%} of it")
    assumed = totals.assumed
    if assumed is not msgspec.UNSET and assumed.seconds:
        parts.append(f"{assumed.seconds:.0%} of it is assumed")
    share = share_of(report, "dY")
    if share and is_training(report):
        parts.append(f"dY is {share:.0%} of the DRAM traffic")
    parts += _programs(report)
    advice = _advice(report, limits, words)
    return "; ".join(parts) + "." + (f" Try {advice}." if advice else "")


def _programs(report: Report) -> list[str]:
    """The number of sets of contractions that run together, such as dX and dW of a layer, and the modes."""
    found: list[str] = []
    for program, words in (("fused", "fused in one nest"), ("zip", "interleaved in turn")):
        count = sum(row.repeat for row in report.ops if row.schedule is not None and row.schedule.program == program)
        if count:
            found.append(
                f"{count:,} set{'s' if count > 1 else ''} of contractions run{'' if count > 1 else 's'} {words}"
            )
    return found


_LIMITS = {
    "compute": "the array",
    "dram": "DRAM bandwidth",
    "vector": "the vector unit",
    "latency": "latency",
    "edge": "the edge of the array",
    "level": "a level of memory on the chip",
    "noc": "the network on the chip",
    "offchip": "off-chip bandwidth",
}


def _advice(report: Report, limits: Mapping[str, float], words: Words) -> str | None:
    """The most helpful change, by the resource that limits most of the time."""
    totals = report.totals
    time = totals.seconds or 0.0
    if not limits or time <= 0:
        return None
    top = max(limits, key=lambda name: limits[name])
    vector = (totals.seconds_by_kind.get("vector") or 0.0) / time
    if top == "dram":
        if vector > 0.5:
            return f"more DRAM bandwidth (--set dram.gb_per_s=N): vector operations take {vector:.0%} of the time"
        return _traffic_advice(report, words)
    if vector > 0.5:
        return f"more vector lanes (--set vector.lanes=N): vector operations take {vector:.0%} of the time"
    if words.advice is not None:
        return words.advice(report, top)
    if top == "edge":
        return _edge_advice(report)
    if top == "compute" and totals.utilization is not None and totals.utilization < 0.5:
        return f"another {_shape(report)}: contractions use {totals.utilization:.0%} of it"
    return None


def _edge_advice(report: Report) -> str:
    """Advice for operations limited by the array's edge; none about the array where transfers take longer."""
    rows = [row for row in report.ops if row.limit == "edge"]
    work = sum(row.repeat * (row.compute_cycles or 0) for row in rows)
    found = ((row, TransferFacts.found_in(row)) for row in rows)
    moving = sum(row.repeat * facts.transfer_cycles for row, facts in found if facts is not None)
    if moving > work:
        return "more DRAM bandwidth (--set dram.gb_per_s=N): transfers take longer than the array with its stalls"
    return f"another {_shape(report)}: folds are too short to hide the operands that cross the array's edge"


def _traffic_advice(report: Report, words: Words) -> str:
    moved = (report.totals.dram_read_bytes or 0) + (report.totals.dram_write_bytes or 0)
    bound = report.totals.lower_bound_bytes
    if bound and moved > 1.25 * bound:
        return f"{words.larger_memory}: traffic is {moved / bound:,.3g}x the lower bound {bound_holds(report, words)}"
    return f"more DRAM bandwidth (--set dram.gb_per_s=N): traffic is near the lower bound {bound_holds(report, words)}"


def _shape(report: Report) -> str:
    """The shape of the array, and a dataflow that it does not have."""
    array = report.hardware.get("array")
    dataflow = array.get("dataflow") if isinstance(array, dict) else None
    return f"array (--set array.rows=N) or dataflow (--set array.dataflow={'os' if dataflow == 'ws' else 'ws'})"
