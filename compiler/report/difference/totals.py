"""Both steps as a whole, and of each sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from npuc.compiler.report.difference.document import DiffTotal
from npuc.compiler.report.report import Report
from npuc.compiler.report.sections import RateFacts

Number = int | float
UNITS: Mapping[str, str] = {
    "time": "s",
    "cycles": "cycles",
    "traffic": "B",
    "read": "B",
    "written": "B",
    "energy": "J",
    "memory": "B",
    "macs": "",
    "vector_ops": "",
    "utilization": "share",
    "bound_time": "s",
    "bound_traffic": "B",
}
"""The quantities that are compared, with their units, in the order of the table."""
PER_SAMPLE = ("time", "traffic", "energy")


def values_of(report: Report) -> dict[str, Number | None]:
    """The quantities of a report by name."""
    totals = report.totals
    moved = totals.dram_read_bytes, totals.dram_write_bytes
    return {
        "time": totals.seconds,
        "cycles": totals.cycles,
        "traffic": None if moved == (None, None) else sum(one or 0 for one in moved),
        "read": totals.dram_read_bytes,
        "written": totals.dram_write_bytes,
        "energy": totals.energy_j,
        "memory": totals.peak_bytes,
        "macs": totals.macs,
        "vector_ops": totals.vector_ops,
        "utilization": totals.utilization,
        "bound_time": totals.lower_bound_seconds,
        "bound_traffic": totals.lower_bound_bytes,
    }


def totals_of(a: Report, b: Report) -> list[DiffTotal]:
    """Both steps as a whole: all quantities, also those that a report does not say."""
    values_a, values_b = values_of(a), values_of(b)
    return [_compared(name, values_a[name], values_b[name]) for name in UNITS]


def samples_of(report: Report) -> int | None:
    """The samples of a step: the parameter `batch`, if it was set, or what the backend says; None without either."""
    batch = report.defines.get("batch")
    if isinstance(batch, int) and not isinstance(batch, bool) and batch > 0:
        return batch
    rate = RateFacts.found_in(report)
    if rate is None or not report.totals.seconds:
        return None
    count = rate.samples_per_second * report.totals.seconds
    return round(count) if 0.5 < count < 1e15 else None


def devices_of(report: Report) -> int:
    """The devices that share a step; what a report says of traffic and energy is that of one of them."""
    return 1 if report.parallel is None else report.parallel.devices


def per_sample(a: Report, b: Report) -> list[DiffTotal]:
    """
    Time of a sample, and traffic and energy of all devices for it, where both numbers of samples are known, and samples
    or devices differ.
    """
    counts = samples_of(a), samples_of(b)
    if None in counts or (counts[0] == counts[1] and devices_of(a) == devices_of(b)):
        return []
    values = [
        {name: _each(name, report, count) for name in PER_SAMPLE} for report, count in zip((a, b), counts, strict=True)
    ]
    return [_compared(name, values[0][name], values[1][name]) for name in PER_SAMPLE]


def _each(name: str, report: Report, count: int | None) -> float | None:
    value = values_of(report)[name]
    if value is None or not count:
        return None
    return value / count if name == "time" else value * devices_of(report) / count


def _compared(name: str, a: Number | None, b: Number | None) -> DiffTotal:
    difference = None if a is None or b is None else b - a
    ratio = None if b is None or not a else b / a
    return DiffTotal(name=name, unit=UNITS[name], a=a, b=b, difference=difference, ratio=ratio)


def exceeds(total: DiffTotal, most: Fraction) -> bool | None:
    """Whether B is more than `most` percent above A, exactly; None where a report does not say the quantity."""
    if total.a is None or total.b is None:
        return None
    return 100 * Fraction(total.b) > Fraction(total.a) * (100 + most)


def known_names(totals: Sequence[DiffTotal]) -> list[str]:
    """The quantities that both reports say."""
    return [one.name for one in totals if one.a is not None and one.b is not None]
