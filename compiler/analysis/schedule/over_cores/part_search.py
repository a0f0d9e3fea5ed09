"""The searches of the first parts of a nest's partitions over cores, each on a core with its share of the channel."""

from dataclasses import dataclass, replace

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.blocks import is_plain, touched
from npuc.compiler.analysis.nest.cores import core_count, first_part
from npuc.compiler.analysis.nest.elements import Bits
from npuc.compiler.analysis.schedule.array_work import is_searched_edge, narrower_edge
from npuc.compiler.analysis.schedule.candidates import MOST, ROUNDING
from npuc.compiler.analysis.schedule.core_search import best_on_core, core_search, near_on_core
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.schedule.monotone import Tilings
from npuc.compiler.analysis.schedule.over_cores.part_floor import part_floor
from npuc.compiler.analysis.schedule.over_cores.partitions import CandidatePartition
from npuc.compiler.core.errors import CapacityError
from npuc.dialects.npu.nest import Nest, Schedule


@dataclass(frozen=True)
class PartSearch:
    """The search of a nest on a machine of several cores, part by part."""

    nest: Nest
    machine: Machine
    objective: Objective
    widths: Bits
    order: tuple[str, ...]

    def part(self, candidate: CandidatePartition) -> tuple[Nest, Machine]:
        """The first, largest part of a partition, and a core with its share of the channel."""
        partition = Schedule(candidate.loops)
        machine = replace(self.machine, cores=candidate.cores)
        return first_part(self.nest, partition), machine.core(core_count(self.nest, partition))

    def whole(self, candidate: CandidatePartition, inner: Schedule) -> Schedule:
        """The schedule of the nest in which every core runs its part by a schedule of the first one."""
        return Schedule((*candidate.loops, *inner.loops), inner.keep, inner.spm)

    def within(self, candidate: CandidatePartition, score: float) -> tuple[Schedule, CandidatePartition] | None:
        """
        The schedule with the best one of the first part; None where it costs more than `score` anyway. With it comes
        the candidate, with the closer bound that is known then.

        Raises `CapacityError` where the part does not fit.
        """
        part, core = self.part(candidate)
        alone = self._alone(part, core) if self.parts_take_less else None
        limit = MOST if alone is None or score == MOST else ROUNDING * (score + alone)
        found = core_search(part, core, self.objective, self.widths, self.order, False).within(limit)
        if found is None and limit < MOST:
            return None
        if found is None:
            inner = best_on_core(part, core, self.objective, self.widths, self.order)
            return self.whole(candidate, inner), candidate
        if alone is not None:
            candidate = replace(candidate, least=max(candidate.least, (found.score - alone) / ROUNDING))
        return self.whole(candidate, found.schedule), candidate

    def least(self, candidate: CandidatePartition) -> float:
        """
        A lower bound of the time of every schedule that this search finds with the loops of a partition, by the tilings
        of the first part; 0 where none is known.
        """
        if not self.parts_take_less:
            return 0.0
        part, core = self.part(candidate)
        floor = part_floor(part, core, self.widths, self.order, self._resumed(candidate))
        return (floor - self._alone(part, core)) / ROUNDING

    def _resumed(self, candidate: CandidatePartition) -> frozenset[str]:
        """The sums with which a core goes on whose part is like the first one."""
        nest = self.nest
        axes = [axis for tensor in nest.tensors.values() for axis in tensor.axes]
        alike = {
            loop.dim
            for loop in candidate.loops
            if 2 * loop.step <= nest.sizes[loop.dim] and all(is_plain(axis) for axis in axes if loop.dim in axis.dims)
        }
        return frozenset(out.name for out in nest.outs if alike - out.dims)

    def without(self, candidate: CandidatePartition, score: float) -> tuple[Tilings, ...]:
        """The tilings of the first part that have no schedule with which the nest takes at most `score`, if known."""
        if not self.parts_take_less:
            return ()
        part, core = self.part(candidate)
        known = core_search(part, core, self.objective, self.widths, self.order, False)
        return known.without(ROUNDING * (score + self._alone(part, core)))

    def near(self, candidate: CandidatePartition, tolerance: float) -> Schedule | None:
        """The schedule with the best one of the first part by the next measure; None where the part does not fit."""
        part, core = self.part(candidate)
        try:
            inner = near_on_core(part, core, self.objective, self.widths, self.order, tolerance)
        except CapacityError:
            return None
        return self.whole(candidate, inner)

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
        searched = [one for one in cores if is_searched_edge(one.array)] or [core]
        found = [best_on_core(part, one, self.objective, self.widths, self.order) for one in searched]
        return [self.whole(candidate, inner) for inner in found]

    @property
    def parts_take_less(self) -> bool:
        """
        Whether no schedule takes less than its first part takes alone on its share of the channel, but for `_alone`.

        The first core moves at least what it would alone, as sums that others continue are wider; but for what others
        share with it, and for sums that pass on chip.
        """
        return self.objective == "time" and not self.is_shared and narrower_edge(self.machine) is None

    @property
    def is_shared(self) -> bool:
        """Whether a transfer may serve several cores."""
        return self.machine.multicast or self.machine.reduction == "on-chip"

    def _alone(self, part: Nest, core: Machine) -> float:
        """The cycles in which a part alone moves what other parts touch: the rest of an output with windows."""
        stored = self.widths.by_name(part)
        tensors = (*part.outs, *(start for start in part.starts if start is not None))
        bits = sum(stored[t.name] * (t.elements - touched(t, part.sizes)) for t in tensors)
        return float(bits / core.channel_bits)
