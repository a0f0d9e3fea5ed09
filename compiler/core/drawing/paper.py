"""
A figure that was drawn for a screen, made fit for a sheet: letters, lines, hatches, legends, panels below each other.

All of it changes what matplotlib's figure holds once it is filled, so that every picture can be had for every sheet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any

from npuc.compiler.core.drawing.palette import HATCHES, PRINTED_DASHES, PRINTED_MARKS, SERIES
from npuc.compiler.core.drawing.sheet import Sheet

LEAST_LETTERS = 0.875
"""No letters are smaller than this part of the usual ones: 7 points of 8."""
RELATIVE = (1.0, 0.833, 1.2)
"""Letters that matplotlib calls medium, small and large, which are by the usual ones already."""
THINNER, LEAST_LINE = 0.7, 0.5
"""The width of lines on paper by that on a screen, and the least in points; hairlines vanish in print."""
PANEL = 2.1
"""A panel has at least so many inches of width, or there are fewer side by side."""
NARROW = 4.5
"""On a narrower sheet, in inches, no legend stands in the axes of a panel."""
KEY = 0.5
"""The room of a legend's key with its gaps, in inches."""

GAP = 2.0
"""The least pixels between names along an axis."""

Measure = Callable[[str, float], float]
"""The width of a text of so many points, in inches."""


def fit_letters(figure: Any, sheet: Sheet, usual: float) -> None:
    """Letters of the sheet's height where they had the usual one, others by the same measure."""
    if sheet.letters is None:
        return
    fitting = [sheet.letters * part for part in RELATIVE]
    for text in figure.findobj(import_module("matplotlib.text").Text):
        size = text.get_fontsize()
        scale = 1.0 if any(abs(size - one) < 1e-6 for one in fitting) else sheet.letters / usual
        text.set_fontsize(max(size * scale, sheet.letters * LEAST_LETTERS))


def fit_lines(figure: Any) -> None:
    """Lines that print; a dash and a mark for each colour of a line, a hatch for each colour of an area."""
    colours, lines = import_module("matplotlib.colors"), import_module("matplotlib.lines")
    for line in (one for one in figure.findobj() if type(one) is lines.Line2D):
        line.set_linewidth(max(line.get_linewidth() * THINNER, LEAST_LINE))
        line.set_markersize(line.get_markersize() * 0.8)
        place = _place(colours, line.get_color())
        if place is not None and line.get_linestyle() == "-":
            line.set_linestyle(PRINTED_DASHES[place % len(PRINTED_DASHES)])
            if line.get_marker() == "o":
                line.set_marker(PRINTED_MARKS[place])
    patches, collections = import_module("matplotlib.patches"), import_module("matplotlib.collections")
    areas = (patches.Rectangle, patches.Polygon, collections.PolyCollection)
    for area in (one for one in figure.findobj() if isinstance(one, areas)):
        faces = area.get_facecolor()
        several = isinstance(area, collections.PolyCollection)
        place = _place(colours, faces[0] if several and len(faces) else None if several else faces)
        if place is not None and HATCHES[place]:
            area.set_hatch(HATCHES[place])
            area.set_edgecolor("white")
            area.set_linewidth(0.3)


def _place(colours: Any, colour: Any) -> int | None:
    """The place of a colour among those of series; None for others."""
    if colour is None or not colours.is_color_like(colour):
        return None
    name = colours.to_hex(colour)
    return SERIES.index(name) if name in SERIES else None


def fit_legends(body: Any, sheet: Sheet, measure: Measure) -> None:
    """Legends above or beside the panels stand above them, in as many columns as there is room for."""
    if sheet.width is None or sheet.letters is None:
        return
    wide, several = sheet.width > NARROW, len(panels_of(body)) > 1
    for owner in (body, *body.axes):
        for legend in [*owner.legends] if owner is body else [*filter(None, (owner.get_legend(),))]:
            if owner is not body and not _is_beside(owner, legend) and (wide or several):
                continue
            labels = [text.get_text() for text in legend.get_texts()]
            if not labels:
                continue
            widest = max(measure(label, sheet.letters) for label in labels) + KEY
            columns = max(1, min(len(labels), int((sheet.width - 0.3) / widest)))
            heading = legend.get_title().get_text() or None
            handles = legend.legend_handles
            legend.remove()
            body.legend(
                handles, labels, loc="outside upper left", ncols=columns, title=heading, alignment="left",
                fontsize=sheet.letters, title_fontsize=sheet.letters, columnspacing=1.2, handlelength=1.6,
            )  # fmt: skip


