"""The colours of a graph: what is done by a strip in the colour of its kind, its time by that of the box."""

from __future__ import annotations

from npuc.compiler.core.drawing.palette import BLUE, GREEN, PINK, RIM, VERMILION
from npuc.compiler.graph.model import WorkKind

KINDS: dict[WorkKind, str] = {
    "matrix": BLUE,
    "vector": GREEN,
    "data": PINK,
    "comm": VERMILION,
    "value": RIM,
}
NAMES: dict[WorkKind, str] = {
    "matrix": "matrix work",
    "vector": "vector work",
    "data": "movement, views, constants",
    "comm": "between devices",
    "value": "arguments and results",
}
PAPER = "#f5f6f7"
"""A box without a cost."""
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
