"""The letters of all pictures: their font and style, how wide a text is, and its lines of at most a width."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from textwrap import wrap

from npuc.compiler.core.drawing.palette import GRID, INK, RIM, SERIES

LETTERS, TITLE, SMALL = 9.5, 12.5, 8.5
"""Heights of letters in points."""
FONT = "DejaVu Sans"
"""The font that comes with matplotlib; in SVG its letters are outlines, which look the same everywhere."""
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


def text_size(text: str, points: float = LETTERS, *, bold: bool = False) -> tuple[float, float]:
    """The width of a line of text, and the height of one, in inches."""
    return _width(text, points, bold), points * 1.3 / 72


@cache
def _width(text: str, points: float, bold: bool) -> float:
    with style():
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


@contextmanager
def style(letters: float = LETTERS) -> Generator[None]:
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
