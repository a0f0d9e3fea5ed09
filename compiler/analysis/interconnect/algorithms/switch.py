"""The algorithms on a non-blocking switch: halving and doubling in log2 p steps, pairwise exchange in p - 1."""

from __future__ import annotations

from collections.abc import Sequence

from npuc.compiler.analysis.interconnect.algorithm import Algorithm, TransferCost
from npuc.compiler.analysis.interconnect.topology import CommunicationGroup


class Switch(Algorithm):
    """Halving and doubling, or pairwise exchange: each device sends to one other at a time."""

    kinds = ("switch",)

    def scatter(self, group: CommunicationGroup) -> TransferCost:
        return TransferCost((group.size - 1).bit_length())

    def exchange(self, group: CommunicationGroup) -> TransferCost:
        return TransferCost(group.size - 1)

    def message(self, group: CommunicationGroup, pairs: Sequence[tuple[int, int]]) -> TransferCost:
        return TransferCost(1)


ALGORITHM = Switch()
