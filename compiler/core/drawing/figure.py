"""
The frame of all pictures: their kinds, letters and axes, a title that says what is seen, and files without a clock.

    def fill(figure): figure.subplots().plot(...)
    data = picture("svg", (8, 4.5), fill, title="gpt2 takes 100 ms", about="igo-large, backend cycle")
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from io import BytesIO
from typing import Any, TypeAlias

from npuc.compiler.core.drawing import paper, room
from npuc.compiler.core.drawing.palette import QUIET
from npuc.compiler.core.drawing.sheet import HIGHEST, OPTION, Sheet, sheet_now
from npuc.compiler.core.drawing.text import LETTERS as LETTERS
from npuc.compiler.core.drawing.text import SMALL as SMALL
from npuc.compiler.core.drawing.text import TITLE as TITLE
from npuc.compiler.core.drawing.text import lines_of as lines_of
from npuc.compiler.core.drawing.text import style
from npuc.compiler.core.drawing.text import text_size as text_size
from npuc.compiler.core.drawing.ticks import write_numbers
from npuc.compiler.core.errors import UsageError

Figure: TypeAlias = Any
"""matplotlib's figure, or a part of one: matplotlib is optional, and its types with it."""
Axes: TypeAlias = Any
FORMATS = ("svg", "png", "pdf")
WIDTH = 8.0
"""The usual width of a picture in inches: 1,200 pixels as PNG."""
DOTS = 150
"""Pixels of a PNG per inch."""
EDGE, LINE = 0.12, 0.21
"""The margin around a picture, and a line of text under its title, in inches."""
GROWN = (1.0, 1.35, 1.8, 2.4)
"""How many times as high a picture may be as its parts say, so that its texts have room."""
SHORTEST, SHAPE, STACKED = 0.55, 0.68, 0.8
"""
On a sheet: the least height of axes by that on a screen, and by their width that of a panel alone; the height of panels
below each other by that of as many rows.
"""
_NO_CLOCK: Mapping[str, Mapping[str, None]] = {"png": {}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}


def check_format(path: str, option: str = "--plot") -> str:
    """The kind of picture that a file name asks for. Raises `UsageError` for others, and without matplotlib."""
    found = path.rpartition(".")[2].lower() if "." in path else ""
    if found not in FORMATS:
        raise UsageError(
            f"{option} {path}: cannot tell the kind of picture", hint=f"a name ending in .{', .'.join(FORMATS)}"
        )
    check_drawing(option)
    return found


def check_drawing(option: str) -> None:
    """Raise `UsageError` where matplotlib is not installed."""
    try:
        import_module("matplotlib")
    except ModuleNotFoundError as e:
        if e.name != "matplotlib":
            raise
        raise UsageError(
            f"{option} needs matplotlib, which is not installed", hint='pip install "npuc[plot]"'
        ) from None


def picture(
    kind: str,
    size: tuple[float, float],
    fill: Callable[[Figure], object],
    *,
    title: str = "",
    about: str = "",
    letters: float = LETTERS,
    layout: str | None = "constrained",
    tips: Mapping[str, str] | None = None,
    rows: bool = False,
) -> bytes:
    """
    A picture as a file of a kind (`svg`, `png`, `pdf`): the same calls always give the same bytes.

    `fill` draws into an empty figure, which is so many inches wide and high with its title. Above what it draws stand
    the `title`, in whole words, and `about`, a line or more of less important facts. `letters` are points of the usual
    text, `layout` is matplotlib's. `tips` are the tooltips of an SVG, by the `gid` of what they are about. `rows`: its
    height is that of lines of text, which stay as high on another sheet (`sheet.made_for`).
    """
    made = sheet_now()
    if made is not None:
        return _on_sheet(kind, size, fill, made, title=title, about=about, letters=letters, layout=layout, rows=rows)
    with style(letters):
        figure = import_module("matplotlib.figure").Figure(figsize=size, dpi=DOTS, layout=layout)
        above = _head(figure, size, title, about)
        if layout == "constrained":
            figure.get_layout_engine().set(w_pad=EDGE / 2, h_pad=EDGE / 2)
            _, body = figure.subfigures(2, 1, height_ratios=(above, max(size[1] - above, 0.1)), hspace=0.0)
            fill(body)
        else:
            fill(figure)
        _write_numbers(figure)
        data = _saved(figure, kind, title)
    return _with_tips(data, tips) if tips and kind == "svg" else data


