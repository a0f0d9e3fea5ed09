"""
Cost terms as a graph of choices: what each costs by the labels of its layer groups, added up.

Networks repeat themselves: terms that are alike have one array between them, and so have their sums. The graph of an
unrolled recurrence then takes as much memory as that of one of its steps.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

from npuc.compiler.analysis.sharding.cost.cost_terms import CostTerm, TypeSequence
from npuc.compiler.analysis.solvers.choices.graph import Choices, SharedSums, Table

Labels = tuple[tuple[TypeSequence, ...], ...]
"""The type sequences that each layer group of a term chooses from."""


def graph_of_terms(
    terms: Iterable[CostTerm],
    labels: Sequence[Sequence[TypeSequence]],
    alone: Sequence[Table],
    alike: Callable[[CostTerm], Hashable],
    cost: Callable[[CostTerm, Labels], Table],
    add: Callable[[Table, Table], Table],
) -> Choices:
    """
    The costs of terms of one or two layer groups beside what labels cost `alone`, added in the order of the terms.

    `cost` is asked once for all terms of equal labels that are `alike`, by what it depends on.
    """
    known: dict[Hashable, Table] = {}
    kinds: dict[tuple[TypeSequence, ...], int] = {}
    own = [tuple(some) for some in labels]
    numbers = [kinds.setdefault(some, len(kinds)) for some in own]
    total = SharedSums(add)
    unary = list(alone)
    pairs: dict[tuple[int, int], Table] = {}
    for term in terms:
        groups = term.groups
        if not 1 <= len(groups) <= 2:
            continue
        key = alike(term), *(numbers[group] for group in groups)
        if key not in known:
            known[key] = cost(term, tuple(own[group] for group in groups))
        if len(groups) == 1:
            unary[groups[0]] = total(unary[groups[0]], known[key])
        else:
            pair = groups[0], groups[1]
            pairs[pair] = total(pairs[pair], known[key]) if pair in pairs else known[key]
    return Choices([len(some) for some in own], unary, pairs)
