"""Differences as text: with their sign, and amounts beside each other."""

from __future__ import annotations

from collections.abc import Callable

from npuc.compiler.report.text.quantities import bytes_cell, count_cell, energy_cell, time_cell

Text = Callable[[float], str]
MINUS = "\N{MINUS SIGN}"
LEAST = 0.005
"""In percent, below which a difference is written as one of less than 0.01 %."""


def signed(value: float | None, text: Text) -> str:
    """A difference with its sign, by what writes an amount: +1.20 ms; empty for None."""
    if value is None:
        return ""
    shown = text(abs(value))
    return "0" if not value or shown == text(0.0) else f"{'+' if value > 0 else MINUS}{shown}"


def cell_of(unit: str) -> Text:
    """What writes an amount of a unit in a table."""
    cells: dict[str, Text] = {
        "s": time_cell,
        "B": bytes_cell,
        "J": energy_cell,
        "share": lambda value: f"{value:.1%}",
        "cycles": lambda value: f"{value:,.10g}",
    }
    return cells.get(unit, count_cell)


def percent(a: float | None, difference: float | None) -> str:
    """A difference as a share of A in percent, with its sign: +12.3 %; empty where there is none to take."""
    if not a or difference is None:
        return ""
    share = 100 * difference / a
    if not difference:
        return "0"
    sign = "+" if share > 0 else MINUS
    if abs(share) < LEAST:
        return f"{sign}<0.01"
    return f"{sign}{abs(share):,.2f}" if abs(share) < 1 else f"{sign}{abs(share):,.1f}"


def times(a: float, b: float) -> str:
    """How many times as much B is: 2x, 0.5x."""
    return f"{b / a:.3g}x"
