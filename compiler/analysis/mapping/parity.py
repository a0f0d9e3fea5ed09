"""
MAESTRO's cost of a mapping, number for number (github.com/maestro-project/maestro, commit 4eb08d1).

Counts are in elements, times in cycles. Every level is run through its cases: a step takes as long as the level inside
or its transfers, whichever is longer; before the first step nothing overlaps.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from npuc.compiler.analysis.mapping.cases import Case, cases, occurrences
from npuc.compiler.analysis.mapping.levels import DirectiveLevel, Unmappable, resolve, tdiv
from npuc.compiler.analysis.mapping.volumes import LevelCase
from npuc.dialects.mapping import Mapping, Problem, Role

INPUTS: tuple[Role, ...] = ("I", "W")


@dataclass(frozen=True)
class AccessCosts:
    """The energy of an access to an element of L2, of L1 and of DRAM, in MACs; MAESTRO's constants."""

    l2: float = 18.61
    l1: float = 1.68
    offchip: float = 0.0


MAESTRO_COSTS = AccessCosts()


@dataclass(frozen=True)
class PeArray:
    """
    The machine: elements, the network's elements a cycle and latency, off-chip elements, MACs a cycle.

    Off chip come `offchip_bw` elements in `offchip_cycles` cycles, which need not be a whole number a cycle. `costs`
    are what accesses cost.
    """

    num_pes: int
    noc_bw: int = (1 << 31) - 1
    noc_latency: int = 1
    offchip_bw: int = 70_000
    lanes: int = 1
    offchip_cycles: int = 1
    costs: AccessCosts = MAESTRO_COSTS

    @property
    def whole_offchip_bw(self) -> int:
        """Elements a cycle off chip as MAESTRO takes them: whole, at least one."""
        return max(1, self.offchip_bw // self.offchip_cycles)

    def transfer(self, volume: int) -> int:
        """Cycles that a volume takes through the network; -1 for nothing at no latency, as MAESTRO has it."""
        return self.noc_latency + -(-volume // self.noc_bw) - 1


@dataclass
class Extremes:
    """Least, most and weighted sum of a delay."""

    least: int = (1 << 31) - 1
    most: int = 0
    total: int = 0

    def add(self, value: int, count: int) -> None:
        """Count a delay that occurs `count` times."""
        self.least, self.most, self.total = min(self.least, value), max(self.most, value), self.total + value * count


@dataclass
class Counters:
    """What a level counts over its steps; `l2_*` and `l1_*` in elements by tensor, `steps` those that took time."""

    runtime: int = 0
    macs: int = 0
    steps: int = 0
    l2_size: dict[Role, int] = field(default_factory=dict[Role, int])
    l1_size: dict[Role, int] = field(default_factory=dict[Role, int])
    l2_write: dict[Role, int] = field(default_factory=dict[Role, int])
    l2_read: dict[Role, int] = field(default_factory=dict[Role, int])
    l1_write: dict[Role, int] = field(default_factory=dict[Role, int])
    l1_read: dict[Role, int] = field(default_factory=dict[Role, int])
    peak: int = 0
    bandwidth: float = 0.0
    offchip: int = 0
    active: float = 0.0
    intensity: float = 0.0
    ingress: Extremes = field(default_factory=Extremes)
    egress: Extremes = field(default_factory=Extremes)
    compute: Extremes = field(default_factory=Extremes)

    def begin(self, problem: Problem, entered: dict[str, int]) -> None:
        """Count what is loaded and stored once: the tensors of the tile that a level is entered with."""
        for role in (*INPUTS, "O"):
            size = problem.elements(role, entered)
            self.l2_write[role], self.l2_read[role] = (0, size) if role == "O" else (size, 0)
            self.l2_size[role] = self.l1_size[role] = self.l1_write[role] = self.l1_read[role] = 0


def analyse(mapping: Mapping, array: PeArray) -> Counters:
    """The counters of the top level. Raises `Unmappable`."""
    run = _Run(resolve(mapping, array.num_pes), array)
    found = run.level(0, dict(mapping.problem.sizes))
    found.l1_size = run.innermost.l1_size
    return found


@dataclass
class _Run:
    levels: tuple[DirectiveLevel, ...]
    array: PeArray
    known: dict[tuple[int, ...], Counters] = field(default_factory=dict[tuple[int, ...], Counters])
    deepest: int = -1
    innermost: Counters = field(default_factory=Counters)

    def level(self, number: int, entered: dict[str, int]) -> Counters:
        """The counters of a level that is entered with a tile."""
        key = (number, *entered.values())
        if key not in self.known:
            self.known[key] = self._level(number, entered)
        return self.known[key]

    def _level(self, number: int, entered: dict[str, int]) -> Counters:
        level = self.levels[number]
        total = Counters()
        total.begin(level.problem, entered)
        if number > self.deepest:
            self.deepest, self.innermost = number, total
        for case in cases(level, entered):
            step, count = LevelCase(level, case), occurrences(case)
            if not total.steps:
                _add_sizes(total, step)
            self._case(number, step, count, total)
        if total.steps:
            total.active /= total.steps
            total.bandwidth /= total.steps
        return total

    def _case(self, number: int, step: LevelCase, count: int, total: Counters) -> None:
        egress, work = step.egress(), step.work()
        total.l2_write["O"] += count * egress
        total.l1_write["O"] += count * work
        total.l1_read["O"] += count * work
        critical = step.critical()
        if critical <= 0:
            return
        ingress = {role: step.ingress(role) for role in INPUTS}
        for role in INPUTS:
            total.l2_read[role] += count * ingress[role]
            total.l1_write[role] = total.l2_read[role]
            total.l1_read[role] += count * work
        compute, active = self._inside(number, step, critical)
        total.macs += count * work
        total.steps += count
        total.active += count * active
        moved = sum(ingress.values())
        if moved:
            total.intensity = work / moved
        into, out = self.array.transfer(moved), self.array.transfer(egress)
        total.ingress.add(into, count)
        total.egress.add(out, count)
        total.compute.add(compute, count)
        delay = compute + into if not any(s.moved for s in step.case) else max(compute, into, out)
        sizes, busy = total.l2_size, compute or 1
        if number == 0:
            if compute == 0:
                raise Unmappable("a step of its top level takes no time, by which MAESTRO divides")
            inputs, bandwidth = sizes["I"] + sizes["W"], self.array.whole_offchip_bw
            delay = max(delay, sizes["O"] // bandwidth // 2, inputs // bandwidth // 2)
            total.offchip = max(total.offchip, tdiv(sizes["O"], busy), tdiv(inputs, busy)) // 2
        total.runtime += count * delay
        most = max(moved, egress)
        total.peak = max(total.peak, tdiv(most, busy))
        total.bandwidth += tdiv(count * most, busy)

    def _inside(self, number: int, step: LevelCase, critical: int) -> tuple[int, float]:
        """Cycles of the work of a step, and how many processing elements take part."""
        level = step.level
        spatial = next(s for t, s in zip(level.tiles, step.case, strict=True) if t.spatial)
        own = level.edges if spatial.edge else level.width
        if number + 1 == len(self.levels):
            return -(-critical // self.array.lanes), own
        runs: list[tuple[bool, int]] = [(False, own)]
        if spatial.edge and spatial.ragged:
            runs = [(True, 1)] + ([(False, level.edges - 1)] if level.edges > 1 else [])
        compute, active = 0, 0.0
        for last, copies in runs:
            found = self.level(number + 1, _entered(level, step.case, last))
            compute = max(compute, found.runtime)
            active += found.active * copies
        return compute, active or own


def _add_sizes(total: Counters, step: LevelCase) -> None:
    """
    Room for two tiles of each tensor, above and in a sub-cluster.

    The output's inside takes the sizes of the input's tiles. Steps without work, which come before the first that has
    some in mappings whose tiles are larger than what they are given, add to the sizes of the inputs. Both are quirks.
    """
    for role in (*INPUTS, "O"):
        inside = 2
        for dim in step.level.problem.coupled(role):
            inside *= step.level.sizes[dim].mapped
        if role == "O":
            total.l2_size[role], total.l1_size[role] = 2 * step.egress(), inside
        else:
            total.l2_size[role] += 2 * step.ingress(role)
            total.l1_size[role] += inside


def _entered(level: DirectiveLevel, case: Case, last: bool) -> dict[str, int]:
    """The tile that a sub-cluster is given in a step."""
    found: dict[str, int] = {}
    for t, state in zip(level.tiles, case, strict=True):
        s = level.sizes[t.dim]
        if not state.edge:
            found[t.dim] = s.mapped
        elif not t.spatial:
            found[t.dim] = s.mapped_edge
        else:
            found[t.dim] = s.mapped_edge if level.edges == 1 or last else s.mapped
    return found
