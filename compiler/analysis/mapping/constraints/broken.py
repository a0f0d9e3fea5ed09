"""What of their demands single mappings in cluster form do not meet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from npuc.compiler.analysis.mapping.constraints.check import meets
from npuc.compiler.analysis.mapping.constraints.limits import MapConstraints
from npuc.compiler.analysis.mapping.constraints.resolve import (
    Dimensions,
    constraints_of,
    dimensions_of,
    dimensions_of_layer,
)
from npuc.compiler.analysis.mapping.constraints.rules import DIVISORS, Atom, MapRules
from npuc.compiler.analysis.mapping.exact.arrays import cluster_arrays
from npuc.compiler.analysis.mapping.exact.contraction import Contraction, contraction_of, contraction_of_statement
from npuc.dialects.mapping import ClusterLevel, Clusters, Problem
from npuc.dialects.npu.nest import Nest


@dataclass(frozen=True)
class Constrained:
    """
    A contraction whose mappings are under constraints, with the roles of its dimensions.

    Of directives it is the layer in their terms, on whose dimensions the constraints are, too.
    """

    work: Contraction
    dims: Dimensions

    @staticmethod
    def of_nest(nest: Nest) -> Constrained:
        """A nest, by its first statement."""
        return Constrained(contraction_of_statement(nest, nest.statements[0]), dimensions_of(nest))

    @staticmethod
    def of_layer(problem: Problem) -> Constrained:
        """A layer in MAESTRO's terms."""
        return Constrained(contraction_of(problem), dimensions_of_layer(problem))


def meets_all(constraints: MapConstraints, work: Contraction, mapping: Clusters, *, divides: bool) -> bool:
    """
    Whether a mapping of a contraction meets constraints; one of fewer levels has nothing at those inside.

    One of more levels than the constraints have does not. `divides` as in `meets`.
    """
    missing = len(constraints.levels) - len(mapping.levels)
    if missing < 0:
        return False
    levels = (*mapping.levels, *[ClusterLevel(1, ())] * missing)
    tiles = cluster_arrays(work, [Clusters(levels)])
    fanouts, sizes = np.array([[level.fanout] for level in levels]), [size for _, size in work.dims]
    return bool(meets(constraints, fanouts, tiles, sizes, divides=divides)[0])


def broken(rules: MapRules, own: Constrained, mapping: Clusters, elements: int, layer: str, phase: str) -> list[str]:
    """
    The demands of rules, each with its number, that a mapping of a contraction on so many elements does not meet.

    A tile of a fixed size may be the largest divisor that is no larger, too, since the mapping does not say whether its
    search was among divisors.
    """
    dims = own.dims
    atoms = rules.atoms(layer, dims.kind, phase)
    levels = max(len(mapping.levels), *(1 + (atom.level or 0) for atom in atoms), 1)

    def fine(some: Sequence[Atom], *, divisors: bool) -> bool:
        constraints = constraints_of(some, dims, levels, elements, divisors=divisors)
        return meets_all(constraints, own.work, mapping, divides=True)

    found = [_told(group) for group in _groups(atoms, dims) if not fine(group, divisors=False)]
    if rules.divisors and not fine((), divisors=True):
        found.append(f"{DIVISORS} = true")
    if not found and not fine(atoms, divisors=rules.divisors):
        found.append(" and ".join(_told([atom]) for atom in atoms if atom.key == "order"))  # as one order
    return found


def _groups(atoms: Sequence[Atom], dims: Dimensions) -> Iterator[list[Atom]]:
    """Demands one by one, but tiles of Y and X in one rule, which of a product are one of its rows, together."""
    rows: dict[tuple[int, int | None], list[Atom]] = {}
    same = dims.places("Y") == dims.places("X")
    for atom in atoms:
        if atom.key == "tiles" and same and atom.names[0] in ("Y", "X"):
            rows.setdefault((id(atom.rule), atom.level), []).append(atom)
        else:
            yield [atom]
    yield from rows.values()


def _told(group: Sequence[Atom]) -> str:
    first = group[0]
    what = first.demanded if len(group) == 1 else f"{first.key} '{' '.join(str(atom.value) for atom in group)}'"
    level = "" if first.level is None else f" at level {first.level + 1}"
    return f"{what}{level} (rule {first.rule.place.number + 1})"
