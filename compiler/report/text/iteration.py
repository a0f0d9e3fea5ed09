"""What a backend that takes an iteration as a whole says of it: a line below the table."""

from __future__ import annotations

from npuc.compiler.report.report import Report
from npuc.compiler.report.text.verdict import bytes_unit, time_text


def iteration_text(report: Report) -> str | None:
    """Bandwidth in use, samples a second, and what the plan of the cache does; None where a backend has none."""
    found = report.native
    average, rate = found.get("average_gb_per_s"), found.get("samples_per_second")
    plan, streamed, active = found.get("plan_mib"), found.get("streamed_steps"), found.get("active_time")
    numbers = (average, rate, plan, active)
    if not all(isinstance(value, int | float) for value in numbers) or not isinstance(streamed, int):
        return None
    return (
        f"{rate:,.4g} samples a second; {average:,.4g} GB/s on the average, {active:.0%} of the bandwidth; "
        f"the plan is that of {plan:,.4g} MiB, {streamed:,} steps stream"
    )


def nearness_text(report: Report) -> str | None:
    """How far traffic and time are from what no plan of the cache goes below; None where that was not asked for."""
    found = report.native
    moved, tiles = found.get("traffic_bound_bytes"), found.get("tile_bound_bytes")
    seconds, exact = found.get("time_bound_seconds"), found.get("traffic_bound_exact")
    more, longer = found.get("traffic_ratio"), found.get("time_ratio")
    if not isinstance(moved, int) or not isinstance(tiles, int) or not isinstance(seconds, float):
        return None
    scale, unit = bytes_unit(moved)
    return (
        f"traffic is {more:.4f}x, time {longer:.4f}x what no plan of whole tensors goes below: {moved / scale:,.2f} "
        f"{unit}{' (exact)' if exact else ''}, {time_text(seconds)}; no plan of tiles below {tiles / scale:,.2f} {unit}"
    )
