"""
A fleet of heterogeneous device groups as a binary tree: groups at the top, homogeneous devices below.

The two sides of a pair are the halves of the list of groups, and within a single group the halves of its devices. The
speed and the bandwidth of a side are the sums over its devices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from npuc.compiler.core.errors import UsageError


@dataclass(frozen=True)
class Device:
    """One device: operations a second, and bytes that it reads of others a second."""

    speed: Fraction
    bandwidth: Fraction


@dataclass(frozen=True)
class Fleet:
    """Groups of `each` devices."""

    groups: tuple[Device, ...]
    each: int

    @property
    def devices(self) -> int:
        """The number of all devices."""
        return len(self.groups) * self.each

    @property
    def speed(self) -> Fraction:
        """Operations a second of all devices."""
        return sum((group.speed for group in self.groups), start=Fraction(0)) * self.each

    @property
    def bandwidth(self) -> Fraction:
        """Bytes that all devices read of others in a second."""
        return sum((group.bandwidth for group in self.groups), start=Fraction(0)) * self.each

    def halves(self) -> tuple[Fleet, Fleet]:
        """The two sides of the pair at the top."""
        if len(self.groups) == 1:
            half = Fleet(self.groups, self.each // 2)
            return half, half
        middle = len(self.groups) // 2
        return Fleet(self.groups[:middle], self.each), Fleet(self.groups[middle:], self.each)


def fleet_of(groups: Sequence[Device], devices: int) -> Fleet:
    """The groups with their parts of `devices`, a power of two. Raises `UsageError` if they are not divisible."""
    count = len(groups)
    if devices < 2:
        raise UsageError("network.groups: found 1 device, expected at least 2 that share a step", hint="--devices 2")
    if count < 1 or count & (count - 1):
        raise UsageError(
            f"network.groups: found {count:,} groups, expected a power of two",
            hint="each has as many devices: a group of twice as many is two equal groups",
        )
    if count > devices:
        raise UsageError(
            f"network.groups: found {count:,} groups, expected at most the {devices:,} devices",
            hint=f"--devices {count}",
        )
    return Fleet(tuple(groups), devices // count)
