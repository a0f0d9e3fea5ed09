"""
The frame of all pictures: their kinds, letters and axes, a title that says what is seen, and files without a clock.

    def fill(figure): figure.subplots().plot(...)
    data = picture("svg", (8, 4.5), fill, title="gpt2 takes 100 ms", about="igo-large, backend cycle")
"""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from io import BytesIO
from textwrap import wrap
from typing import Any, TypeAlias

from npuc.compiler.core.drawing.palette import GRID, INK, QUIET, RIM, SERIES
from npuc.compiler.core.errors import UsageError

Figure: TypeAlias = Any
"""matplotlib's figure, or a part of one: matplotlib is optional, and its types with it."""
Axes: TypeAlias = Any
FORMATS = ("svg", "png", "pdf")
WIDTH = 8.0
"""The usual width of a picture in inches: 1,200 pixels as PNG."""
DOTS = 150
"""Pixels of a PNG per inch."""
LETTERS, TITLE, SMALL = 9.5, 12.5, 8.5
"""Heights of letters in points."""
FONT = "DejaVu Sans"
"""The font that comes with matplotlib; in SVG its letters are outlines, which look the same everywhere."""
EDGE, LINE = 0.12, 0.21
"""The margin around a picture, and a line of text under its title, in inches."""
_NO_CLOCK: Mapping[str, Mapping[str, None]] = {"png": {}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}
_STYLE: Mapping[str, object] = {
    "font.family": [FONT],
    "text.parse_math": False,  # a file name may hold dollars
    "text.color": INK,
    "svg.fonttype": "path",
    "svg.hashsalt": "npuc",
    "pdf.fonttype": 42,
    "figure.facecolor": "white",
    "axes.labelcolor": INK,
    "axes.edgecolor": RIM,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": "medium",
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.formatter.useoffset": False,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": RIM,
    "ytick.color": RIM,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.fontsize": "medium",
    "lines.linewidth": 1.8,
    "lines.markersize": 5.0,
    "hatch.linewidth": 0.8,
}


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
) -> bytes:
    """
    A picture as a file of a kind (`svg`, `png`, `pdf`): the same calls always give the same bytes.

    `fill` draws into an empty figure, which is so many inches wide and high with its title. Above what it draws stand
    the `title`, in whole words, and `about`, a line or more of less important facts. `letters` are points of the usual
    text, `layout` is matplotlib's. `tips` are the tooltips of an SVG, by the `gid` of what they are about.
    """
    with _style(letters):
        figure = import_module("matplotlib.figure").Figure(figsize=size, dpi=DOTS, layout=layout)
        room = _head(figure, size, title, about)
        if layout == "constrained":
            figure.get_layout_engine().set(w_pad=EDGE / 2, h_pad=EDGE / 2)
            _, body = figure.subfigures(2, 1, height_ratios=(room, max(size[1] - room, 0.1)), hspace=0.0)
            fill(body)
        else:
            fill(figure)
        for axes in figure.findobj(import_module("matplotlib.axes").Axes):
            for axis in (axes.xaxis, axes.yaxis):
                _write_numbers(axis)
        out = BytesIO()
        figure.savefig(out, format=kind, metadata={**({"Title": title} if title else {}), **_NO_CLOCK[kind]})
    return _with_tips(out.getvalue(), tips) if tips and kind == "svg" else out.getvalue()


def text_size(text: str, points: float = LETTERS, *, bold: bool = False) -> tuple[float, float]:
    """The width of a line of text, and the height of one, in inches."""
    return _width(text, points, bold), points * 1.3 / 72


@cache
def _width(text: str, points: float, bold: bool) -> float:
    with _style():
        letters = import_module("matplotlib.textpath").TextToPath()
        font = import_module("matplotlib.font_manager").FontProperties(
            family=FONT, size=points, weight="bold" if bold else "normal"
        )
        return letters.get_text_width_height_descent(text, font, False)[0] / 72


def lines_of(text: str, width: float, points: float = LETTERS, *, bold: bool = False) -> list[str]:
    """Text in lines of at most so many inches; a word that is longer has a line for itself."""
    found: list[str] = []
    for line in text.split("\n"):
        letters = len(line)
        while letters > 8 and any(_width(one, points, bold) > width for one in wrap(line, letters)):
            letters -= 1
        found += wrap(line, max(letters, 1)) or [""]
    return found


def head_height(width: float, title: str, about: str = "") -> float:
    """What a title and the lines under it take of a picture so wide, in inches."""
    return sum(height for _, _, height in _head_lines(width, title, about)) + EDGE


def _head_lines(width: float, title: str, about: str) -> Iterator[tuple[str, bool, float]]:
    for line in lines_of(title, width - 2 * EDGE, TITLE, bold=True) if title else ():
        yield line, True, 0.25
    for line in lines_of(about, width - 2 * EDGE, LETTERS) if about else ():
        yield line, False, LINE


def _head(figure: Figure, size: tuple[float, float], title: str, about: str) -> float:
    """Write the title and the lines under it; returns what they take, in inches."""
    at = EDGE
    for line, bold, height in _head_lines(size[0], title, about):
        style: dict[str, object] = (
            {"fontsize": TITLE, "fontweight": "bold"} if bold else {"fontsize": LETTERS, "color": QUIET}
        )
        figure.text(EDGE / size[0], 1 - at / size[1], line, va="top", ha="left", **style)
        at += height
    return at


@contextmanager
def _style(letters: float = LETTERS) -> Generator[None]:
    """The style of all pictures, and no words of matplotlib about caches or letters that a font lacks."""
    matplotlib, log = import_module("matplotlib"), logging.getLogger("matplotlib")
    level = log.level
    log.setLevel(logging.ERROR)
    own = {"axes.prop_cycle": import_module("cycler").cycler(color=SERIES), "font.size": letters}
    try:
        with matplotlib.rc_context({**_STYLE, **own}), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            warnings.filterwarnings("ignore", message=".*constrained_layout not applied")
            yield
    finally:
        log.setLevel(level)


def _write_numbers(axis: Any) -> None:
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


def _with_tips(data: bytes, tips: Mapping[str, str]) -> bytes:
    """An SVG whose groups of some names have a title, which a viewer shows as a tooltip."""
    from html import escape

    def titled(found: re.Match[str]) -> str:
        tip = tips.get(found[1])
        return found[0] if tip is None else f"{found[0]}<title>{escape(tip, quote=False)}</title>"

    return re.sub(r'<g id="([^"]*)">', titled, data.decode()).encode()
