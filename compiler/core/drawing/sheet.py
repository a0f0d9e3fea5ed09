"""
What pictures are made for: the column or page of a paper, a slide, or a size; bare or not; panels by themselves.

    with made_for(read_sheet("column,panels")) as panels:
        draw_table(table, asked, "pdf")
    panels  # the files of the panels

Widths are those of papers of the ACM (sigconf: a column of 241.1 pt, 3.33 in, a text of 506.3 pt, 7.0 in; acmart.pdf,
"Document parameters") and of the IEEE (IEEEtran: a column of 3.5 in, a text of 7.16 in, above these).
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.core.frozen import frozen

OPTION = "--plot-as"
MM = 25.4
LEAST, MOST = 1.5, 40.0
"""The least and the greatest width or height in inches."""
PAPER_LETTERS, SLIDE_LETTERS = 8.0, 14.0
"""Heights of letters in points."""
HIGHEST = 9.2
"""The height of the text of a page in inches, above which no picture goes."""


@frozen
class Sheet:
    """
    A width in inches, a height where it is given, and the height of letters in points (None: as on a screen).

    `paper`: lines are fine, and areas that touch have hatches. `title`: whether title and facts stand above. `panels`:
    whether each panel is a file of its own. `asked`: the words that ask for it.
    """

    width: float | None = None
    height: float | None = None
    letters: float | None = None
    paper: bool = False
    title: bool = True
    panels: bool = False
    asked: str = ""


NAMED: Mapping[str, Sheet] = {
    "column": Sheet(3.33, None, PAPER_LETTERS, paper=True, title=False),
    "page": Sheet(7.0, None, PAPER_LETTERS, paper=True, title=False),
    "slide": Sheet(10.0, 5.0, SLIDE_LETTERS),
}
"""Sizes by name; a slide is one of 16 to 9 with room for its heading."""
_SIZE = re.compile(r"(\d{1,4}(?:\.\d{1,4})?)x(\d{1,4}(?:\.\d{1,4})?)(mm|in)?", re.ASCII)


def read_sheet(text: str) -> Sheet:
    """What the words of `--plot-as` ask for. Raises `UsageError` for unknown ones, and for two of a kind."""
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        known = f"{', '.join(NAMED)} or a size like 3.5x2.2, and then title, bare, panels"
        raise UsageError(f"{OPTION} '{text}': expected words between commas, found none", hint=known)
    if len({*words}) < len(words):
        raise UsageError(f"{OPTION} {text}: a word is given twice")
    size: Sheet | None = None
    for word in words:
        if word in ("title", "bare", "panels"):
            continue
        if size is not None:
            raise UsageError(f"{OPTION} {text}: expected one size, found several")
        size = NAMED.get(word) or _measured(word)
    if "title" in words and "bare" in words:
        raise UsageError(f"{OPTION} {text}: title and bare exclude each other")
    found = size or Sheet()
    title = "title" in words or (found.title and "bare" not in words)
    each = "panels" in words
    return Sheet(found.width, found.height, found.letters, paper=found.paper, title=title, panels=each, asked=text)


def _measured(word: str) -> Sheet:
    """A size like 3.5x2.2 (inches) or 85x60mm, which are those of papers."""
    read = _SIZE.fullmatch(word)
    if read is None:
        known = (*NAMED, "title", "bare", "panels")
        hint = did_you_mean(word, known) if word.isalpha() else f"{', '.join(known)}, or a size like 3.5x2.2 or 85x60mm"
        raise UsageError(f"{OPTION} {word}: there is no such size", hint=hint)
    unit = MM if read[3] == "mm" else 1.0
    width, height = float(read[1]) / unit, float(read[2]) / unit
    if not (LEAST <= width <= MOST and LEAST <= height <= MOST):
        raise UsageError(
            f"{OPTION} {word}: expected widths and heights of {LEAST:g} to {MOST:g} inches", hint="85x60mm is one in mm"
        )
    return Sheet(width, height, PAPER_LETTERS, paper=True, title=False)


_SHEET: ContextVar[tuple[Sheet, list[bytes]] | None] = ContextVar("sheet", default=None)


@contextmanager
def made_for(sheet: Sheet | None) -> Generator[list[bytes]]:
    """Pictures that are drawn meanwhile are made for a sheet; the files of their panels, where those are asked for."""
    panels: list[bytes] = []
    token = _SHEET.set(None if sheet is None else (sheet, panels))
    try:
        yield panels
    finally:
        _SHEET.reset(token)


def sheet_now() -> tuple[Sheet, list[bytes]] | None:
    """What pictures are made for, and where their panels go; None: for a screen."""
    return _SHEET.get()


def letter_of(panel: int) -> str:
    """The letter of a panel: a to z, then aa, ab."""
    name = ""
    panel += 1
    while panel:
        panel, place = divmod(panel - 1, 26)
        name = chr(ord("a") + place) + name
    return name
