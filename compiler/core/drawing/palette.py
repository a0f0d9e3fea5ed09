"""
The colours of all pictures: those of Okabe and Ito, which readers with any kind of colour vision tell apart.

A grey stands for what is no data: limits, waiting, and the lines of axes.
"""

from __future__ import annotations

from collections.abc import Mapping

BLUE, ORANGE, GREEN, SKY, BLACK = "#0072b2", "#e69f00", "#009e73", "#56b4e9", "#333333"
VERMILION, PINK, YELLOW = "#d55e00", "#cc79a7", "#f0e442"
SERIES = (BLUE, ORANGE, GREEN, SKY, BLACK, VERMILION, PINK, YELLOW)
"""The colours of data series, in their order; a picture with more of them repeats the colours with other lines."""
INK, QUIET, RIM, GRID, WAITING = "#1f2328", "#57606a", "#8c959f", "#e4e7eb", "#d4d9df"
"""Text, less important text, borders, the lines behind the data, and time in which nothing happens."""
SCALE = "viridis"
"""Colours of ordered values (matplotlib's name): lightness alone tells them apart."""
PHASES: Mapping[str, str] = {
    "forward": BLUE,
    "dx": ORANGE,
    "dw": GREEN,
    "dxdw": SKY,
    "update": PINK,
    "comm": VERMILION,
}
"""The phases of a training step."""
PHASE_NAMES: Mapping[str, str] = {
    "forward": "forward",
    "dx": "dX",
    "dw": "dW",
    "dxdw": "dX+dW",
    "update": "update",
    "comm": "communication",
}
DASHES: tuple[object, ...] = ("-", (0, (5, 1.8)), (0, (1.2, 1.2)), (0, (6, 1.6, 1.2, 1.6)))
"""Lines of the same colour."""
MARKS = ("o", "s", "^", "D", "v", "P", "X", "h")
HATCHES = ("", "////", "....", "\\\\\\\\", "", "xxxx", "----", "||||")
"""On paper the hatch of the area of each colour of `SERIES`; without are two of which one is far darker."""
PRINTED_DASHES: tuple[object, ...] = (*DASHES, (0, (3, 1, 1, 1, 1, 1)))
PRINTED_MARKS = MARKS
"""On paper the dash and the mark of the line of each colour: the numbers of both have no common divisor but 1."""


def series_colour(number: int) -> str:
    """The colour of a series."""
    return SERIES[number % len(SERIES)]


def series_dashes(number: int) -> object:
    """The kind of line of a series, which changes once all colours are taken."""
    return DASHES[number // len(SERIES) % len(DASHES)]
