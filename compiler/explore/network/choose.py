"""The best split of a total or a budget for a step on a machine's network, and on networks of other shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from npuc.compiler.analysis.bandwidth.curve import fastest_curve
from npuc.compiler.analysis.bandwidth.fastest import BandwidthSplit, fastest_split
from npuc.compiler.analysis.bandwidth.limits import LinearLimit, cost_limit, parse_limits, total_limit
from npuc.compiler.analysis.bandwidth.product import least_product
from npuc.compiler.analysis.bandwidth.traffic import Floats, StepTraffic
from npuc.compiler.analysis.interconnect.topology import PRICES, NetworkLevel
from npuc.compiler.core.errors import UsageError
from npuc.compiler.explore.network.program import SharedStep, mesh_fits
from npuc.compiler.explore.network.result import (
    CurvePoint,
    LevelChoice,
    NetworkResult,
    NetworkSettings,
    ShapeChoice,
    SplitChoice,
)

GB = 1e9
MOST_LEVELS = 4
"""Levels that shapes have at most."""
POINTS = 16
"""Points of a curve."""


def choose(step: SharedStep, settings: NetworkSettings) -> NetworkResult:
    """
    The best split for a step on its machine's network.

    Raises `CapacityError` where no split meets what was asked for, `UsageError` for levels without a price that one
    needs, and for a step that sends nothing.
    """
    levels = step.levels
    if not traffic_on(step, levels, settings).sent.any():
        raise UsageError(
            "devices send nothing in this step: there is no bandwidth to split",
            hint="another plan (--parallel mp), or a step that trains",
        )
    found = _solved(step, levels, settings)
    traffic, prices, best = found.traffic, found.prices, found.best
    given = np.array([float(one.bytes_per_s) for one in levels])
    splits = [("given", given), ("equal", found.even), ("best", np.array(best.bandwidths))]
    return NetworkResult(
        step.title,
        step.shown,
        step.machine.name,
        step.mesh.sizes,
        settings,
        any(row.phase != "forward" for row in step.rows),
        step.work,
        float(traffic.seconds(np.full(len(levels), np.inf))),
        tuple(
            LevelChoice(one.kind, one.size, one.dimensions, float(sent), _usd(one))
            for one, sent in zip(levels, traffic.sent, strict=True)
        ),
        tuple(
            SplitChoice(
                name,
                tuple((split / GB).tolist()),
                float(traffic.seconds(split)),
                None if prices is None else float(prices @ split),
                all(limit.holds(split) for limit in found.limits),
            )
            for name, split in splits
        ),
        best.gap,
        best.method,
    )


@dataclass(frozen=True)
class _Solved:
    """A network with its best split: traffic, prices where they are known, limits, and the equal split."""

    traffic: StepTraffic
    prices: Floats | None
    limits: list[LinearLimit]
    even: Floats
    best: BandwidthSplit


def _solved(step: SharedStep, levels: Sequence[NetworkLevel], settings: NetworkSettings) -> _Solved:
    """The best split of a network of these levels by the objective."""
    needed = settings.budget_usd is not None or settings.objective == "time-cost"
    traffic, prices = traffic_on(step, levels, settings), prices_of(levels, step.mesh.devices, needed=needed)
    limits, even = limits_of(settings, len(levels), prices), equal_split(settings, len(levels), prices)
    if settings.objective == "time-cost" and prices is not None:
        best = least_product(traffic, limits, prices.tolist(), [even])
    else:
        best = fastest_split(traffic, limits, [even])
    return _Solved(traffic, prices, limits, even, best)


def _usd(level: NetworkLevel) -> float | None:
    """USD for a GB/s of a device; None where that is not known."""
    return None if level.usd_per_byte_per_s is None else float(level.usd_per_byte_per_s * 10**9)


def traffic_on(step: SharedStep, levels: Sequence[NetworkLevel], settings: NetworkSettings) -> StepTraffic:
    """What a step sends along levels, by the model that was asked for."""
    return step.traffic(levels, pipelined=settings.stages == "pipelined", beside=settings.overlap == "gradients")


def prices_of(levels: Sequence[NetworkLevel], devices: int, *, needed: bool) -> Floats | None:
    """
    USD of a byte per second of all devices, by level; None where a level has no price.

    Raises `UsageError` for that where prices are `needed`.
    """
    without = [number for number, one in enumerate(levels, 1) if one.usd_per_byte_per_s is None]
    if not without:
        return np.array([float(one.usd_per_byte_per_s or 0) for one in levels]) * devices
    if needed:
        raise UsageError(
            f"network.levels, level {without[0]} of {len(levels)} has no price, which --budget-usd and --objective "
            "time-cost need",
            hint=f"give each level {PRICES[0]} (and {PRICES[2]}, of a switch {PRICES[1]})",
        )
    return None


def limits_of(settings: NetworkSettings, levels: int, prices: Floats | None) -> list[LinearLimit]:
    """What a split must meet. Raises `UsageError` for constraints that cannot be read."""
    found: list[LinearLimit] = []
    if settings.total_gb_per_s is not None:
        total = settings.total_gb_per_s
        found.append(total_limit(levels, total * GB, f"--total-gb-per-s {total:g}"))
    if settings.budget_usd is not None and prices is not None:
        found.append(cost_limit(prices.tolist(), settings.budget_usd, f"--budget-usd {settings.budget_usd:.12g}"))
    for text in settings.constraints:
        found += parse_limits(text, levels, GB)
    return found


def equal_split(settings: NetworkSettings, levels: int, prices: Floats | None) -> Floats:
    """The same bandwidth at each level, of the total, else of what the budget pays."""
    if settings.total_gb_per_s is not None or prices is None or settings.budget_usd is None:
        return np.full(levels, (settings.total_gb_per_s or 0.0) / levels * GB)
    return np.full(levels, settings.budget_usd / max(float(prices.sum()), 1e-300))


def shapes_of(levels: Sequence[NetworkLevel], devices: int) -> Iterator[tuple[NetworkLevel, ...]]:
    """
    Networks of 1 to 4 levels for as many devices: so many of the outermost levels of a network.

    Inner levels have at most the devices that they have there, since a package or a node holds no more; the outermost
    takes the rest. Levels that so many devices do not reach are left out.
    """
    unused = 0
    while prod(one.size for one in levels[unused + 1 :]) >= devices:
        unused += 1
    used = levels[unused:]
    for count in range(1, min(len(used), MOST_LEVELS) + 1):
        yield from _sized(used[:count], devices)


def _sized(levels: Sequence[NetworkLevel], devices: int) -> Iterator[tuple[NetworkLevel, ...]]:
    *outer, last = levels
    if not outer:
        alone = last.resized(devices) if devices > 1 else None
        if alone is not None:
            yield (alone,)
        return
    for size in range(2, min(last.size, devices // 2) + 1):
        inner = last.resized(size) if devices % size == 0 else None
        if inner is not None:
            for rest in _sized(outer, devices // size):
                yield (*rest, inner)


def with_shapes(
    result: NetworkResult,
    step: SharedStep,
    shapes: Sequence[Sequence[NetworkLevel]],
    done: Callable[[], None] = lambda: None,
) -> NetworkResult:
    """The result with the best split of each shape, the fastest first; `done` is called for each."""
    settings, found = result.settings, list[ShapeChoice]()
    for levels in shapes:
        if mesh_fits(step, levels):
            solved = _solved(step, levels, settings)
            best, prices, split = solved.best, solved.prices, np.array(solved.best.bandwidths)
            found.append(
                ShapeChoice(
                    tuple(one.kind for one in levels),
                    tuple(one.size for one in levels),
                    tuple(one.dimensions for one in levels),
                    tuple((split / GB).tolist()),
                    best.seconds,
                    None if prices is None else float(prices @ split),
                    best.gap,
                )
            )
        done()
    found.sort(key=lambda one: one.seconds * (one.usd or 1.0) if settings.objective == "time-cost" else one.seconds)
    return replace(result, shapes=tuple(found), unfit=len(shapes) - len(found))


def with_curve(result: NetworkResult, step: SharedStep) -> NetworkResult:
    """
    The result with the shortest step of any split on its levels, at prices around those of its splits, or at totals
    where not each level has a price above 0.
    """
    traffic = traffic_on(step, step.levels, result.settings)
    prices = prices_of(step.levels, step.mesh.devices, needed=False)
    priced = prices is not None and bool((prices > 0).all())
    per = prices.tolist() if prices is not None and priced else [1.0] * len(step.levels)

    def amount(one: SplitChoice | ShapeChoice) -> float:
        return one.usd or 0.0 if priced else sum(one.gb_per_s) * GB

    amounts = [amount(one) for one in (*result.splits, *result.shapes)]
    own = [amount(one) for one in result.splits]
    points = fastest_curve(traffic, per, min(amounts) / 2, max(amounts) * 2, POINTS, own)
    curve = [CurvePoint(at, None, seconds) if priced else CurvePoint(None, at / GB, seconds) for at, seconds in points]
    return replace(result, curve=tuple(curve))
