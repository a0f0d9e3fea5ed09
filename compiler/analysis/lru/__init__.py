"""
One pool of tiles in SPM with least-recently-used replacement: an exact simulation, tile operation by tile operation.

The rules are those of the published prototype that `study igo` reproduces:

- A tile operation is one statement on one tile. It touches its operands, then its sum; an operand that several
  statements of the walks use is touched before one that only this statement uses, so that it is evicted first.
- A tile that is not in the pool is loaded: while the capacity is exceeded, the least recently touched tile of another
  operation is evicted. Evicting operands is free. An incomplete sum is written when it is evicted, and read back when
  it is touched again; its first visit reads nothing, or its initial value.
- A sum is written and evicted as soon as its last operation is done.
- The pool persists across walks: `sequential` runs them one after another, `round-robin` one tile of each in turn
  (longer walks finish alone), over one pool that is empty at first. `sequential` by twos runs two in turn, then the
  next two.
- A sum has the width of a partial sum in the pool and whenever it is written and read back; a completed sum is written
  with the width of the result.
- All bits of an operation (write-backs, reads, a completed sum) count as the load that it waits for, in the recurrence
  of `analysis/timing/double_buffer.py`, which does not drain between walks.

Walks may accumulate into one sum, over plain dimensions and in the same tiles; the last of them completes it. Where
tiles of a sum overlap (a gradient under windows), tiles that share elements with a loaded tile are written first, and
it reads their values. The simulation takes two to four microseconds per tile operation (`Walk.operations`). Time
excludes the overhead that an array pays once per operation of the program (`Array.op_overhead`). Groups of folds wait
for the array's edge as they do without a pool (`analysis/machine/edge.py`): each walk that runs alone is a sequence of
its own, walks that run round-robin form one. Arrays that skip reloads (`Array.skips_reloads`) are modelled as if they
did not.
"""

from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import repeat, zip_longest
from typing import Literal, TypeVar

from npuc.compiler.analysis.lru.blocks import PoolValue
from npuc.compiler.analysis.lru.folds import with_waits
from npuc.compiler.analysis.lru.loops import Split, Walk
from npuc.compiler.analysis.lru.tiles import Operation, PoolTiles
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.blocks import touched
from npuc.compiler.analysis.nest.elements import BYTE, Width, whole_bytes
from npuc.compiler.analysis.nest.traffic import TensorTraffic
from npuc.compiler.core.errors import CapacityError

__all__ = ["Mode", "Pooled", "Split", "Walk", "Walked", "walk_pool"]

T = TypeVar("T")
Mode = Literal["sequential", "round-robin"]


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
    moved: Width
    head: Width
    peak: int
    end: Fraction


@dataclass(frozen=True)
class Pooled:
    """The cost of walks over one pool: of each, and `time` in cycles until all are done."""

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
    return _Pool(walks, machine).run(len(walks) if mode == "round-robin" else by)


@dataclass(slots=True)
class _Count:
    """The counters of a walk; `read` are bits by the number of the tensor, `end` is in ticks."""

    read: list[int]
    operations: int = 0
    compute: int = 0
    moved: Width = 0
    head: Width = -1
    peak: int = 0
    end: int = 0


