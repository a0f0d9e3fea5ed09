"""
What is fitted to a figure once it is laid out: lines of titles, names and numbers along axes, axes below legends; and
whether all of it has room on its sheet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any

from npuc.compiler.core.drawing.text import lines_of
from npuc.compiler.core.drawing.ticks import is_number, short_text

GAP = 2.0
"""The least pixels between names along an axis."""
OVER = 1.0
"""So many pixels may the boxes of two numbers above each other share: letters do not fill theirs."""
LEAST_AXES, LEAST_ROWS = 0.4, 0.1
"""The least width and height of axes in inches, and the height where it is that of a few lines of text."""
CUT = 3.0
"""The least pixels of a text beyond the edge that are a cut."""


def make_room(figure: Any) -> None:
    """
    Titles and names of axes have as many lines as they need; names along an axis that would run into each other stand
    upright, numbers become fewer; axes go up until nothing is behind the legend in them: all as the figure is laid out.
    """
    figure.draw_without_rendering()
    every = _axes_of(figure)
    for axes in every:
        _wrap(axes.yaxis.label, axes.get_window_extent().height / figure.dpi)
        _fit_ticks(axes, axes.xaxis)
    figure.draw_without_rendering()
    for axes in every:
        width = axes.get_window_extent().width / figure.dpi
        for text in (axes.title, axes._left_title, axes._right_title, axes.xaxis.label):
            _wrap(text, width)
        _fit_ticks(axes, axes.yaxis)
    for part in figure.findobj(import_module("matplotlib.figure").SubFigure):
        if part._suptitle is not None:
            _wrap(part._suptitle, 0.97 * part.bbox.width / figure.dpi)
    figure.draw_without_rendering()
    for axes in every:
        legend = axes.get_legend()
        if legend is not None:
            _raise(axes, legend)


def lacking(figure: Any, *, rows: bool) -> str | None:
    """
    What has no room on a sheet: axes are low or narrow, names along an axis overlap, a text is cut; None where all has.

    `rows`: the height of axes is that of lines of text.
    """
    figure.draw_without_rendering()
    every = _axes_of(figure)
    for axes in every:
        box = axes.get_window_extent()
        for size, least, word in (
            (box.height, LEAST_ROWS if rows else LEAST_AXES, "high"),
            (box.width, LEAST_AXES, "wide"),
        ):
            if size / figure.dpi < least and not hasattr(axes, "_colorbar"):
                return f"the axes of a panel are {max(size, 0.0) / figure.dpi:.1f} in {word}; {least} are the least"
    for axes in every:
        for axis in (axes.xaxis, axes.yaxis):
            found = _colliding(_shown(axis, minor=False), across=axis is axes.xaxis, gap=-OVER)
            if found is not None:
                return f"'{found[0]}' and '{found[1]}' along an axis are over each other"
    cut = next(_cut(figure, every), None)
    return None if cut is None else f"'{cut}' is cut at the edge"


def _axes_of(figure: Any) -> list[Any]:
    return [axes for axes in figure.findobj(import_module("matplotlib.axes").Axes) if axes.axison]


def _cut(figure: Any, every: Sequence[Any]) -> Iterator[str]:
    """Texts that are drawn beyond the edges of a figure."""
    texts = import_module("matplotlib.text")
    axis_texts: set[int] = set()
    drawn: set[int] = set()
    for axes in figure.findobj(import_module("matplotlib.axes").Axes):
        for axis in (axes.xaxis, axes.yaxis):
            axis_texts |= {id(text) for text in axis.findobj(texts.Text)}
            if axes in every:
                shown = [*_shown(axis, minor=False), *_shown(axis, minor=True)]
                drawn |= {id(axis.label), id(axis.offsetText), *(id(text) for _, text in shown)}
    for text in figure.findobj(texts.Text):
        if not text.get_visible() or not text.get_text().strip() or (id(text) in axis_texts and id(text) not in drawn):
            continue
        box = text.get_window_extent()
        beyond = max(-box.x0, -box.y0, box.x1 - figure.bbox.width, box.y1 - figure.bbox.height)
        if beyond > CUT:
            yield text.get_text().replace("\n", " ")


def _wrap(text: Any, room: float) -> None:
    """Lines of at most so many inches, where a text is longer."""
    words, points = text.get_text(), text.get_fontsize()
    if words.strip() and room > 0:
        lines = lines_of(words, room, points, bold=text.get_fontweight() == "bold")
        if len(lines) > words.count("\n") + 1:
            text.set_text("\n".join(lines))


def _shown(axis: Any, *, minor: bool) -> list[tuple[float, Any]]:
    """The labels of an axis that are drawn, with their places."""
    axis.get_ticklabels(minor=minor)
    low, high = sorted(axis.get_view_interval())
    ends = (high - low) * 1e-9
    return [
        (tick.get_loc(), label)
        for tick in (axis.get_minor_ticks() if minor else axis.get_major_ticks())
        for label in (tick.label1, tick.label2)
        if label.get_visible() and label.get_text().strip() and low - ends <= tick.get_loc() <= high + ends
    ]


def _colliding(labels: Sequence[tuple[float, Any]], *, across: bool, gap: float) -> tuple[str, str] | None:
    """Two labels with less than a gap between them, in pixels, along x (`across`) or y."""
    boxes = [(text.get_window_extent(), text.get_text()) for _, text in labels]
    spans = sorted((box.x0, box.x1, text) if across else (box.y0, box.y1, text) for box, text in boxes)
    return next(
        ((one[2], other[2]) for one, other in pairwise(spans) if one[1] + gap > other[0] and one[0] < other[0]), None
    )


def _fit_ticks(axes: Any, axis: Any) -> None:
    """Let the labels of an axis stand apart: no small ones, upright names and short numbers along x, fewer numbers."""
    ticker = import_module("matplotlib.ticker")
    across = axis is axes.xaxis
    gap = GAP if across else -OVER
    names = _shown(axis, minor=False)
    small = _shown(axis, minor=True)
    if small and _colliding([*names, *small], across=across, gap=gap) is not None:
        axis.set_minor_formatter(ticker.NullFormatter())
    if _colliding(names, across=across, gap=gap) is None:
        return
    numbers = all(is_number(text.get_text()) for _, text in names)
    if across and (not numbers or isinstance(axis.get_major_locator(), ticker.FixedLocator)):
        short = [short_text(text.get_text()) for _, text in names]
        if numbers and short != [text.get_text() for _, text in names]:
            axis.set_ticks([place for place, _ in names], short)
        elif any("\n" in text.get_text() for _, text in names):
            axis.set_ticks([place for place, _ in names], [" ".join(text.get_text().split()) for _, text in names])
        axes.tick_params(axis="x", labelrotation=90)
        names = _shown(axis, minor=False)
        for _, text in names:
            text.set(ha="center", rotation_mode="default")
    if numbers:
        for step in range(1, len(names)):
            kept = names[::step]
            if _colliding(kept, across=across, gap=gap) is None:
                break
        else:
            kept = names[:1]
        if len(kept) < len(names):
            axis.set_ticks([place for place, _ in kept], [text.get_text() for _, text in kept])


def _raise(axes: Any, legend: Any) -> None:
    """Let axes go up by as much as their data reach into a legend in their upper half."""
    frame, box = axes.get_window_extent(), legend.get_window_extent()
    below = (box.y0 - frame.y0) / frame.height - 0.02
    if below < 0.3:
        return
    inner = [area.get_window_extent() for area in axes.patches]
    inner += [
        import_module("matplotlib.transforms").Bbox([point, point])
        for line in axes.lines
        for point in _along(line.get_transform().transform(line.get_xydata()))
    ]
    tops = [one.y1 for one in inner if one.x1 >= box.x0 and one.x0 <= box.x1 and one.y1 <= frame.y1 + 1]
    reached = (max(tops, default=frame.y0) - frame.y0) / frame.height
    if reached <= below:
        return
    scale = axes.yaxis.get_transform()
    low, high = scale.transform([*axes.get_ylim()])
    axes.set_ylim(top=float(scale.inverted().transform([low + (high - low) * reached / below])[0]))


def _along(points: Sequence[Any]) -> Iterator[Any]:
    """Points of a line, and some between them."""
    yield from points
    for one, other in pairwise(points):
        yield from (one + (other - one) * part / 16 for part in range(1, 16))
