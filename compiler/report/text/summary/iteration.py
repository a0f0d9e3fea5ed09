"""The lines below the table of a backend that models a whole iteration under a cache."""

from __future__ import annotations

from npuc.compiler.report.report import Report
from npuc.compiler.report.sections import IterationFacts, NearnessFacts, ProgramFacts
from npuc.compiler.report.text.quantities import bytes_unit, time_text


def iteration_text(report: Report) -> str | None:
    """Bandwidth in use, samples a second, and what the plan of the cache does; None where a backend has none."""
    found = IterationFacts.found_in(report)
    if found is None:
        return None
    program = ProgramFacts.found_in(report)
    lowered = "; of the lowered program" if program is not None and program.program == "lowered" else ""
    return (
        f"{found.samples_per_second:,.4g} samples/s; {found.average_gb_per_s:,.4g} GB/s on average, "
        f"{found.active_time:.0%} of the bandwidth; the plan is for a cache of {found.plan_mib:,.4g} MiB, "
        f"{found.streamed_steps:,} steps stream{lowered}"
    )


def nearness_text(report: Report) -> str | None:
    """Traffic and time over their lower bounds among all cache plans; None where the bounds were not asked for."""
    found = NearnessFacts.found_in(report)
    if found is None:
        return None
    scale, unit = bytes_unit(found.traffic_bound_bytes)
    bound, tiles = (f"{size / scale:,.2f} {unit}" for size in (found.traffic_bound_bytes, found.tile_bound_bytes))
    return (
        f"traffic is {found.traffic_ratio:.4f}x and time {found.time_ratio:.4f}x the lower bound of plans that cache "
        f"whole tensors: {bound}{' (exact)' if found.traffic_bound_exact else ''}, "
        f"{time_text(found.time_bound_seconds)}; plans that cache tiles move at least {tiles}"
    )
