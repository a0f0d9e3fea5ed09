"""
Fast evaluation of the recurrence of a double-buffered SPM (`double_buffer.py`) over long sequences of tile operations.

The operations form a tree with repetitions (`tiles.py`). The state between two of them is (load_end, comp_end,
transfers in flight), up to a shift in time. A repeated part runs until a state recurs; from then on it is periodic and
is extrapolated. One regime never recurs: loads and computation each proceed at their own pace and neither waits. There
both advance by constants, and the number of repetitions until either could wait has a lower bound in closed form. So
the cost depends on how many operations fit in half of the SPM, not on trip counts. Where the room is so large that it
delays no computation, the end of all operations has a closed form, too (`Run.end`).
"""

from collections import deque

from npuc.compiler.analysis.timing.sequence import SequenceNode
from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu.widths import Width

SHORT = 64
"""The longest queue of pending operations for which results are remembered."""


@frozen
class _Profile:
    """
    A part of the sequence while neither side waits for the other: the times of its loads and of its computation, the
    lead of loads that computation needs (`need`), its largest lag behind loads (`lag`), the largest load in bits.

    `peak` is the largest `need` of all stretches of consecutive operations, and `rest` is by how much the loads of any
    of its ends take longer than its computation, at least 0.
    """

    load: int
    comp: int
    need: int
    lag: int
    largest: int
    peak: int
    rest: int

    def times(self, count: int) -> "_Profile":
        """The part as often as `count`."""
        drift, between = self.load - self.comp, self.rest + self.need
        return _Profile(
            count * self.load,
            count * self.comp,
            self.need + max(0, (count - 1) * drift),
            self.lag + max(0, (1 - count) * drift),
            self.largest,
            max(self.peak, between + max(0, (count - 2) * drift)) if count > 1 else self.peak,
            self.rest + max(0, (count - 1) * drift),
        )

    def then(self, other: "_Profile") -> "_Profile":
        """The part and another one after it."""
        ahead = self.load - self.comp
        return _Profile(
            self.load + other.load,
            self.comp + other.comp,
            max(self.need, ahead + other.need),
            max(self.lag, other.lag - ahead),
            max(self.largest, other.largest),
            max(self.peak, other.peak, self.rest + other.need),
            max(other.rest, self.rest + other.load - other.comp),
        )


_NOTHING = -(1 << 200)


RunState = tuple[int, int, int, int, int, tuple[tuple[int, int], ...]]


