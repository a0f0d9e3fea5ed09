"""Numbers at the ticks of axes."""

from __future__ import annotations

from importlib import import_module
from math import isfinite
from typing import Any


def write_numbers(axis: Any) -> None:
    """Numbers of axes in full, 1,024 and not 10^3, where the picture does not say what is written."""
    ticker: Any = import_module("matplotlib.ticker")

    def written(shown: Any, places: Any) -> Any:
        """What is written of the places that matplotlib would write."""
        shown.set_axis(axis)
        shown.set_locs(places)

        def text(value: float, _: object = None) -> str:
            return number_text(value) if shown(value) else ""

        return ticker.FuncFormatter(text)

    if axis.get_scale() == "log":
        base = axis.get_transform().base
        if isinstance(axis.get_major_formatter(), ticker.LogFormatter):
            axis.set_major_formatter(written(ticker.LogFormatterSciNotation(base), axis.get_majorticklocs()))
        if isinstance(axis.get_minor_formatter(), ticker.LogFormatter):
            few = ticker.LogFormatterSciNotation(base, minor_thresholds=(1.5, 0.8))
            axis.set_minor_formatter(written(few, axis.get_minorticklocs()))
    elif isinstance(axis.get_major_formatter(), ticker.ScalarFormatter):

        def full(value: float, _: object = None) -> str:
            return number_text(value)

        axis.set_major_formatter(ticker.FuncFormatter(full))


def number_text(value: float) -> str:
    """A number of an axis."""
    return f"{value:,.10g}" if abs(value) < 1e10 else f"{value:.3g}"


def is_number(text: str) -> bool:
    """Whether a text is a number as `number_text` writes it."""
    try:
        return isfinite(_read(text))
    except ValueError:
        return False


def short_text(text: str) -> str:
    """A number with a long fraction in three digits, 0.00391 and not 0.00390625; other texts as they are."""
    if len(text) <= 6 or "." not in text or not is_number(text):
        return text
    return f"{_read(text):.3g}"


def _read(text: str) -> float:
    return float(text.replace(",", "").replace("\u2212", "-"))