def _saved(figure: Figure, kind: str, title: str, about: str = "") -> bytes:
    """A figure as a file of a kind, its numbers in full; `about` is kept with it, where no reader may see it."""
    facts = {"Title": title, "Subject" if kind == "pdf" else "Description": about}
    known = {name: text for name, text in facts.items() if text}
    out = BytesIO()
    dots = 300 if kind == "png" and sheet_now() is not None else DOTS
    figure.savefig(out, format=kind, dpi=dots, metadata={**known, **_NO_CLOCK[kind]})
    return out.getvalue()


def _write_numbers(figure: Figure) -> None:
    for axes in figure.findobj(import_module("matplotlib.axes").Axes):
        for axis in (axes.xaxis, axes.yaxis):
            write_numbers(axis)


def _on_sheet(
    kind: str,
    size: tuple[float, float],
    fill: Callable[[Figure], object],
    made: tuple[Sheet, list[bytes]],
    *,
    title: str,
    about: str,
    letters: float,
    layout: str | None,
    rows: bool,
) -> bytes:
    """
    A picture for a sheet, or its panels: the first one is returned, all are added to those of the sheet.

    Raises `UsageError` for a picture whose size is that of its parts, as of a graph.
    """
    sheet, panels = made
    if layout is None:
        raise UsageError(
            f"{OPTION} is about pictures with axes, and this one is as large as its parts",
            hint="leave it out; a PDF can be scaled",
        )
    with style(sheet.letters or letters):
        count = 1
        number: int | None = 0 if sheet.panels else None
        found: list[bytes] = []
        while number is None or number < count:
            figure, count = _with_room(size, fill, sheet, (title, about), letters, rows, number)
            found.append(_saved(figure, kind, title, about))
            if number is None:
                return found[0]
            number += 1
    panels += found
    return found[0]


def _with_room(
    size: tuple[float, float],
    fill: Callable[[Figure], object],
    sheet: Sheet,
    texts: tuple[str, str],
    letters: float,
    rows: bool,
    panel: int | None,
) -> tuple[Figure, int]:
    """
    The figure of a sheet on which all has room, of one panel where that is asked for, and how many panels there are.

    Where no height is given it is as high as that needs. Raises `UsageError` where a sheet is too small.
    """
    lacking, several = None, False
    for grown in (1.0,) if sheet.height is not None or sheet.width is None else GROWN:
        figure, count = _sheet_figure(size, fill, sheet, texts, letters, rows, panel, grown)
        _write_numbers(figure)
        room.make_room(figure)
        lacking = None if sheet.width is None else room.lacking(figure, rows=rows)
        if lacking is None:
            return figure, count
        several = count > 1 and panel is None
    hint = "a larger size" + (", or panels for a file each" if several else "")
    raise UsageError(f"{OPTION} {sheet.asked}: {lacking}", hint=hint)


