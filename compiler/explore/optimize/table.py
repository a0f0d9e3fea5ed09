"""The result of an optimization as text: a line a point of the front, what was proved, and a verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from npuc.compiler.explore.optimize.goals import MetricGoal
from npuc.compiler.explore.optimize.result import OptimizedPoint, OptimizeResult
from npuc.compiler.explore.plot.pipelines import KEY, short_pipelines
from npuc.compiler.explore.sweep.messages import point_text
from npuc.compiler.explore.sweep.table import SweepRows, value_text
from npuc.compiler.report.layers import MOST_LINES
from npuc.compiler.report.text.grid import Column, print_grid, print_line, print_note

if TYPE_CHECKING:
    from rich.console import Console


HEADINGS = {"traffic": "DRAM", "memory": "peak", "utilization": "util"}


def print_optimized(result: OptimizeResult, console: Console, *, rows: SweepRows = "folded") -> None:
    """Print the front with what is known of all other points."""
    goals = result.settings.goals
    words = ", ".join(f"{'most' if goal.most else 'least'} {goal.heading}" for goal in goals)
    print_note(f"{result.title}: {words}", console, style="bold")
    console.print()
    shown = list(result.front)
    note = ""
    divided = [goal.metric.name for goal in goals if goal.heading != goal.metric.heading()]
    if rows == "folded" and len(shown) > MOST_LINES:
        step = (len(shown) - 1) / (MOST_LINES - 1)
        shown = [shown[round(number * step)] for number in range(MOST_LINES)]
        note = f"{len(shown)} of {len(result.front):,} points of the front: --rows all shows every one"
    if shown:
        print_grid(
            [*_keys(result, shown), *(_amounts(goal, shown) for goal in goals)],
            console,
            gap=2,
            notes=[note, _of_a_mac(divided)],
        )
    for name, text in summary(result):
        print_line(name, text, console)


def _of_a_mac(names: Sequence[str]) -> str:
    """Which goals are those of a MAC."""
    return f"{', '.join(names)}: of a GMAC, as points do not do the same work" if names else ""


def _keys(result: OptimizeResult, shown: Sequence[OptimizedPoint]) -> Iterator[Column]:
    for key, values in result.keys.items():
        labels = short_pipelines(values if key == KEY else ()).labels
        numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
        own = (point.values[key] for point in shown)
        cells = tuple(labels.get(value, value_text(value)) for value in own)
        yield Column(key.replace(".", ".\n", 1), cells, left=not numeric)


def _amounts(goal: MetricGoal, shown: Sequence[OptimizedPoint]) -> Column:
    """A goal's amounts in one unit, with as many digits as the smallest needs."""
    amounts = [point.amounts[goal.name] for point in shown]
    scale, unit = goal.metric.unit(amounts, goal.by_mac)
    least = min((abs(amount) for amount in amounts if amount), default=scale) / scale
    digits = min(6, max(0, 3 - math.floor(math.log10(least))))
    name = HEADINGS.get(goal.metric.name, goal.metric.name.replace("_", " ").replace(".", " "))
    return Column(f"{name}\n{unit}".strip(), tuple(f"{amount / scale:,.{digits}f}" for amount in amounts))


def summary(result: OptimizeResult) -> Iterator[tuple[str, str]]:
    """The lines below the table: a heading and a text each."""
    counts = result.counts
    if result.interrupted:
        yield "so far", f"The search was interrupted: the front of {counts.priced:,} points, and more may be better."
    yield "points", _counts(result)
    failed = next((point for point in result.points if point.error is not None), None)
    if failed is not None:
        what = f"{counts.failed:,} of {counts.priced:,} priced points do not fit"
        yield "failed", f"{what}, the first at {point_text(failed.values)}: {failed.error}"
    for one in result.settings.constraints:
        yield "under", one.text
    yield "proof", _proof(result)
    yield "verdict", _verdict(result)


def _counts(result: OptimizeResult) -> str:
    counts = result.counts
    parts = [f"{counts.priced:,} priced"]
    if counts.infeasible:
        parts[0] += f", {counts.infeasible:,} of them break a constraint"
    if counts.incomplete:
        parts[0] += f", {counts.incomplete:,} of them lack a goal"
    if counts.excluded:
        parts.append(f"{counts.excluded:,} excluded by bounds of their goals")
    if counts.forbidden:
        parts.append(f"{counts.forbidden:,} break a constraint by their bounds")
    if counts.left:
        parts.append(f"{counts.left:,} left")
    return f"{counts.points:,}: {'; '.join(parts)}"


def _proof(result: OptimizeResult) -> str:
    """Whether the front is that of all points, and if not what bounds say."""
    counts = result.counts
    wrong = f"{result.broken:,} points cost less than their bounds, which were left out: please report it; "
    start = wrong if result.broken else ""
    if result.proved:
        how = "priced" if not counts.excluded + counts.forbidden else "priced or excluded by its bounds"
        text = f"{start}exact: every point was {how}, so that no point of the grid beats one of the front"
        law = ", ".join(f"'{one}'" for one in result.laws)
        return text + (f"; {counts.implied:,} of them by what priced points imply: {law}" if result.laws else "")
    left = "most points were not looked at" if counts.left is None else f"{counts.left:,} points are left"
    text = f"{start}not proved: {left} at a budget of {result.settings.budget:,}"
    if result.interrupted:
        text = f"{start}not proved: {left} where the search was interrupted"
    if result.gap is None:
        return f"{text}, and bounds do not say how good they may be"
    return (
        f"{text}; by their bounds none is better than the front in every goal by more than a factor of {result.gap:.4g}"
    )


def _verdict(result: OptimizeResult) -> str:
    """The best point of each goal."""
    if not result.front:
        none = "No point that was priced fits and meets the constraints."
        return none if result.settings.constraints else "No point that was priced fits."
    texts: list[str] = []
    for goal in result.settings.goals:
        best = min(result.front, key=lambda point: goal.small(point.amounts[goal.name]))
        word = "most" if goal.most else "least"
        texts.append(f"the {word} {goal.heading}, {goal.text(best.amounts[goal.name])}, at {point_text(best.values)}")
    count = len(result.front)
    front = f"{count:,} points that none beats in all goals" if count > 1 else "One point that none beats in all goals"
    return f"{front}: {'; '.join(texts)}."
