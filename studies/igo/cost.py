"""The costs of the study's programs: cycles, and the traffic between DRAM and SPM."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

SHARED = "dY"
"""The tensor that both gradients read."""


@dataclass(frozen=True)
class Cost:
    """The cycles of one program or several, the bits that it reads and writes, and the part of the reads that is dY."""

    time: Fraction
    read: Fraction = Fraction(0)
    written: Fraction = Fraction(0)
    dy_read: Fraction = Fraction(0)

    @property
    def moved(self) -> Fraction:
        """The bits that are read or written."""
        return self.read + self.written

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.time + other.time,
            self.read + other.read,
            self.written + other.written,
            self.dy_read + other.dy_read,
        )

    def __mul__(self, count: int) -> Cost:
        return Cost(self.time * count, self.read * count, self.written * count, self.dy_read * count)


NOTHING = Cost(Fraction(0))


def cost_of(time: Fraction, moves: Iterable[Mapping[str, tuple[int, int]]]) -> Cost:
    """The cost of nests that take `time` together; `moves` are the bits read and written of each one's tensors."""
    read = written = dy_read = 0
    for moved in moves:
        read += sum(bits for bits, _ in moved.values())
        written += sum(bits for _, bits in moved.values())
        dy_read += moved.get(SHARED, (0, 0))[0]
    return Cost(time, Fraction(read), Fraction(written), Fraction(dy_read))


def fastest(costs: Iterable[Cost]) -> Cost:
    """The cost of the fastest program; of equally fast ones that which moves the least."""
    return min(costs, key=lambda cost: (cost.time, cost.moved))
