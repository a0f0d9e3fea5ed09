"""The neighbourhood of HyPar's plan: all partition types at two levels of the tree, HyPar's own at the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from npuc.compiler.analysis.sharding.cost.cost_terms import TypeSequence
from npuc.compiler.analysis.sharding.graph.partition_types import PartitionType
from npuc.compiler.core.options import Convention
from npuc.studies.hypar.networks import LETTERS, HyparNetwork, gigabytes_of
from npuc.studies.hypar.settings import OURS

TYPES: tuple[PartitionType, ...] = ("I", "II")


@dataclass(frozen=True)
class LevelChoice:
    """The partition types of all layers at the top and the bottom level, a step's traffic, whether it is HyPar's."""

    top: str
    bottom: str
    gb: float
    chosen: bool


def choices_of(network: HyparNetwork, convention: Convention, devices: int) -> list[LevelChoice]:
    """Every choice of partition types at both levels, in order: 4^n for n layers with weights."""
    planned = network.plan(OURS, convention, devices)
    terms = network.terms(convention)
    own = network.choices(planned)
    found: list[LevelChoice] = []
    for top in product(TYPES, repeat=len(network.weighted)):
        for bottom in product(TYPES, repeat=len(network.weighted)):
            sequences = list(planned.sequences)
            for number, first, last in zip(network.weighted, top, bottom, strict=True):
                sequences[number] = between(planned.sequences[number], first, last)
            letters = "".join(LETTERS[type] for type in top), "".join(LETTERS[type] for type in bottom)
            chosen = letters == (own[0], own[-1])
            found.append(LevelChoice(*letters, gigabytes_of(terms, sequences, devices), chosen))
    return found


def between(sequence: TypeSequence, first: PartitionType, last: PartitionType) -> TypeSequence:
    """A layer's partition types with those of the top and the bottom level replaced."""
    return (first, *sequence[1:-1], last)


def best_of(space: Sequence[LevelChoice]) -> LevelChoice:
    """The choice that moves least; of equally good ones HyPar's."""
    return min(space, key=lambda choice: (choice.gb, not choice.chosen))
