"""Explanations as one self-contained SVG: the array's time by state, and the first tiles fold by fold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import floor, log10
from textwrap import wrap

from npuc.backends.cycle.explain.draw import LEFT, PLOT, WIDTH
from npuc.backends.cycle.explain.order import order_svg
from npuc.backends.cycle.explain.words import Explanation
from npuc.compiler.analysis.timing.timeline import Piece, State, Timeline
from npuc.compiler.core.drawing.svg import GREY, LINE, STYLE, coordinate, page, rect, text

CHART, ROW, GAP = 130, 18, 4
BUCKETS = 208
TILES = 12
FOLDS = 12
LABEL = 108
"""The most characters of a line of text beside its heading."""
COLOURS: dict[State, str] = {
    "steady": "#2f9e7d",
    "fill": "#e0912f",
    "drain": "#a779c9",
    "edge": "#c2504f",
    "stall": "#9aa0a8",
}
OTHER = "#63c2a5"
"""Every second fold."""
NAMES: dict[State, str] = {
    "steady": "streams",
    "fill": "fill",
    "drain": "drain",
    "edge": "waits for the array's edge",
    "stall": "stall (waits for DRAM)",
}
ORDER: tuple[State, ...] = ("steady", "fill", "drain", "edge", "stall")
LINES = f"{STYLE}.a{{stroke:{GREY};stroke-width:1}}.g{{stroke:{GREY};stroke-opacity:.25}}"


def to_svg(explanations: Sequence[Explanation]) -> str:
    """The picture of some operations, one below the other; axes in cycles."""
    parts: list[str] = []
    y = 16.0
    for explanation in explanations:
        drawn, y = _operation(explanation, y)
        parts += drawn
    return page(explanations[0].title.partition(":")[0], LINES, parts, WIDTH, y)


def _operation(explanation: Explanation, y: float) -> tuple[list[str], float]:
    """One operation from `y` downwards, and the end of it."""
    parts = [text(16, y + 8, explanation.title[:LABEL], "t")]
    y += 14
    line = explanation.timeline
    about = ""
    for heading, sentence in explanation.facts:
        about = heading or about
        if line is None or heading in ("time", "limit") or about in ("product", "cores"):
            for index, sentence_line in enumerate(wrap(sentence, LABEL)):
                y += LINE
                parts.append(text(16, y, f"{'' if index else heading:<10}{sentence_line}", keep=True))
    y += 1.5 * LINE
    if line is not None:
        parts += _legend(line, y)
        y += 1.2 * LINE
        parts += _chart(line, y)
        y += CHART + 3 * LINE
        for panel in (_tiles, _folds):
            rows, height = panel(line, y)
            parts += rows
            y += height
    if explanation.order is not None:
        rows, height = order_svg(explanation.order, y)
        parts += rows
        y += height
    return parts, y + LINE


def _shade(state: State) -> str:
    """Stalls are drawn fainter than work."""
    return ' fill-opacity=".35"' if state == "stall" else ""


def _legend(line: Timeline, y: float) -> Iterator[str]:
    x = float(LEFT)
    for state in ORDER:
        if state == "edge" and not line.total(state):
            continue
        yield rect(x, y - 10, 12, 12, COLOURS[state], _shade(state))
        yield text(x + 18, y, NAMES[state])
        x += 18 + 7.3 * len(NAMES[state]) + 24


def _ticks(end: float) -> list[float]:
    """Round numbers from 0 to at most `end`, four to ten of them."""
    rough = end / 6
    unit = 10 ** floor(log10(rough)) if rough > 0 else 1.0
    step = max(1.0, next((unit * f for f in (1, 2, 5) if unit * f >= rough), unit * 10))
    return [step * n for n in range(int(end / step) + 1)]


def _axis(end: float, top: float, bottom: float) -> Iterator[str]:
    """The axis of time, with faint lines over the plot."""
    for tick in _ticks(end):
        x = LEFT + PLOT * tick / end
        yield f'<path class="g" d="M{coordinate(x)} {coordinate(top)}V{coordinate(bottom)}"/>'
        yield text(x, bottom + 15, f"{tick:,.0f}", "m")
    yield f'<path class="a" d="M{LEFT} {coordinate(bottom)}H{LEFT + PLOT}"/>'
    yield text(LEFT + PLOT, bottom + 30, "cycles", "e")


def _chart(line: Timeline, y: float) -> Iterator[str]:
    """What the array does over the whole operation: shares of each state, a column a bucket."""
    width = PLOT / BUCKETS
    shares = line.buckets(BUCKETS)
    low = [0.0] * BUCKETS
    for state in ORDER:
        steps: list[str] = []
        back: list[str] = []
        for number, bucket in enumerate(shares):
            high = low[number] + bucket[state]
            left, right = coordinate(LEFT + number * width), coordinate(LEFT + (number + 1) * width)
            steps.append(f"{left} {coordinate(y + CHART * (1 - high))}L{right} {coordinate(y + CHART * (1 - high))}")
            base = coordinate(y + CHART * (1 - low[number]))
            back.append(f"{right} {base}L{left} {base}")
            low[number] = high
        path = "L".join([*steps, *reversed(back)])
        yield f'<path d="M{path}Z" fill="{COLOURS[state]}"{_shade(state)}/>'
    for share in (0, 50, 100):
        yield text(LEFT - 8, y + CHART * (1 - share / 100) + 4, f"{share} %", "e")
    yield from _axis(line.cycles(line.ticks), y, y + CHART)


def _tiles(line: Timeline, y: float) -> tuple[list[str], float]:
    """The first tile operations, a row each, on an axis of their own; and how high that is."""
    pieces = [piece for piece in line.pieces if piece.tile < TILES]
    end = max(piece.begin + piece.ticks for piece in pieces)
    count = pieces[-1].tile + 1
    parts = [text(LEFT, y, f"the first {f'{count} tile operations' if count > 1 else 'tile operation'}, fold by fold")]
    top = y + 10
    for piece in pieces:
        parts.append(_piece(piece, end, top + piece.tile * (ROW + GAP)))
    for tile in range(count):
        parts.append(text(LEFT - 8, top + tile * (ROW + GAP) + ROW - 5, f"tile {tile}", "e"))
    bottom = top + count * (ROW + GAP)
    parts += _axis(line.cycles(end), top, bottom)
    return parts, bottom + 3 * LINE - y


def _folds(line: Timeline, y: float) -> tuple[list[str], float]:
    """The first folds in one row, where they are narrow among the tile operations; and how high that is."""
    pieces = line.first_folds(FOLDS)
    if 2 * len(pieces) > len([piece for piece in line.pieces if piece.tile < TILES]):
        return [], 0.0
    end = pieces[-1].begin + pieces[-1].ticks
    parts = [text(LEFT, y, f"the first {FOLDS} folds")]
    parts += [_piece(piece, end, y + 10) for piece in pieces]
    bottom = y + 10 + ROW + GAP
    parts += _axis(line.cycles(end), y + 10, bottom)
    return parts, bottom + 3 * LINE - y


def _piece(piece: Piece, end: int, y: float) -> str:
    x, width = LEFT + PLOT * piece.begin / end, PLOT * piece.ticks / end
    colour = OTHER if piece.state == "steady" and (piece.fold or 0) % 2 else COLOURS[piece.state]
    return rect(x, y, width, ROW, colour, _shade(piece.state))
