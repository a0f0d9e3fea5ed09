"""The time of an operation as data: what the array and the DRAM channel do in each part of it."""

from dataclasses import dataclass
from typing import Literal

from npuc.dialects.products import Passes

State = Literal["fill", "steady", "drain", "edge", "stall"]
STATES: tuple[State, ...] = ("fill", "steady", "drain", "edge", "stall")


@dataclass(frozen=True)
class Stretch:
    """A piece of the array's time and the ticks of each state in it, which are mixed where there are several."""

    fill: int = 0
    steady: int = 0
    drain: int = 0
    stall: int = 0
    edge: int = 0

    @property
    def ticks(self) -> int:
        """Its duration."""
        return self.fill + self.steady + self.drain + self.stall + self.edge


@dataclass(frozen=True)
class Piece:
    """
    Ticks of one state within the first tile operations; `tile` and `fold` count from 0, None: outside of a fold.

    `nest` is the number of the nest whose operation it is, where several run round-robin.
    """

    state: State
    begin: int
    ticks: int
    tile: int
    fold: int | None = None
    nest: int = 0


@dataclass(frozen=True)
class Busy:
    """Ticks between two points in time, in `busy` of which the DRAM channel transfers."""

    begin: int
    end: int
    busy: int


@dataclass(frozen=True)
class Transfer:
    """Ticks in which the DRAM channel transfers a tensor for one of the first tile operations, from 0."""

    tensor: str
    begin: int
    ticks: int
    tile: int


@dataclass(frozen=True)
class Timeline:
    """
    The array over the time of an operation.

    `stretches` follow each other and fill `ticks`; `pieces` are the first tile operations, fold by fold. `first` are
    the ticks before the first operation can start, `last` those after the drain. `macs` are the array's, each counted
    once a pass. `channel` is the DRAM channel over the same time (a core's share of it), without what may move at any
    time, and `transfers` what it moves before each of the first tile operations, by tensor.
    """

    per_cycle: int
    stretches: tuple[Stretch, ...]
    pieces: tuple[Piece, ...]
    first: int
    last: int
    macs: Passes
    channel: tuple[Busy, ...] = ()
    transfers: tuple[Transfer, ...] = ()

    @property
    def ticks(self) -> int:
        """The whole time, a whole number of cycles."""
        return sum(s.ticks for s in self.stretches)

    def total(self, state: State) -> int:
        """All ticks of a state."""
        return sum(getattr(s, state) for s in self.stretches)

    def cycles(self, ticks: int) -> float:
        """Ticks as cycles."""
        return ticks / self.per_cycle

    def first_folds(self, count: int) -> tuple[Piece, ...]:
        """The pieces up to the end of the fold of that number, or all that are told."""
        folds = list(dict.fromkeys((piece.tile, piece.fold) for piece in self.pieces if piece.fold is not None))
        if len(folds) <= count:
            return self.pieces
        beyond = next(n for n, piece in enumerate(self.pieces) if (piece.tile, piece.fold) == folds[count])
        while self.pieces[beyond - 1].fold is None:
            beyond -= 1
        return self.pieces[:beyond]

    def buckets(self, count: int) -> list[dict[State, float]]:
        """The share of each state in `count` equal parts of the time."""
        result: list[dict[State, float]] = [dict.fromkeys(STATES, 0.0) for _ in range(count)]
        width, begin = self.ticks / count, 0
        for stretch in self.stretches:
            end = begin + stretch.ticks
            if end > begin:
                for number in range(min(int(begin / width), count - 1), min(int(end / width), count - 1) + 1):
                    part = (min(end, (number + 1) * width) - max(begin, number * width)) / width
                    for state in STATES:
                        result[number][state] += max(part, 0.0) * getattr(stretch, state) / (end - begin)
            begin = end
        return result

    def channel_buckets(self, count: int) -> list[float]:
        """The share of the time in which the DRAM channel transfers, in `count` equal parts of the time."""
        result, width = [0.0] * count, self.ticks / count
        for part in self.channel:
            if part.end == part.begin:
                continue
            rate = part.busy / (part.end - part.begin)
            for number in range(min(int(part.begin / width), count - 1), min(int(part.end / width), count - 1) + 1):
                both = min(part.end, (number + 1) * width) - max(part.begin, number * width)
                result[number] += max(both, 0.0) * rate / width
        return result
