"""The products of a step below the roofs of the machine."""

from __future__ import annotations

from npuc.compiler.report.layers import passes_of
from npuc.compiler.report.page.model import Curve, Scatter
from npuc.compiler.report.page.rows import intensity, rate
from npuc.compiler.report.report import Report

ABOVE = 1.001
"""A point is above a roof by more than rounding from this ratio on."""
EARLY = " Points above the roofs are products whose data were brought while others ran."


def roofline_of(report: Report, table: str) -> Scatter | None:
    """
    A point for each product of the table of operations (Williams, Waterman, Patterson, CACM 2009); None without
    products, times or traffic.

    The peak is what the array does at full use, by the rate and use of the largest product.
    """
    known = [row for row in report.ops if row.macs and row.seconds and row.utilization and intensity(row)]
    dram = report.hardware.get("dram")
    gb_per_s = dram.get("gb_per_s") if isinstance(dram, dict) else None
    if not known or not isinstance(gb_per_s, int | float):
        return None
    fullest = max(known, key=lambda row: row.macs or 0)
    peak = 2 * passes_of(fullest) / ((fullest.seconds or 1.0) * (fullest.utilization or 1.0))
    array = report.hardware.get("array")
    cores = array.get("cores", 1) if isinstance(array, dict) else 1
    slope = float(gb_per_s) * 1e9 * (cores if isinstance(cores, int) else 1)
    found = [intensity(row) or 0.0 for row in known]
    low, ridge, high = min(*found, peak / slope) / 2, peak / slope, max(*found, peak / slope) * 2
    above = any((rate(row) or 0.0) > min(peak, slope * (intensity(row) or 0.0)) * ABOVE for row in known)
    return Scatter(
        title="Roofline",
        table=table,
        label="layer",
        x="intensity",
        y="rate",
        size="time",
        colour="phase",
        lines=[
            Curve(label="", x=[low, ridge], y=[low * slope, peak]),
            Curve(label=f"peak {peak / 1e12:.3g} TFLOP/s", x=[ridge, high], y=[peak, peak]),
        ],
        about="The area of a point is the time of the operation." + (EARLY if above else ""),
    )
