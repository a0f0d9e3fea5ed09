"""The searches of the first parts of a nest's partitions over cores, each on a core with its share of the channel."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.blocks import is_plain, touched
from npuc.compiler.analysis.nest.cores import core_count, first_part
from npuc.compiler.analysis.nest.elements import Bits, Width
from npuc.compiler.analysis.schedule.candidates import ROUNDING
from npuc.compiler.analysis.schedule.core_search import best_on_core, core_search, near_on_core
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.schedule.exact_cost import ExactCost, exact_costs
from npuc.compiler.analysis.schedule.grid.array_work import is_searched_edge, narrower_edge
from npuc.compiler.analysis.schedule.grid.residency_options import Beside
from npuc.compiler.analysis.schedule.machine_space import MOST
from npuc.compiler.analysis.schedule.monotone import Tilings
from npuc.compiler.analysis.schedule.near_ties import best_of
from npuc.compiler.analysis.schedule.over_cores.part_floor import part_floor, spared_bits
from npuc.compiler.analysis.schedule.over_cores.partitions import CandidatePartition
from npuc.compiler.core.errors import CapacityError
from npuc.dialects.npu.nest import Loop, Nest, Schedule


@dataclass(frozen=True)
class PartSearch:
    """The search of a nest on a machine of several cores, part by part."""

    nest: Nest
    machine: Machine
    objective: Objective
    widths: Bits
    order: tuple[str, ...]

    def part(self, candidate: CandidatePartition) -> tuple[Nest, Machine]:
        """
        The first, largest part of a partition, and a core with its share of the channel, as many times faster as it is
        where every element moves once and is billed to its readers.
        """
        partition = Schedule(candidate.loops)
        part, machine = first_part(self.nest, partition), replace(self.machine, cores=candidate.cores)
        core = machine.core(core_count(self.nest, partition))
        faster = self._faster(candidate, part)
        return part, core if faster == 1 else replace(core, bytes_per_cycle=core.bytes_per_cycle * faster)

    def _faster(self, candidate: CandidatePartition, part: Nest) -> Fraction:
        """How many times faster the channel of a core is that moves every element once, in quarters."""
        if not self.machine.multicast or self.objective in ("traffic", "energy"):
            return Fraction(1)
        readers, stored = self._readers(candidate.loops), self.widths.by_name(part)
        moved = {name: stored[name] * touched(tensor, part.sizes) for name, tensor in part.tensors.items()}
        billed = sum(Fraction(bits, readers.get(name, 1)) for name, bits in moved.items())
        return _quarters(sum(moved.values()) / billed) if billed else Fraction(1)

    def whole(self, candidate: CandidatePartition, inner: Schedule) -> Schedule:
        """The schedule of the nest in which every core runs its part by a schedule of the first one."""
        return Schedule((*candidate.loops, *inner.loops), inner.keep, inner.spm)

    def within(self, candidate: CandidatePartition, score: float) -> tuple[Schedule, CandidatePartition] | None:
        """
        The schedule with the best one of the first part; None where it costs more than `score` anyway. With it comes
        the candidate, with the closer bound that is known then.

        Raises `CapacityError` where the part does not fit.
        """
        part, bounded, found, least = self.part(candidate)[0], self.parts_bound, list[Schedule](), MOST
        spared = self._spared(candidate, part)
        for core, times in self._cores(candidate):
            rest = float(spared / core.channel_bits)
            limit = ROUNDING * (times * score + rest) if bounded and score < MOST else MOST
            inner = core_search(part, core, self.objective, self.widths, self.order, False).within(limit)
            if inner is not None or limit == MOST:
                schedule = self._best_on_core(part, core) if inner is None else inner.schedule
                found.append(self.whole(candidate, schedule))
            least = min(least, score if inner is None else (inner.score - rest) / (ROUNDING * times))
        if not found:
            return None
        if bounded:
            candidate = replace(candidate, least=max(candidate.least, least))
        return self._best(found, 0.0), candidate

    def _cores(self, candidate: CandidatePartition) -> list[tuple[Machine, float]]:
        """
        The cores on which the first part is searched: that of `part`, and where its channel is taken to be faster also
        one with the even share, as a schedule that refetches may have no faster one. With each comes how many times
        faster its channel is at most, as transfers serve several.
        """
        part, core = self.part(candidate)
        faster, times = self._faster(candidate, part), self._times(candidate, part)
        if faster == 1:
            return [(core, float(times))]
        even = replace(core, bytes_per_cycle=core.bytes_per_cycle / faster)
        return [(core, float(times)), (even, float(times * faster))]

    def _best_on_core(self, part: Nest, core: Machine) -> Schedule:
        return best_on_core(part, core, self.objective, self.widths, self.order)

    def _best(self, schedules: Sequence[Schedule], tolerance: float) -> Schedule:
        """The best of schedules of the nest, by the next measure among those near the best score."""

        def cost(schedule: Schedule) -> ExactCost:
            return exact_costs(self.nest, schedule, self.machine, self.widths)

        return schedules[0] if len(schedules) == 1 else best_of(schedules, cost, self.objective, tolerance)

    def least(self, candidate: CandidatePartition) -> float:
        """
        A lower bound of the time of every schedule that this search finds with the loops of a partition, by the tilings
        of the first part; 0 where none is known, and any less number where it is no more than that of the candidate.
        """
        if not self.parts_bound:
            return 0.0
        # All of the machine's channel is there for whatever is found for a chip of fewer cores.
        part, core = self.part(replace(candidate, cores=self.machine.cores))
        ways, times = self._beside(candidate, part), self._times(candidate, part)
        rest = float(self._rest(part) / (times * core.channel_bits))
        known = ROUNDING * candidate.least + rest
        floor = max(part_floor(part, core, self.widths, self.order, one, known) for one in ways)
        return (floor - rest) / ROUNDING

    def _beside(self, candidate: CandidatePartition, part: Nest) -> tuple[Beside, ...]:
        """
        How some cores run beside others whose parts are like the first one: one that goes on with sums of another, or
        where sums pass on chip the last one and the first, which stores none that it passes on.
        """
        nest, loops, times = self.nest, candidate.loops, self._times(candidate, part)
        axes = [axis for tensor in nest.tensors.values() for axis in tensor.axes]
        plain = {loop.dim for loop in loops if all(is_plain(axis) for axis in axes if loop.dim in axis.dims)}
        over = {loop.dim for loop in loops if loop.step < nest.sizes[loop.dim]}
        if not self.machine.reduction == "on-chip":
            alike = {loop.dim for loop in loops if 2 * loop.step <= nest.sizes[loop.dim]} & plain
            return (self._going_on({out.name for out in nest.outs if alike - out.dims}, times),)
        passed = {out.name for out in nest.outs if over - out.dims}
        # What is passed on is taken off what is stored last, of whichever output.
        outs = frozenset(out.name for out in nest.outs) if passed else frozenset[str]()
        first = Beside(frozenset(), outs, times)
        whole = {loop.dim for loop in loops if nest.sizes[loop.dim] % loop.step == 0} & plain
        if not all(over - out.dims <= whole for out in nest.outs):
            return (first,)
        return replace(self._going_on(passed, times), resumed=frozenset()), first

    def _going_on(self, sums: Collection[str], times: Fraction) -> Beside:
        """A core that goes on with these sums, and so does not read what they start from."""
        starts = zip(self.nest.outs, self.nest.starts, strict=True)
        begun = frozenset(start.name for out, start in starts if start is not None and out.name in sums)
        return Beside(frozenset(sums), begun, times)

    def _times(self, candidate: CandidatePartition, part: Nest) -> Fraction:
        """How many times faster than that of `part` the channel of a core is at most, as transfers serve several."""
        most = max(self._readers(candidate.loops).values()) if self.machine.multicast else 1
        return most / self._faster(candidate, part)

    def _readers(self, loops: tuple[Loop, ...]) -> dict[str, int]:
        """The cores that one transfer of a tensor that is read serves."""
        nest = self.nest
        read = [(tensor.name, frozenset(nest.sizes) - tensor.dims) for tensor in nest.ins]
        starts = zip(nest.outs, nest.starts, strict=True)
        read += [(start.name, out.dims - start.dims) for out, start in starts if start is not None]
        return {name: prod(-(-nest.sizes[lo.dim] // lo.step) for lo in loops if lo.dim in dims) for name, dims in read}

    def _spared(self, candidate: CandidatePartition, part: Nest) -> Width:
        """The bits that a part moves alone and not beside others: its rest, and what sums do not that pass on chip."""
        rest = self._rest(part)
        if self.machine.reduction == "dram":
            return rest
        return rest + min(spared_bits(part, self.widths, one) for one in self._beside(candidate, part))

    def _rest(self, part: Nest) -> Width:
        """The bits of what other parts touch of an output with windows."""
        stored = self.widths.by_name(part)
        tensors = (*part.outs, *(start for start in part.starts if start is not None))
        return sum(stored[t.name] * (t.elements - touched(t, part.sizes)) for t in tensors)

    def without(self, candidate: CandidatePartition, score: float) -> tuple[Tilings, ...]:
        """The tilings of the first part that have no schedule with which the nest takes at most `score`, if known."""
        if not self.parts_bound or self.is_shared:
            return ()
        part, core = self.part(candidate)
        known = core_search(part, core, self.objective, self.widths, self.order, False)
        return known.without(ROUNDING * (score + float(self._spared(candidate, part) / core.channel_bits)))

    def near(self, candidate: CandidatePartition, tolerance: float) -> Schedule | None:
        """The schedule with the best one of the first part by the next measure; None where the part does not fit."""
        part = self.part(candidate)[0]
        try:
            found = [
                near_on_core(part, core, self.objective, self.widths, self.order, tolerance)
                for core, _ in self._cores(candidate)
            ]
        except CapacityError:
            return None
        return self._best([self.whole(candidate, inner) for inner in found], tolerance)

    def on_every_edge(self, candidate: CandidatePartition) -> list[Schedule]:
        """
        The schedules with the best ones of the first part with the core's edge and with each narrower one; on a machine
        of one core as there.
        """
        part, core = self.part(candidate)
        if candidate.cores == 1:
            inner = best_on_core(part, core, self.objective, self.widths, self.order, monotone=True)
            return [self.whole(candidate, inner)]
        cores = [core]
        while self.objective in ("time", "edp") and (narrower := narrower_edge(cores[-1])) is not None:
            cores.append(narrower)
        arrays = [one.array for one in cores if is_searched_edge(one.array)] or [core.array]
        found = [
            self._best_on_core(part, replace(own, array=array)) for array in arrays for own, _ in self._cores(candidate)
        ]
        return [self.whole(candidate, inner) for inner in found]

    @property
    def parts_bound(self) -> bool:
        """
        Whether a schedule takes no less than its first part alone, but for `_spared`, on a channel that is as many
        times faster as a transfer serves cores: the first core moves at least what it would alone, as sums that others
        continue are wider.
        """
        return self.objective == "time" and narrower_edge(self.machine) is None

    @property
    def is_shared(self) -> bool:
        """Whether a transfer may serve several cores."""
        return self.machine.multicast or self.machine.reduction == "on-chip"


def _quarters(value: Fraction) -> Fraction:
    """A number in quarters, rounded down: most parts then have one of few channels."""
    return Fraction(int(4 * value), 4)
