"""
A step as work of a device and movements between devices, in the order of the program: when each happens.

    step = overlapped_step([Work(F(2)), Movement(chains, "fifo"), Work(F(3)), Work(F(1), waits=(0,))], servers=1, …)
    step.seconds, step.exposed[0]

A device does its work in order. A movement begins when the work before it is done, and shares the levels of the network
with others that are under way, of which those that hold the device go first. Work behind it waits only if the movement
`holds` the device, or if it reads its result (`waits`). The exposed time of a movement is that in which a device waits
for it and does nothing: all exposed times and all work together are the time of the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from npuc.compiler.analysis.interconnect.chunks.events import ChunkChain, Latency, occupied
from npuc.compiler.analysis.interconnect.overlap.links import Links, LinkTransfer, Stage
from npuc.dialects.distributed.chunks import ChunkQueue


@dataclass(frozen=True)
class Work:
    """Work of a device: its seconds, and the numbers of the movements whose results it reads."""

    seconds: Fraction
    waits: tuple[int, ...] = ()


@dataclass(frozen=True)
class Movement:
    """
    A movement: the stages of each chunk, whose levels are those of the network, the queue of its chunks and the order
    of listed ones, the movements whose results it moves on, and whether the device waits for it.
    """

    chains: tuple[ChunkChain, ...]
    queue: ChunkQueue = "fifo"
    sequence: tuple[int, ...] = ()
    waits: tuple[int, ...] = ()
    holds: bool = False


@dataclass(frozen=True)
class MovementTimes:
    """
    A movement in time, in seconds of the step: all that it needs is there at `ready`, its first stage begins, its last
    result is there at `end`.

    `exposed` seconds a device waits for it. `spans` are the times in which it occupies levels: level, begin, end.
    """

    ready: Fraction
    begin: Fraction
    end: Fraction
    exposed: Fraction
    spans: tuple[tuple[int, Fraction, Fraction], ...]


@dataclass(frozen=True)
class OverlappedStep:
    """A step: its seconds, its movements in their order, and when each piece of work begins."""

    seconds: Fraction
    moved: tuple[MovementTimes, ...]
    begins: tuple[Fraction, ...]

    @property
    def exposed(self) -> Fraction:
        """The seconds in which no work runs, only movement."""
        return sum((one.exposed for one in self.moved), Fraction(0))


def overlapped_step(items: Sequence[Work | Movement], servers: int, latency: Latency) -> OverlappedStep:
    """A step on a network of so many levels; movements are numbered in their order, and wait for earlier ones."""
    scale = lcm(1, *_denominators(items, latency))
    links, now = Links(servers), 0
    exposed: list[int] = []
    begins: list[int] = []
    plans: dict[int, tuple[Stage, ...]] = {}
    settled: set[int] = set()

    def wait(numbers: Sequence[int]) -> None:
        nonlocal now
        for end, number in sorted((links.end(number), number) for number in numbers if number not in settled):
            settled.add(number)
            if end > now:
                exposed[number] += end - now
                now = end

    for item in items:
        if isinstance(item, Work):
            wait(item.waits)
            begins.append(now)
            now += _units(item.seconds, scale)
            continue
        if item.holds:
            wait(item.waits)
        number = links.begin(_transfer(item, plans, latency, scale), now, item.waits)
        exposed.append(0)
        if item.holds:
            wait((number,))
    wait(range(len(exposed)))
    unit = Fraction(1, scale)
    moved = tuple(_in_seconds(links, number, own, unit) for number, own in enumerate(exposed))
    return OverlappedStep(now * unit, moved, tuple(begin * unit for begin in begins))


def _in_seconds(links: Links, number: int, exposed: int, unit: Fraction) -> MovementTimes:
    ready, begin, end = (time * unit for time in links.times(number))
    spans = tuple((level, first * unit, last * unit) for level, first, last in links.spans(number))
    return MovementTimes(ready, begin, end, exposed * unit, spans)


def _denominators(items: Sequence[Work | Movement], latency: Latency) -> set[int]:
    """What a second has to be divided by, so that all times are integers."""
    found: set[int] = set()
    chains: dict[int, ChunkChain] = {}
    for item in items:
        if isinstance(item, Work):
            found.add(item.seconds.denominator)
        else:
            chains.update((id(chain), chain) for chain in item.chains)
    for chain in chains.values():
        for stage in chain:
            found.update(seconds.denominator for seconds in occupied(stage, latency))
    return found


def _units(seconds: Fraction, scale: int) -> int:
    return seconds.numerator * (scale // seconds.denominator)


def _transfer(one: Movement, plans: dict[int, tuple[Stage, ...]], latency: Latency, scale: int) -> LinkTransfer:
    """A movement in units; chunks with the same stages are looked at once."""
    alike = {id(chain): chain for chain in one.chains}
    held = sorted({stage.held for chain in alike.values() for stage in chain})
    ranks = {size: rank * (one.queue == "scf") for rank, size in enumerate(held)}
    for key, chain in alike.items():
        plan: list[Stage] = []
        for stage in chain:
            busy, whole = occupied(stage, latency)
            plan.append((stage.level, _units(busy, scale), _units(whole, scale), ranks[stage.held]))
        plans[key] = tuple(plan)
    chunks = tuple(plans[id(chain)] for chain in one.chains)
    return LinkTransfer(chunks, one.sequence if one.queue == "listed" else None, one.holds)
