"""The algorithm of two devices on a link: one exchange, or one message."""

from __future__ import annotations

from collections.abc import Sequence

from npuc.compiler.analysis.interconnect.algorithm import Algorithm, TransferCost
from npuc.compiler.analysis.interconnect.topology import CommunicationGroup


class PairExchange(Algorithm):
    """An exchange between two devices, which both send at once."""

    kinds = ("pair",)

    def scatter(self, group: CommunicationGroup) -> TransferCost:
        return TransferCost(1)

    def exchange(self, group: CommunicationGroup) -> TransferCost:
        return TransferCost(1)

    def message(self, group: CommunicationGroup, pairs: Sequence[tuple[int, int]]) -> TransferCost:
        return TransferCost(1)


ALGORITHM = PairExchange()
