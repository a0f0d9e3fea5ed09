"""
The layers of a plan as lines of its table: in long networks equal ones share a line.

`encoder.0.attention.q`, `encoder.1.attention.q`, … fold into `encoder.0-11.attention.q`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from npuc.compiler.report.layers import MOST_LINES
from npuc.compiler.report.numbered import name_of_all, template
from npuc.compiler.report.plan import PlanLayer, PlanPart

PlanRows = Literal["folded", "all"]
"""What the table shows: layers that read alike in a long network as one, or every layer."""


@dataclass(frozen=True)
class PlanLine:
    """One line: a layer, or several that differ in the numbers of their names alone, or all others (`rest`)."""

    layers: tuple[PlanLayer, ...]
    rest: bool = False

    @property
    def name(self) -> str:
        """The name that stands for all of them."""
        if self.rest:
            return f"({len(self.layers):,} others)"
        name = name_of_all([layer.layer for layer in self.layers])
        return name if len(self.layers) == 1 else f"{name} x{len(self.layers):,}"

    @property
    def elements(self) -> Fraction:
        """Their total movement."""
        return sum((Fraction(layer.total.elements) for layer in self.layers), start=Fraction(0))


def plan_lines(
    layers: Sequence[PlanLayer], key: Callable[[PlanLayer], Hashable], rows: PlanRows = "folded"
) -> list[PlanLine]:
    """
    The lines of a plan's layers; where these are many, those of one name but for numbers, and of one `key`, are one.

    Where there are too many lines even so, those that move most are kept in their order, and one for the rest.
    """
    if rows == "all" or len(layers) <= MOST_LINES:
        return [PlanLine((layer,)) for layer in layers]
    groups: dict[Hashable, list[PlanLayer]] = {}
    for layer in layers:
        groups.setdefault((template(layer.layer), key(layer)), []).append(layer)
    lines = [PlanLine(tuple(group)) for group in groups.values()]
    if len(lines) <= MOST_LINES:
        return lines
    most = sorted(range(len(lines)), key=lambda n: (-lines[n].elements, n))[: MOST_LINES - 1]
    kept = set(most)
    rest = tuple(layer for n, line in enumerate(lines) if n not in kept for layer in line.layers)
    return [lines[n] for n in sorted(kept)] + [PlanLine(rest, rest=True)]


def largest_part(layer: PlanLayer) -> PlanPart | None:
    """The largest source of a layer's movement."""
    return max(layer.parts, key=lambda part: Fraction(part.total.elements), default=None)
