"""
Plans for other objectives than movement: the shortest step, and the least memory.

    time      seconds of work and messages (`times`), in whatever order of levels: the levels of a network differ
    memory    bytes that a device keeps from the forward to the backward pass (`room`); of equal plans the one that
              moves least

The patterns of a node are, for time, all sequences of its ways where these are few, else those with one change of way.
What a plan keeps is a sum over nodes, so that the least of each node is the least of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np

from npuc.compiler.analysis.choices.minimise import minimise
from npuc.compiler.analysis.parallel.flows import Flows
from npuc.compiler.analysis.parallel.nodes import Network
from npuc.compiler.analysis.parallel.plan_search import (
    choose_within,
    chosen,
    graph_of,
    labels_of,
    pattern,
    ways_of,
)
from npuc.compiler.analysis.parallel.room import Room, bytes_by_label, kept_tensors
from npuc.compiler.analysis.parallel.terms import Pattern, Sizes, Term, physical_terms
from npuc.compiler.analysis.parallel.times import Times, message_seconds, time_graph, work_seconds
from npuc.compiler.analysis.parallel.ways import Way
from npuc.compiler.options import Strategy

MOST_SEQUENCES = 81
"""With more sequences of a node's ways than these, only those with one change of way are searched."""


@dataclass(frozen=True)
class Best:
    """Patterns, what they cost (seconds, or bytes), and what no plan of the searched patterns goes below."""

    patterns: tuple[Pattern, ...]
    cost: float
    bound: float


def sequences(ways: Sequence[Way], levels: int) -> list[Pattern]:
    """All sequences of ways where these are few, else those of one way and those of one above another."""
    if len(ways) ** levels <= MOST_SEQUENCES:
        return [tuple(sequence) for sequence in product(ways, repeat=levels)]
    twos = [
        pattern(upper, above) + pattern(lower, levels - above)
        for upper, lower in permutations(ways, 2)
        for above in range(1, levels)
    ]
    return [pattern(way, levels) for way in ways] + twos


def patterns_for_time(network: Network, strategy: Strategy, levels: int) -> list[list[Pattern]]:
    """The patterns of each node that a search for the shortest step chooses from."""
    return [sequences(ways_of(node, strategy), levels) for node in network.nodes]


def fastest(
    network: Network,
    flows: Flows,
    strategy: Strategy,
    sizes: Sizes,
    times: Times,
    room: Room | None = None,
    *,
    exact: bool = False,
) -> Best:
    """
    The plan of the shortest step; with `room` of those that keep within the memory of a device.

    Raises `CapacityError` where parameters alone take more, or where the network has no place for the devices.
    """
    labels, terms = patterns_for_time(network, strategy, len(sizes)), physical_terms(flows)
    graph = time_graph(network.program, terms, labels, times, sizes)
    if room is None:
        found = minimise(graph, solve_exactly=exact)
    else:
        found = choose_within(network, flows, labels, graph, sizes, room, exact=exact)
    patterns = chosen(labels, found.choice)
    messages = message_seconds(network.program, terms, patterns, times, sizes)
    return Best(patterns, work_seconds(times, patterns) + float(messages), float(found.bound) + times.rest)


def smallest(
    network: Network,
    flows: Flows,
    terms: Sequence[Term],
    strategy: Strategy,
    sizes: Sizes,
    room: Room,
    *,
    exact: bool = False,
) -> Best:
    """The plan that keeps least in a device's memory, and of these moves least by `terms`."""
    labels = labels_of(network.nodes, strategy, sizes)
    fixed, kept = bytes_by_label(kept_tensors(network, flows, room), labels, sizes)
    left = [[own[n] for n in np.flatnonzero(table == table.min())] for own, table in zip(labels, kept, strict=True)]
    found = minimise(graph_of(terms, left, sizes), solve_exactly=exact)
    least = float(fixed + sum(int(table.min()) for table in kept))
    return Best(chosen(left, found.choice), least, least)
