"""
Levels of a network as servers that several movements share, in integers of a unit of time.

A level works on one stage at a time. Of the stages that wait for it those of urgent movements go first, then those of
the movement that was begun first, of one movement as its queue has them
(`npuc.compiler.analysis.interconnect.chunks.events`): one movement alone takes what it takes there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

Stage = tuple[int, int, int, int]
"""A stage of a chunk: its server, the units for which it occupies it and until its result is there, its rank."""


@dataclass(frozen=True)
class LinkTransfer:
    """
    The chunks of a movement, each with its stages one after the other.

    Of its stages that wait for a server the one of lowest rank goes first; those of `urgent` movements go before those
    of others. With a `sequence` a server waits for the stage whose turn it is: each number is the next stage of that
    chunk, what is not listed comes after, by chunk.
    """

    chunks: tuple[tuple[Stage, ...], ...]
    sequence: tuple[int, ...] | None = None
    urgent: bool = False


@dataclass
class _Moving:
    """A movement on the links: which stages are still to come, and when it began and ended so far."""

    transfer: LinkTransfer
    missing: int
    """Movements whose results it reads, and its own beginning, that are still to come."""
    ready: int = 0
    begin: int | None = None
    done: int = 0
    left: int = 0
    """Chunks whose last stage has not begun."""
    turns: dict[int, list[tuple[int, int]]] = field(default_factory=dict[int, list[tuple[int, int]]])
    held: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])
    readers: list[int] = field(default_factory=list[int])
    spans: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])


class Links:
    """The servers of a network; times that are handed in never go back."""

    def __init__(self, servers: int) -> None:
        self._free = [0] * servers
        self._lines: list[list[tuple[bool, int, int, int, int, int]]] = [[] for _ in range(servers)]
        self._arrivals: list[tuple[int, int, int, int]] = []
        self._wakes: list[int] = []
        self._moving: list[_Moving] = []

    def begin(self, transfer: LinkTransfer, at: int, after: Sequence[int] = ()) -> int:
        """Begin a movement at a time, or when others have ended if that is later; returns its number."""
        self.run(at)
        number = len(self._moving)
        one = _Moving(transfer, 1 + len(after), left=sum(1 for chunk in transfer.chunks if chunk))
        self._moving.append(one)
        if transfer.sequence is not None:
            one.turns = _turns(transfer)
        for other in after:
            if self.is_known(other):
                self._arrive(number, self._moving[other].done)
            else:
                self._moving[other].readers.append(number)
        self._arrive(number, at)
        return number

    def is_known(self, number: int) -> bool:
        """Whether the end of a movement is known."""
        one = self._moving[number]
        return not one.missing and not one.left

    def end(self, number: int) -> int:
        """When a movement ends, if no other begins until then."""
        while not self.is_known(number):
            self._step()
        return self._moving[number].done

    def times(self, number: int) -> tuple[int, int, int]:
        """When all was there that a movement needs, when its first stage began, and when it ended."""
        one = self._moving[number]
        return one.ready, one.ready if one.begin is None else one.begin, one.done

    def spans(self, number: int) -> list[tuple[int, int, int]]:
        """The times in which a movement occupied servers: server, begin and end, those without a gap as one."""
        last: dict[int, int] = {}
        found: list[tuple[int, int, int]] = []
        for server, begin, end in self._moving[number].spans:
            place = last.get(server)
            if place is not None and found[place][2] == begin:
                found[place] = (server, found[place][1], end)
            else:
                last[server] = len(found)
                found.append((server, begin, end))
        return found

    def run(self, until: int) -> None:
        """Let all happen that happens before a time."""
        while (now := self._next()) is not None and now < until:
            self._step()

    def _next(self) -> int | None:
        times = [*self._wakes[:1], *(arrival[0] for arrival in self._arrivals[:1])]
        return min(times, default=None)

    def _arrive(self, number: int, at: int) -> None:
        """One of the things that a movement waits for is there at a time."""
        one = self._moving[number]
        one.missing -= 1
        one.ready = max(one.ready, at)
        if one.missing:
            return
        one.done = max(one.done, one.ready)
        for chunk, stages in enumerate(one.transfer.chunks):
            if stages:
                heappush(self._arrivals, (one.ready, number, chunk, 0))
        if not one.left:
            self._ended(one)

    def _ended(self, one: _Moving) -> None:
        readers, one.readers = one.readers, []
        for reader in readers:
            self._arrive(reader, one.done)

    def _step(self) -> None:
        """What happens at the next time at which something happens."""
        now = self._next()
        assert now is not None, "what has begun comes to an end"
        while self._wakes and self._wakes[0] == now:
            heappop(self._wakes)
        while self._arrivals and self._arrivals[0][0] == now:
            _, number, chunk, stage = heappop(self._arrivals)
            self._line_up(number, chunk, stage, now)
        for server, line in enumerate(self._lines):
            if line and self._free[server] <= now and self._start(server, now):
                break  # its chunk waits at another server now, before that begins anything

    def _line_up(self, number: int, chunk: int, stage: int, now: int) -> None:
        """A stage waits for its server, or for its turn."""
        one = self._moving[number]
        server, _, _, rank = one.transfer.chunks[chunk][stage]
        if one.transfer.sequence is not None and one.turns[server][-1] != (chunk, stage):
            one.held.add((chunk, stage))
            return
        heappush(self._lines[server], (not one.transfer.urgent, number, rank, now, chunk, stage))

    def _start(self, server: int, now: int) -> bool:
        """Start the first stage that waits for a server; whether its result is there at once."""
        _, number, _, _, chunk, stage = heappop(self._lines[server])
        one = self._moving[number]
        stages = one.transfer.chunks[chunk]
        _, busy, whole, _ = stages[stage]
        self._free[server] = now + busy
        heappush(self._wakes, now + busy)
        one.begin = now if one.begin is None else one.begin
        one.spans.append((server, now, now + busy))
        if one.transfer.sequence is not None:
            turns = one.turns[server]
            turns.pop()
            if turns and turns[-1] in one.held:
                one.held.discard(turns[-1])
                self._line_up(number, *turns[-1], now)
        if stage + 1 < len(stages):
            heappush(self._arrivals, (now + whole, number, chunk, stage + 1))
        else:
            one.left -= 1
            one.done = max(one.done, now + whole)
            if not one.left:
                self._ended(one)
        return not whole


def _turns(transfer: LinkTransfer) -> dict[int, list[tuple[int, int]]]:
    """The stages of each server in the order in which it takes them, the last one first."""
    place = [0] * len(transfer.chunks)
    turns: dict[int, list[tuple[int, int]]] = {}
    rest = (chunk for chunk, stages in enumerate(transfer.chunks) for _ in stages)
    for chunk in (*(transfer.sequence or ()), *rest):
        stages = transfer.chunks[chunk]
        if place[chunk] < len(stages):
            turns.setdefault(stages[place[chunk]][0], []).append((chunk, place[chunk]))
            place[chunk] += 1
    return {server: own[::-1] for server, own in turns.items()}
