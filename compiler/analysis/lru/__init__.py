"""
One pool of tiles in SPM under least recently used replacement: an exact walk, tile operation by tile operation.

The rules, which are those of the published prototype that `study igo` reproduces:

- A tile operation is one statement on one tile. It touches its operands, then its sum; an operand that several
  statements of the walks use comes before one that only this one uses, so that it is the first to leave.
- A tile that is not in the pool is brought: while the pool and it exceed the capacity, the least recently touched tile
  leaves that is not of this operation. Operands leave for free. A sum that is not finished is written when it leaves,
  and read back when it is touched again; its first visit reads nothing, or its start.
- A sum whose last operation is done is written and leaves at once.
- The pool outlives a walk: `sequential` runs one after another, `zipped` one tile of each in turn (the longer ones end
  alone), all over the same pool, which is empty at first. `sequential` by twos runs two in turn, then the next two.
- A sum takes the bits of a partial sum in the pool and whenever it is written and read back; what is finished is
  written with those of the result.
- All bits of an operation (write-backs, reads, a finished sum) count as the load that it waits for, in the recurrence
  of `analysis/timing/double_buffer.py`, which does not drain between walks.

Walks may add to one sum, of plain dimensions and in the same tiles; it is finished by the last of them. Where tiles of
a sum overlap (a gradient under windows), those that share elements with a tile that comes are written first, and it
reads what earlier ones left. The walk takes two to four microseconds a tile operation: `Walk.operations` says how many
there are. The time excludes what an array pays once an operation of the program (`Array.op_overhead`). Groups of folds
wait for the array's edge as they do without a pool (`analysis/machine/edge.py`): each walk that runs alone is a
sequence of its own, those that run in turn are one. Arrays that keep tiles by another rule (`Array.skips_reloads`) are
priced as if they did not.
"""

from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import groupby, islice
from operator import itemgetter
from typing import Literal

from npuc.compiler.analysis.lru.folds import Folds, with_waits
from npuc.compiler.analysis.lru.loops import Split, Walk
from npuc.compiler.analysis.lru.tiles import Operation, PoolTiles
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.blocks import touched
from npuc.compiler.analysis.nest.elements import BYTE, whole_bytes
from npuc.compiler.analysis.nest.traffic import TensorTraffic
from npuc.compiler.core.errors import CapacityError

__all__ = ["Mode", "Pooled", "Split", "Walk", "Walked", "walk_pool"]

Mode = Literal["sequential", "zipped"]


@dataclass(frozen=True)
class Walked:
    """
    One walk over the pool: elements of each of its tensors read and written, by name; tile operations; the array's
    cycles; bits moved, of them `head` before the first operation starts; the most bits in the pool while it runs; and
    `end`, the time in cycles from the start of the first walk until this one is done.
    """

    tensors: tuple[tuple[str, TensorTraffic], ...]
    operations: int
    compute: int
    moved: int
    head: int
    peak: int
    end: Fraction


@dataclass(frozen=True)
class Pooled:
    """What walks over one pool cost: each of them, and `time` in cycles until all are done."""

    walks: tuple[Walked, ...]
    time: Fraction

    @property
    def peak(self) -> int:
        """The most bits that the pool holds."""
        return max(walk.peak for walk in self.walks)

    @property
    def compute(self) -> int:
        """The array's cycles."""
        return sum(walk.compute for walk in self.walks)

    @property
    def operations(self) -> int:
        """The tile operations."""
        return sum(walk.operations for walk in self.walks)


@lru_cache(maxsize=4096)
def walk_pool(walks: tuple[Walk, ...], machine: Machine, mode: Mode = "sequential", by: int = 1) -> Pooled:
    """
    The cost of walks that share the SPM of a machine, empty at first; `sequential` runs `by` of them at a time in turn.

    The SPM is both the pool's capacity and the room for loads on their way. Raises `CapacityError` where
    the tiles of one operation do not fit the pool.
    """
    return _Pool(walks, machine).run(len(walks) if mode == "zipped" else by)


@dataclass
class _Count:
    """What a walk has done so far; `read` are bits by the number of the tensor, `end` ticks."""

    read: list[int]
    operations: int = 0
    compute: int = 0
    moved: int = 0
    head: int = -1
    peak: int = 0
    end: int = 0