class Run:
    """The state of the recurrence, in ticks of 1/p cycle, and its steps."""

    def __init__(self, per_cycle: int, per_bit: int, room: int):
        self.per_cycle, self.per_bit, self.room = per_cycle, per_bit, room
        self.load: int = 0
        self.comp: int = 0
        # Operations whose end may still hold a load back: (bits, end less the end before), `base` being the end before
        # the first of them, `last` the end of the last one, `held` their bits.
        self.queue: deque[tuple[int, int]] = deque()
        self.base: int = 0
        self.last: int = 0
        self.held: int = 0
        self.seen: dict[object, tuple[int, int, int, int, int, tuple[tuple[int, int], ...]]] = {}
        self.profiles: dict[tuple[SequenceNode, int], _Profile] = {}

    @property
    def sent(self) -> int:
        """When the last transfer ends."""
        return self.load

    def state(self) -> RunState:
        """Where the recurrence stands, to come back to it with `restore`."""
        return self.load, self.comp, self.base, self.last, self.held, tuple(self.queue)

    def restore(self, state: RunState) -> None:
        """Go back to a state."""
        self.load, self.comp, self.base, self.last, self.held, queue = state
        self.queue = deque(queue)

    def step(self, moved: Width, cycles: int) -> None:
        """One tile operation that moves bits."""
        queue, base = self.queue, self.base
        held = self.held + moved
        start = self.load
        while held > self.room and queue:
            size, end = queue.popleft()
            held -= size
            base += end
        if moved > self.room:
            start = max(start, self.comp)
        elif base != self.base:
            start = max(start, base)
        load = start + moved * self.per_bit
        while queue and base + queue[0][1] <= load:
            size, end = queue.popleft()
            held -= size
            base += end
        if not queue:
            base = self.last = load
        self.comp = max(self.comp, load) + cycles * self.per_cycle
        queue.append((moved, self.comp - self.last))
        self.load, self.base, self.last, self.held = load, base, self.comp, held

    def end(self, node: SequenceNode, moved: Width) -> int:
        """
        The end of the computation of a node, `moved` bits before its first operation, with nothing before it.

        Let C be the ends of computation if there were room for everything. They are the true ones if there is, or if
        `peak` is no longer than it takes to load the room less two loads. By induction: a load u that waits for room
        begins at the end of an operation s - 1, and the loads from s to u - 1 have more bits than the room less two
        loads. All from s to some t >= u take at most `peak` longer than the computation from s to t - 1. So t, if it is
        loaded without further waits, is there before t - 1 ends.
        """
        part = self._profile(node, moved)
        if moved + node.moved <= self.room or part.peak <= (self.room - 2 * part.largest) * self.per_bit:
            return part.comp + max(0, part.need)
        self.node(node, moved)
        return self.comp

    def node(self, node: SequenceNode, moved: Width) -> None:
        """All operations of a node, `moved` bits before the first."""
        if not node.loads:
            if moved:
                self.step(moved, node.first)
                self.comp += (node.cycles - node.first) * self.per_cycle
            else:
                self.comp += node.cycles * self.per_cycle
            return
        if len(self.queue) > SHORT or node.loads <= len(self.queue):
            self._items(node, moved)
            return
        load = self.load
        key = (node, moved, self.comp - load, self.base - load, tuple(self.queue))
        found = self.seen.get(key)
        if found is None:
            self._items(node, moved)
            if len(self.queue) <= SHORT:
                end = self.load
                relative = (self.comp - end, self.base - end, self.last - end, self.held, tuple(self.queue))
                self.seen[key] = (end - load, *relative)
            return
        self.load = end = load + found[0]
        self.comp, self.base, self.last, self.held = end + found[1], end + found[2], end + found[3], found[4]
        self.queue = deque(found[5])

    def _items(self, node: SequenceNode, moved: Width) -> None:
        for number, (child, before, count) in enumerate(node.items):
            before = before if number else moved
            self.repeat(child, before, count)

    def repeat(self, child: SequenceNode, moved: Width, count: int) -> None:
        """`count` equal parts, `moved` bits before each: runs them until the state repeats, and extrapolates."""
        if count == 1:
            self.node(child, moved)
            return
        if not child.loads and not moved:
            self.comp += count * child.cycles * self.per_cycle
            return
        left, run, checkpoint = count, 0, 1
        mark: tuple[int, int, int, int] | None = None
        queue: deque[tuple[int, int]] = deque()
        while left:
            self.node(child, moved)
            left, run = left - 1, run + 1
            lead, behind = self.comp - self.load, self.base - self.load
            if mark is not None and mark[1] == lead and mark[2] == behind and queue == self.queue:
                period = run - mark[0]
                self._advance((left // period) * (self.load - mark[3]))
                left, mark, checkpoint = left % period, None, run + left
            elif run == checkpoint:
                checkpoint *= 2
                # Looking for an end costs as much as what is on its way, so only where more is left than that.
                if left * (child.loads + 1) > len(self.queue) + 2:
                    left -= self._coast(child, moved, left)
                    mark, queue = (run, self.comp - self.load, self.base - self.load, self.load), self.queue.copy()

    def _advance(self, ticks: int) -> None:
        self.load, self.comp = self.load + ticks, self.comp + ticks
        self.base, self.last = self.base + ticks, self.last + ticks

    def _coast(self, child: SequenceNode, moved: Width, count: int) -> int:
        """
        Runs as many repetitions as provably wait for nothing, at most `count`; returns their number.

        For an operation i and a later one t that starts when i must have left the room, i ends at most `lead + lag`
        after its load, and between that and the start of t's load lie more than `room` bits less the two.
        """
        part = self._profile(child, moved)
        lead, drift = self.comp - self.load, part.comp - part.load
        slack = (self.room - 2 * part.largest) * self.per_bit - lead - part.lag
        if lead < part.need or slack < 0 or not self._free(part.largest):
            return 0
        if drift < 0:
            count = min(count, (lead - part.need) // -drift + 1)
        elif drift > 0:
            count = min(count, slack // drift + 1)
        if not child.loads and child.cycles:
            self._jump(child, moved, count)
            return count
        # The last of them run one by one, which leaves the queue as it would be.
        refill = (self.room + part.largest) * self.per_bit // part.load + 2
        if count < 2 * refill + 8:
            return 0
        jump = count - refill
        self.load, self.comp = self.load + jump * part.load, self.comp + jump * part.comp
        self.queue.clear()
        self.base = self.last = self.load
        self.held = 0
        for _ in range(refill):
            self.node(child, moved)
        return count

    def _jump(self, leaf: SequenceNode, moved: Width, count: int) -> None:
        """
        `count` equal operations that wait for nothing, at once, with the queue that they leave.

        The operation that waits for the data is the first of the leaf; its end is what frees the room.
        """
        start, first, comp = self.comp, leaf.first * self.per_cycle, leaf.cycles * self.per_cycle
        self.load += count * moved * self.per_bit
        self.comp += count * comp
        end = self.comp - comp + first
        queue, base = self.queue, self.base
        while queue and base + queue[0][1] <= self.load:
            base += queue.popleft()[1]
        flying = min(count, max(1, -((self.load - end) // comp)))
        if queue:
            queue.append((moved, start + first - self.last))
            queue.extend([(moved, comp)] * (count - 1))
        elif flying == 1:
            base = self.load
            queue.append((moved, end - base))
        else:
            base = end - flying * comp
            queue.extend([(moved, comp)] * flying)
        self.base, self.last, self.held = base, end, sum(size for size, _ in queue)

    def _free(self, largest: int) -> bool:
        """Whether no pending operation can hold back a load that follows at once, of at most `largest` bits a step."""
        end, behind = self.base, self.held
        for size, more in self.queue:
            end += more
            if end > self.load + (self.room - behind - largest) * self.per_bit:
                return False
            behind -= size
        return True

    def _profile(self, node: SequenceNode, moved: Width) -> _Profile:
        key = (node, moved)
        found = self.profiles.get(key)
        if found is not None:
            return found
        if node.loads:
            (first, _, count), *items = node.items
            found = self._profile(first, moved).times(count)
            for child, before, count in items:
                found = found.then(self._profile(child, before).times(count))
        else:
            load, comp = moved * self.per_bit, node.cycles * self.per_cycle
            if moved:
                lag = node.first * self.per_cycle - load
                found = _Profile(load, comp, load, lag, moved, load, max(0, load - comp))
            else:
                found = _Profile(0, comp, _NOTHING, _NOTHING, 0, _NOTHING, 0)
        self.profiles[key] = found
        return found
