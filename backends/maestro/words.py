"""The sentences in reports for people on processing elements with mappings."""

from npuc.compiler.report.report import Report
from npuc.compiler.report.text.words import Words


def mapping_advice(report: Report, top: str) -> str | None:
    """What would help most on processing elements with mappings."""
    if top in ("noc", "latency", "offchip"):
        key = {"noc": "noc_bw", "latency": "noc_hop_latency", "offchip": "offchip_bw"}[top]
        return f"another mapping (--mapping NAME), or a faster network (--set maestro.{key}=N)"
    used = report.totals.utilization
    if used is not None and used < 0.5:
        return f"another mapping (npuc map, or --mapping NAME): products take {used:.0%} of the peak"
    return None


WORDS = Words(advice=mapping_advice)
