"""Axes that several pictures have: powers of two, words, a legend beside or below."""

from __future__ import annotations

from collections.abc import Sequence

from npuc.compiler.core.drawing.figure import SMALL, Axes, text_size
from npuc.compiler.core.drawing.ticks import number_text

MOST_TICKS = 12


def is_doubling(values: Sequence[float]) -> bool:
    """Whether numbers are three or more powers of two times one of them, which a logarithmic axis shows best."""
    distinct = sorted(set(values))
    if len(distinct) < 3 or distinct[0] <= 0:
        return False
    return all((ratio := value / distinct[0]) == int(ratio) and int(ratio).bit_count() == 1 for value in distinct)


def double_axis(axes: Axes, which: str, values: Sequence[float]) -> None:
    """A logarithmic axis (`x` or `y`) whose ticks are the values."""
    getattr(axes, f"set_{which}scale")("log", base=2)
    distinct = sorted(set(values))
    shown = distinct[:: -(-len(distinct) // MOST_TICKS)]
    getattr(axes, f"set_{which}ticks")(shown, [number_text(value) for value in shown])
    axes.minorticks_off()


def word_axis(axes: Axes, words: Sequence[str], width: float) -> None:
    """Words along x, on an axis so many inches wide: slanted where they do not fit side by side."""
    longest = max((text_size(line)[0] for word in words for line in word.split("\n")), default=0.0)
    slanted = longest > 0.92 * width / max(len(words), 1)
    style = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if slanted else {}
    axes.set_xticks(range(len(words)), words, **style)
    axes.tick_params(axis="x", length=0)
    axes.grid(False, axis="x")


def legend_beside(
    axes: Axes, title: str | None = None, handles: Sequence[object] | None = None, labels: Sequence[str] | None = None
) -> None:
    """A legend to the right of axes, of what they show or of these entries."""
    entries = {} if handles is None else {"handles": handles, "labels": labels}
    place: dict[str, object] = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.02)}
    axes.legend(title=title, title_fontsize=SMALL + 0.5, alignment="left", **place, **entries)
