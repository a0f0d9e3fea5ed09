"""What the elements of the array do in the first cycles of an operation: windows that a picture shows."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.wave import Fold, Wave, waves_of

IDLE, WAITS, WORKS, OTHER = 0, 1, 2, 3
"""What an element does: nothing in the window, it waits, it works on something, or on what comes in turn with that."""
SHOWN = 3
"""The folds that a window shows, and more where the array is not yet full after them."""
LOOKS = 200
"""The cycles of a window among which the fullest is looked for."""
MOMENTS = 5
"""The most cycles of a window to look at closely."""


class Filling(Protocol):
    """What the elements of an array do in some cycles of an operation, counted without waits for DRAM."""

    @property
    def name(self) -> str:
        """The output of the statement."""
        ...

    @property
    def rows(self) -> int:
        """The rows of the array."""
        ...

    @property
    def cols(self) -> int:
        """The columns of the array."""
        ...

    @property
    def begin(self) -> int:
        """The first cycle."""
        ...

    @property
    def end(self) -> int:
        """The cycle after the last one."""
        ...

    @property
    def placed(self) -> str:
        """The dataflow, and what lies where on the array."""
        ...

    @property
    def each(self) -> str:
        """What works in turn, or side by side."""
        ...

    @property
    def heading(self) -> str:
        """How much of the array it uses."""
        ...

    @property
    def text(self) -> str:
        """What comes first, in words."""
        ...

    @property
    def moments(self) -> list[tuple[str, int]]:
        """At most `MOMENTS` cycles to look at closely, in order, each with its name."""
        ...

    def state(self, row: int, col: int, cycle: int) -> int:
        """What an element does in a cycle."""
        ...

    def busy(self, cycle: int) -> tuple[int, int]:
        """How many elements work in a cycle: those in state `WORKS`, and in state `OTHER`."""
        ...


@dataclass(frozen=True)
class Waves:
    """
    Folds on a systolic array: `waves` work in the window, the first one that begins in it is `first` of them.

    `each` is a fold, or an instruction, of which there are `count` in all, and `number` is that of the first one, from
    0; `ends` says that the window lasts until the array is done.
    """

    name: str
    rows: int
    cols: int
    placed: str
    begin: int
    end: int
    waves: tuple[Wave, ...]
    first: int
    each: str
    number: int
    count: int
    ends: bool

    @property
    def macs(self) -> int:
        """The multiply-accumulates in the window."""
        return sum(wave.done(self.end - 1) - wave.done(self.begin - 1) for wave in self.waves)

    @property
    def heading(self) -> str:
        """How much of the array's peak the window uses."""
        share = self.macs / (self.rows * self.cols * (self.end - self.begin))
        last = self.number + len(self.waves) - self.first
        if self.count == 1:
            what = f"the only {self.each} takes"
        elif last - self.number == self.count:
            what = f"all {self.count:,} {self.each}s take"
        elif last == self.number + 1:
            what = f"{self.each} {last:,} of {self.count:,} takes"
        else:
            what = f"{self.each}s {self.number + 1:,} to {last:,} of {self.count:,} take"
        return f"{what} {self.end - self.begin:,} cycles, in which {share:.1%} of the array's peak is used"

    @property
    def text(self) -> str:
        """The first fold in words."""
        wave = self.waves[self.first]
        several = "s" if wave.steps > 1 else ""
        load = f"; its tile takes {wave.start:,} cycles to load" if not self.number and wave.start else ""
        return (
            f"{self.name}: {self.each} {self.number + 1:,} uses {wave.rows:,} x {wave.cols:,} of {self.rows:,} x "
            f"{self.cols:,} elements ({self.placed}) and streams {wave.steps:,} step{several}{load}"
        )

    @property
    def moments(self) -> list[tuple[str, int]]:
        """The first fold as it fills the array, the next ones as they take its place, and the end."""
        wave, later = self.waves[self.first], self.waves[self.first + 1 :]
        most = self._most
        if later and later[0].start <= wave.start + wave.ramp and later[0].start < wave.last:
            # The next folds come before the array is full.
            found = [("first", wave.start), ("fill", (wave.start + most) // 2), ("most", most)]
        else:
            found = [("first", wave.start), ("fill", wave.start + wave.ramp // 2), ("most", most)]
            if later and later[0].start <= wave.last:
                found += [("change", next_.start + next_.ramp // 2) for next_ in later[:2]]
            else:
                found += [("drain", wave.last - wave.ramp // 2), ("last", wave.last)]
        if self.ends and later:
            last = self.waves[-1]
            found[MOMENTS - 1 :] = [("drain", last.last - last.ramp // 2)]
        kept: dict[int, str] = {}
        for name, cycle in found:
            if self.begin <= cycle < self.end and not (name == "fill" and cycle > most):
                kept.setdefault(cycle, name)
        return [(name, cycle) for cycle, name in sorted(kept.items())]

    def state(self, row: int, col: int, cycle: int) -> int:
        """What an element does in a cycle."""
        here = bisect_right(self._starts, cycle - row // self.waves[0].deep - col) - 1
        # Folds follow each other in an element as they do on the array.
        if here >= 0 and self.waves[here].works(row, col, cycle):
            return WORKS if (here - self.first) % 2 == 0 else OTHER
        return WAITS if any(row < rows and col < cols for rows, cols in self._used) else IDLE

    def busy(self, cycle: int) -> tuple[int, int]:
        """How many elements work in a cycle, on the folds in turn."""
        counts = [0, 0]
        low = bisect_right(self._starts, cycle - self._longest)
        for number in range(low, bisect_right(self._starts, cycle)):
            counts[(number - self.first) % 2] += self.waves[number].busy(cycle)
        return counts[0], counts[1]

    @cached_property
    def _most(self) -> int:
        """A cycle in which most elements work, of the first fold if that has any such cycle."""
        wave, span = self.waves[self.first], self.end - self.begin
        middle = max(self.begin, wave.middle)
        return max(middle, *range(self.begin, self.end, max(1, span // LOOKS)), key=lambda at: sum(self.busy(at)))

    @cached_property
    def _starts(self) -> list[int]:
        return [wave.start for wave in self.waves]

    @cached_property
    def _longest(self) -> int:
        return max(wave.last - wave.start for wave in self.waves) + 1

    @cached_property
    def _used(self) -> set[tuple[int, int]]:
        return {(wave.rows, wave.cols) for wave in self.waves}


def wave_windows(
    folds: Iterable[Fold],
    array: Array,
    placed: Mapping[str, str],
    cycles: int,
    count: int,
    *,
    tile_loaded: bool = False,
) -> Iterator[Waves]:
    """
    A window from the first fold of each statement on; `placed` says of each output what lies where on the array.

    All folds, or instructions, take so many `cycles`, and are `count`.
    """
    names: list[str] = []

    def noted() -> Iterator[Fold]:
        for fold in folds:
            names.append(fold.name)
            yield fold

    room = 2 * (array.rows + array.cols)
    waves: list[Wave] = []
    firsts, ends = dict[str, int](), dict[str, int]()
    for wave in waves_of(noted(), array, tile_loaded=tile_loaded):
        firsts.setdefault(names[-1], len(waves))
        for name, first in firsts.items():
            if len(waves) >= first + SHOWN and wave.start >= waves[first].start + room:
                ends.setdefault(name, wave.start)
        if len(ends) == len(placed):
            break
        waves.append(wave)
    each = "fold" if array.stages is None else "instruction"
    for name, first in firsts.items():
        begin, end = waves[first].start if first else 0, ends.get(name, cycles)
        low = next(number for number in range(first + 1) if waves[number].last >= begin)
        high = bisect_left(waves, end, key=lambda wave: wave.start)
        found = tuple(waves[low:high])
        own = (placed[name], begin, end, found, first - low, each, first, count, name not in ends)
        yield Waves(name, array.rows, array.cols, *own)
