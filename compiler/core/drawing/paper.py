"""
A figure that was drawn for a screen, made fit for a sheet: letters, lines, hatches, legends, panels below each other.

All of it changes what matplotlib's figure holds once it is filled, so that every picture can be had for every sheet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from npuc.compiler.core.drawing.palette import HATCHES, PRINTED_DASHES, PRINTED_MARKS, SERIES
from npuc.compiler.core.drawing.sheet import NAMED, OPTION, Sheet
from npuc.compiler.core.errors import UsageError

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


def _is_beside(axes: Any, legend: Any) -> bool:
    """Whether a legend begins at or behind the right edge of its axes."""
    box = legend.get_bbox_to_anchor().transformed(axes.transAxes.inverted())
    return box.x0 >= 1.0


def axes_of(body: Any) -> list[Any]:
    """All axes of a figure and of its sub-figures in their order."""
    return [*body.axes, *(axes for part in body.subfigs for axes in axes_of(part))]


def panels_of(body: Any) -> list[Any]:
    """The panels of a figure in their order: axes with something in them, without scales of colours and twins."""
    found: list[Any] = []
    for axes in axes_of(body):
        if axes.axison and not hasattr(axes, "_colorbar") and not any(_is_twin(axes, other) for other in found):
            found.append(axes)
    return found


def _is_twin(axes: Any, other: Any) -> bool:
    """Whether axes lie over others."""
    return axes.figure is other.figure and axes.get_position().bounds == other.get_position().bounds


def columns_for(body: Any, sheet: Sheet) -> int | None:
    """
    How many panels stand side by side on a sheet that is too narrow for all; None where there is room.

    Raises `UsageError` for panels that keep their places: unlike ones, those with a scale of colours, and sub-figures.
    """
    panels = panels_of(body)
    if sheet.width is None or not panels:
        return None
    columns, fit = round(max(1 / _share(body, axes) for axes in panels)), max(1, int(sheet.width / PANEL))
    if columns <= fit:
        return None
    if not _is_even(body, panels):
        raise UsageError(
            f"{OPTION} {sheet.asked}: {columns} panels side by side need {columns * PANEL:.1f} in, and those of this "
            "picture have their places",
            hint=f"{'page' if columns * PANEL <= (NAMED['page'].width or 0.0) else 'a wider size'}, "
            f"or {sheet.asked},panels for a file each",
        )
    return fit


def _share(body: Any, axes: Any) -> float:
    """The part of the width of a figure that the place of axes has."""
    share, spec, owner = 1.0, axes.get_subplotspec(), axes.figure
    while True:
        while spec is not None:
            grid = spec.get_gridspec()
            share *= len(spec.colspan) / grid.ncols
            spec = getattr(grid, "_subplot_spec", None)
        if owner is body:
            return share
        spec, owner = owner._subplotspec, owner._parent


def _is_even(body: Any, panels: Sequence[Any]) -> bool:
    """Whether panels are the cells of one grid with equal rows, without scales of colours."""
    specs = [axes.get_subplotspec() for axes in panels]
    if any(hasattr(axes, "_colorbar") for axes in axes_of(body)) or any(spec is None for spec in specs):
        return False
    grid = specs[0].get_gridspec()
    rows = {*(grid.get_height_ratios() or (1,))}
    return (
        all(axes.figure is body for axes in panels)
        and all(spec.get_gridspec() is grid and len(spec.colspan) == len(spec.rowspan) == 1 for spec in specs)
        and len(rows) == 1
    )


def drop_titles(body: Any, *, inner: bool) -> None:
    """Remove the title of a figure, and those of its sub-figures (`inner`)."""
    if body._suptitle is not None:
        body._suptitle.remove()
        body._suptitle = None
    for part in body.subfigs if inner else ():
        drop_titles(part, inner=True)


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
    for axes in axes_of(body):
        parents = _parents(axes)
        if kept in parents:
            axes._colorbar_info["parents"] = [kept]
        elif parents or not (axes is kept or _is_twin(axes, kept)):
            axes.remove()
    _move(kept.figure, kept, kept.figure.add_gridspec(1, 1)[0, 0])
    inner = kept.figure
    while inner is not body:
        parent = inner._parent
        parent.subfigs[:] = [inner]
        inner._subplotspec = parent.add_gridspec(1, 1)[0, 0]
        inner = parent


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
                axes.tick_params(axis="y", which="both", labelleft=True)
            if axes.get_shared_x_axes().joined(axes, other):
                axes.tick_params(axis="x", which="both", labelbottom=True)
