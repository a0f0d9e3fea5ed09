"""Certificates in the table: how far the traffic of layers is above its proved lower bounds."""

from __future__ import annotations

from collections.abc import Iterable

from npuc.compiler.report.certificates import LayerCertificate
from npuc.compiler.report.report import Report


def gap_text(certificates: Iterable[LayerCertificate]) -> str:
    """`optimal`, or the traffic of the layers above their bounds in percent; empty without a layer."""
    found = list(certificates)
    if not found:
        return ""
    if all(one.optimal for one in found):
        return "optimal"
    bound = sum(one.bound_bytes for one in found)
    percent = 100 * sum(one.gap_bytes for one in found) / bound if bound else float("inf")
    return f"{percent:,.1f}" if percent >= 0.05 else "<0.1"


def certified_text(report: Report) -> str | None:
    """The number of layers at their bounds, and the gap of all layers together; None without certificates."""
    found = report.certificates
    if not found:
        return None
    count = sum(one.optimal for one in found)
    what = f"{count:,} of {len(found):,} layers with contractions reach the proved lower bound of their own traffic"
    if count == len(found):
        return what
    near = sum(one.gap is not None and one.gap <= (report.tolerance or 0) for one in found)
    if near > count:
        what += f", {near:,} are within {100 * (report.tolerance or 0):g} % of it"
    return f"{what}; all together are {gap_text(found)}% above it"
