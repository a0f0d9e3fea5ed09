"""
The kinds of steps of a level and how often each occurs: MAESTRO's iteration cases.

Along each directive a step is at the first tile (`first`), in the middle (`steady`) or at a partial last one (`edge`);
a case is a combination of these, one for each directive.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from npuc.compiler.analysis.mapping.levels import DirectiveLevel, DirectiveTiles, tdiv

Position = Literal["first", "steady", "edge"]


@dataclass(frozen=True)
class StepState:
    """
    The position of steps along one directive, and the number of such steps.

    `whole`: the directive never moves. `edge`: the tiles are partial. `ragged`: the last active sub-cluster has less
    than the others.
    """

    position: Position
    count: int
    whole: bool = False
    edge: bool = False
    ragged: bool = False

    @property
    def moved(self) -> bool:
        """Whether this is not the first tile."""
        return self.position != "first"


Case = tuple[StepState, ...]


def states(t: DirectiveTiles, width: int, entered: int) -> tuple[StepState, ...]:
    """The states along a directive of a level that is entered with a tile of `entered` elements."""
    return _spatial(t, width, entered) if t.spatial else _temporal(t, entered)


def _temporal(t: DirectiveTiles, entered: int) -> tuple[StepState, ...]:
    steady = tdiv(entered - t.size, t.offset)
    found = [StepState("first", 1, whole=entered <= t.size, edge=entered < t.size)]
    if t.size < entered and steady > 0:
        found.append(StepState("steady", steady))
    if entered >= t.size and steady * t.offset + t.size < entered:
        found.append(StepState("edge", 1, edge=True))
    return tuple(found)


def _spatial(t: DirectiveTiles, width: int, entered: int) -> tuple[StepState, ...]:
    covered = t.size + t.offset * (width - 1)
    short = entered < covered
    found = [StepState("first", 1, whole=entered <= covered, edge=short, ragged=short)]
    steady = tdiv(tdiv(entered - t.size, t.offset) + 1, width) - 1
    if covered < entered and steady > 0:
        found.append(StepState("steady", steady))
    fold = t.offset * width
    rest = entered - (steady + 1) * fold
    if covered < entered < (steady + 1) * fold + covered and steady * fold + covered != entered:
        active = 1 if rest < t.size else tdiv(rest - t.size, t.offset) + 1
        found.append(StepState("edge", 1, edge=True, ragged=(active - 1) * t.offset + t.size < rest))
    return tuple(found)


def cases(level: DirectiveLevel, entered: dict[str, int]) -> Iterator[Case]:
    """All cases of a level in MAESTRO's order, which some of its figures depend on; the first is the first step."""
    choices = [states(t, level.width, entered[t.dim]) for t in level.tiles]
    inside = [1] * len(choices)
    for i in range(len(choices) - 2, -1, -1):
        inside[i] = inside[i + 1] * len(choices[i + 1])
    for number in range(inside[0] * len(choices[0])):
        yield tuple(options[-(-number // f) % len(options)] for options, f in zip(choices, inside, strict=True))


def occurrences(case: Case) -> int:
    """How many steps are of a case, as MAESTRO's 32-bit integer, which wraps around."""
    product = 1
    for state in case:
        product *= state.count
    return (product + (1 << 31)) % (1 << 32) - (1 << 31)
