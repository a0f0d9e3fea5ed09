"""
The best schedule of a small collective, by branch and bound.

Any chunk may be reduced over the levels in any order and gathered in any other, and a level may wait for a chunk. First
the level that a chunk crosses next is chosen; the branches are all that there are, since the order decides how long
stages take. When each chunk has one, take the stage whose result is there first: in a schedule that cannot be made
shorter by moving one stage forward, some stage of its level begins before it has left it (Giffler and Thompson,
Operations Research 8(4), 1960). Those are the branches then. A node is cut where its lower bound is not below the best
schedule known, or where the same state was reached before; chunks in the same state are interchangeable. Times are
integers, so that the optimum is proved exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import lcm

from npuc.compiler.analysis.interconnect.chunks.events import ChunkTimeline, StageSpan, occupied
from npuc.compiler.analysis.interconnect.chunks.policies import POLICIES
from npuc.compiler.analysis.interconnect.chunks.schedule import ChunkedCollective, ChunkSchedule, scheduled
from npuc.compiler.analysis.interconnect.chunks.stages import ChunkOrder, baseline_order, stages_of

MOST_NODES = 200_000
"""The nodes that are looked at where nobody says."""
State = tuple[int, int]
"""The levels over which a chunk was reduced, and those over which it was gathered, as bits."""
Waiting = tuple[State, int, int]
"""A chunk: its state, when its data are there, and the level that it crosses next, -1 where that is open."""
OPEN = -1


@dataclass(frozen=True)
class ExactSchedule:
    """The best schedule that was found, whether it is proved to be the best of all, and the nodes looked at."""

    schedule: ChunkSchedule
    proved: bool
    nodes: int


def exact_schedule(collective: ChunkedCollective, most: int = MOST_NODES) -> ExactSchedule:
    """The best of all schedules of a collective, or of those of the policies and of `most` nodes, if they are more."""
    first = min((scheduled(collective, policy) for policy in POLICIES), key=lambda one: one.seconds)
    if not collective.levels or first.seconds == collective.bound_s:
        return ExactSchedule(first, True, 0)
    search = _Search(_Tables(collective), most)
    found = search.run(first.seconds)
    return ExactSchedule(first if found is None else found, not search.stopped, search.nodes)


@dataclass(frozen=True)
class _Tables:
    """The stages of a chunk by its state, in integer units."""

    collective: ChunkedCollective

    @cached_property
    def whole(self) -> State:
        """The state of a chunk that is done."""
        base = baseline_order(self.collective.kind, len(self.collective.levels))
        every = (1 << len(self.collective.levels)) - 1
        return (every if base.scatter else 0), (every if base.gather else 0)

    @cached_property
    def servers(self) -> tuple[int, ...]:
        """For each level the number of what works on one of its stages at a time."""
        return self.collective.servers

    @cached_property
    def scale(self) -> int:
        """The units of a second."""
        return lcm(1, *(one.denominator for pair in self._seconds.values() for one in pair))

    @cached_property
    def _seconds(self) -> dict[tuple[State, int], tuple[Fraction, Fraction]]:
        """For each state and level the seconds that it is occupied, and those until the result is there."""
        found: dict[tuple[State, int], tuple[Fraction, Fraction]] = {}
        one, known = self.collective, set[State]()
        todo: list[tuple[State, ChunkOrder]] = [((0, 0), ChunkOrder())]
        while todo:
            state, order = todo.pop()
            if state in known:
                continue
            known.add(state)
            for level in self.levels_after(state):
                longer = self._longer(state, order, level)
                stage = stages_of(one.kind, one.size / one.chunks, one.levels, longer)[-1]
                found[state, level] = occupied(stage, one.latency)
                todo.append((self.after(state, level), longer))
        return found

    def _longer(self, state: State, order: ChunkOrder, level: int) -> ChunkOrder:
        if state[0] != self.whole[0]:
            return ChunkOrder((*order.scatter, level), order.gather)
        return ChunkOrder(order.scatter, (*order.gather, level))

    def levels_after(self, state: State) -> list[int]:
        """The levels that a chunk may cross next."""
        half = 0 if state[0] != self.whole[0] else 1
        return [n for n in range(len(self.collective.levels)) if (self.whole[half] & ~state[half]) >> n & 1]

    def after(self, state: State, level: int) -> State:
        """The state of a chunk that crosses a level next."""
        if state[0] != self.whole[0]:
            return state[0] | 1 << level, state[1]
        return state[0], state[1] | 1 << level

    @cached_property
    def times(self) -> dict[tuple[State, int], tuple[int, int]]:
        """For each state and level the units that it is occupied, and those until the result is there."""
        return {key: (int(a * self.scale), int(b * self.scale)) for key, (a, b) in self._seconds.items()}

    @cached_property
    def alone(self) -> dict[State, int]:
        """The units that a chunk takes at least from each state on."""
        found = {self.whole: 0}
        states = sorted({state for state, _ in self.times}, key=lambda s: s[0].bit_count() + s[1].bit_count())
        for state in reversed(states):
            found[state] = min(self.times[state, n][1] + found[self.after(state, n)] for n in self.levels_after(state))
        return found

    @cached_property
    def rates(self) -> tuple[list[int], dict[State, int]]:
        """
        Integers in the proportion of the servers' rates, and for each state what levels must still send, in these
        times units: whatever the order, it is the same.
        """
        one = self.collective
        rates = one.rates
        left = {state: self._left(state) * self.scale for state in self.alone}
        common = lcm(*(number.denominator for number in (*rates, *left.values())))
        return [int(rate * common) for rate in rates], {state: int(value * common) for state, value in left.items()}

    def _left(self, state: State) -> Fraction:
        """The bytes that a device has still to send of a chunk."""
        one, order = self.collective, _path(self, state)
        stages = stages_of(one.kind, one.size / one.chunks, one.levels, order)
        done = state[0].bit_count() + state[1].bit_count()
        return sum((stage.sent for stage in stages[done:]), Fraction(0))

    @cached_property
    def delay(self) -> int:
        """The least units between the end of a last stage and its result."""
        return min(whole - busy for busy, whole in self.times.values())


def _path(tables: _Tables, state: State) -> ChunkOrder:
    """An order by which a chunk comes to a state, and goes on from it."""
    halves = list[tuple[int, ...]]()
    for number in range(2):
        every = [n for n in range(len(tables.collective.levels)) if tables.whole[number] >> n & 1]
        halves.append(tuple(sorted(every, key=lambda n, half=state[number]: not half >> n & 1)))
    return ChunkOrder(halves[0], halves[1])


@dataclass
class _Search:
    """The search by depth first; `best` is in units."""

    tables: _Tables
    most: int
    nodes: int = 0
    stopped: bool = False
    best: int = 0
    _spans: list[StageSpan] = field(default_factory=list[StageSpan])
    _found: tuple[StageSpan, ...] | None = None
    _known: set[tuple[object, ...]] = field(default_factory=set[tuple[object, ...]])

    def run(self, known_s: Fraction) -> ChunkSchedule | None:
        """The best schedule below a known time, if there is one."""
        tables, one = self.tables, self.tables.collective
        self.best = -(-known_s * tables.scale // 1)
        self._branch([((0, 0), 0, OPEN)] * one.chunks, [0] * len(one.rates))
        if self._found is None:
            return None
        orders = tuple(_order(tables, [span for span in self._found if span.chunk == n]) for n in range(one.chunks))
        spans = tuple(sorted(self._found, key=lambda span: (span.begin, span.level)))
        return ChunkSchedule(one, orders, ChunkTimeline(spans, Fraction(1, tables.scale)))

    def _branch(self, chunks: list[Waiting], free: list[int]) -> None:
        if self.nodes >= self.most:
            self.stopped = True
            return
        self.nodes += 1
        whole = self.tables.whole
        if all(state == whole for state, _, _ in chunks):
            end = max(ready for _, ready, _ in chunks)
            if end < self.best:
                self.best, self._found = end, tuple(self._spans)
            return
        key = (*sorted(chunks), *free)
        if key in self._known or self._bound(chunks, free) >= self.best:
            return
        self._known.add(key)
        undecided = [n for n, (state, _, level) in enumerate(chunks) if level == OPEN and state != whole]
        if undecided:
            first = min(undecided, key=lambda n: chunks[n][1])
            self._decide(first, chunks, free)
        else:
            self._begin(chunks, free)

    def _decide(self, chunk: int, chunks: list[Waiting], free: list[int]) -> None:
        """Choose the level that a chunk crosses next, first those that are free soonest."""
        state, ready, _ = chunks[chunk]
        servers = self.tables.servers
        for level in sorted(self.tables.levels_after(state), key=lambda level: free[servers[level]]):
            others = chunks.copy()
            others[chunk] = (state, ready, level)
            self._branch(others, free)

    def _begin(self, chunks: list[Waiting], free: list[int]) -> None:
        """Begin a stage, of those that share a level with the one whose result is there first."""
        tables = self.tables
        able = [
            (max(ready, free[tables.servers[level]]), *tables.times[state, level], chunk, level)
            for chunk, (state, ready, level) in enumerate(chunks)
            if state != tables.whole
        ]
        start, busy, _, first, soonest = min(able, key=lambda one: one[0] + one[2])
        server = tables.servers[soonest]
        known = set[Waiting]()
        for begin, leaves, done, chunk, level in sorted(able):
            # a stage that sends nothing leaves its level as it begins
            late = begin >= start + busy and chunk != first
            if tables.servers[level] != server or late or chunks[chunk] in known:
                continue
            known.add(chunks[chunk])
            state = chunks[chunk][0]
            others, later = chunks.copy(), free.copy()
            others[chunk], later[server] = (tables.after(state, level), begin + done, OPEN), begin + leaves
            number = state[0].bit_count() + state[1].bit_count()
            self._spans.append(StageSpan(chunk, number, level, begin, begin + leaves, begin + done))
            self._branch(others, later)
            self._spans.pop()

    def _bound(self, chunks: list[Waiting], free: list[int]) -> int:
        """The units that no schedule from here on is below."""
        tables = self.tables
        rates, left = tables.rates
        alone = max(ready + tables.alone[state] for state, ready, _ in chunks)
        work = sum(left[state] for state, _, _ in chunks)
        if not work:
            return alone
        rate = until = 0
        together = 0
        for server in sorted((n for n, own in enumerate(rates) if own), key=free.__getitem__):
            if rate and together <= free[server]:
                break
            rate += rates[server]
            until += rates[server] * free[server]
            together = -(-(work + until) // rate)
        return max(alone, together + tables.delay)


def _order(tables: _Tables, spans: list[StageSpan]) -> ChunkOrder:
    """The order that a chunk takes."""
    levels = [span.level for span in sorted(spans, key=lambda span: span.number)]
    count = tables.whole[0].bit_count()
    return ChunkOrder(tuple(levels[:count]), tuple(levels[count:]))
