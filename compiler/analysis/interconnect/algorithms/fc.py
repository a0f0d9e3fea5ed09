"""The direct algorithm, on fully connected devices: each sends to all others in one step."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from npuc.compiler.analysis.interconnect.algorithm import Algorithm, TransferCost
from npuc.compiler.analysis.interconnect.topology import CommunicationGroup


class FullyConnected(Algorithm):
    """Direct exchange. A group uses the links within it only, which have a part of a device's bandwidth."""

    kinds = ("fc",)

    def scatter(self, group: CommunicationGroup) -> TransferCost:
        return TransferCost(1, Fraction(group.level.size - 1, group.size - 1))

    def exchange(self, group: CommunicationGroup) -> TransferCost:
        return self.scatter(group)

    def message(self, group: CommunicationGroup, pairs: Sequence[tuple[int, int]]) -> TransferCost:
        return TransferCost(1, Fraction(group.level.size - 1))


ALGORITHM = FullyConnected()
