"""
Small pictures as SVG, written here: matplotlib is optional, and takes half a second for the first one.

Their lines and letters have the colour of the text around them; the colours of data are those of all pictures, which
are told apart on white and on black.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import fsum, isfinite, log10

from npuc.compiler.core.display.words import cut
from npuc.compiler.core.drawing.palette import BLUE, ORANGE, SERIES

WIDTH, HEIGHT = 480, 190
LEFT, BOTTOM, TOP = 64, 24, 20
LARGEST = 1e290
"""No part of a bar is larger: sums and shares of all are finite."""
MOST_POINTS = 240
"""Points of a picture; of more, evenly spaced ones are drawn."""


def share_bar(parts: Sequence[tuple[str, float, str]], label: str) -> str:
    """A bar of parts, a name, a size and a colour each, above their names with their shares; empty without any."""
    known = [part for part in parts if 0 < part[1] < LARGEST]
    whole = fsum(size for _, size, _ in known)
    if not known:
        return ""
    at, bars, names = 0.0, "", ""
    for name, size, colour in known:
        share = size / whole * 100
        text = escape(f"{cut(name, 24)} {share:.0f}%")
        bars += f'<rect x="{at:.2f}" width="{share:.2f}" height="8" fill="{colour}"><title>{text}</title></rect>'
        names += f'<span><i style="background:{colour}"></i>{text}</span> '
        at += share
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(cut(label, 100))}" style="width:100%;max-width:{WIDTH}px;height:14px">{bars}</svg>'
        f'<p class="k">{names.rstrip()}</p>'
    )


def _frame(label: str, body: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" aria-label="{escape(cut(label, 100))}" font-size="12" fill="currentColor">{body}</svg>'
    )


Point = tuple[float, float]


def scatter(points: Sequence[Point], best: Sequence[Point], x_name: str, y_name: str) -> str:
    """Points, and the `best` of them in another colour, joined by a line; empty without any that can be drawn."""
    best, every = _thinned(best), [*_thinned(points), *_thinned(best)]
    place = _Axes(every, x_name, y_name)
    if not place.known:
        return ""
    others = "".join(place.dot(point, BLUE, 2.5) for point in _thinned(points))
    line = place.path(sorted(best), ORANGE) if len(best) > 1 else ""
    return _frame(f"{y_name} over {x_name}", place.frame() + others + line + _dots(place, best))


def _dots(place: _Axes, points: Sequence[Point]) -> str:
    return "".join(place.dot(point, ORANGE, 4) for point in points)


def curves(series: Sequence[Sequence[float]], x_name: str, y_name: str) -> str:
    """Series of values, a line each, over their numbers from 1; empty without two values to draw."""
    lines = [_thinned([(float(number), value) for number, value in enumerate(one, 1)]) for one in series[: len(SERIES)]]
    place = _Axes([point for line in lines for point in line], x_name, y_name)
    if not place.known or max(map(len, lines)) < 2:
        return ""
    drawn = "".join(place.path(line, colour) for line, colour in zip(lines, SERIES, strict=False))
    return _frame(f"{y_name} over {x_name}", place.frame() + drawn)


def _thinned(points: Sequence[Point]) -> list[Point]:
    known = [(x, y) for x, y in points if isfinite(x) and isfinite(y)]
    if len(known) <= MOST_POINTS:
        return known
    step = (len(known) - 1) / (MOST_POINTS - 1)
    return [known[round(number * step)] for number in range(MOST_POINTS)]


class _Axes:
    """Where points stand in a picture: logarithmic where amounts differ by more than a factor of 30."""

    def __init__(self, points: Sequence[Point], x_name: str, y_name: str):
        self.known = bool(points)
        self.names = x_name, y_name
        self._ranges = [_Range([point[axis] for point in points] or [0.0]) for axis in (0, 1)]

    def at(self, point: Point) -> Point:
        x, y = (one.share(value) for one, value in zip(self._ranges, point, strict=True))
        return LEFT + 8 + x * (WIDTH - LEFT - 24), HEIGHT - BOTTOM - 8 - y * (HEIGHT - BOTTOM - TOP - 16)

    def dot(self, point: Point, colour: str, radius: float) -> str:
        x, y = self.at(point)
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{colour}"/>'

    def path(self, points: Sequence[Point], colour: str) -> str:
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(self.at, points))
        return f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="1.5"/>'

    def frame(self) -> str:
        """The axes, their names, and the least and the largest value of each."""
        x, y, right, top = LEFT, HEIGHT - BOTTOM, WIDTH - 8, TOP
        line = f'<path d="M{x} {top}V{y}H{right}" fill="none" stroke="currentColor" stroke-opacity=".45"/>'
        x_name, y_name = (escape(cut(name, 40)) for name in self.names)
        low, high = (one.ends() for one in self._ranges)
        texts = (
            (x + 8, y + 15, "start", low[0]),
            (right, y + 15, "end", low[1]),
            ((x + right) // 2, y + 15, "middle", x_name),
            (x - 5, y - 3, "end", high[0]),
            (x - 5, top + 12, "end", high[1]),
            (x, top - 7, "start", y_name),
        )
        return line + "".join(f'<text x="{a}" y="{b}" text-anchor="{c}">{text}</text>' for a, b, c, text in texts)


class _Range:
    """The least and the largest of values, and where a value stands between them, from 0 to 1."""

    def __init__(self, values: Sequence[float]):
        self.low, self.high = min(values), max(values)
        self.is_log = self.low > 0 and self.high / self.low > 30

    def share(self, value: float) -> float:
        if self.high == self.low:
            return 0.5
        if self.is_log:
            return (log10(value) - log10(self.low)) / (log10(self.high) - log10(self.low))
        half = self.high / 2 - self.low / 2  # no overflow, whatever the numbers are
        return (value / 2 - self.low / 2) / half if half else 0.5

    def ends(self) -> tuple[str, str]:
        return f"{self.low:,.4g}", f"{self.high:,.4g}"
