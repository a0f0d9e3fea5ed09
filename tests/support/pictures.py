"""What pictures show: the figures that are written as files, and the texts of an SVG."""

import html
import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest


def texts_of(svg: bytes | str) -> list[str]:
    """The texts of a picture, whose letters are outlines with the text beside them."""
    text = svg.decode() if isinstance(svg, bytes) else svg
    return [html.unescape(found).strip() for found in re.findall(r"<!-- (.*?) -->", text, re.DOTALL)]


@contextmanager
def kept_figures() -> Generator[list[Any]]:
    """The figures of matplotlib that are written meanwhile."""
    module: Any = pytest.importorskip("matplotlib.figure")
    kept: list[Any] = []
    save = module.Figure.savefig

    def keep(self: Any, *arguments: Any, **more: Any) -> None:
        kept.append(self)
        save(self, *arguments, **more)

    with patch.object(module.Figure, "savefig", keep):
        yield kept


def legend_of(axes: Any) -> list[str]:
    """The entries of the legend of axes."""
    legend = axes.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


def ticks_of(axis: Any) -> list[str]:
    """What is written at the ticks of an axis."""
    return [text.get_text() for text in axis.get_ticklabels()]


def lines_of(axes: Any) -> list[tuple[list[float], list[float], str | None]]:
    """The lines of axes: their points, and their names where they have one."""
    found: list[tuple[list[float], list[float], str | None]] = []
    for line in axes.get_lines():
        name = line.get_label()
        x, y = ([*map(float, values)] for values in (line.get_xdata(), line.get_ydata()))
        found.append((x, y, None if name.startswith("_") else name))
    return found


def _undrawn(figure: Any) -> Generator[Any]:
    """The labels of ticks beyond the ends of an axis."""
    module: Any = pytest.importorskip("matplotlib.axes")
    for axes in figure.findobj(module.Axes):
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if not low <= tick.get_loc() <= high or not axes.axison:
                    yield from (tick.label1, tick.label2)


def overlapping(figure: Any) -> list[tuple[str, str]]:
    """The pairs of texts of a figure that lie over each other by more than a pixel."""
    renderer = figure.canvas.get_renderer() if hasattr(figure.canvas, "get_renderer") else None
    if renderer is None:
        backend: Any = pytest.importorskip("matplotlib.backends.backend_agg")
        renderer = backend.FigureCanvasAgg(figure).get_renderer()
    texts: Any = pytest.importorskip("matplotlib.text")
    figure.draw(renderer)
    outside = {id(text) for text in _undrawn(figure)}
    found_texts = figure.findobj(texts.Text)
    shown = [t for t in found_texts if t.get_visible() and t.get_text().strip() and id(t) not in outside]
    boxes = [(one.get_text(), one.get_window_extent(renderer)) for one in shown]
    found: list[tuple[str, str]] = []
    for number, (text, box) in enumerate(boxes):
        for other_text, other in boxes[number + 1 :]:
            wide = min(box.x1, other.x1) - max(box.x0, other.x0)
            high = min(box.y1, other.y1) - max(box.y0, other.y0)
            if wide > 1 and high > 1:
                found.append((text, other_text))
    return found
