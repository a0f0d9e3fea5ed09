"""The time of one layer in each step of the method, by the costs of any preset."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from npuc.compiler.analysis.programs.published_order import PublishedChoice, published_choice
from npuc.studies.igo.products import Size

ORDERS: tuple[PublishedChoice, ...] = ("in turn", "dX-major", "dW-major")
"""The programs of the paper beside the sequential one."""
PARTS = (2, 4, 8)
"""The parts that partitions over time are tried with."""
NEAR = Fraction(1002, 1000)
"""Partitions are not tried where the best order is within this factor of the lower bound."""


@dataclass(frozen=True)
class LayerPartition:
    """A partition: a dimension and its number of parts, which run one after another on one core, else one per core."""

    dim: str
    parts: int


class LayerCosts(Protocol):
    """The costs of a layer's programs in cycles."""

    @property
    def cut_orders(self) -> Sequence[PublishedChoice]:
        """The orders that partitions are tried with."""
        ...

    def forward(self, size: Size) -> Fraction:
        """The forward product."""
        ...

    def weights(self, size: Size) -> Fraction:
        """dW of a layer that has no dX."""
        ...

    def sequential(self, size: Size) -> Fraction:
        """dX, then dW."""
        ...

    def together(self, size: Size, order: PublishedChoice, cut: LayerPartition | None = None) -> Fraction:
        """Both gradients together, cut if asked for; without a cut several cores each have their rows of X."""
        ...

    def floor(self, size: Size) -> Fraction:
        """A lower bound for both gradients."""
        ...

    def cuts(self, size: Size) -> Iterator[LayerPartition]:
        """The partitions to choose from."""
        ...


@dataclass(frozen=True)
class LayerTimes:
    """
    The times of a layer in cycles: of its forward product, and of its gradients one after the other and in each step.

    The published rule takes the order in `rearrangement`, the clock in the steps after it.
    """

    forward: Fraction
    sequential: Fraction
    interleaving: Fraction
    rearrangement: Fraction
    best_of_three: Fraction
    data_partitioning: Fraction

    def step(self, name: str) -> Fraction:
        """The time of forward and backward with a step of the method, or of the `sequential` program."""
        times = {
            "sequential": self.sequential,
            "interleaving": self.interleaving,
            "rearrangement": self.rearrangement,
            "best_of_three": self.best_of_three,
            "data_partitioning": self.data_partitioning,
            "guarded": min(self.sequential, self.data_partitioning),
        }
        return self.forward + times[name]


def layer_times(costs: LayerCosts, size: Size, has_dx: bool) -> LayerTimes:
    """The times of a layer; the first of a network has no dX, so that no step changes it."""
    forward = costs.forward(size)
    if not has_dx:
        alone = costs.weights(size)
        return LayerTimes(forward, alone, alone, alone, alone, alone)
    orders = {order: costs.together(size, order) for order in ORDERS}
    best = min(orders.values())
    worth = best > costs.floor(size) * NEAR
    return LayerTimes(
        forward,
        costs.sequential(size),
        orders["in turn"],
        orders[published_choice(size.m, size.n, size.k)],
        best,
        min([best, *scheme_times(costs, size).values()]) if worth else best,
    )


def scheme_times(costs: LayerCosts, size: Size) -> dict[str, Fraction]:
    """The time of both gradients cut along each dimension, with the best number of parts and order."""
    found: dict[str, Fraction] = {}
    for cut in costs.cuts(size):
        time = min(costs.together(size, order, cut) for order in costs.cut_orders)
        found[cut.dim] = min(time, found.get(cut.dim, time))
    return found
