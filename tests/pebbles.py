"""The least traffic of a tiny nest over every order of its multiplications and every choice of what to hold."""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import product

from npuc.dialects.npu.nest import Nest, Tensor

Word = tuple[str, tuple[int, ...]]


@dataclass(frozen=True)
class Game:
    """
    Multiplications over words: for each the mask of the words that it needs, for each word the mask of its users.

    `room` is what a word takes, `cost` what bringing it in costs, `again` what it costs more where it holds a partial
    sum already, `always` what every schedule pays besides. An output is paid for when it enters: it must be written
    when it leaves. One of its writes is the last, so it enters for the first time for that, later for a partial sum.
    """

    needs: tuple[int, ...]
    users: tuple[int, ...]
    room: tuple[int, ...]
    cost: tuple[int, ...]
    again: tuple[int, ...]
    always: int


def element(tensor: Tensor, point: dict[str, int]) -> tuple[int, ...] | None:
    """The element of a tensor at a point, None in the padding."""
    index = tuple(axis.offset + sum(c * point[d] for d, c in axis.terms) for axis in tensor.axes)
    inside = all(0 <= i < size for i, size in zip(index, tensor.shape, strict=True))
    return index if inside else None


def points(nest: Nest) -> Iterator[dict[str, int]]:
    for at in product(*(range(size) for _, size in nest.dims)):
        yield dict(zip(nest.sizes, at, strict=True))


def game_of(nest: Nest, widths: dict[str, int], sums: dict[str, int]) -> Game:
    words: dict[Word, int] = {}
    needs: list[int] = []
    for point in points(nest):
        for s in nest.statements:
            mask = 0
            for name in (s.out, s.lhs, s.rhs):
                index = element(nest.tensors[name], point)
                if index is not None:
                    mask |= 1 << words.setdefault((name, index), len(words))
            needs.append(mask)
    outs = {t.name for t in nest.outs}
    users = tuple(sum(1 << n for n, mask in enumerate(needs) if mask >> word & 1) for word in words.values())
    cost = tuple(widths[name] for name, _ in words)
    unused = sum(widths[t.name] * (t.elements - sum(name == t.name for name, _ in words)) for t in nest.outs)
    starts = sum(widths[s.name] * s.elements for s in nest.starts if s is not None)
    room = tuple(sums.get(name, widths[name]) for name, _ in words)
    again = tuple(2 * sums[name] - widths[name] if name in outs else 0 for name, _ in words)
    return Game(tuple(needs), users, room, cost, again, unused + starts)


def bits(mask: int) -> Iterator[int]:
    while mask:
        yield (mask & -mask).bit_length() - 1
        mask &= mask - 1


def settle(game: Game, held: int, done: int, fresh: int) -> tuple[int, int]:
    """Multiplies all that a new word allows for nothing, and drops the words that nobody needs any more."""
    for number in bits(game.users[fresh] & ~done):
        if game.needs[number] & ~held == 0:
            done |= 1 << number
    return sum(1 << word for word in bits(held) if game.users[word] & ~done), done


def price(game: Game, word: int, done: int) -> int:
    """What bringing a word in costs now."""
    return game.cost[word] + (game.again[word] if game.users[word] & done else 0)


def rooms(game: Game, held: int, word: int, memory: int) -> Iterator[int]:
    """What may stay when a word is brought in: all, or as much as leaves room."""
    if sum(game.room[w] for w in bits(held)) + game.room[word] <= memory:
        yield held
        return
    for victim in bits(held):
        yield from rooms(game, held & ~(1 << victim), word, memory)


def least_traffic(
    nest: Nest, widths: dict[str, int], memory: int, most: int = 10**6, sums: dict[str, int] | None = None
) -> int | None:
    """
    The bytes that the best schedule moves with so many bytes of memory; None after `most` states.

    Searched by A* over what is held and what is done; what is still to come in at least is the estimate. A word has
    the same width in memory and in DRAM, but for partial sums of `sums`, by result.
    """
    game = game_of(nest, widths, {t.name: widths[t.name] for t in nest.outs} if sums is None else sums)
    everything = (1 << len(game.needs)) - 1

    def ahead(held: int, done: int) -> int:
        return sum(
            price(game, word, done) for word, users in enumerate(game.users) if not held >> word & 1 and users & ~done
        )

    first: tuple[int, int] = (0, 0)
    paid: dict[tuple[int, int], int] = {first: 0}
    queue: list[tuple[int, int, tuple[int, int]]] = [(ahead(*first), 0, first)]
    while queue:
        _, spent, (held, done) = heappop(queue)
        if done == everything:
            return spent + game.always
        if spent > paid[held, done]:
            continue
        if len(paid) > most:
            return None
        for word, users in enumerate(game.users):
            if held >> word & 1 or not users & ~done:
                continue
            total = spent + price(game, word, done)
            for left in set(rooms(game, held, word, memory)):
                state = settle(game, left | 1 << word, done, word)
                if total < paid.get(state, total + 1):
                    paid[state] = total
                    heappush(queue, (total + ahead(*state), total, state))
    return None
