"""
The integer program whose solutions are the plans of recomputation of a step, with the memory at each of its points.

After Jain et al. (2020), Checkmate (arXiv 1910.02653), restricted to the plans of a `RecomputeProblem`: each forward
operation is kept or computed once more, in front of the first stage of the backward pass that needs it, in the order of
the program.

L[f, s] says that f has been computed again in stage s or before, for the stages in which that may happen; c[f] is the
last of them. In the order of the program (`<`), p makes the value b, h reads it in the forward pass:

    L[f, s] >= L[f, s - 1]
    L[f, s] - L[f, s - 1] <= sum of L[h, s] - L[h, s - 1] over its readers    where stage s does not read f itself
    L[p, s] >= L[h, s] + c[p] - 1                                             a copy reads copies

A point is an operation that runs in a stage, or again in front of it. E[h] says that h has been computed again before
a point, M[p] that p has been by its end. What is kept of b, and what is computed again, take memory at that point if

    O = 1 - c[p]   and   K = M[p]         where the backward pass reads b at the point or later, else
    O >= c[h] - E[h] - c[p]   and   K >= M[p] + c[h] - E[h] - 1     for each h that reads b
    K >= L[p, s] - L[p, s - 1]                                      where p is computed again

and so at the points of the forward pass behind the last reader. All values at a point together are within the budget.
Only L need be integers: O and K are bounded from below alone.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from math import inf

from npuc.compiler.analysis.memory.recompute import RecomputeProblem

Terms = dict[int, float]
"""A linear expression: a factor for each variable, the constant under -1."""


def size_of(problem: RecomputeProblem) -> int:
    """The number of points of the integer program at which something runs again: what its time depends on."""
    return sum(len(stages) for stages in possible_stages(problem).values())


def possible_stages(problem: RecomputeProblem) -> dict[int, tuple[int, ...]]:
    """The stages in which each candidate may be computed again, ascending; those that nobody needs have none."""
    stage_of = {op: s for s, (start, end) in enumerate(problem.spans) for op in range(start, end)}
    found: dict[int, tuple[int, ...]] = {}
    for op in sorted(problem.candidates, reverse=True):
        stages: set[int] = set()
        direct = inf
        for reader in problem.readers[op]:
            if reader >= problem.boundary:
                direct = min(direct, stage_of[reader])
            else:
                stages.update(found.get(reader, ()))
        if direct < inf:
            stages.add(int(direct))
        if stages:
            found[op] = tuple(sorted(s for s in stages if s <= direct))
    return found


@dataclass
class RecomputeProgram:
    """The integer program of one problem: `rows` of `lower` or more, over `count` variables from 0 to 1."""

    problem: RecomputeProblem
    lower: list[float] = field(default_factory=list[float])
    """The least value of each row, and beside it the terms."""
    rows: list[Terms] = field(default_factory=list[Terms])
    points: list[Terms] = field(default_factory=list[Terms])
    """The memory at each point, without what is there throughout."""
    count: int = 0
    integers: int = 0
    alive: dict[tuple[object, ...], Terms] = field(default_factory=dict[tuple[object, ...], Terms])

    def __post_init__(self) -> None:
        self.stages = possible_stages(self.problem)
        self.made: dict[tuple[int, int], int] = {}
        for op, stages in self.stages.items():
            for s in stages:
                self.made[op, s] = self.variable()
        self.integers = self.count
        self._rules()
        self._forward_points()
        self._backward_points()

    def variable(self) -> int:
        """A new variable from 0 to 1."""
        self.count += 1
        return self.count - 1

    def at_least(self, low: float, *terms: tuple[int, float]) -> None:
        """A new row: the sum of the terms is `low` or more. Terms of variable -1 are 0."""
        row: Terms = {}
        for variable, factor in terms:
            if variable >= 0:
                row[variable] = row.get(variable, 0.0) + factor
        if any(row.values()):
            self.rows.append(row)
            self.lower.append(low)

    # variables of an operation

    def again(self, op: int) -> int:
        """c of an operation, -1 if it is never computed again."""
        stages = self.stages.get(op)
        return self.made[op, stages[-1]] if stages else -1

    def until(self, op: int, stage: int) -> int:
        """L of an operation and any stage, -1 where it is 0."""
        before = [s for s in self.stages.get(op, ()) if s <= stage]
        return self.made[op, before[-1]] if before else -1

    # what holds for the L

    def _rules(self) -> None:
        problem = self.problem
        starts = [start for start, _ in problem.spans]
        for op, stages in self.stages.items():
            readers = [r for r in problem.readers[op] if r in self.stages]
            direct = next((r for r in problem.readers[op] if r >= problem.boundary), len(problem.slots))
            for s in stages:
                now, before = self.made[op, s], self.until(op, s - 1)
                self.at_least(0.0, (now, 1.0), (before, -1.0))
                if not (starts[s] <= direct < problem.spans[s][1]):
                    needed = [(self.until(r, s), 1.0) for r in readers]
                    needed += [(self.until(r, s - 1), -1.0) for r in readers]
                    self.at_least(0.0, *needed, (now, -1.0), (before, 1.0))
            for r in readers:
                for s in self.stages[r]:
                    if self.until(op, s) != self.again(op):
                        terms = (self.until(op, s), 1.0), (self.until(r, s), -1.0), (self.again(op), -1.0)
                        self.at_least(-1.0, *terms)
                if op in problem.bound:
                    self.at_least(0.0, (self.again(op), 1.0), (self.again(r), -1.0))

    # memory

    @cached_property
    def last_direct(self) -> dict[int, int]:
        """The last operation of the backward pass that reads a buffer; the end for what is returned."""
        found: dict[int, int] = {}
        for number in range(self.problem.boundary, len(self.problem.slots)):
            found.update(dict.fromkeys(self.problem.slots[number][0], number))
        return found | dict.fromkeys(self.problem.returned, len(self.problem.slots))

    @cached_property
    def readers_again(self) -> dict[int, list[int]]:
        """The operations that read a buffer and may be computed again, by buffer of the forward pass."""
        found: dict[int, list[int]] = {buffer: [] for buffer in self.problem.producer}
        for op in sorted(self.stages):
            for buffer in self.problem.slots[op][0]:
                found[buffer].append(op)
        return found

    def _forward_points(self) -> None:
        """The memory of the forward pass: values until their last reader, and later those that are kept."""
        problem = self.problem
        last: dict[int, int] = {}
        for number, (reads, makes) in enumerate(problem.slots[: problem.boundary]):
            last.update(dict.fromkeys((*reads, *makes), number))
        kept = {buffer: self._kept(buffer, problem.boundary, {}) for buffer in problem.producer}
        for number in range(problem.boundary):
            point: Terms = {}
            for buffer, op in problem.producer.items():
                if op <= number:
                    own = {-1: 1.0} if last[buffer] >= number else kept[buffer]
                    _add(point, own, problem.sizes[buffer])
            self.points.append(point)

    def _backward_points(self) -> None:
        problem = self.problem
        births = {b: n for n, (_, makes) in enumerate(problem.slots) if n >= problem.boundary for b in makes}
        for s, (start, end) in enumerate(problem.spans):
            here = [op for op in sorted(self.stages) if s in self.stages[op]]
            for number in (*(~op for op in here), *range(start, end)):
                at = max(number, start)
                point: Terms = {}
                for buffer, birth in births.items():
                    live = birth < at if number < 0 else birth <= at
                    if live and self.last_direct.get(buffer, birth) >= at:
                        _add(point, {-1: 1.0}, problem.sizes[buffer])
                for buffer, op in problem.producer.items():
                    done = {
                        h: self.until(h, s if number >= 0 or h < ~number else s - 1) for h in self.readers_again[buffer]
                    }
                    _add(point, self._kept(buffer, at, done), problem.sizes[buffer])
                    if op in self.stages:
                        copied = self.until(op, s if number >= 0 or op <= ~number else s - 1)
                        own = self.until(op, s - 1) if number == ~op else None
                        _add(point, self._copied(buffer, at, done, copied, own), problem.sizes[buffer])
                self.points.append(point)

    def _waiting(self, buffer: int, done: dict[int, int]) -> Iterable[tuple[int, int]]:
        """c and E of the operations that read a buffer and may be computed again at a point, or later."""
        for op in self.readers_again[buffer]:
            if done.get(op, -1) != self.again(op):
                yield self.again(op), done.get(op, -1)

    def _kept(self, buffer: int, at: int, done: dict[int, int]) -> Terms:
        """O of a buffer at a point; `at` is the next operation of the backward pass, `done` has the E of readers."""
        own = self.again(self.problem.producer[buffer])
        direct = self.last_direct.get(buffer, -1) >= at
        if direct:
            return {-1: 1.0} if own < 0 else {-1: 1.0, own: -1.0}
        waiting = tuple(self._waiting(buffer, done))
        if not waiting:
            return {}
        key = ("kept", buffer, waiting)
        if key not in self.alive:
            new = self.variable()
            for whole, before in waiting:
                self.at_least(0.0, (new, 1.0), (own, 1.0), (whole, -1.0), (before, 1.0))
            self.alive[key] = {new: 1.0}
        return self.alive[key]

    def _copied(self, buffer: int, at: int, done: dict[int, int], made: int, own: int | None) -> Terms:
        """K of a buffer at a point; `made` is M, `own` the L of the stage before where it is computed just now."""
        direct = self.last_direct.get(buffer, -1) >= at
        waiting = tuple(self._waiting(buffer, done))
        if made < 0 or (own is None and not direct and not waiting):
            return {}
        if direct:
            return {made: 1.0}
        key = ("copied", buffer, made, own, waiting)
        if key not in self.alive:
            new = self.variable()
            if own is not None:
                self.at_least(0.0, (new, 1.0), (made, -1.0), (own, 1.0))
            for whole, before in waiting:
                self.at_least(-1.0, (new, 1.0), (made, -1.0), (whole, -1.0), (before, 1.0))
            self.alive[key] = {new: 1.0}
        return self.alive[key]


def _add(point: Terms, terms: Terms, factor: float) -> None:
    """Add a multiple of an expression to one."""
    for variable, own in terms.items():
        point[variable] = point.get(variable, 0.0) + own * factor
