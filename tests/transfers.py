"""Plain walks over random iterations: LRU, and what leaves when the cache is full, with the time of each transfer."""

from dataclasses import dataclass, field

from tests.iterations import Walk, intervals, touched


@dataclass
class LruWalk(Walk):
    """As `Walk`, but what was used longest ago leaves first; of the tensors of a step the largest."""

    def __post_init__(self) -> None:
        following = {(tensor, start): end for tensor, start, end in intervals(self.iteration)}
        resident: list[int] = []  # the oldest first
        entered: dict[int, int] = {}
        for number, step in enumerate(self.iteration.steps):
            own = touched(step)
            self.misses.append([tensor for tensor in step.reads if tensor not in resident])
            self.stays |= {(tensor, entered[tensor], number) for tensor in resident if tensor in own}
            resident = [tensor for tensor in resident if tensor not in own]
            mine = sorted((tensor for tensor in own if (tensor, number) in following), key=self.rank)
            entered |= dict.fromkeys(mine, number)
            self.streams.append(self.bytes_of(own) > self.capacity)
            if not self.streams[-1]:
                while self.bytes_of(resident) + self.bytes_of(own) > self.capacity:
                    resident.pop(0)
                resident += mine
            else:
                candidates, resident = (resident + mine if self.retain else []), []
                for tensor in reversed(candidates):
                    if self.bytes_of(resident) + self.size_of(tensor) <= self.capacity:
                        resident.insert(0, tensor)


@dataclass
class Bus:
    """
    The transfers of a walk on the bus, an event after the other: `prefetch` and `offload` as the hardware keys say.

    `leaves` has the steps before which values leave a full cache, by tensor and the step of their last use; the number
    of steps is the end.
    """

    walk: Walk
    prefetch: str = "latency"
    offload: str = "look-ahead"
    leaves: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])

    def __post_init__(self) -> None:
        walk, steps = self.walk, self.walk.iteration.steps
        self.copies = [(tensor, number) for number, some in enumerate(walk.writes()) for tensor in some]
        if self.offload == "look-ahead":
            self.leaves = {(tensor, start): start for tensor, start in self.copies}
            return
        following = {(tensor, start): end for tensor, start, end in intervals(walk.iteration)}
        here: dict[int, int] = {}  # the step of the last use of what lingers
        for number, step in enumerate(steps):
            own = touched(step)
            for tensor in own & {*here}:
                self.leaves[tensor, here.pop(tensor)] = number
            across = walk.bytes_of(tensor for tensor, start, end in walk.stays if start < number < end)
            while here and (walk.streams[number] or walk.bytes_of(here) + across + walk.bytes_of(own) > walk.capacity):
                tensor = min(here, key=lambda t: self.first(t, here[t], following.get((t, here[t]))))
                self.leaves[tensor, here.pop(tensor)] = number
            for tensor in own:
                end = following.get((tensor, number))
                stays = (tensor, number, end) in walk.stays
                if (end is None and (tensor, number) in self.copies) or (end is not None and not stays):
                    here[tensor] = number
                    if walk.streams[number]:
                        self.leaves[tensor, here.pop(tensor)] = number
        self.leaves |= {(tensor, start): len(steps) for tensor, start in here.items()}

    def first(self, tensor: int, last: int, use: int | None) -> tuple[int, int, tuple[int, str, int]]:
        """What leaves first has the least: what nobody reads again, then as the policy of the walk evicts."""
        if use is None:
            return 0, last, self.walk.rank(tensor)
        return 1, last if isinstance(self.walk, LruWalk) else -use, self.walk.rank(tensor)

    def _room(self) -> list[int]:
        """Bytes free during each step, beside what lingers and memory lacks."""
        room = [self.walk.capacity - held for held in self.walk.occupancy()]
        for tensor, start in self.copies:
            for number in range(start + 1, self.leaves[tensor, start]):
                room[number] -= self.walk.size_of(tensor)
        return room

    def issued(self, compute: list[float], bandwidth: float) -> dict[tuple[int, int], int]:
        """The step at which each miss is loaded ahead, by step and tensor; without those loaded on demand."""
        walk, steps, room = self.walk, self.walk.iteration.steps, self._room()
        found: dict[tuple[int, int], int] = {}
        for number in range(len(steps)):
            for tensor in walk.misses[number] if self.prefetch != "none" and not walk.streams[number] else ():
                size, hidden, at = walk.size_of(tensor), 0.0, number
                used = [n for n in range(number) if tensor in touched(steps[n])]
                gone = max([n + 1 for n in used] + [self.leaves.get((tensor, n), 0) for n in used[-1:]], default=0)
                while at > gone and room[at - 1] >= size and hidden < size / bandwidth:
                    at -= 1
                    hidden = float("inf") if self.prefetch == "next-layer" else hidden + compute[at]
                if at < number:
                    found[number, tensor] = at
                    for n in range(at, number):
                        room[n] -= size
        return found

    def seconds(self, throughput: float, bandwidth: float, overlap: bool) -> float:
        """The time of the iteration, with operations and bytes a second."""
        walk, steps = self.walk, self.walk.iteration.steps
        compute = [step.ops / throughput for step in steps]
        issued = self.issued(compute, bandwidth)
        out = [[t for t, start in self.copies if self.leaves[t, start] == n] for n in range(len(steps) + 1)]
        late = [[t for t in some if (t, n) not in self.copies] for n, some in enumerate(out)]
        now = bus = 0.0
        landed: dict[tuple[int, int], float] = {}

        def put(at: float, tensors: list[int]) -> float:
            """Queue a transfer of tensors that starts no earlier than `at`; when the bus has done it."""
            nonlocal bus
            if walk.bytes_of(tensors):
                bus = max(bus, at) + walk.bytes_of(tensors) / bandwidth
                return bus
            return at

        for number, work in enumerate(compute):
            start = now
            ahead = {tensor for use, tensor in issued if use == number}
            arrived = put(start, late[number])
            arrived = max(arrived, put(start, [tensor for tensor in walk.misses[number] if tensor not in ahead]))
            arrived = max([arrived, *(landed[number, tensor] for tensor in ahead)])
            written = [tensor for tensor in out[number] if tensor not in late[number]]
            if walk.streams[number]:
                now = max(start + work, arrived, put(start, written))
            else:
                now = max(start + work, arrived) if overlap else arrived + work
            mine = sorted((use, tensor) for (use, tensor), at in issued.items() if at == number)
            for use in sorted({use for use, _ in mine}):
                loads = [tensor for other, tensor in mine if other == use]
                for tensor in sorted(loads, key=walk.rank, reverse=True):
                    landed[use, tensor] = put(start, [tensor])
            if not walk.streams[number]:
                put(start if overlap else now, written)
        put(now, out[len(steps)])
        return max(now, bus)
