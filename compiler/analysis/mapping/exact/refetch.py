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
    capacity = np.full(len(elements), np.inf) if l1_size is None else elements * float(l1_size)
    once = {role: run.by_entry(run.steps.brought[role]) for role in ROLES}
    out_once = run.by_entry(run.steps.left) + run.final
    refetches = {role: run.streams[role] > once[role] for role in ROLES}
    refetches["O"] = refetches["O"] | (run.streams_out > out_once)
    tiles = {role: 2 * tile(work, role, levels[0].spatial) for role in ROLES}
    tiles["O"] = sum_size * tiles["O"]
    offchip = np.ceil(out_once * array.offchip_cycles / array.offchip_bw)
    network = np.full(len(capacity), np.inf)
    for choice in combinations((False, True), repeat=len(ROLES)):
        kept = dict(zip(ROLES, choice, strict=True))
        need = sum((tiles[role] for role in ROLES if kept[role]), start=np.zeros(len(capacity)))
        into = sum((once[role] if kept[role] else run.streams[role] for role in ROLES), start=np.zeros(len(capacity)))
        out = out_once if kept["O"] else run.streams_out
        cycles = np.ceil(np.maximum(into, out) / array.noc_bw)
        network = np.where(need <= capacity, np.minimum(network, cycles), network)
    buffered = sum((tiles[role] * refetches[role] for role in ROLES), start=np.zeros(len(capacity))) <= capacity
    return Refetch(np.maximum(network, offchip), buffered)
