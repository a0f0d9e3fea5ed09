"""
Labels that are never needed: whatever the neighbours take, another label of the node costs no more.

    unary_i[a] - unary_i[b]  +  sum over neighbours j of min over x of (pairs_ij[a, x] - pairs_ij[b, x])  >=  0

says that b may stand wherever a does. Without a, labels of the neighbours may be dominated in their turn. What is left
has the same least cost. Source: Goldstein, "Efficient rotamer elimination applied to protein side-chains and related
spin glasses", Biophysical Journal 66 (1994).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence

import numpy as np

from npuc.compiler.analysis.solvers.choices.graph import Choices, Table, has_inf, largest_sum, memory_of

MOST_WORK = 1 << 28
"""So many differences of costs are looked at at most: labels that are left then are kept."""
MOST_TERMS = 1 << 20
MOST_KNOWN = 1 << 22
"""So many differences of costs are kept at once for pairs that share an array."""
ROUNDING = 2.0**-30
"""
How much two sums of the same costs may be off together, as a part of the sum of their amounts: each of fewer than
`MOST_TERMS` floats by that many times 2^-53, and as much again for their differences.
"""


def undominated(choices: Choices) -> list[list[int]]:
    """
    Labels of each node, at least one, among which there is a choice that costs least.

    All of them where costs are not whole numbers of 64 bits. Of labels that cost the same the smallest is kept.
    """
    kept = [list(range(size)) for size in choices.sizes]
    if choices.dtype != np.int64:
        return kept
    _drop_by_pairs(choices, kept, MOST_WORK, _undominated)
    return kept


def in_least(choices: Choices, most_work: int = MOST_WORK) -> list[list[int]]:
    """
    Labels of each node, at least one, among which all choices are that cost least, or are off it by rounding alone.

    The others are strictly dominated: whatever the neighbours take, another label costs less, of floats by more than
    any two sums of the costs may be off. All labels where costs are neither floats nor whole numbers of 64 bits, or
    where some are inf, since then all choices may cost that; and those that are left when so many differences of costs
    have been looked at.
    """
    kept = [list(range(size)) for size in choices.sizes]
    tables = [*choices.unary, *choices.pairs.values()]
    if choices.dtype == np.object_ or len(tables) >= MOST_TERMS or has_inf(tables):
        return kept
    slack = 0.0 if choices.dtype == np.int64 else largest_sum(tables) * ROUNDING
    _drop_by_ranges(choices, kept, slack)
    _drop_by_pairs(choices, kept, most_work, lambda gains: np.flatnonzero(gains.max(axis=1) <= slack).tolist())
    return kept


def _drop_by_ranges(choices: Choices, kept: list[list[int]], slack: float) -> None:
    """Leave out labels whose least cost with any neighbours is above the most of another one."""
    changed = True
    while changed:
        least = [table[labels] for table, labels in zip(choices.unary, kept, strict=True)]
        most = list(least)
        known: dict[Hashable, list[tuple[Table, Table]]] = {}
        for (i, j), whole in choices.pairs.items():
            key = memory_of(whole), tuple(kept[i]), tuple(kept[j])
            if key not in known:
                table = whole[np.ix_(kept[i], kept[j])]
                known[key] = [(table.min(axis=axis), table.max(axis=axis)) for axis in (1, 0)]
            for node, (low, high) in zip((i, j), known[key], strict=True):
                least[node] = least[node] + low
                most[node] = most[node] + high
        changed = False
        for node, labels in enumerate(kept):
            gains = (least[node] - most[node].min()).tolist()
            left = [label for label, gain in zip(labels, gains, strict=True) if gain <= slack]
            changed |= len(left) < len(labels)
            kept[node] = left


def _drop_by_pairs(
    choices: Choices, kept: list[list[int]], work: int, left_of: Callable[[Table], Sequence[int]]
) -> None:
    """Leave out labels by what each costs more than another with each label of each neighbour; `left_of` are places."""
    shared: dict[Hashable, Table] = {}
    waiting = deque(range(len(kept)))
    known = set(waiting)
    while waiting and work > 0:
        node = waiting.popleft()
        known.discard(node)
        own = kept[node]
        if len(own) == 1:
            continue
        work -= len(own) ** 2 * sum(len(kept[other]) for other in choices.neighbours[node])
        left = left_of(_gains(choices, node, kept, shared))
        if len(left) < len(own):
            kept[node] = [own[n] for n in left]
            new = [other for other in choices.neighbours[node] if other not in known]
            waiting.extend(new)
            known.update(new)


def _gains(choices: Choices, node: int, kept: list[list[int]], known: dict[Hashable, Table]) -> Table:
    """
    What the first of two labels of a node costs more than the second at least, whatever its neighbours take.

    What pairs add is `known` of those that share an array and have equal labels left.
    """
    own = choices.unary[node][kept[node]]
    gains: Table = own[:, None] - own[None, :]
    for other in choices.neighbours[node]:
        whole = choices.facing(node, other)
        key = memory_of(whole), tuple(kept[node]), tuple(kept[other])
        if key not in known:
            if len(known) * gains.size > MOST_KNOWN:
                known.clear()
            table = whole[np.ix_(kept[node], kept[other])]
            known[key] = (table[:, None, :] - table[None, :, :]).min(axis=2)
        gains = gains + known[key]
    return gains


def _undominated(gains: Table) -> list[int]:
    """The labels that no other that is left may stand for, from the last on."""
    left = list(range(len(gains)))
    for label in reversed(range(len(gains))):
        if any(gains[label, other] >= 0 for other in left if other != label):
            left.remove(label)
    return left
