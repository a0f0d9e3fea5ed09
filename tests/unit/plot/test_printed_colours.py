"""Colours, hatches, dashes and marks that readers of any colour vision, and of black and white, tell apart."""

from collections.abc import Sequence
from itertools import combinations, pairwise

import pytest

from npuc.compiler.core.drawing.palette import HATCHES, PHASES, PRINTED_DASHES, PRINTED_MARKS, SERIES

DEUTERANOPIA = ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881))
PROTANOPIA = ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998))
"""Linear RGB as seen: Machado, Oliveira and Fernandes, 2009, "A Physiologically-based Model for Simulation of Color
Vision Deficiency", severity 1.0."""
NORMAL = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
XYZ = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
"""Linear sRGB as CIE XYZ under D65: IEC 61966-2-1."""
WHITE = (0.9505, 1.0, 1.089)
Vector = Sequence[float]


def linear(colour: str) -> list[float]:
    """A colour in linear RGB: IEC 61966-2-1."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def times(matrix: Sequence[Vector], vector: Vector) -> list[float]:
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def lab(colour: str, seen: Sequence[Vector] = NORMAL) -> list[float]:
    """CIE L*a*b* of a colour as seen: CIE 15:2004."""
    rgb = [min(max(part, 0.0), 1.0) for part in times(seen, linear(colour))]
    x, y, z = (
        t ** (1 / 3) if (t := value / white) > (6 / 29) ** 3 else t / (3 * (6 / 29) ** 2) + 4 / 29
        for value, white in zip(times(XYZ, rgb), WHITE, strict=True)
    )
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)]


def contrast(one: str, other: str) -> float:
    """The contrast of two colours in grey: WCAG 2.1, "contrast ratio"."""
    low, high = sorted(times(XYZ, linear(colour))[1] for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("seen", [NORMAL, DEUTERANOPIA, PROTANOPIA])
def test_colours_differ_for_any_colour_vision(seen: Sequence[Vector]) -> None:
    for one, other in combinations(SERIES, 2):
        distance = sum((a - b) ** 2 for a, b in zip(lab(one, seen), lab(other, seen), strict=True)) ** 0.5
        assert distance > 15, (one, other, distance)  # 2.3 is just noticeable


def test_areas_differ_in_black_and_white() -> None:
    for (one, hatch), (other, beside) in combinations(zip(SERIES, HATCHES, strict=True), 2):
        assert hatch != beside or contrast(one, other) > 2, (one, other)


def test_phases_that_touch_differ_in_grey_or_by_hatch() -> None:
    hatches: dict[str, str | None] = dict(zip(SERIES, HATCHES, strict=True))
    for one, other in pairwise(PHASES.values()):
        assert hatches[one] != hatches[other]


def test_lines_differ_without_colours() -> None:
    looks = [(repr(PRINTED_DASHES[n % len(PRINTED_DASHES)]), PRINTED_MARKS[n]) for n in range(len(SERIES))]
    assert len({mark for _, mark in looks}) == len({*looks}) == len(SERIES)
    for (dash, _), (other, _) in pairwise(looks):
        assert dash != other
