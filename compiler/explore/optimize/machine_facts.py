"""
Facts of the machines of a grid's points: numbers that follow from a machine alone, without any compilation.

A fact depends on few keys. Which ones is not declared: a machine notes what is read of it, so the axes on which a fact
depends are those whose keys its evaluation reads, and it is evaluated once for each combination of their values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from npuc.compiler.core.errors import NpucError
from npuc.compiler.driver.machine import machine_for
from npuc.compiler.explore.pareto.front import Floats, Ints
from npuc.compiler.explore.pareto.space import GridSpace
from npuc.compiler.explore.sweep.points import Points
from npuc.hardware import Hardware
from npuc.hardware.schema import KEYS

Reading = Callable[[Hardware], float | None]
ALWAYS = ("hardware", "backend", "precision")
"""Options that make another machine."""
DENSE = 1 << 22
"""The most combinations of values that have a place each, whether they are asked for or not."""


def space_of(points: Points) -> GridSpace:
    """The points of a sweep as a space."""
    axes = points.grid.axes
    return GridSpace(tuple(len(axis.values) for axis in axes), tuple(axis.is_numeric for axis in axes))


class GridMachines:
    """The machines of a sweep's points, by the number of a point."""

    def __init__(self, points: Points):
        self._points, self.space = points, space_of(points)
        axes = points.grid.axes
        settings = {key for name in self._backends() for key in _settings(points, name)}
        self.base = tuple(
            number
            for number, axis in enumerate(axes)
            if (axis.place == "option" and axis.target in ALWAYS)
            or (axis.place == "hardware" and axis.target in settings)
        )
        """The axes that decide which description a machine begins with."""
        self.axis_of = {axis.target: number for number, axis in enumerate(axes) if axis.place == "hardware"}
        self._bases: dict[tuple[int, ...], Hardware] = {}

    def _backends(self) -> list[int]:
        axes = self._points.grid.axes
        chosen = next((number for number, axis in enumerate(axes) if axis.target == "backend"), None)
        if chosen is None:
            return [0]
        places = np.zeros((len(axes), len(axes[chosen].values)), np.int64)
        places[chosen] = np.arange(places.shape[1])
        return self.space.numbers(places).tolist()

    def at(self, place: tuple[int, ...]) -> Hardware:
        """The machine of a point, that nobody has read yet. Raises `NpucError`s for values that do not go together."""
        own = tuple(at if number in self.base else 0 for number, at in enumerate(place))
        if own not in self._bases:
            number = int(self.space.numbers(np.array(own, np.int64)[:, None])[0])
            choices = self._points.choices
            model, options = choices.backend_of(number), choices.options_of(number)
            self._bases[own] = machine_for(model, options, choices.source.format)
        axes = self._points.grid.axes
        varied = {
            axes[number].target: KEYS[axes[number].target].kind.read(axes[number].values[place[number]])
            for number in self.axis_of.values()
            if number not in self.base
        }
        return Hardware({**self._bases[own].values, **varied})


def _settings(points: Points, number: int) -> tuple[str, ...]:
    return tuple(points.choices.backend_of(number).settings_for(points.source.format))


class MachineFact:
    """A number of machines, evaluated for each combination of the values that it depends on; NaN where it is none."""

    def __init__(self, machines: GridMachines, reading: Reading):
        self._machines, self._reading = machines, reading
        self._begin(machines.base)

    def _begin(self, axes: tuple[int, ...]) -> None:
        self.axes = axes
        """The axes on which it depends, as far as is known."""
        self._dense = self.size <= DENSE
        self._values = np.full(self.size if self._dense else 0, np.nan)
        self._is_known = np.zeros(len(self._values), np.bool_)
        self._known: dict[int, float] = {}

    @property
    def size(self) -> int:
        """How many combinations of values there are."""
        return prod(self._machines.space.sizes[axis] for axis in self.axes)

    def of(self, numbers: Ints) -> Floats:
        """The fact of each of some points."""
        values, codes = self.table(numbers)
        return values[codes]

    def table(self, numbers: Ints) -> tuple[Floats, Ints]:
        """The fact of combinations of values, and the number of each point's combination among them."""
        while True:
            axes = self.axes
            found = self._table(codes_of(self._machines.space, axes, numbers))
            if axes == self.axes:
                return found

    def _table(self, codes: Ints) -> tuple[Floats, Ints]:
        if not self._dense:
            distinct, back = np.unique(codes, return_inverse=True)
            return np.array([self._value(int(code)) for code in distinct], np.float64), back
        for code in np.unique(codes[~self._is_known[codes]]).tolist():
            axes = self.axes
            value = self._value(code)
            if axes != self.axes:
                break
            self._values[code], self._is_known[code] = value, True
        return self._values, codes

    def _value(self, code: int) -> float:
        if code in self._known:
            return self._known[code]
        sizes = self._machines.space.sizes
        place, left = [0] * len(sizes), code
        for axis in reversed(self.axes):
            left, place[axis] = divmod(left, sizes[axis])
        machine = self._machines.at(tuple(place))
        try:
            value = self._reading(machine)
        except NpucError:
            value = None
        found = np.nan if value is None else float(value)
        read = {self._machines.axis_of[key] for key in machine.reads if key in self._machines.axis_of}
        if read <= set(self.axes):
            self._known[code] = found
        else:
            self._begin(tuple(sorted({*self.axes, *read})))  # what is known was of combinations of fewer values
        return found


def codes_of(space: GridSpace, axes: Sequence[int], numbers: Ints) -> Ints:
    """The combinations of the values of some axes that points have, as numbers."""
    found = np.zeros(len(numbers), np.int64)
    for axis in axes:
        stride = prod(space.sizes[axis + 1 :])
        found = found * space.sizes[axis] + numbers // stride % space.sizes[axis]
    return found