class _Pool:
    """The pool, its counters and the clock, in ticks of 1/p cycle (p: the numerator of the bits per cycle)."""

    def __init__(self, walks: tuple[Walk, ...], machine: Machine):
        self.walks, self.machine = walks, machine
        self.tiles = PoolTiles(walks, machine.array)
        self.rate, self.room = BYTE * machine.bytes_per_cycle, machine.spm_bits
        self.sizes, self.prior, self.visits = self.tiles.sizes, self.tiles.prior, self.tiles.visits
        self.value_of = self.tiles.value_of
        self.counts = [_Count([0] * len(self.tiles.values)) for _ in walks]
        self.spilled = [0] * len(self.tiles.values)
        self.finished = [0] * len(self.tiles.values)
        """Of each sum the bits that are written before they are finished, and the elements that are finished."""
        self.widths = [value.width for value in self.tiles.values.values()]
        self.is_sum = [value.output for value in self.tiles.values.values()]
        self.overlaps = self.tiles.overlaps
        self.begun: set[int] = set()
        self.pool: OrderedDict[int, None] = OrderedDict()
        self.used = 0
        # The clock: ends of the last load and computation, and operations whose end may still hold a load back, as
        # (bits, end), `coming` their bits.
        self.load = self.comp = self.coming = 0
        self.pending: deque[tuple[int, int]] = deque()

    def run(self, by: int) -> Pooled:
        """Run all walks, `by` of them at a time."""
        numbers = range(len(self.walks))
        for first in numbers[::by]:
            self._advance(self._in_turn(numbers[first : first + by]))
        return self._result()

    def _in_turn(self, numbers: Sequence[int]) -> Iterator[tuple[int, Operation]]:
        """The operations of walks in turn, each walk's of one iteration; with the array's waits in their cycles."""
        array, alone = self.machine.array, len(numbers) == 1
        if array.most_shift:
            found = (zip(self.tiles.operations(n), self.tiles.folds(n, alone=alone), strict=True) for n in numbers)
            return with_waits(self._turns(numbers, found), array)
        return self._turns(numbers, map(self.tiles.operations, numbers))

    def _turns(self, numbers: Sequence[int], found: Iterable[Iterator[T]]) -> Iterator[tuple[int, T]]:
        """What is `found` of each walk, one of each of its statements in turn, with the number of the walk."""
        own = [zip(repeat(number), each, strict=False) for number, each in zip(numbers, found, strict=True)]
        if len(own) == 1:
            return own[0]
        # An iterator occurs once for each statement, so that a turn takes as many from it.
        turn = [each for number, each in zip(numbers, own, strict=True) for _ in self.walks[number].nest.statements]
        return (one for each in zip_longest(*turn) for one in each if one is not None)

    def _advance(self, operations: Iterable[tuple[int, Operation]]) -> None:
        """Run operations, each of the walk of a number."""
        # What follows is done millions of times: nothing is looked up or called there that need not be.
        pool, sizes, value_of, prior = self.pool, self.sizes, self.value_of, self.prior
        visits, begun, pending, touch = self.visits, self.begun, self.pending, self.pool.move_to_end
        room, per_cycle, per_bit = self.room, self.rate.numerator, self.rate.denominator
        is_sum, spilled, overlaps = self.is_sum, self.spilled, self.overlaps
        load, comp, coming, used = self.load, self.comp, self.coming, self.used
        at, count, read = -1, _Count([]), list[int]()
        for number, (first, second, start, out, cycles) in operations:
            if number != at:
                count.end, at, count = comp, number, self.counts[number]
                read = count.read
                if used > count.peak:
                    count.peak = used
            if start >= 0 and out not in begun:
                begun.add(out)
                need = (first, second, start, out)
            else:
                need = (first, second, out)
            moved = 0
            for tile in need:
                if tile in pool:
                    touch(tile)
                    continue
                size, value = sizes[tile], value_of[tile]
                if value in overlaps:
                    before = used
                    used -= sum(sizes[other] for other in self._written_first(tile))
                    moved += before - used
                while used + size > room:
                    for victim in pool:
                        if victim not in need:
                            break
                    else:
                        raise self._too_large(need)
                    del pool[victim]
                    gone = sizes[victim]
                    used -= gone
                    if is_sum[value_of[victim]]:  # an incomplete sum is written
                        spilled[value_of[victim]] += gone
                        moved += gone
                pool[tile] = None
                used += size
                if used > count.peak:
                    count.peak = used
                # Of a sum, what its first visit finds in DRAM; from then on all of it.
                found = prior[tile]
                prior[tile] = size
                read[value] += found
                moved += found
            visits[out] -= 1
            if not visits[out]:
                del pool[out]
                used -= sizes[out]
                moved += self._finish(out)
            count.operations += 1
            count.compute += cycles
            if count.head < 0:
                count.head = moved
            if moved:
                count.moved += moved
                coming += moved
                wait = 0
                while coming > room and pending:
                    bits, wait = pending.popleft()
                    coming -= bits
                load = max(load, comp if coming > room else wait) + moved * per_bit
                if load > comp:
                    comp = load
                comp += cycles * per_cycle
                pending.append((moved, comp))
            else:
                if load > comp:
                    comp = load
                comp += cycles * per_cycle
        count.end = comp
        self.load, self.comp, self.coming, self.used = load, comp, coming, used

    def _written_first(self, tile: int) -> list[int]:
        """The tiles in the pool that share elements with a tile of a sum, which are written and evicted before it."""
        found = [other for other in self.tiles.overlapping(tile) if other in self.pool]
        for other in found:
            del self.pool[other]
            self.spilled[self.value_of[other]] += self.sizes[other]
        return found

    def _too_large(self, need: tuple[int, ...]) -> CapacityError:
        needed = whole_bytes(sum(self.sizes[t] for t in set(need)))
        return CapacityError(
            f"the tiles of one operation take {needed:,} bytes of SPM, the pool has {self.machine.spm_bytes:,}",
            hint="smaller steps, or a larger memory.spm_kib",
        )

    def _finish(self, tile: int) -> int:
        """Write a sum whose last operation is done, which is evicted; returns the bits that are written."""
        value, ended = self.value_of[tile], self.tiles.finished[tile]
        self.finished[value] += ended
        self.spilled[value] += self.sizes[tile] - ended * self.widths[value]
        return self.tiles.done[tile]

    def _result(self) -> Pooled:
        rate, walked, compute, moved = self.rate, list[Walked](), 0, 0
        billed: set[int] = set()
        for walk, named, count in zip(self.walks, self.tiles.named, self.counts, strict=True):
            tensors, spare = self._traffic(walk, named, count, billed)
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
        self, walk: Walk, named: Mapping[str, PoolValue], count: _Count, billed: set[int]
    ) -> tuple[tuple[tuple[str, TensorTraffic], ...], Width]:
        """
        The elements of each tensor that a walk moves, and the bits of those that no tile reaches.

        What is written of a sum is that of the first walk; `billed` are the sums of walks before.
        """
        nest, stored = walk.nest, walk.widths.by_name(walk.nest)
        spare: Width = 0
        moved: dict[str, TensorTraffic] = {}
        seen: set[int] = set()
        for name, tensor in nest.tensors.items():
            value = named[name]
            read = 0 if value.number in seen else count.read[value.number] // value.width
            seen.add(value.number)
            fresh = value.number not in billed
            spilled = self.spilled[value.number] // value.width if value.output and fresh else 0
            write = spilled + (self.finished[value.number] if value.output and fresh else 0)
            # A sum is whole in the end: what no tile reaches is written too, from its start if it has one.
            rest = tensor.elements - touched(tensor, nest.sizes) if tensor not in nest.ins and fresh else 0
            spare += rest * stored[name]
            resumed = read if value.output else 0
            if value.output:
                write += rest
            else:
                read += rest
            moved[name] = TensorTraffic(read, write, resumed, spilled)
        billed.update(named[out.name].number for out in nest.outs)
        return tuple(moved.items()), spare
