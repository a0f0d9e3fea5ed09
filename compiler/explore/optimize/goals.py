"""What a search minimises: metrics by name, `max:NAME` for those of which the most is wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from npuc.compiler.core.errors import UsageError
from npuc.compiler.explore.optimize.metrics import MORE_IS_BETTER, metric_of
from npuc.compiler.explore.plot.metrics import Metric, Numbers

MOST = "max:"
DEFAULT_GOALS = ("time", "energy", "area")


@dataclass(frozen=True)
class MetricGoal:
    """A metric that is to be small, or large (`most`), per MAC where points do not do the same work (`by_mac`)."""

    metric: Metric
    most: bool = False
    by_mac: bool = False

    @property
    def name(self) -> str:
        """As it was asked for."""
        return f"{MOST}{self.metric.name}" if self.most else self.metric.name

    @property
    def heading(self) -> str:
        """What it is called."""
        return self.metric.heading(self.by_mac)

    def amount(self, numbers: Numbers) -> float | None:
        """The metric of a point; None where the backend does not model it."""
        return self.metric.of(numbers, self.by_mac)

    def small(self, amount: float) -> float:
        """An amount as a number that is to be small."""
        return -amount if self.most else amount

    def text(self, amount: float) -> str:
        """An amount with its unit."""
        return self.metric.text(amount, self.by_mac)


def read_goals(names: Sequence[str], *, by_mac: bool) -> tuple[MetricGoal, ...]:
    """Goals by their names. Raises `UsageError` for unknown ones, for one twice, and for less of what is good."""
    found: dict[str, MetricGoal] = {}
    for written in names:
        text = written.strip()
        most = text.startswith(MOST)
        name = text.removeprefix(MOST).strip()
        if not name:
            raise UsageError("--goals: found an empty name", hint="--goals time,energy,area")
        metric = metric_of(name, "--goals")
        if not most and metric.name in MORE_IS_BETTER:
            raise UsageError(f"--goals {name}: less of it is worse", hint=f"--goals {MOST}{name}")
        if metric.name in found:
            raise UsageError(f"--goals: {name} is there twice")
        found[metric.name] = MetricGoal(metric, most, by_mac)
    if not found:
        raise UsageError("--goals: there is no goal", hint="--goals time,energy,area")
    return tuple(found.values())
