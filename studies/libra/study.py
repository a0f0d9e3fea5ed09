"""
The best splits: of a total bandwidth over the levels of a network, for each workload and program.

Two goals: the shortest step, and the least product of its time and the price of the network. Both have a bound that no
split is below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from npuc.compiler.analysis.bandwidth.fastest import BandwidthSplit, fastest_split
from npuc.compiler.analysis.bandwidth.limits import LinearLimit, parse_limits, total_limit
from npuc.compiler.analysis.bandwidth.product import least_product
from npuc.compiler.analysis.bandwidth.traffic import StepTraffic
from npuc.studies.base import Advance
from npuc.studies.libra.settings import (
    COMMUNICATORS,
    CONSTRAINED,
    CONSTRAINED_TOTAL,
    NETWORKS,
    PROGRAM_NETWORK,
    TOTAL,
    constraints_of,
)

GB = 1e9


@dataclass(frozen=True)
class SplitRow:
    """
    A workload or program on a network: bandwidths in GB/s by level, the innermost first, times in ms.

    `gap` is by what share the optimum may be above the least, `speedup` the equal split's time over the optimum's. The
    `time_cost` split has the least product of time and price; gains are in steps per second and USD over the equal
    split's. What needs the equal split is None where constraints forbid that.
    """

    network: str
    workload: str
    total_gb_per_s: float
    constraints: str | None
    compute_ms: float
    equal_split_ms: float | None
    optimum_ms: float
    optimum_gb_per_s: tuple[float, ...]
    distinct_collectives: int
    speedup: float | None
    gap: float
    method: str
    equal_split_usd: float | None
    optimum_usd: float
    optimum_gain_per_cost: float | None
    time_cost_ms: float
    time_cost_gb_per_s: tuple[float, ...]
    time_cost_usd: float
    time_cost_gap: float
    time_cost_gain_per_cost: float | None


@dataclass(frozen=True)
class LibraResults:
    """The rows of the authors' workloads and of npuc's own programs; `steps` are what they are of, in that order."""

    preset: str
    rows: tuple[SplitRow, ...]
    programs: tuple[SplitRow, ...]
    steps: tuple[StepTraffic, ...]
    warnings: tuple[str, ...] = ()


def plan_points(preset: str, programs: Sequence[str]) -> list[tuple[str, str, bool]]:
    """What is measured: network, workload or source, and whether the case has constraints."""
    found: list[tuple[str, str, bool]] = []
    if preset != "programs":
        found += [(network, workload, False) for network, known in COMMUNICATORS.items() for workload in known]
        found.append((*CONSTRAINED, True))
    if preset != "workloads":
        found += [(PROGRAM_NETWORK, source, False) for source in programs]
    return found


def run_study(
    preset: str, programs: Sequence[str], total: float | None = None, done: Advance = lambda name, count: None
) -> LibraResults:
    """All rows; `total` in GB/s is in place of the totals of the study. `done` is called for each of them."""
    from npuc.studies.libra.workloads import program_step, workload_step

    rows, own = list[SplitRow](), list[SplitRow]()
    steps, warnings = list[StepTraffic](), list[str]()
    for network, name, constrained in plan_points(preset, programs):
        if name in COMMUNICATORS[network]:
            step, title, into = workload_step(network, name), name, rows
        else:
            shared, step = program_step(name, NETWORKS[network], warnings.append)
            title, into = shared.title, own
        usual = CONSTRAINED_TOTAL if constrained else TOTAL
        into.append(split_row(network, title, step, total or usual, constrained=constrained))
        steps.append(step)
        done(f"{title} on {network}", 1)
    return LibraResults(preset, tuple(rows), tuple(own), tuple(steps), tuple(warnings))


def split_row(network: str, name: str, step: StepTraffic, total: float, *, constrained: bool = False) -> SplitRow:
    """The best splits of a total, GB/s, for a step."""
    levels, text = step.levels, constraints_of(total) if constrained else None
    limits: list[LinearLimit] = [total_limit(levels, total * GB, f"a total of {total:g} GB/s")]
    for part in text.split(",") if text else ():
        limits += parse_limits(part, levels, GB)
    even = np.full(levels, total / levels * GB)
    fair = even if all(limit.holds(even) for limit in limits) else None
    others = [] if fair is None else [fair]
    prices, devices = prices_of(network), devices_of(network)
    best = fastest_split(step, limits, others)
    cheap = least_product(step, limits, prices.tolist(), others)
    before = None if fair is None else float(step.seconds(fair))
    worth = None if fair is None or before is None else before * float(prices @ fair)

    def usd(split: BandwidthSplit) -> float:
        return float(prices @ np.array(split.bandwidths))

    return SplitRow(
        network=network,
        workload=name,
        total_gb_per_s=total,
        constraints=text,
        compute_ms=step.work * 1e3,
        equal_split_ms=None if before is None else before * 1e3,
        optimum_ms=best.seconds * 1e3,
        optimum_gb_per_s=tuple(one / GB for one in best.bandwidths),
        distinct_collectives=len(step.transfers),
        speedup=None if before is None else before / best.seconds,
        gap=best.gap,
        method=best.method,
        equal_split_usd=None if fair is None else float(prices @ fair) * devices,
        optimum_usd=usd(best) * devices,
        optimum_gain_per_cost=None if worth is None else worth / (best.seconds * usd(best)),
        time_cost_ms=cheap.seconds * 1e3,
        time_cost_gb_per_s=tuple(one / GB for one in cheap.bandwidths),
        time_cost_usd=usd(cheap) * devices,
        time_cost_gap=cheap.gap,
        time_cost_gain_per_cost=None if worth is None else worth / (cheap.seconds * usd(cheap)),
    )


def prices_of(network: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """USD of a byte per second that a device sends along each level."""
    return np.array([one.price for one in NETWORKS[network]]) / GB


def devices_of(network: str) -> int:
    """Devices of a network."""
    return int(np.prod([one.size for one in NETWORKS[network]]))
