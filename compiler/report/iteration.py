"""What a backend that takes an iteration as a whole says of it: a line below the table."""

from __future__ import annotations

from npuc.compiler.report.model import Report


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
