"""
The mapper `exhaustive`: all mappings of a space, one of each set that differs only in loops with a single step.

For each choice of clusters and of spread dimensions the dimensions are independent but for the order of loops: how a
dimension is cut through the levels is a *chain*, with a flag for each level whether its loop has several steps. Chains
with equal flags have the same orders, so that mappings are numbered: an order times a chain of each dimension. A
dimension counts as spread only where several sub-clusters get some of it. Of several spread dimensions a level, widths
that do not all get something lead to a mapping more than once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations, product
from math import factorial, prod

import numpy as np

from npuc.compiler.analysis.mapping.constraints.check import is_working
from npuc.compiler.analysis.mapping.exact.arrays import Floats, Ints, level_tiles
from npuc.compiler.explore.mapping.candidates import Candidates, join, working
from npuc.compiler.explore.mapping.mapper import Algorithm, MapRequest, Refusal
from npuc.compiler.explore.mapping.space import MapSpace, Spread

Flags = tuple[bool, ...]
Chain = tuple[tuple[int, int], ...]
"""Of each level the temporal and the spatial tile of a dimension."""
_Loops = int | tuple[int, ...]
"""How many loops of a level have several steps, or of which dimensions they are."""
COUNTED = 10**9
"""The count at which spaces of many levels, or several spread dimensions per level, stop: counting takes long."""


@lru_cache(maxsize=65536)
def chains(space: MapSpace, at: int, widths: tuple[int, ...]) -> dict[Flags, tuple[Chain, ...]]:
    """All chains of a dimension that is spread over so many sub-clusters at each level (1: not spread), by flags."""
    _, size = space.dims[at]
    found: dict[Flags, list[Chain]] = defaultdict(list)

    def extend(given: int, flags: Flags, chain: Chain) -> None:
        if len(chain) == len(widths):
            found[flags].append(chain)
            return
        width = widths[len(chain)]
        for tile in space.tiles(len(chain), at, given):
            if width == 1 or tile < given:
                step = min(tile * width, given)
                extend(tile, (*flags, step < given), (*chain, (step, tile)))

    extend(size, (), ())
    return {flags: tuple(same) for flags, same in found.items()}


def _spreads(space: MapSpace) -> Iterator[tuple[tuple[int, ...], tuple[Spread, ...]]]:
    """All choices of clusters, with what each level spreads."""
    for fanouts in space.fanouts:
        for spreads in product(*map(space.spreads, range(space.levels), fanouts)):
            yield fanouts, spreads


def _widths(spreads: tuple[Spread, ...], at: int) -> tuple[int, ...]:
    return tuple(dict(spread).get(at, 1) for spread in spreads)


def count_mappings(space: MapSpace, most: int | None = None) -> int:
    """How many mappings the space has, without listing them; counting ends where there are more than `most`."""
    total = 0

    def count_orders(level: int, loops: _Loops) -> int:
        if isinstance(loops, int):
            return factorial(loops)
        moving = tuple(at in loops for at in range(len(space.dims)))
        return len(_orders(moving, space.level(level).before))

    for fanouts, spreads in _spreads(space):
        if most is not None and total > most:
            break
        ways = _ways(space, fanouts, spreads)
        total += sum(number * prod(map(count_orders, range(space.levels), loops)) for loops, number in ways.items())
    return total


def _ways(space: MapSpace, fanouts: tuple[int, ...], spreads: tuple[Spread, ...]) -> Counter[tuple[_Loops, ...]]:
    """
    The number of ways to cut the dimensions, by the loops with several steps at each level: how many, or which they are
    where orders are constrained.
    """
    constraints = space.constraints
    works = constraints is not None and constraints.needs_work
    none = tuple(() if space.level(level).before else 0 for level in range(space.levels))
    ways: Counter[tuple[tuple[_Loops, ...], tuple[int, ...]]] = Counter({(none, (1,) * space.levels): 1})
    for at in range(len(space.dims)):
        own: Counter[tuple[Flags, tuple[int, ...]]] = Counter()
        for flags, same in chains(space, at, _widths(spreads, at)).items():
            for chain in same if works else same[:1]:
                parts = tuple(-(-step // tile) for step, tile in chain) if works else (1,) * space.levels
                own[flags, parts] += 1 if works else len(same)
        more: Counter[tuple[tuple[_Loops, ...], tuple[int, ...]]] = Counter()
        for (loops, done), number in ways.items():
            for (flags, parts), count in own.items():
                new = tuple(map(_with_loop, loops, flags, (at,) * space.levels))
                more[new, tuple(n * p for n, p in zip(done, parts, strict=True))] += number * count
        ways = more
    found: Counter[tuple[_Loops, ...]] = Counter()
    for (loops, parts), number in ways.items():
        if constraints is None or is_working(constraints, fanouts, parts):
            found[loops] += number
    return found


def _with_loop(loops: _Loops, moves: bool, at: int) -> _Loops:
    if not moves:
        return loops
    return loops + 1 if isinstance(loops, int) else (*loops, at)


@dataclass(frozen=True)
class OrderBlock:
    """Mappings with the same clusters and flags: every order of each level with every chain of each dimension."""

    fanouts: tuple[int, ...]
    orders: tuple[tuple[tuple[int, ...], ...], ...]
    chains: tuple[tuple[Chain, ...], ...]

    @staticmethod
    def of(
        space: MapSpace,
        fanouts: tuple[int, ...],
        moving: Sequence[Sequence[bool]],
        chains: Sequence[tuple[Chain, ...]],
    ) -> OrderBlock:
        """Of each level which dimensions have several steps, of each dimension its chains."""
        orders = tuple(_orders(tuple(one), space.level(level).before) for level, one in enumerate(moving))
        return OrderBlock(fanouts, orders, tuple(chains))

    @property
    def count(self) -> int:
        """How many there are."""
        return prod(map(len, self.orders)) * prod(map(len, self.chains))

    def part(self, start: int, end: int) -> Candidates:
        """The mappings with these numbers."""
        numbers = np.arange(start, end)
        picked: list[Ints] = []
        for size in [*map(len, self.orders), *map(len, self.chains)]:
            picked.append(numbers % size)
            numbers = numbers // size
        depth = len(self.orders)
        tiles = np.stack([np.array(c, float)[p] for c, p in zip(self.chains, picked[depth:], strict=True)])
        levels = tuple(
            level_tiles(tiles[:, :, level, 0], tiles[:, :, level, 1], np.array(self.orders[level])[picked[level]].T)
            for level in range(depth)
        )
        return Candidates(np.repeat(np.array(self.fanouts)[:, None], end - start, axis=1), levels)


def _blocks(space: MapSpace) -> Iterator[OrderBlock]:
    places = range(len(space.dims))
    for fanouts, spreads in _spreads(space):
        own = [chains(space, at, _widths(spreads, at)) for at in places]
        for flags in product(*own):
            moving = [[flags[at][level] for at in places] for level in range(space.levels)]
            yield OrderBlock.of(space, fanouts, moving, [own[at][flags[at]] for at in places])


@lru_cache(maxsize=4096)
def _orders(moving: tuple[bool, ...], before: tuple[tuple[int, int], ...]) -> tuple[tuple[int, ...], ...]:
    """The orders of the loops with several steps, the others inside them, that have the first of pairs outside."""
    still = tuple(at for at, moves in enumerate(moving) if not moves)
    pairs = [(a, b) for a, b in before if moving[a] and moving[b]]
    found = permutations(at for at, moves in enumerate(moving) if moves)
    return tuple((*some, *still) for some in found if all(some.index(a) < some.index(b) for a, b in pairs))


class ExhaustiveMapper:
    """Every mapping of a space, once."""

    def __init__(self, space: MapSpace):
        self._space = space
        self._blocks = _blocks(space)
        self._block: OrderBlock | None = None
        self._next = 0

    def propose(self, most: int) -> Candidates | None:
        """The next candidates, None after the last."""
        parts: list[Candidates] = []
        left = most
        while left:
            if self._block is None or self._next == self._block.count:
                self._block, self._next = next(self._blocks, None), 0
                if self._block is None:
                    break
            start = self._next
            self._next = min(start + left, self._block.count)
            part = working(self._space, self._block.part(start, self._next))
            if len(part):
                parts.append(part)
            left -= len(part)
        return join(parts) if parts else None

    def tell(self, costs: Floats) -> None:
        """Costs change nothing here."""


class Exhaustive(Algorithm):
    """Every mapping of the space, each once; the space may not be larger than the budget."""

    def mapper(self, request: MapRequest) -> ExhaustiveMapper:
        return ExhaustiveMapper(request.space)

    def refusal(self, request: MapRequest) -> Refusal | None:
        space, budget = request.space, request.budget
        quick = space.levels <= 2 and space.parallel == 1
        most = None if quick else max(COUNTED, budget)
        count = count_mappings(space, most)
        if count <= budget:
            return None
        shown = f"{count:,}" if most is None or count <= most else f"more than {most:,}"
        return Refusal(
            f"has {shown} mappings, more than the budget of {budget:,}",
            "--mapper exact, a larger --budget, fewer --levels, or --only smaller layers",
        )


MAPPER = Exhaustive()
