"""
Facts of the machines of a grid's points: numbers that follow from a machine alone, without any compilation.

A fact depends on few keys. Which ones is not declared: a machine notes what is read of it, so the axes on which a fact
depends are those whose keys its evaluation reads, and it is evaluated once for each combination of their values.
"""

from __future__ import annotations

from collections.abc import Callable

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
        self.axes = machines.base
        """The axes on which it depends, as far as is known."""
        self._known: dict[int, float] = {}

    def of(self, numbers: Ints) -> Floats:
        """The fact of each of some points."""
        while True:
            codes = self._codes(numbers)
            distinct, back = np.unique(codes, return_inverse=True)
            axes = self.axes
            values = np.array([self._value(int(code)) for code in distinct], np.float64)
            if axes == self.axes:
                return values[back]

    def _codes(self, numbers: Ints) -> Ints:
        """The combinations of values of the axes that points have, as numbers."""
        sizes, found = self._machines.space.sizes, np.zeros(len(numbers), np.int64)
        places = self._machines.space.places(numbers)
        for axis in self.axes:
            found = found * sizes[axis] + places[axis]
        return found

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
        if not read <= set(self.axes):
            self.axes = tuple(sorted({*self.axes, *read}))
            self._known.clear()  # they were of combinations of fewer values
        else:
            self._known[code] = found
        return found
