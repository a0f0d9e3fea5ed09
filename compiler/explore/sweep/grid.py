"""The points of a sweep as a grid: its axes, a varied key each with its values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

from npuc.compiler.explore.sweep.pipelines import VariedPipeline
from npuc.compiler.report.as_csv import total_names

Place = Literal["option", "hardware", "define"]


@dataclass(frozen=True)
class Axis:
    """
    One varied key and its values, in order.

    `key` is its name as it was given, `target` the keyword, dotted key or parameter that it means. Of
    `pipelines`, which are varied, `values` are the names.
    """

    key: str
    place: Place
    target: str
    values: tuple[Any, ...]
    pipelines: tuple[VariedPipeline, ...] = ()

    @property
    def of_machine(self) -> bool:
        """Whether only the machine changes along it."""
        return self.place == "hardware" or self.target == "hardware"

    @property
    def is_numeric(self) -> bool:
        """Whether all values are numbers."""
        return all(isinstance(v, int | float) and not isinstance(v, bool) for v in self.values)

    def keywords(self, value: Any) -> Mapping[str, Any]:
        """The options that a value of an option sets."""
        named = next((one for one in self.pipelines if one.name == value), None)
        return {self.target: value} if named is None else named.keywords


@dataclass(frozen=True)
class Grid:
    """
    The points of a sweep: the cross product of its axes, of which the last varies fastest.

    `devices` share the step at every point, unless that is varied. `assumed`: the program may have operators whose cost
    alone is known, so that rows have the shares of totals that are assumed.
    """

    axes: tuple[Axis, ...]
    devices: int = 1
    assumed: bool = False

    @property
    def totals(self) -> list[str]:
        """The names of the totals that a row has."""
        return total_names(assumed=self.assumed)

    @property
    def count(self) -> int:
        """How many points there are."""
        return prod(len(axis.values) for axis in self.axes)

    @property
    def is_shared(self) -> bool:
        """Whether points have several devices."""
        return self.devices > 1 or any(axis.target == "devices" for axis in self.axes)

    def devices_of(self, index: int) -> int:
        """The number of devices that share the step at a point."""
        key = next((axis.key for axis in self.axes if axis.target == "devices"), None)
        return self.devices if key is None else self.values(index)[key]

    @property
    def pipelines(self) -> tuple[VariedPipeline, ...]:
        """The pipelines that are varied; none where they are not."""
        return next((axis.pipelines for axis in self.axes if axis.pipelines), ())

    @property
    def run(self) -> int:
        """The length of runs of consecutive points that differ in the machine alone."""
        length = 1
        for axis in reversed(self.axes):
            if not axis.of_machine:
                break
            length *= len(axis.values)
        return length

    def values(self, index: int) -> dict[str, Any]:
        """The values of a point by key."""
        chosen: dict[str, Any] = {}
        for axis in reversed(self.axes):
            index, place = divmod(index, len(axis.values))
            chosen[axis.key] = axis.values[place]
        return {axis.key: chosen[axis.key] for axis in self.axes}
