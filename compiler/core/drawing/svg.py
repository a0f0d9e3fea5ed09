"""What the SVG pictures of npuc share: a style, text and its width, boxes, the page."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

LINE = 17
GREY = "#7b828b"
"""A grey that can be read on a light and on a dark page."""
FONT = "ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace"
SIZE = 12
STYLE = (
    f"text{{font:{SIZE}px {FONT};fill:{GREY}}}"
    ".t{font-weight:bold;font-size:14px}.e{text-anchor:end}.m{text-anchor:middle}"
)


def text_width(words: str, size: float = SIZE) -> float:
    """The most that a line of text takes in any of the fonts."""
    return 0.61 * size * len(words)


def coordinate(value: float) -> str:
    """A coordinate as text, with two decimals at most."""
    shown = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if shown == "-0" else shown


def text(x: float, y: float, words: str, kind: str = "", *, keep: bool = False) -> str:
    """Text at a position; `kind` is a class of the style, `keep` preserves spaces."""
    style = f' class="{kind}"' if kind else ""
    space = ' xml:space="preserve"' if keep else ""
    return f'<text x="{coordinate(x)}" y="{coordinate(y)}"{style}{space}>{escape(words)}</text>'


def rect(x: float, y: float, width: float, height: float, colour: str, more: str = "") -> str:
    """A filled box; `more` are further attributes, after a space."""
    place = f'x="{coordinate(x)}" y="{coordinate(y)}" width="{coordinate(width)}" height="{coordinate(height)}"'
    return f'<rect {place} fill="{colour}"{more}/>'


def page(title: str, style: str, parts: Iterable[str], width: float, height: float) -> str:
    """A whole picture."""
    wide, high = f"{width:.0f}", f"{height:.0f}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}">'
    return "\n".join([head, f"<title>{escape(title)}</title>", f"<style>{style}</style>", *parts, "</svg>", ""])