def _sheet_figure(
    size: tuple[float, float],
    fill: Callable[[Figure], object],
    sheet: Sheet,
    texts: tuple[str, str],
    letters: float,
    rows: bool,
    panel: int | None,
    grown: float,
) -> tuple[Figure, int]:
    """The figure of a sheet, `grown` times as high as its parts say, and how many panels there are."""
    width = sheet.width or size[0]
    scale = 1.0 if sheet.letters is None else sheet.letters / letters
    head = 1.0 if sheet.letters is None else sheet.letters / LETTERS
    above = size[1] - head_height(size[0], *texts) if texts[0] else size[1]
    high = sheet.height or (above * scale if rows else above * max(width / size[0], SHORTEST))
    figure = import_module("matplotlib.figure").Figure(figsize=(width, high), dpi=DOTS, layout="constrained")
    figure.get_layout_engine().set(w_pad=EDGE / 4, h_pad=EDGE / 4)
    parts = figure.add_gridspec(2, 1, height_ratios=(0.01, 1.0), hspace=0.0)
    body = figure.add_subfigure(parts[1])
    fill(body)
    every = paper.panels_of(body)
    if not sheet.title:
        paper.drop_titles(body, inner=panel is not None)
    if panel is not None and len(every) > 1:
        spec = every[panel].get_subplotspec()
        paper.keep_panel(body, panel)
        high = sheet.height or max(high / (spec.get_gridspec().nrows if spec else 1), min(high, width * SHAPE))
    elif panel is None and (columns := paper.columns_for(body, sheet)) is not None:
        times = paper.restack(body, columns)
        high = sheet.height or high * max(1.0, times * STACKED)
    if sheet.paper:
        paper.fit_lines(body)
    paper.fit_letters(body, sheet, letters)
    paper.fit_legends(body, sheet, _width_of)
    top = head_height(width, *texts, scale=head) if sheet.title and any(texts) else 0.0
    whole = high if sheet.height else high + top
    if sheet.paper and sheet.height is None and whole > HIGHEST:
        raise UsageError(
            f"{OPTION} {sheet.asked}: the picture is {whole:.1f} in high, and a page has {HIGHEST} in",
            hint="a larger size" + (", or panels for a file each" if len(every) > 1 and panel is None else ""),
        )
    if sheet.height is None:
        whole = min(whole * grown, max(whole, HIGHEST))
    figure.set_size_inches(width, whole)
    if top:
        _head(figure, (width, whole), *texts, scale=head)
        parts.set_height_ratios((top, max(whole - top, 0.1)))
    return figure, len(every)


def _width_of(text: str, points: float) -> float:
    return text_size(text, points)[0]


def head_height(width: float, title: str, about: str = "", *, scale: float = 1.0) -> float:
    """What a title and the lines under it take of a picture so wide, in inches; `scale`: of letters by the usual."""
    return sum(height for _, _, height in _head_lines(width, title, about, scale)) + EDGE


def _head_lines(width: float, title: str, about: str, scale: float) -> Iterator[tuple[str, bool, float]]:
    for line in lines_of(title, width - 2 * EDGE, TITLE * scale, bold=True) if title else ():
        yield line, True, 0.25 * scale
    for line in lines_of(about, width - 2 * EDGE, LETTERS * scale) if about else ():
        yield line, False, LINE * scale


def _head(figure: Figure, size: tuple[float, float], title: str, about: str, *, scale: float = 1.0) -> float:
    """Write the title and the lines under it; returns what they take, in inches."""
    at = EDGE
    for line, bold, height in _head_lines(size[0], title, about, scale):
        look: dict[str, object] = (
            {"fontsize": TITLE * scale, "fontweight": "bold"} if bold else {"fontsize": LETTERS * scale, "color": QUIET}
        )
        figure.text(EDGE / size[0], 1 - at / size[1], line, va="top", ha="left", **look)
        at += height
    return at


def _with_tips(data: bytes, tips: Mapping[str, str]) -> bytes:
    """An SVG whose groups of some names have a title, which a viewer shows as a tooltip."""
    from html import escape

    def titled(found: re.Match[str]) -> str:
        tip = tips.get(found[1])
        return found[0] if tip is None else f"{found[0]}<title>{escape(tip, quote=False)}</title>"

    return re.sub(r'<g id="([^"]*)">', titled, data.decode()).encode()