def make_room(figure: Any) -> None:
    """
    Names along an axis that would run into each other stand upright, and axes go up until nothing is behind the legend
    in them: both as the figure is laid out.
    """
    figure.draw_without_rendering()
    every = [axes for axes in figure.findobj(import_module("matplotlib.axes").Axes) if axes.axison]
    for axes in every:
        boxes = [text.get_window_extent() for text in axes.get_xticklabels() if text.get_text() and text.get_visible()]
        if any(left.x1 + GAP > right.x0 and left.x0 < right.x0 for left, right in pairwise(boxes)):
            axes.tick_params(axis="x", labelrotation=90)
    figure.draw_without_rendering()
    for axes in every:
        legend = axes.get_legend()
        if legend is not None:
            _raise(axes, legend)


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


def _is_beside(axes: Any, legend: Any) -> bool:
    """Whether a legend begins at or behind the right edge of its axes."""
    box = legend.get_bbox_to_anchor().transformed(axes.transAxes.inverted())
    return box.x0 >= 1.0


def panels_of(body: Any) -> list[Any]:
    """The panels of a figure in their order: axes with something in them, without scales of colours and twins."""
    found: list[Any] = []
    for axes in body.axes:
        twin = any(axes.get_position().bounds == other.get_position().bounds for other in found)
        if axes.axison and not hasattr(axes, "_colorbar") and not twin:
            found.append(axes)
    return found


def columns_for(body: Any, sheet: Sheet) -> int | None:
    """How many panels stand side by side on a sheet that is too narrow for all; None where there is room."""
    panels = panels_of(body)
    grids = {axes.get_gridspec() for axes in panels}
    if sheet.width is None or len(grids) != 1:
        return None
    columns = grids.pop().ncols
    fit = max(1, int(sheet.width / PANEL))
    return fit if columns > fit else None


def restack(body: Any, columns: int) -> float:
    """Put the panels of a figure into so many columns: how many times as many rows that makes."""
    panels = panels_of(body)
    before = panels[0].get_gridspec().nrows
    _label(panels)
    for axes in [*body.axes]:
        if not axes.axison:
            axes.remove()
    rows = -(-len(panels) // columns)
    grid = body.add_gridspec(rows, columns)
    for number, axes in enumerate(panels):
        _move(body, axes, grid[number // columns, number % columns])
    return rows / before


def keep_panel(body: Any, number: int) -> None:
    """Leave one panel of a figure alone, with the names of its axes and the scale of its colours."""
    panels = panels_of(body)
    _label(panels)
    kept = panels[number]
    place = kept.get_position().bounds
    for axes in [*body.axes]:
        parents = _parents(axes)
        if parents:
            if kept in parents:
                axes._colorbar_info["parents"] = [kept]
                continue
            axes.remove()
        elif axes is not kept and axes.get_position().bounds != place:
            axes.remove()
    _move(body, kept, body.add_gridspec(1, 1)[0, 0])


def _parents(axes: Any) -> Sequence[Any]:
    """The axes that a scale of colours is for; none for other axes."""
    info: Mapping[str, Any] = getattr(axes, "_colorbar_info", None) or {}
    return [*info.get("parents", ())]


def _move(body: Any, axes: Any, place: Any) -> None:
    """Put axes, and those over them, into another place."""
    before = axes.get_subplotspec()
    for one in body.axes:
        if one is axes or (one.get_subplotspec() is not None and one.get_subplotspec() == before):
            one.set_subplotspec(place)


def _label(panels: Sequence[Any]) -> None:
    """Give each panel its own names and numbers of axes, which it may have left to its neighbours."""
    for axes in panels:
        for other in panels:
            if other is axes:
                continue
            if not axes.get_ylabel() and axes.get_shared_y_axes().joined(axes, other):
                axes.set_ylabel(other.get_ylabel())
            if not axes.get_xlabel() and axes.get_shared_x_axes().joined(axes, other):
                axes.set_xlabel(other.get_xlabel())
            if axes.get_shared_y_axes().joined(axes, other):
                axes.tick_params(axis="y", labelleft=True)
            if axes.get_shared_x_axes().joined(axes, other):
                axes.tick_params(axis="x", labelbottom=True)
