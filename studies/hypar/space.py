"""The space around a plan: all choices at two levels of the tree, with those of HyPar at the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from npuc.compiler.analysis.sharding.cost.terms import Pattern
from npuc.compiler.analysis.sharding.graph.ways import Way
from npuc.compiler.core.options import Convention
from npuc.studies.hypar.networks import LETTERS, Network, gigabytes_of
from npuc.studies.hypar.settings import OURS

WAYS: tuple[Way, ...] = ("I", "II")


@dataclass(frozen=True)
class Choice:
    """The letters of all layers at the top and the bottom level, what a step moves, and whether it is HyPar's."""

    top: str
    bottom: str
    gb: float
    chosen: bool


def choices_of(network: Network, convention: Convention, devices: int) -> list[Choice]:
    """Every choice of the layers with weights at both levels, in order; there are 4 to the power of the layers."""
    planned = network.plan(OURS, convention, devices)
    terms = network.terms(convention)
    own = network.choices(planned)
    found: list[Choice] = []
    for top in product(WAYS, repeat=len(network.weighted)):
        for bottom in product(WAYS, repeat=len(network.weighted)):
            patterns = list(planned.patterns)
            for number, first, last in zip(network.weighted, top, bottom, strict=True):
                patterns[number] = between(planned.patterns[number], first, last)
            letters = "".join(LETTERS[way] for way in top), "".join(LETTERS[way] for way in bottom)
            chosen = letters == (own[0], own[-1])
            found.append(Choice(*letters, gigabytes_of(terms, patterns, devices), chosen))
    return found


def between(pattern: Pattern, first: Way, last: Way) -> Pattern:
    """A layer's ways with others at the top and the bottom level."""
    return (first, *pattern[1:-1], last)


def best_of(space: Sequence[Choice]) -> Choice:
    """The choice that moves least; of equally good ones HyPar's."""
    return min(space, key=lambda choice: (choice.gb, not choice.chosen))
