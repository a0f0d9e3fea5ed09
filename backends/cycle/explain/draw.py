"""Drawing primitives of the pictures: page sizes, boxes and text."""

from __future__ import annotations

from html import escape

WIDTH, LEFT, RIGHT = 960, 64, 24
PLOT = WIDTH - LEFT - RIGHT
LINE = 17


def coordinate(value: float) -> str:
    """A coordinate as text, with two decimals at most."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def text(x: float, y: float, words: str, kind: str = "", *, keep: bool = False) -> str:
    """Text at a position; `kind` is a class of the style, `keep` preserves spaces."""
    style = f' class="{kind}"' if kind else ""
    space = ' xml:space="preserve"' if keep else ""
    return f'<text x="{coordinate(x)}" y="{coordinate(y)}"{style}{space}>{escape(words)}</text>'


def rect(x: float, y: float, width: float, height: float, colour: str, opacity: str = "") -> str:
    """A filled box."""
    place = f'x="{coordinate(x)}" y="{coordinate(y)}" width="{coordinate(width)}" height="{coordinate(height)}"'
    return f'<rect {place} fill="{colour}"{opacity}/>'
