"""Random iterations and plain walks over them: what kept tensors save, the plan of Belady, its timeline."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product

from hypothesis import strategies as st

from npuc.backends.roofline.iteration.steps import Iteration, IterationStep, IterationTensor

Interval = tuple[int, int, int]
"""A tensor and the steps of two accesses between which it stays, or leaves."""


@st.composite
def iterations(draw: st.DrawFn, steps: int = 8, tensors: int = 6, largest: int = 40) -> Iteration:
    """A few steps that each read and write some of a few tensors of random sizes; some must be in memory at the end."""
    sizes = draw(st.lists(st.integers(1, draw(st.sampled_from((3, largest)))), min_size=1, max_size=tensors))
    kinds = st.sampled_from(("value", "weight", "gradient", "weight_gradient", "input", "state"))
    rows = [draw(st.integers(1, size)) for size in sizes]
    found = tuple(
        IterationTensor(f"t{i % 4}", size, draw(kinds), row)
        for i, (size, row) in enumerate(zip(sizes, rows, strict=True))
    )
    some = st.lists(st.integers(0, len(sizes) - 1), max_size=3, unique=True)
    made: list[IterationStep] = []
    for number in range(draw(st.integers(1, steps))):
        reads, writes = draw(some), draw(some)
        if reads or writes:
            ops = draw(st.integers(0, 200))
            made.append(
                IterationStep(
                    f"s{number}", "op", "forward", tuple(reads), tuple(writes), 0, ops, ops, draw(st.booleans())
                )
            )
    kept = draw(st.frozensets(st.integers(0, len(sizes) - 1), max_size=len(sizes)))
    return Iteration(found, tuple(made), kept, 1)


def touched(step: IterationStep) -> set[int]:
    return {*step.reads, *step.writes}


def intervals(iteration: Iteration) -> list[Interval]:
    """Between an access of a tensor and the next, if that reads it, by the latter."""
    found: list[Interval] = []
    last: dict[int, int] = {}
    for number, step in enumerate(iteration.steps):
        for tensor in touched(step):
            if tensor in last and tensor in step.reads:
                found.append((tensor, last[tensor], number))
            last[tensor] = number
    return found


def moved(iteration: Iteration, stays: set[Interval], capacity: int) -> tuple[int, int] | None:
    """
    Bytes in and out of a walk that keeps tensors as told, None where they do not fit between two steps.

    A tensor that leaves is copied to memory if that lacks it and somebody reads it again, or wants it at the end.
    """
    size = [tensor.bytes for tensor in iteration.tensors]
    inside: dict[int, bool] = {}  # whether memory lacks what the cache has
    bytes_in = bytes_out = 0
    for number, step in enumerate(iteration.steps):
        for tensor in step.reads:
            if tensor not in inside:
                bytes_in += size[tensor]
                inside[tensor] = False
        for tensor in step.writes:
            inside[tensor] = True
        staying = {tensor for tensor, start, end in stays if start <= number < end}
        for tensor in [tensor for tensor in inside if tensor not in staying]:
            dirty = inside.pop(tensor)
            later = next((s for s in iteration.steps[number + 1 :] if tensor in touched(s)), None)
            wanted = tensor in iteration.live_out if later is None else tensor in later.reads
            bytes_out += size[tensor] if dirty and wanted else 0
        if sum(size[tensor] for tensor in inside) > capacity:
            return None
    return bytes_in, bytes_out


def schedules(iteration: Iteration, capacity: int) -> Iterator[int]:
    """The bytes that every choice of what to keep moves."""
    every = intervals(iteration)
    for choice in product((False, True), repeat=len(every)):
        found = moved(iteration, {one for one, stays in zip(every, choice, strict=True) if stays}, capacity)
        if found is not None:
            yield sum(found)


@dataclass
class Walk:
    """
    A plain walk by Belady's rule with one capacity: bytes in and out of each step, which stream, what stays.

    After a step that streams, what is used nearest stays (`retain`) or nothing; with `bypass` a step streams rather
    than make others leave, and of what then is too much that used farthest leaves, but for what fits all the same.
    """

    iteration: Iteration
    capacity: int
    retain: bool = True
    bypass: bool = False
    misses: list[list[int]] = field(default_factory=list[list[int]])
    streams: list[bool] = field(default_factory=list[bool])
    stays: set[Interval] = field(default_factory=set[Interval])

    def __post_init__(self) -> None:
        resident: dict[int, int] = {}  # the step of a tensor's next use
        every = intervals(self.iteration)
        following = {(tensor, start): end for tensor, start, end in every}
        entered: dict[int, int] = {}
        for number, step in enumerate(self.iteration.steps):
            own = touched(step)
            self.misses.append([tensor for tensor in step.reads if tensor not in resident])
            for tensor in own:
                if resident.pop(tensor, None) is not None:
                    self.stays.add((tensor, entered[tensor], number))
            footprint = self.bytes_of(own)
            crowded = self.bypass and self.bytes_of(resident) + footprint > self.capacity
            self.streams.append(footprint > self.capacity or crowded)
            mine = {tensor: following[tensor, number] for tensor in own if (tensor, number) in following}
            entered |= dict.fromkeys(mine, number)
            if not self.streams[-1]:
                self._leave(resident, self.capacity - footprint)
                resident |= mine
            elif not self.retain:
                resident = {}
            elif self.bypass:
                resident |= mine
                self._refill(resident, self._leave(resident, self.capacity))
            else:
                candidates, resident = resident | mine, {}
                for tensor in sorted(candidates, key=lambda tensor: self._nearest(candidates[tensor], tensor)):
                    if self.bytes_of(resident) + self.size_of(tensor) <= self.capacity:
                        resident[tensor] = candidates[tensor]

    def size_of(self, tensor: int) -> int:
        return self.iteration.tensors[tensor].bytes

    def bytes_of(self, tensors: Iterable[int]) -> int:
        return sum(self.size_of(tensor) for tensor in tensors)

    def rank(self, tensor: int) -> tuple[int, str, int]:
        """Of tensors with the same next use, that with the smallest of these leaves first."""
        found = self.iteration.tensors[tensor]
        prefix = {"gradient": "dx ", "weight_gradient": "dw "}.get(found.kind, "")
        return -found.bytes, f"{prefix}{found.name}", -tensor

    def _nearest(self, use: int, tensor: int) -> tuple[int, int, str, int]:
        size, name, number = self.rank(tensor)
        return use, -size, name, number

    def _leave(self, resident: dict[int, int], room: int) -> dict[int, int]:
        """Let those used farthest leave until the others fit; which left."""
        gone: dict[int, int] = {}
        while self.bytes_of(resident) > room:
            farthest = max(resident.values())
            tensor = min((tensor for tensor in resident if resident[tensor] == farthest), key=self.rank)
            gone[tensor] = resident.pop(tensor)
        return gone

    def _refill(self, resident: dict[int, int], gone: dict[int, int]) -> None:
        """Take back what fits all the same: the nearest use first, what would leave last first."""
        for tensor in reversed(gone):
            if self.bytes_of(resident) + self.size_of(tensor) <= self.capacity:
                resident[tensor] = gone[tensor]

    def writes(self) -> list[list[int]]:
        """What is copied to memory after each step: what leaves there, or is wanted at the end, and memory lacks."""
        found: list[list[int]] = []
        dirty: set[int] = set()
        for number, step in enumerate(self.iteration.steps):
            dirty |= set(step.writes)
            found.append([])
            for tensor in touched(step) & dirty:
                later = next((s for s in self.iteration.steps[number + 1 :] if tensor in touched(s)), None)
                wanted = tensor in self.iteration.live_out if later is None else tensor in later.reads
                if not any((t, start) == (tensor, number) for t, start, _ in self.stays):
                    dirty.discard(tensor)
                    found[-1] += [tensor] if wanted else []
        return found

    def occupancy(self) -> list[int]:
        """Bytes in the cache during each step; all of it while a step streams."""
        across = [
            self.bytes_of(tensor for tensor, start, end in self.stays if start < number < end)
            for number in range(len(self.streams))
        ]
        return [
            self.capacity if streams else held + self.bytes_of(touched(step))
            for step, streams, held in zip(self.iteration.steps, self.streams, across, strict=True)
        ]

    def issued(self, compute: list[float], bandwidth: float) -> dict[tuple[int, int], int]:
        """The step at which each miss is loaded ahead, by step and tensor; without those loaded on demand."""
        room = [self.capacity - held for held in self.occupancy()]
        found: dict[tuple[int, int], int] = {}
        for number in range(len(self.iteration.steps)):
            for tensor in self.misses[number]:
                hidden, at = 0.0, number
                while not self.streams[number] and hidden < self.size_of(tensor) / bandwidth and at > 0:
                    if tensor in touched(self.iteration.steps[at - 1]) or room[at - 1] < self.size_of(tensor):
                        break
                    at -= 1
                    room[at] -= self.size_of(tensor)
                    hidden += compute[at]
                if at < number:
                    found[number, tensor] = at
        return found

    def seconds(self, throughput: float, bandwidth: float, overlap: bool = True) -> float:
        """The time of the iteration, with operations and bytes a second; `overlap`: also within steps that fit."""
        compute = [step.ops / throughput for step in self.iteration.steps]
        issued, writes = self.issued(compute, bandwidth), self.writes()
        now = bus = 0.0
        landed: dict[tuple[int, int], float] = {}
        for number, work in enumerate(compute):
            start = now
            demanded = self.bytes_of(tensor for tensor in self.misses[number] if (number, tensor) not in issued)
            bus = max(bus, start) + demanded / bandwidth if demanded else bus
            written = self.bytes_of(writes[number])
            if self.streams[number]:
                bus = max(bus, start) + written / bandwidth if written else bus
                now = max(start + work, bus if demanded + written else 0.0)
            else:
                ready = [landed[number, tensor] for tensor in self.misses[number] if (number, tensor) in issued]
                landing = max([start, bus if demanded else 0.0, *ready])
                now = max(start + work, landing) if overlap else landing + work
            ahead = [(use, tensor) for (use, tensor), at in issued.items() if at == number]
            ahead.sort(key=lambda load: self.rank(load[1]), reverse=True)
            for use, tensor in sorted(ahead, key=lambda load: load[0]):
                bus = max(bus, start) + self.size_of(tensor) / bandwidth
                landed[use, tensor] = bus
            if written and not self.streams[number]:
                bus = max(bus, start if overlap else now) + written / bandwidth
        return max(now, bus)
