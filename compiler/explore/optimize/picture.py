"""The picture of an optimization: the front over two goals at a time, and the points that it beats behind it."""

from __future__ import annotations

from itertools import combinations
from typing import Annotated, Any, TypeAlias

import msgspec

from npuc.compiler.core.drawing.figure import WIDTH, Axes, Figure, picture
from npuc.compiler.core.drawing.palette import BLUE, RIM, WAITING
from npuc.compiler.explore.optimize.goals import MetricGoal
from npuc.compiler.explore.optimize.metrics import metric_of
from npuc.compiler.explore.optimize.result import OptimizeResult

Amount: TypeAlias = Annotated[float, msgspec.Meta(ge=-1e150, le=1e150)]
MOST_PANELS = 3
SPREAD = 20.0
"""From so many times its least on a goal is drawn by powers of ten."""


class _Goal(msgspec.Struct):
    name: str
    heading: str
    most: bool
    by_mac: bool


class _Point(msgspec.Struct):
    values: dict[str, Any]
    goals: dict[str, Amount]


class _Optimized(msgspec.Struct):
    """What a picture shows of the file of an optimization."""

    title: str
    goals: Annotated[tuple[_Goal, ...], msgspec.Meta(min_length=1)]
    front: tuple[_Point, ...]
    points: tuple[_Point, ...]
    counts: dict[str, int | None]
    proved: bool


def draw(result: OptimizeResult, kind: str) -> bytes:
    """The picture as a file of a kind (`svg`, `png`, `pdf`): a panel for each pair of goals, at most three."""
    return draw_file(result.to_json().encode(), kind)


def draw_file(data: bytes, kind: str) -> bytes:
    """The same of an optimization that was written as JSON. Raises `msgspec.MsgspecError` for what is none."""
    result = msgspec.json.decode(data, type=_Optimized)
    if not result.front:
        raise msgspec.ValidationError("it has found no point")
    names = [goal.name for goal in result.goals]
    if any(set(point.goals) not in (set(names), set[str]()) for point in (*result.front, *result.points)):
        raise msgspec.ValidationError("a point has other goals")
    if any(not point.goals for point in result.front):
        raise msgspec.ValidationError("a point of the front has no goals")
    goals = [_goal(one) for one in result.goals]
    pairs = list(combinations(goals, 2))[:MOST_PANELS]
    count, priced = len(result.front), result.counts.get("priced") or len(result.points)
    points = "1 point is" if count == 1 else f"{count:,} points are"
    word = "" if result.proved else ", not proved"
    return picture(
        kind,
        (WIDTH, 4.2 if len(pairs) < 2 else 3.6),
        lambda figure: _fill(figure, result, pairs or [(goals[0], goals[0])]),
        title=f"{points} best in {_listed([goal.heading for goal in goals])}",
        about=f"{result.title}; {priced:,} of {result.counts.get('points') or 0:,} points were priced{word}",
    )


def _goal(one: _Goal) -> MetricGoal:
    name = one.name.removeprefix("max:")
    return MetricGoal(metric_of(name, "goals"), one.most, one.by_mac)


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _fill(figure: Figure, result: _Optimized, pairs: list[tuple[MetricGoal, MetricGoal]]) -> None:
    grid = figure.subplots(1, len(pairs), squeeze=False)
    for axes, (x, y) in zip(grid.flat, pairs, strict=True):
        _panel(axes, result, x, y)


def _panel(axes: Axes, result: _Optimized, x: MetricGoal, y: MetricGoal) -> None:
    """Two goals: the priced points in grey, the front in colour, joined by steps where two goals are all."""
    known = [point.goals for point in result.points if point.goals]
    front = sorted((point.goals for point in result.front), key=lambda one: one[x.name])
    scales = [_scale(goal, [*known, *front]) for goal in (x, y)]
    dots = [([one[goal.name] / scale for one in known], goal) for goal, (scale, _) in zip((x, y), scales, strict=True)]
    axes.scatter(dots[0][0], dots[1][0], s=10, color=WAITING, edgecolor=RIM, linewidth=0.3, label="priced", zorder=2)
    own = [[one[goal.name] / scale for one in front] for goal, (scale, _) in zip((x, y), scales, strict=True)]
    if len(result.goals) == 2:
        # Between two points of the front there is none: what is reached there is what the one or the other reaches.
        steps = "steps-pre" if x.most else "steps-post"
        axes.plot(own[0], own[1], color=BLUE, linewidth=1.2, zorder=3, drawstyle=steps)
    axes.scatter(own[0], own[1], s=18, color=BLUE, label="front", zorder=4)
    for axis, goal, (_, unit) in zip("xy", (x, y), scales, strict=True):
        getattr(axes, f"set_{axis}label")(f"{goal.heading}, {unit}" if unit else goal.heading)
        amounts = [one[goal.name] for one in [*known, *front]]
        if min(amounts) > 0 and max(amounts) > SPREAD * min(amounts):
            getattr(axes, f"set_{axis}scale")("log")
    axes.legend(fontsize="small", frameon=False)


def _scale(goal: MetricGoal, points: list[dict[str, float]]) -> tuple[float, str]:
    return goal.metric.unit([one[goal.name] for one in points], goal.by_mac)