class _Pool:
    """The pool, its counters and the clock, in ticks of 1/p cycle (p: the numerator of the bits per cycle)."""

    def __init__(self, walks: tuple[Walk, ...], machine: Machine):
        self.walks, self.machine = walks, machine
        self.tiles = PoolTiles(walks, machine.array)
        self.sizes, self.prior, self.visits = self.tiles.sizes, self.tiles.prior, self.tiles.visits
        self.counts = [_Count([0] * len(self.tiles.values)) for _ in walks]
        self.spilled = [0] * len(self.tiles.values)
        self.finished = [0] * len(self.tiles.values)
        """Of each sum the bits that are written before they are finished, and the elements that are finished."""
        self.widths = [value.width for value in self.tiles.values.values()]
        self.outputs = frozenset(v.number for v in self.tiles.values.values() if v.output)
        self.overlaps = self.tiles.overlaps
        self.begun: set[int] = set()
        self.held: OrderedDict[int, None] = OrderedDict()
        self.used = 0
        # The clock: ends of the last load and computation, and operations whose end may still hold a load back, as
        # (bits, end), `coming` their bits.
        self.load = self.comp = self.coming = 0
        self.pending: deque[tuple[int, int]] = deque()

    def run(self, by: int) -> Pooled:
        """Do all walks, so many at a time."""
        turns = [(n, len(w.nest.statements), self.tiles.operations(n)) for n, w in enumerate(self.walks)]
        for first in range(0, len(turns), by):
            now = turns[first : first + by]
            if self.machine.array.most_shift:
                for number, operations in groupby(self._waiting(range(first, first + len(now))), key=itemgetter(0)):
                    self._advance(number, (operation for _, operation in operations))
                continue
            if len(now) == 1:
                self._advance(now[0][0], now[0][2])
                continue
            while now:
                now = [turn for turn in now if self._advance(turn[0], islice(turn[2], turn[1]))]
        return self._result()

    def _waiting(self, numbers: Sequence[int]) -> Iterator[tuple[int, Operation]]:
        """The operations of walks in turn, each with what it waits for the array's edge beside its cycles."""
        array, alone = self.machine.array, len(numbers) == 1
        left = [(n, self.tiles.operations(n), self.tiles.folds(n, alone=alone)) for n in numbers]

        def in_turn() -> Iterator[tuple[tuple[int, Operation], Folds]]:
            turns = left
            while turns:
                others: list[tuple[int, Iterator[Operation], Iterator[Folds]]] = []
                for turn in turns:
                    number, operations, folds = turn
                    size = len(self.walks[number].nest.statements)
                    some = list(islice(zip(operations, folds, strict=True), size))
                    yield from (((number, operation), own) for operation, own in some)
                    others += [turn] if some else []
                turns = others

        for (number, (*tiles, cycles)), waited in with_waits(in_turn(), array):
            first, second, start, out = tiles
            yield number, (first, second, start, out, cycles + waited)

    def _advance(self, number: int, operations: Iterator[Operation]) -> bool:
        """Run operations of a walk; whether there were any."""
        held, visits, pending, count = self.held, self.visits, self.pending, self.counts[number]
        rate, room = BYTE * self.machine.bytes_per_cycle, self.machine.spm_bits
        per_cycle, per_bit = rate.numerator, rate.denominator
        load, comp, coming = self.load, self.comp, self.coming
        done = compute = total = 0
        count.peak = max(count.peak, self.used)
        for first, second, start, out, cycles in operations:
            need = (first, second, out)
            if start >= 0 and out not in self.begun:
                self.begun.add(out)
                need = (first, second, start, out)
            moved = 0
            for tile in need:
                if tile in held:
                    held.move_to_end(tile)
                else:
                    moved += self._bring(tile, need, count)
            visits[out] -= 1
            if not visits[out]:
                moved += self._finish(out)
            done += 1
            compute += cycles
            if count.head < 0:
                count.head = moved
            if moved:
                total += moved
                coming += moved
                wait = 0
                while coming > room and pending:
                    size, wait = pending.popleft()
                    coming -= size
                load = max(load, comp if coming > room else wait) + moved * per_bit
                if load > comp:
                    comp = load
                comp += cycles * per_cycle
                pending.append((moved, comp))
            else:
                comp = max(comp, load) + cycles * per_cycle
        self.load, self.comp, self.coming = load, comp, coming
        count.operations, count.compute = count.operations + done, count.compute + compute
        count.moved, count.end = count.moved + total, comp if done else count.end
        return done > 0

    def _bring(self, tile: int, need: tuple[int, ...], count: _Count) -> int:
        """Bring a tile into the pool; the bits that move."""
        size, value, moved = self.sizes[tile], self.tiles.value_of[tile], 0
        if value in self.overlaps:
            for other in self.tiles.overlapping(tile):
                if other in self.held:
                    moved += self._leave(other)
        while self.used + size > self.machine.spm_bits:
            for victim in self.held:
                if victim not in need:
                    break
            else:
                needed = whole_bytes(sum(self.sizes[t] for t in set(need)))
                raise CapacityError(
                    f"the tiles of one operation take {needed:,} bytes of SPM, the pool has {self.machine.spm_bytes:,}",
                    hint="smaller steps, or a larger memory.spm_kib",
                )
            moved += self._leave(victim)
        self.held[tile] = None
        self.used += size
        count.peak = max(count.peak, self.used)
        # Of a sum, what its first visit finds in DRAM; from then on all of it.
        found, self.prior[tile] = self.prior[tile], size
        count.read[value] += found
        return moved + found

    def _leave(self, tile: int) -> int:
        """Take a tile out of the pool; the bits that are written: those of a sum that is not finished."""
        del self.held[tile]
        size, value = self.sizes[tile], self.tiles.value_of[tile]
        self.used -= size
        if value not in self.outputs:
            return 0
        self.spilled[value] += size
        return size

    def _finish(self, tile: int) -> int:
        """Take a sum out of the pool whose last operation is done; the bits that are written."""
        self._leave(tile)
        value, ended = self.tiles.value_of[tile], self.tiles.finished[tile]
        self.finished[value] += ended
        self.spilled[value] -= ended * self.widths[value]
        return self.tiles.done[tile]

    def _result(self) -> Pooled:
        rate, walked, compute, moved = BYTE * self.machine.bytes_per_cycle, list[Walked](), 0, 0
        billed: set[int] = set()
        for walk, count in zip(self.walks, self.counts, strict=True):
            tensors, spare = self._traffic(walk, count, billed)
            compute, moved = compute + count.compute, moved + count.moved + spare
            if self.machine.double_buffer:
                end = max(Fraction(count.end, rate.numerator), moved / rate)
            else:
                end = compute + moved / rate
            walked.append(
                Walked(tensors, count.operations, count.compute, count.moved + spare, count.head, count.peak, end)
            )
        return Pooled(tuple(walked), max(w.end for w in walked))

    def _traffic(
        self, walk: Walk, count: _Count, billed: set[int]
    ) -> tuple[tuple[tuple[str, TensorTraffic], ...], int]:
        """
        The elements of each tensor that a walk moves, and the bits of those that no tile reaches.

        What is written of a sum is that of the first walk; `billed` are the sums of walks before.
        """
        nest, spare, stored = walk.nest, 0, walk.widths.by_name(walk.nest)
        moved: dict[str, TensorTraffic] = {}
        seen: set[int] = set()
        for name, tensor in nest.tensors.items():
            value = self.tiles.value(walk, name)
            read = 0 if value.number in seen else count.read[value.number] // value.width
            seen.add(value.number)
            fresh = value.number not in billed
            spilled = self.spilled[value.number] // value.width if value.output and fresh else 0
            write = spilled + (self.finished[value.number] if value.output and fresh else 0)
            # A sum is whole in the end: what no tile reaches is written too, from its start if it has one.
            rest = tensor.elements - touched(tensor, nest.sizes) if tensor not in nest.ins and fresh else 0
            spare += rest * stored[name]
            resumed = read if value.output else 0
            start = not value.output
            moved[name] = TensorTraffic(read + rest * start, write + rest * (not start), resumed, spilled)
        billed.update(self.tiles.value(walk, out.name).number for out in nest.outs)
        return tuple(moved.items()), spare
