"""
The mappings of a contraction that are worth keeping while the machine is open: the best of each niche.

A niche is a choice of clusters with buffers of about a size (within 9 %). Of each the fastest and the thriftiest
mappings are kept, so that whatever machine is looked at next, good mappings for it are known, and parents of better
ones (Mouret and Clune, "Illuminating search spaces by mapping elites", arXiv 1504.04909, 2015).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from npuc.compiler.analysis.mapping.constraints.check import has_work
from npuc.compiler.analysis.mapping.constraints.limits import MapConstraints
from npuc.compiler.analysis.mapping.exact.arrays import Ints
from npuc.compiler.explore.design.costs import Needs
from npuc.compiler.explore.mapping.candidates import Candidates, join
from npuc.compiler.explore.mapping.genomes import Genomes, hashes_of

FINE = 8
"""Niches of buffers an octave."""


@dataclass(frozen=True)
class Elites:
    """
    Mappings with the genomes that express them and their needs.

    With `reshaped` any machine of as many elements runs them: its array takes the shape of each mapping. `constraints`
    are those that the mappings meet on their own clusters; of larger ones, too, a share may have to work.
    """

    genomes: Genomes
    candidates: Candidates
    needs: Needs
    reshaped: bool = False
    constraints: MapConstraints | None = None

    def __len__(self) -> int:
        return len(self.genomes)

    def at(self, rows: Ints) -> Elites:
        """These mappings."""
        return replace(
            self, genomes=self.genomes.at(rows), candidates=self.candidates.at(rows), needs=self.needs.at(rows)
        )

    def joined(self, others: Elites) -> Elites:
        """These, then the others."""
        return replace(
            self,
            genomes=self.genomes.joined(others.genomes),
            candidates=join((self.candidates, others.candidates)),
            needs=self.needs.joined(others.needs),
        )

    def within(self, fanouts: tuple[int, ...]) -> NDArray[np.bool_]:
        """Whether each runs on a machine with clusters of so many sub-clusters at each level."""
        own, machine = self.candidates.fanouts, np.array(fanouts)[:, None]
        fits: NDArray[np.bool_]
        if self.reshaped:
            fits, machine = own.prod(axis=0) <= prod(fanouts), own
        else:
            fits = np.all(own <= machine, axis=0)
        if self.constraints is None or not self.constraints.needs_work:
            return fits
        demanded = replace(self.constraints, elements=prod(fanouts))
        return fits & has_work(demanded, np.broadcast_to(machine, own.shape), self.candidates.levels)


@dataclass
class Archive:
    """The elites of a contraction; None before any mapping could run."""

    elites: Elites | None = None
    evaluations: int = field(default=0)

    def add(self, found: Elites) -> None:
        """Consider mappings that were evaluated for this contraction."""
        self.evaluations += len(found)
        self.learn(found)

    def learn(self, found: Elites) -> None:
        """Consider mappings."""
        fine = found.at(np.flatnonzero(np.isfinite(found.needs.l1) & np.isfinite(found.needs.l2)))
        if not len(fine):
            return
        both = fine if self.elites is None else self.elites.joined(fine)
        self.elites = both.at(_best_of_niches(both))


def _best_of_niches(elites: Elites) -> Ints:
    """The fastest and the thriftiest of each niche; of equal ones the earlier."""
    needs = elites.needs
    sizes = [np.round(FINE * np.log2(np.maximum(size, 1.0))) for size in (needs.l1, needs.l2)]
    niches = hashes_of([elites.candidates.fanouts, *(size[None] for size in sizes)])
    kept: list[Ints] = []
    for first, second in ((needs.cycles, needs.energy), (needs.energy, needs.cycles)):
        order = np.lexsort((needs.l2, needs.l1, second, first, niches))
        sorted_niches = niches[order]
        starts = np.flatnonzero(np.concatenate([[True], sorted_niches[1:] != sorted_niches[:-1]]))
        kept.append(order[starts])
    return np.unique(np.concatenate(kept))
