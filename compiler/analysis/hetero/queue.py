"""
Many products on the units of a machine: the longest first to the unit that ends earliest, the last ones split.

    plan = queue_plan(machine, products)
    plan.seconds, plan.whole, plan.split

Of products in the order of their least times the first ones run side by side, a unit's one after the other; then the
rest, each split over all units. How many are not split is what takes the least time. That includes none, and no split
is slower than a unit, so that no plan is longer than the best unit with all products. Units that run side by side share
the bandwidth: it is dealt evenly to those that still have bytes to move, from event to event.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from npuc.compiler.analysis.hetero.product import SparseProduct
from npuc.compiler.analysis.hetero.tiles import TILES, TileSplit, UnitShare, best_split, one_share
from npuc.compiler.analysis.hetero.unit import SparseUnit, UnitMachine, takers


@dataclass(frozen=True)
class QueuePlan:
    """Products that single units have, by unit in their order, those that are split after them, and the time of all."""

    whole: tuple[tuple[SparseUnit, tuple[SparseProduct, ...]], ...]
    split: tuple[TileSplit, ...]
    seconds: float
    joules: float


def queue_plan(machine: UnitMachine, products: Sequence[SparseProduct], tiles: int = TILES) -> QueuePlan:
    """The plan of the least time. Raises `UsageError` for a product that no unit takes."""
    splits = [best_split(machine, product, tiles=tiles) for product in products]
    order = sorted(range(len(products)), key=lambda one: -splits[one].seconds)
    plans = [
        _plan(machine, [products[one] for one in order[:count]], [splits[one] for one in order[count:]])
        for count in range(len(products) + 1)
    ]
    return min(plans, key=lambda plan: (plan.seconds, plan.joules))


def _plan(machine: UnitMachine, whole: Sequence[SparseProduct], split: Sequence[TileSplit]) -> QueuePlan:
    """The first ones to the unit that ends earliest with them, the others split."""
    dealt: dict[SparseUnit, list[SparseProduct]] = {}
    ends = dict.fromkeys(machine.units, 0.0)
    for product in whole:
        shares = [one_share(machine, unit, product, None, product.m) for unit in takers(machine.units, product)]
        best = min(shares, key=lambda share: ends[share.unit] + _seconds(machine, share))
        ends[best.unit] += _seconds(machine, best)
        dealt.setdefault(best.unit, []).append(product)
    return _made(machine, dealt, split)


def _made(machine: UnitMachine, dealt: dict[SparseUnit, list[SparseProduct]], split: Sequence[TileSplit]) -> QueuePlan:
    queues = [
        [one_share(machine, unit, product, None, product.m) for product in products] for unit, products in dealt.items()
    ]
    beside = side_by_side(machine, queues)
    joules = sum(share.joules for queue in queues for share in queue) + machine.idle_w * beside
    return QueuePlan(
        tuple((unit, tuple(products)) for unit, products in dealt.items()),
        tuple(split),
        beside + sum(one.seconds for one in split),
        joules + sum(one.joules for one in split),
    )


def _seconds(machine: UnitMachine, share: UnitShare) -> float:
    return max(share.cycles / machine.hertz, share.dram_bytes / machine.bytes_per_second)


def side_by_side(machine: UnitMachine, queues: Sequence[Sequence[UnitShare]]) -> float:
    """When the last of several queues ends, each of a unit of its own."""
    return max((end for ends in ends_side_by_side(machine, queues) for end in ends), default=0.0)


def ends_side_by_side(machine: UnitMachine, queues: Sequence[Sequence[UnitShare]]) -> list[list[float]]:
    """
    When each share of several queues ends, each queue of a unit of its own.

    A share ends when it has computed and moved all; the bandwidth is dealt evenly to the units that have to move.
    """
    ends: list[list[float]] = [[] for _ in queues]
    both = zip(queues, ends, strict=True)
    running: list[_Left] = [_Left(list(reversed(queue)), machine, own) for queue, own in both if queue]
    now = 0.0
    while running:
        moving = sum(one.moved > 0 for one in running)
        rate = machine.bytes_per_second / max(1, moving)
        step = min(one.next_event(rate) for one in running)
        now += step
        for one in running:
            one.pass_time(step, rate)
        running = [one for one in running if one.goes_on(now)]
    return ends


class _Left:
    """What a unit has left of its share at work, seconds of computing and bytes, and when those before it ended."""

    def __init__(self, queue: list[UnitShare], machine: UnitMachine, ends: list[float]):
        self._queue, self._machine, self._ends = queue, machine, ends
        self._begin()

    def _begin(self) -> None:
        share = self._queue.pop()
        self.computing, self.moved = share.cycles / self._machine.hertz, share.dram_bytes

    def next_event(self, rate: float) -> float:
        """The time until it has computed or moved all."""
        return min(one for one in (self.computing, self.moved / rate) if one > 0)

    def pass_time(self, seconds: float, rate: float) -> None:
        """Compute and move for a time; what is left of rounding is done, too."""
        computing, moved = self.computing - seconds, self.moved - seconds * rate
        self.computing = computing if computing > 1e-9 * seconds else 0.0
        self.moved = moved if moved > 1e-9 * seconds * rate else 0.0

    def goes_on(self, now: float) -> bool:
        """Whether anything is left, after the next share has begun where one is done."""
        while self.computing == 0 and self.moved == 0:
            self._ends.append(now)
            if not self._queue:
                return False
            self._begin()
        return True
