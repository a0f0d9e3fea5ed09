"""Whether values move where edges read them, found once for many plans."""

from collections.abc import Hashable
from dataclasses import replace
from functools import cached_property

from npuc.compiler.analysis.sharding.cost.cost_terms import EdgeRate, TypeSequence, rate_of
from npuc.compiler.analysis.sharding.cost.resharding import Layout, reshard_steps
from npuc.compiler.analysis.sharding.graph.edges import PlanEdges


class EdgeMoves:
    """What is known of the edges of a network: edges of equal rates are alike."""

    def __init__(self, edges: PlanEdges):
        self.edges = edges
        self._known: dict[Hashable, bool] = {}

    def moves(
        self, edge: int, producer: TypeSequence, consumer: TypeSequence, source: Layout, addends: tuple[int, ...]
    ) -> bool:
        """Whether what is in a layout, with sums deferred at some levels, moves to where it is read."""
        number, rate = self._rates[edge]
        key = number, producer, consumer, source, addends
        if key not in self._known:
            reshard = rate.reshard(producer, consumer)
            partial = tuple(h for h in reshard.partial_value if h not in addends)
            self._known[key] = bool(reshard_steps(replace(reshard, source=source, partial_value=partial)))
        return self._known[key]

    @cached_property
    def _rates(self) -> list[tuple[int, EdgeRate]]:
        """The rate of each edge, and its number, equal for equal ones."""
        known: dict[EdgeRate, int] = {}
        return [(known.setdefault(rate, len(known)), rate) for rate in map(rate_of, self.edges.reads)]
