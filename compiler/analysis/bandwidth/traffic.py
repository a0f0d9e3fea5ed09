"""
What a step sends along each level of a network, and the time of the step at any bandwidths.

A collective takes a latency, and the time of its bytes at every level that it crosses: their sum where its stages run
one after the other, the longest of them where it is cut into so many chunks that all levels work at once,

    seconds = latency + sum over levels of bytes / bandwidth        or        latency + greatest of bytes / bandwidth

Collectives and work run one after the other. With moments, collectives that nothing waits for run beside work, as
long as no update needs them. In any case a step is a sum and a maximum of terms that are convex in the bandwidths, and
so it is convex itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LevelBytes:
    """The bytes that a device sends along each level, 0 where it sends none, and the seconds of all latencies."""

    sent: tuple[float, ...]
    latency: float = 0.0


@dataclass(frozen=True)
class Moment:
    """
    A moment of a step: `work` of so many seconds, or a transfer by its number.

    `waits`: work that begins when all transfers have ended (updates), a transfer that holds up the work behind it.
    """

    work: float = 0.0
    transfer: int | None = None
    waits: bool = False


@dataclass(frozen=True)
class StepTraffic:
    """
    A step: seconds of work, distinct transfers, how often each is made.

    `pipelined`: levels work at the same time within a transfer. `moments` say what runs beside what, in the order
    of the program; None: everything runs one after the other.
    """

    levels: int
    work: float
    transfers: tuple[LevelBytes, ...]
    counts: tuple[float, ...]
    pipelined: bool = False
    moments: tuple[Moment, ...] | None = None

    @cached_property
    def sent(self) -> Floats:
        """The bytes that a device sends in a step, by level."""
        return self.table.T @ np.array(self.counts) if self.transfers else np.zeros(self.levels)

    @cached_property
    def table(self) -> Floats:
        """The bytes of each transfer along each level."""
        return np.array([one.sent for one in self.transfers]).reshape(len(self.transfers), self.levels)

    @cached_property
    def latencies(self) -> Floats:
        """The latency of each transfer."""
        return np.array([one.latency for one in self.transfers])

    def inside_out(self) -> StepTraffic:
        """The same step with its levels in the opposite order."""
        turned = tuple(LevelBytes(one.sent[::-1], one.latency) for one in self.transfers)
        return replace(self, transfers=turned)

    def transfer_seconds(self, bandwidths: npt.ArrayLike) -> Floats:
        """The seconds of each transfer, in the first axis, at bandwidths [..., level] in bytes per second."""
        rates = np.asarray(bandwidths, dtype=np.float64)
        sent = self.table.reshape(len(self.transfers), *(1,) * (rates.ndim - 1), self.levels)
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.where(sent > 0, sent / rates, 0.0)
        joined = each.max(axis=-1, initial=0.0) if self.pipelined else each.sum(axis=-1)
        return joined + self.latencies.reshape(-1, *(1,) * (rates.ndim - 1))

    def seconds(self, bandwidths: npt.ArrayLike) -> Floats:
        """The time of the step at bandwidths [..., level]; infinite where a level that is crossed has none."""
        each = self.transfer_seconds(bandwidths)
        if self.moments is None:
            return self.work + np.tensordot(np.array(self.counts), each, axes=1)
        work = network = np.zeros(each.shape[1:])
        for one in self.moments:
            if one.transfer is None:
                work = (np.maximum(work, network) if one.waits else work) + one.work
            else:
                network = np.maximum(work, network) + each[one.transfer]
                work = network if one.waits else work
        return np.maximum(work, network)


def step_traffic(
    levels: int,
    work: float,
    transfers: Sequence[LevelBytes],
    *,
    pipelined: bool = False,
    moments: Sequence[Moment] | None = None,
) -> StepTraffic:
    """A step of transfers of which equal ones are counted together; `moments` know them by their places."""
    numbers: dict[LevelBytes, int] = {}
    places = [numbers.setdefault(one, len(numbers)) for one in transfers]
    counts = np.bincount(places, minlength=len(numbers)) if places else np.zeros(0)
    own = None
    if moments is not None:
        own = tuple(
            one if one.transfer is None else Moment(transfer=places[one.transfer], waits=one.waits) for one in moments
        )
    return StepTraffic(levels, work, tuple(numbers), tuple(map(float, counts)), pipelined, own)
