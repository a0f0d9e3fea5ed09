"""A point of a sweep: what the step costs there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from npuc.compiler.core.display import Displayed
from npuc.compiler.core.display.shown import Shown
from npuc.compiler.explore.sweep.devices import Moved
from npuc.compiler.report import Totals
from npuc.compiler.report.as_csv import cell, flat_totals, total_names


@dataclass(frozen=True, repr=False)
class SweepPoint(Displayed):
    """
    One point: the varied keys and what the step costs there.

    `totals` is None where the program does not fit the machine, or is none with these parameters; `error` says why.
    `messages` are other messages, among them warnings; `moved` is the movement of plans for several devices, None in a
    sweep without such plans. `unread` are hardware keys that were set and have no effect there, with the reason; None
    where nobody knows.
    """

    index: int
    values: Mapping[str, Any]
    totals: Totals | None
    error: str | None = None
    messages: tuple[str, ...] = ()
    moved: Moved | None = None
    unread: Mapping[str, str] | None = None

    def row(self, names: Iterable[str] | None = None) -> dict[str, Any]:
        """
        The row of a CSV file: the varied keys, the totals of these names (dotted where they are nested; None: all but
        the shares that are assumed), the plan's movement, the error; None is an empty cell.
        """
        known = {} if self.totals is None else flat_totals(self.totals)
        totals = {name: known.get(name) for name in (total_names() if names is None else names)}
        return {**self.values, **totals, **(self.moved or {}), "error": self.error}

    def shown(self) -> Shown:
        place = ", ".join(f"{key}={cell(value)}" for key, value in self.values.items())
        if self.totals is None:
            return Shown("SweepPoint", f"{self.index} at {place}", self.error or "no totals")
        totals = self.totals.shown()
        return Shown("SweepPoint", f"{self.index} at {place}", totals.summary, picture=totals.picture)
