"""An explanation as text: facts, traffic as a table, and the array's time in block characters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from npuc.backends.cycle.explain.explanation import Explanation, Table
from npuc.backends.cycle.explain.order import order_text
from npuc.compiler.analysis.timing.states import Piece, State, Timeline
from npuc.compiler.report.text.grid import wrapped

HEADING = 10
HEIGHT = 5
BLOCKS = " ▁▂▃▄▅▆▇█"
MARKS: dict[State, str] = {"fill": "/", "steady": "█", "drain": "\\", "edge": "=", "stall": "·"}
OTHER = "▓"
"""Every second fold."""
LEGEND = "█▓ streams, folds in turn   / fill   \\ drain   · stall"
EDGE = "   = waits for the array's edge"
TILES = 8
FOLDS = 8
NARROWEST = 40


def to_text(explanation: Explanation, width: int) -> str:
    """The explanation as lines of at most `width` characters (40 at least)."""
    return "\n".join(line.rstrip() for line in _lines(explanation, max(width, NARROWEST))) + "\n"


def _lines(explanation: Explanation, width: int) -> Iterator[str]:
    yield from wrapped(explanation.title, width)
    yield ""
    facts = list(explanation.facts)
    split = next((n for n, fact in enumerate(facts) if fact[0] in ("time", "taken")), len(facts))
    yield from _facts(facts[:split], width)
    if len(explanation.tensors) > 1:
        if split:
            yield ""
        yield from _table(explanation.tensors, width)
        yield ""
    if explanation.loops:
        yield from (f" {line}" for line in explanation.loops)
        yield ""
    yield from _facts(facts[split:], width)
    if explanation.order is not None and explanation.order.shown:
        yield ""
        yield from order_text(explanation.order, width)
    if explanation.timeline is not None:
        yield ""
        yield from _chart(explanation.timeline, width)
        yield ""
        yield from _tiles(explanation.timeline, width)


def _facts(facts: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    for heading, sentence in facts:
        for number, line in enumerate(wrapped(sentence, width - HEADING)):
            yield f"{'' if number else heading:<{HEADING}}{line}"


def _table(table: Table, width: int) -> Iterator[str]:
    """Aligned columns, names to the left and numbers to the right; those without room are left out, which is said."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    while len(widths) > 3 and sum(widths) + 3 * len(widths) > width:
        widths.pop()
    missing = table[0][len(widths) :]
    for row in table:
        first, *rest = row[: len(widths)]
        yield f" {first:<{widths[0]}}" + "".join(f"   {c:>{w}}" for c, w in zip(rest, widths[1:], strict=True))
    if missing:
        yield from wrapped(f"no room in {width} columns for {', '.join(missing)}", width)


def _chart(line: Timeline, width: int) -> Iterator[str]:
    """The share of the time in which the array streams, a column a bucket."""
    columns = width - 6
    shares = [bucket["steady"] for bucket in line.buckets(columns)]
    size = line.cycles(line.ticks) / columns
    yield from wrapped(f"share of the time in which the array streams (a column is {size:,.1f} cycles)", width)
    for level in range(HEIGHT - 1, -1, -1):
        label = "100%" if level == HEIGHT - 1 else "0%" if level == 0 else ""
        cells = "".join(BLOCKS[min(8, max(0, round(8 * (share * HEIGHT - level))))] for share in shares)
        yield f"{label:>4} │{cells}"
    yield _axis("     └", columns, line.cycles(line.ticks))


def _axis(left: str, columns: int, cycles: float) -> str:
    """The axis: 0 on the left, the cycles at its end on the right."""
    text = f" {cycles:,.0f} cycles"
    if columns < len(text) + 2:
        return text.strip().rjust(len(left) + columns)
    return f"{left}0 {'─' * max(0, columns - 2 - len(text))}{text}"


def _tiles(line: Timeline, width: int) -> Iterator[str]:
    """The first tile operations, a line each, on one axis."""
    pieces = [piece for piece in line.pieces if piece.tile < TILES]
    tiles = [[p for p in pieces if p.tile == number] for number in range(pieces[-1].tile + 1)]
    end = pieces[-1].begin + pieces[-1].ticks
    head = ("tile", "stall", "folds", "until")
    rows: list[tuple[str, ...]] = [head]
    for number, tile in enumerate(tiles):
        stall = sum(p.ticks for p in tile if p.state == "stall")
        folds = len({p.fold for p in tile if p.fold is not None})
        until = tile[-1].begin + tile[-1].ticks
        rows.append((str(number), f"{stall // line.per_cycle:,}", f"{folds:,}", f"{until // line.per_cycle:,}"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    columns = max(8, width - sum(widths) - 2 * len(widths) - 1)
    size = line.cycles(end) / columns
    yield from wrapped(f"the first tile operations fold by fold (a character is {size:,.1f} cycles)", width)
    for cells, tile in zip(rows, [[], *tiles], strict=True):
        text = "".join(f"{cell:>{w}}  " for cell, w in zip(cells, widths, strict=True))
        yield f" {text}{_strip(tile, end, columns)}"
    yield _axis(" " * (width - columns), columns, line.cycles(end))
    near = line.first_folds(FOLDS)
    if 2 * len(near) <= len(pieces):
        end = near[-1].begin + near[-1].ticks
        yield ""
        yield from wrapped(
            f"the first {FOLDS} folds (a character is {line.cycles(end) / (width - 1):,.1f} cycles)", width
        )
        yield f" {_strip(near, end, width - 1)}"
        yield _axis(" ", width - 1, line.cycles(end))
    yield from wrapped(LEGEND + (EDGE if line.total("edge") else ""), width)


def _strip(pieces: Sequence[Piece], end: int, columns: int) -> str:
    """The predominant state of each character, blank where the pieces cover less than half of it."""
    shares: list[dict[str, float]] = [{} for _ in range(columns)]
    size = end / columns
    # Folds that are narrower than a character cannot be told apart.
    wide = all(piece.ticks >= size for piece in pieces if piece.state == "steady")
    for piece in pieces:
        mark = OTHER if wide and piece.state == "steady" and (piece.fold or 0) % 2 else MARKS[piece.state]
        low, high = piece.begin / size, (piece.begin + piece.ticks) / size
        for cell in range(int(low), min(int(high), columns - 1) + 1):
            part = min(high, cell + 1) - max(low, cell)
            shares[cell][mark] = shares[cell].get(mark, 0.0) + part
    return "".join(max(cell, key=lambda m: cell[m]) if sum(cell.values()) >= 0.5 else " " for cell in shares)
