"""The colours of a graph: boxes are as light on a dark page, so that their dark text can be read on both."""

from __future__ import annotations

from npuc.compiler.graph.model import WorkKind

KINDS: dict[WorkKind, str] = {
    "matrix": "#2f6fc4",
    "vector": "#2f9e7d",
    "data": "#a779c9",
    "comm": "#c2504f",
    "value": "#9aa0a8",
}
NAMES: dict[WorkKind, str] = {
    "matrix": "matrix work",
    "vector": "vector work",
    "data": "movement, views, constants",
    "comm": "between devices",
    "value": "arguments and results",
}
INK, QUIET, PAPER, RIM = "#1d2127", "#2b3038", "#f5f6f7", "#9aa0a8"
"""Text, less important text, a box without a cost, its border."""
HEAT = ((0xF5, 0xF6, 0xF7), (0xFD, 0xE4, 0xA3), (0xF6, 0xA8, 0x6B), (0xEC, 0x78, 0x66))
"""From no share of the time to the largest."""


def heat(share: float | None, peak: float | None) -> str:
    """The colour of a share of the time, on a scale that ends with the largest."""
    if share is None or not peak:
        return PAPER
    place = max(0.0, min(1.0, share / peak)) * (len(HEAT) - 1)
    low = min(int(place), len(HEAT) - 2)
    parts = [round(a + (b - a) * (place - low)) for a, b in zip(HEAT[low], HEAT[low + 1], strict=True)]
    return "#" + "".join(f"{part:02x}" for part in parts)
