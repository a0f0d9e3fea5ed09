"""
Transfers that the model of a mapping does not charge: refetches inside a cluster, and the last outputs.

MAESTRO's machine has a buffer in each processing element, one shared buffer, and no other (Kwon et al., MICRO 2019,
figure 1). Its model charges a sub-cluster's tile once on the network of the shared buffer, and lets the steps inside
refetch any of it over the cluster's own network, which is as wide as the shared one. On such a machine the elements of
the cluster buffer what is refetched, with space for two tiles, or it comes from the shared buffer once more, over its
one network. The outputs of the last step leave after the time that MAESTRO counts; on a machine all outputs leave over
the network, and off chip, within the time or after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product as combinations

import numpy as np
from numpy.typing import NDArray

from npuc.compiler.analysis.mapping.exact.arrays import Floats, Ints, LevelTiles
from npuc.compiler.analysis.mapping.exact.contraction import ROLES, Contraction
from npuc.compiler.analysis.mapping.exact.rates import Rates
from npuc.compiler.analysis.mapping.exact.run import ExactRun
from npuc.compiler.analysis.mapping.exact.volumes import tile
from npuc.compiler.analysis.mapping.parity import PeArray


@dataclass(frozen=True)
class Refetch:
    """
    For each mapping, under the best choice of what the elements of a sub-cluster buffer:

    `network` is a lower bound of the cycles of all transfers, on the shared buffer's network in either direction and
    off chip for outputs; `buffered`: the sub-clusters can buffer everything that their steps refetch.
    """

    network: Floats
    buffered: NDArray[np.bool_]


@dataclass(frozen=True)
class Refetches:
    """
    What mappings refetch inside their clusters, by what the elements of a sub-cluster keep.

    `choices` are, for each set of tensors that is kept, the elements that two tiles of them take in the buffers of a
    sub-cluster, and the cycles of all transfers on the shared buffer's network; `offchip` the cycles of outputs off
    chip; `refetched` the elements that two tiles of everything that is refetched take. `elements` is the number of
    processing elements in a sub-cluster of the outermost level.
    """

    choices: tuple[tuple[Floats, Floats], ...]
    offchip: Floats
    refetched: Floats
    elements: Ints

    def with_buffers(self, l1_size: int | None) -> Refetch:
        """Under the best choice of what elements keep with a buffer of `l1_size` elements each, or of any size."""
        return self.with_capacities(np.full(len(self.elements), np.inf if l1_size is None else float(l1_size)))

    def with_capacities(self, l1_sizes: Floats) -> Refetch:
        """The same where the elements of each mapping have buffers of their own size."""
        capacity = self.elements * l1_sizes
        network = np.full(len(self.elements), np.inf)
        for need, cycles in self.choices:
            network = np.where(need <= capacity, np.minimum(network, cycles), network)
        return Refetch(np.maximum(network, self.offchip), self.refetched <= capacity)

    def least_l1(self, cycles: Floats, *, buffered: bool) -> Floats:
        """
        The smallest buffer of a processing element with which all transfers fit into so many cycles, in elements;
        with `buffered` everything that is refetched is kept, too. Infinite where no buffer is large enough.
        """
        least = np.full(len(self.elements), np.inf)
        for need, network in self.choices:
            fits = np.maximum(network, self.offchip) <= cycles
            least = np.where(fits, np.minimum(least, np.ceil(need / self.elements)), least)
        return np.maximum(least, np.ceil(self.refetched / self.elements)) if buffered else least


def refetched(
    work: Contraction,
    levels: list[LevelTiles],
    run: ExactRun,
    array: PeArray,
    elements: Ints,
    l1_size: int | None,
    sum_size: float = 1.0,
) -> Refetch:
    """
    The refetches of mappings, given by their levels and their run.

    `elements` is the number of processing elements in each sub-cluster of a mapping's outermost level, each with a
    buffer of `l1_size` elements, or of any size, where a partial sum takes `sum_size` elements.
    """
    return refetches_of(work, levels, run, Rates.of([array]), elements, sum_size).with_buffers(l1_size)


def refetches_of(
    work: Contraction,
    levels: list[LevelTiles],
    run: ExactRun,
    rates: Rates,
    elements: Ints,
    sum_size: float | Floats = 1.0,
) -> Refetches:
    """The same for buffers of any size, and machines of one speed or of one for each mapping."""
    once = {role: run.by_entry(run.steps.brought[role]) for role in ROLES}
    out_once = run.by_entry(run.steps.left) + run.final
    refetches = {role: run.streams[role] > once[role] for role in ROLES}
    refetches["O"] = refetches["O"] | (run.streams_out > out_once)
    tiles = {role: 2 * tile(work, role, levels[0].spatial) for role in ROLES}
    tiles["O"] = sum_size * tiles["O"]
    none = np.zeros(len(elements))
    choices: list[tuple[Floats, Floats]] = []
    for choice in combinations((False, True), repeat=len(ROLES)):
        kept = dict(zip(ROLES, choice, strict=True))
        need = sum((tiles[role] for role in ROLES if kept[role]), start=none)
        into = sum((once[role] if kept[role] else run.streams[role] for role in ROLES), start=none)
        out = out_once if kept["O"] else run.streams_out
        choices.append((need, np.ceil(np.maximum(into, out) / rates.noc_bw)))
    offchip = np.ceil(out_once * rates.offchip_cycles / rates.offchip_bw)
    refetch = sum((tiles[role] * refetches[role] for role in ROLES), start=none)
    return Refetches(tuple(choices), offchip, refetch, elements)
