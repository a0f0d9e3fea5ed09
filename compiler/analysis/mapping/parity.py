"""
What MAESTRO says of a mapping, number for number (github.com/maestro-project/maestro, commit 4eb08d1).

Counts are in elements, times in cycles. Every level is run through its cases: a step takes as long as the level inside
or its transfers, whichever is longer; before the first step nothing overlaps.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from npuc.compiler.analysis.mapping.cases import Case, cases, occurrences
from npuc.compiler.analysis.mapping.levels import Level, resolve, tdiv
from npuc.compiler.analysis.mapping.volumes import Step
from npuc.dialects.mapping import Mapping, Role

INPUTS: tuple[Role, ...] = ("I", "W")


@dataclass(frozen=True)
class Array:
    """The machine: elements, the network's elements a cycle and latency, off-chip elements a cycle, MACs a cycle."""

    num_pes: int
    noc_bw: int = (1 << 31) - 1
    noc_latency: int = 1
    offchip_bw: int = 70_000
    lanes: int = 1

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
    intensity: float | None = None
    ingress: Extremes = field(default_factory=Extremes)
    egress: Extremes = field(default_factory=Extremes)
    compute: Extremes = field(default_factory=Extremes)


def analyse(mapping: Mapping, array: Array) -> Counters:
    """The counters of the top level. Raises `Unmappable`."""
    levels = resolve(mapping, array.num_pes)
    run = _Run(levels, array)
    found = run.level(0, dict(mapping.problem.sizes), whole=True)
    found.l1_size = _l1_sizes(levels[-1])
    return found


def _l1_sizes(level: Level) -> dict[Role, int]:
    """Room for two tiles in a processing element, in elements; that of the output takes the input's tiles, a quirk."""
    found: dict[Role, int] = {}
    for role in (*INPUTS, "O"):
        product = 2
        for dim in level.problem.coupled(role):
            product *= level.sizes[dim].mapped
        found[role] = product
    return found


@dataclass
class _Run:
    levels: tuple[Level, ...]
    array: Array
    known: dict[tuple[object, ...], Counters] = field(default_factory=dict[tuple[object, ...], Counters])

    def level(self, number: int, entered: dict[str, int], whole: bool = False) -> Counters:
        """The counters of a level that is entered with a tile."""
        key = (number, *entered.values())
        if key not in self.known:
            self.known[key] = self._level(number, entered, whole)
        return self.known[key]

    def _level(self, number: int, entered: dict[str, int], top: bool) -> Counters:
        level = self.levels[number]
        total = Counters()
        for case in cases(level, entered):
            step, count = Step(level, case), occurrences(case)
            if not total.l2_size:
                self._begin(total, step, entered)
            self._case(number, step, count, total, top)
        if total.steps:
            total.active /= total.steps
            total.bandwidth /= total.steps
        return total

    @staticmethod
    def _begin(total: Counters, step: Step, entered: dict[str, int]) -> None:
        """What is counted in the first step: room, and what is loaded and stored once."""
        problem = step.level.problem
        for role in INPUTS:
            total.l2_size[role] = 2 * step.ingress(role)
            size = 1
            for dim in problem.coupled(role):
                size *= entered[dim]
            total.l2_write[role], total.l2_read[role], total.l1_write[role], total.l1_read[role] = size, 0, 0, 0
        total.l2_size["O"] = 2 * step.egress()
        size = 1
        for dim in problem.coupled("O"):
            slides = problem.slides and dim in ("Y", "X")
            size *= entered[dim] - entered["R" if dim == "Y" else "S"] + 1 if slides else entered[dim]
        total.l2_read["O"] = size
        total.l2_write["O"] = total.l1_write["O"] = total.l1_read["O"] = 0

    def _case(self, number: int, step: Step, count: int, total: Counters, top: bool) -> None:
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
        room, busy = total.l2_size, compute or 1
        if top:
            inputs, bandwidth = room["I"] + room["W"], self.array.offchip_bw
            delay = max(delay, room["O"] // bandwidth // 2, inputs // bandwidth // 2)
            total.offchip = max(total.offchip, tdiv(room["O"], busy), tdiv(inputs, busy)) // 2
        total.runtime += count * delay
        most = max(moved, egress)
        total.peak = max(total.peak, tdiv(most, busy))
        total.bandwidth += tdiv(count * most, busy)

    def _inside(self, number: int, step: Step, critical: int) -> tuple[int, float]:
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


def _entered(level: Level, case: Case, last: bool) -> dict[str, int]:
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
