"""Which kind of picture keys and metrics mean, and what its panels, axes and colours stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.explore.plot.metrics import METRICS, Metric, metric_named
from npuc.compiler.explore.plot.table import PlotTable
from npuc.compiler.report.as_csv import total_names

Form = Literal["lines", "bars", "heat", "front"]
MOST_PANELS, MOST_COLOURS = 12, 16


@dataclass(frozen=True)
class Asked:
    """What a picture is asked to show, by the names of keys and metrics; None: as is best."""

    x: str | None = None
    y: str | None = None
    color: str | None = None

    @property
    def given(self) -> Mapping[str, str]:
        """What is given, by the option."""
        named = {"--x": self.x, "--y": self.y, "--color": self.color}
        return {option: value for option, value in named.items() if value is not None}


@dataclass(frozen=True)
class Chart:
    """
    A picture of a table: `x` and `y` are keys or metrics, and so is `color`. There is a panel for each value of
    `panel`; of the `others`, each point is the best.
    """

    table: PlotTable
    form: Form
    x: str | Metric
    y: str | Metric
    color: str | Metric | None
    panel: str | None
    others: tuple[str, ...]

    @property
    def metric(self) -> Metric:
        """What decides among rows that differ in nothing that is drawn."""
        return next(one for one in (self.y, self.color, self.x) if isinstance(one, Metric))


def check_names(asked: Asked, keys: Sequence[str]) -> None:
    """Raise `UsageError` for what is neither a key nor any metric, before points are scored."""
    known = [*keys, *METRICS, *total_names(assumed=True)]
    for option, name in asked.given.items():
        if name not in known:
            hint = did_you_mean(name, known)
            raise UsageError(f"{option} {name}: there is no such key or metric", hint=hint)


def choose(table: PlotTable, asked: Asked) -> Chart:
    """The picture that is asked for. Raises `UsageError` for an unknown name and for names that make no picture."""
    for option, name in asked.given.items():
        if name not in table.keys and metric_named(name, table.numbers) is None:
            known = [*table.keys, *table.metrics]
            hint = did_you_mean(name, known) or f"keys: {', '.join(table.keys)}; metrics: {', '.join(table.metrics)}"
            raise UsageError(f"{option} {name}: there is no such key or metric in the table", hint=hint)
    keys = [key for key in table.keys if len(table.keys[key]) > 1] or list(table.keys)
    if not table.points:
        keys = ["name", "phase"]
    free = [key for key in keys if key not in asked.given.values()]
    x = _named(table, asked.x) or (free.pop(0) if free else next(iter(table.keys)))
    y = _named(table, asked.y) or metric_named(table.metric, table.numbers)
    assert y is not None, "a table is compared by a metric"
    color = _named(table, asked.color)
    if isinstance(y, str):
        if isinstance(x, Metric):
            raise UsageError(
                f"--x {asked.x} --y {asked.y}: a key stands along x, or is the colour", hint=f"--x {y} --y {x.name}"
            )
        color = color or metric_named(table.metric, table.numbers)
        if not isinstance(color, Metric):
            raise UsageError(
                f"--y {asked.y}: over two keys a metric is the colour", hint=f"--color {table.metric}, or --y METRIC"
            )
        return _with_panels(table, "heat", x, y, color, free)
    if isinstance(color, Metric):
        raise UsageError(
            f"--color {asked.color}: a metric is the colour over two keys", hint="--x KEY --y KEY --color METRIC"
        )
    if isinstance(x, Metric):
        if not table.points:
            raise UsageError(f"--x {asked.x}: metrics along both axes are for points of a sweep", hint="--x name")
        color = color or (free.pop(0) if free and asked.color is None else None)
        return Chart(table, "front", x, y, color, None, tuple(free))
    color = color or (free.pop(0) if free else None)
    form = "lines" if table.points and is_numeric(table.keys[x]) and len(table.keys[x]) > 1 else "bars"
    return _with_panels(table, form, x, y, color, free if table.points else [])


def _with_panels(
    table: PlotTable, form: Form, x: str | Metric, y: str | Metric, color: str | Metric | None, free: list[str]
) -> Chart:
    """A picture whose next key has a panel a value, if these are few."""
    panel = next((key for key in free if len(table.keys[key]) <= MOST_PANELS), None)
    return Chart(table, form, x, y, color, panel, tuple(key for key in free if key != panel))


def _named(table: PlotTable, name: str | None) -> str | Metric | None:
    if name is None:
        return None
    return name if name in table.keys else metric_named(name, table.numbers)


def is_numeric(values: tuple[Any, ...]) -> bool:
    """Whether all values of a key are numbers."""
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
