"""The cost of one layer in each step of the method, by the costs of any preset."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from npuc.compiler.analysis.programs.published_order import PublishedChoice, published_choice
from npuc.studies.igo.cost import Cost, fastest
from npuc.studies.igo.products import Size

ORDERS: tuple[PublishedChoice, ...] = ("in turn", "dX-major", "dW-major")
"""The programs of the paper beside the sequential one."""
PARTS = (2, 4, 8)
"""The numbers of parts of partitions over time."""
NEAR = Fraction(1002, 1000)
"""Partitions are not tried where the best order is within this factor of the lower bound."""


@dataclass(frozen=True)
class LayerPartition:
    """A partition: a dimension and its number of parts, which run one after another on one core, else one per core."""

    dim: str
    parts: int


class LayerCosts(Protocol):
    """The costs of a layer's programs."""

    @property
    def cut_orders(self) -> Sequence[PublishedChoice]:
        """The orders that are combined with partitions."""
        ...

    def forward(self, size: Size) -> Cost:
        """The forward product."""
        ...

    def weights(self, size: Size) -> Cost:
        """dW of a layer that has no dX."""
        ...

    def sequential(self, size: Size) -> Cost:
        """dX, then dW."""
        ...

    def together(self, size: Size, order: PublishedChoice, cut: LayerPartition | None = None) -> Cost:
        """Both gradients together, cut if asked for; without a cut several cores each have their rows of X."""
        ...

    def floor(self, size: Size) -> Fraction:
        """A lower bound for the cycles of both gradients."""
        ...

    def cuts(self, size: Size) -> Iterator[LayerPartition]:
        """The partitions to choose from."""
        ...


@dataclass(frozen=True)
class LayerSteps:
    """
    The costs of a layer: of its forward product, and of its gradients one after the other and in each step.

    The published rule takes the order in `rearrangement`, the clock in the steps after it.
    """

    forward: Cost
    sequential: Cost
    interleaving: Cost
    rearrangement: Cost
    best_of_three: Cost
    data_partitioning: Cost

    def gradients(self, name: str) -> Cost:
        """The cost of the gradients with a step of the method, or of the `sequential` program."""
        costs = {
            "sequential": self.sequential,
            "interleaving": self.interleaving,
            "rearrangement": self.rearrangement,
            "best_of_three": self.best_of_three,
            "data_partitioning": self.data_partitioning,
            "guarded": fastest([self.sequential, self.data_partitioning]),
        }
        return costs[name]

    def step(self, name: str) -> Cost:
        """The cost of forward and backward with a step of the method, or of the `sequential` program."""
        return self.forward + self.gradients(name)


def layer_steps(costs: LayerCosts, size: Size, has_dx: bool) -> LayerSteps:
    """The costs of a layer; the first of a network has no dX, so that no step changes it."""
    forward = costs.forward(size)
    if not has_dx:
        alone = costs.weights(size)
        return LayerSteps(forward, alone, alone, alone, alone, alone)
    orders = {order: costs.together(size, order) for order in ORDERS}
    best = fastest(orders.values())
    worth = best.time > costs.floor(size) * NEAR
    return LayerSteps(
        forward,
        costs.sequential(size),
        orders["in turn"],
        orders[published_choice(size.m, size.n, size.k)],
        best,
        fastest([best, *scheme_costs(costs, size).values()]) if worth else best,
    )


def scheme_costs(costs: LayerCosts, size: Size) -> dict[str, Cost]:
    """The cost of both gradients cut along each dimension, with the best number of parts and order."""
    found: dict[str, Cost] = {}
    for cut in costs.cuts(size):
        own = fastest(costs.together(size, order, cut) for order in costs.cut_orders)
        found[cut.dim] = fastest([own, found.get(cut.dim, own)])
    return found
