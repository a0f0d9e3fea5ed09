"""
What the model of a mapping leaves free: what the steps inside a cluster bring again, and what leaves last.

MAESTRO's machine has a buffer in each processing element and one that all share, and no other (Kwon et al., MICRO 2019,
figure 1). Its model has a tile of a sub-cluster come once, through the network of the shared buffer, and lets the steps
inside bring any of it again and again through the cluster's own network, each as wide as the shared one. On such a
machine what is brought again is kept by the elements of the cluster, in room for two tiles, or comes from the shared
buffer once more, through its one network. The outputs of the last step leave after the time that MAESTRO counts; on a
machine all outputs leave through the network, and off chip, within the time or after it.
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
class Again:
    """
    Of each mapping, for the best choice of what the elements of a sub-cluster keep:

    `network` are the cycles that the transfers take at least, all there are of the shared buffer's network in either
    direction and off chip of what leaves; `held`: the sub-clusters keep all that their steps bring again.
    """

    network: Floats
    held: NDArray[np.bool_]


def brought_again(
    work: Contraction, levels: list[LevelTiles], run: ExactRun, array: PeArray, elements: Ints, l1_size: int | None
) -> Again:
    """
    What mappings, given by their levels and how these run, bring again.

    `elements` are how many of a mapping's processing elements each sub-cluster of its outermost level has, each with a
    buffer of `l1_size` elements, or of any size.
    """
    room = np.full(len(elements), np.inf) if l1_size is None else elements * float(l1_size)
    once = {role: run.by_entry(run.steps.brought[role]) for role in ROLES}
    out_once = run.by_entry(run.steps.left) + run.final
    again = {role: run.streams[role] > once[role] for role in ROLES}
    again["O"] = again["O"] | (run.streams_out > out_once)
    tiles = {role: 2 * tile(work, role, levels[0].spatial) for role in ROLES}
    offchip = np.ceil(out_once * array.offchip_cycles / array.offchip_bw)
    network = np.full(len(room), np.inf)
    for choice in combinations((False, True), repeat=len(ROLES)):
        kept = dict(zip(ROLES, choice, strict=True))
        need = sum((tiles[role] for role in ROLES if kept[role]), start=np.zeros(len(room)))
        into = sum((once[role] if kept[role] else run.streams[role] for role in ROLES), start=np.zeros(len(room)))
        out = out_once if kept["O"] else run.streams_out
        cycles = np.ceil(np.maximum(into, out) / array.noc_bw)
        network = np.where(need <= room, np.minimum(network, cycles), network)
    held = sum((tiles[role] * again[role] for role in ROLES), start=np.zeros(len(room))) <= room
    return Again(np.maximum(network, offchip), held)
