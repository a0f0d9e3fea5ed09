"""
Labels that are never needed: whatever the neighbours take, another label of the node costs no more.

    unary_i[a] - unary_i[b]  +  sum over neighbours j of min over x of (pairs_ij[a, x] - pairs_ij[b, x])  >=  0

says that b may stand wherever a does. Without a, labels of the neighbours may be dominated in their turn. What is left
has the same least cost. Source: Goldstein, "Efficient rotamer elimination applied to protein side-chains and related
spin glasses", Biophysical Journal 66 (1994).
"""

from __future__ import annotations

from collections import deque

import numpy as np

from npuc.compiler.analysis.solvers.choices.graph import Choices, Table

MOST_WORK = 1 << 28
"""So many differences of costs are looked at at most: labels that are left then are kept."""


def undominated(choices: Choices) -> list[list[int]]:
    """
    Labels of each node, at least one, among which there is a choice that costs least.

    All of them where costs are not whole numbers of 64 bits. Of labels that cost the same the smallest is kept.
    """
    kept = [list(range(size)) for size in choices.sizes]
    if choices.dtype != np.int64:
        return kept
    work = MOST_WORK
    waiting = deque(range(len(kept)))
    known = set(waiting)
    while waiting and work > 0:
        node = waiting.popleft()
        known.discard(node)
        own = kept[node]
        if len(own) == 1:
            continue
        work -= len(own) ** 2 * sum(len(kept[other]) for other in choices.neighbours[node])
        left = _undominated(_gains(choices, node, kept))
        if len(left) < len(own):
            kept[node] = [own[n] for n in left]
            new = [other for other in choices.neighbours[node] if other not in known]
            waiting.extend(new)
            known.update(new)
    return kept


def _gains(choices: Choices, node: int, kept: list[list[int]]) -> Table:
    """What the first of two labels of a node costs more than the second at least, whatever its neighbours take."""
    own = choices.unary[node][kept[node]]
    gains: Table = own[:, None] - own[None, :]
    for other in choices.neighbours[node]:
        table = choices.facing(node, other)[np.ix_(kept[node], kept[other])]
        gains = gains + (table[:, None, :] - table[None, :, :]).min(axis=2)
    return gains


def _undominated(gains: Table) -> list[int]:
    """The labels that no other that is left may stand for, from the last on."""
    left = list(range(len(gains)))
    for label in reversed(range(len(gains))):
        if any(gains[label, other] >= 0 for other in left if other != label):
            left.remove(label)
    return left
