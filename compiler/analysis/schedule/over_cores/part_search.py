"""The searches of the first parts of a nest's partitions over cores, each on a core with its share of the channel."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import prod

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.blocks import is_plain, touched
from npuc.compiler.analysis.nest.cores import core_count, first_part
from npuc.compiler.analysis.nest.elements import Bits
from npuc.compiler.analysis.schedule.array_work import is_searched_edge, narrower_edge
from npuc.compiler.analysis.schedule.candidates import MOST, ROUNDING
from npuc.compiler.analysis.schedule.core_search import best_on_core, core_search, near_on_core
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.schedule.monotone import Tilings
from npuc.compiler.analysis.schedule.over_cores.part_floor import part_floor, spared_bits
from npuc.compiler.analysis.schedule.over_cores.partitions import CandidatePartition
from npuc.compiler.analysis.schedule.residency_options import Beside
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
        readers, spared = self._beside(candidate)[0].readers, self._spared(candidate, part)
        bounded = self.parts_bound
        limit = ROUNDING * (readers * score + spared / core.channel_bits) if bounded and score < MOST else MOST
        found = core_search(part, core, self.objective, self.widths, self.order, False).within(limit)
        if found is None and limit < MOST:
            return None
        if found is None:
            inner = best_on_core(part, core, self.objective, self.widths, self.order)
            return self.whole(candidate, inner), candidate
        if bounded:
            least = (found.score - float(spared / core.channel_bits)) / (ROUNDING * readers)
            candidate = replace(candidate, least=max(candidate.least, least))
        return self.whole(candidate, found.schedule), candidate

    def least(self, candidate: CandidatePartition) -> float:
        """
        A lower bound of the time of every schedule that this search finds with the loops of a partition, by the tilings
        of the first part; 0 where none is known.
        """
        if not self.parts_bound:
            return 0.0
        # All of the machine's channel is there for whatever is found for a chip of fewer cores.
        part, core = self.part(replace(candidate, cores=self.machine.cores))
        ways, rest = self._beside(candidate), self._rest(part)
        floor = max(part_floor(part, core, self.widths, self.order, one) for one in ways)
        return (floor - float(rest / (ways[0].readers * core.channel_bits))) / ROUNDING

    def _beside(self, candidate: CandidatePartition) -> tuple[Beside, ...]:
        """
        How some cores run beside others whose parts are like the first one: one that goes on with sums of another, or
        where sums pass on chip the last one and the first, which stores none that it passes on.
        """
        nest, loops = self.nest, candidate.loops
        axes = [axis for tensor in nest.tensors.values() for axis in tensor.axes]
        plain = {loop.dim for loop in loops if all(is_plain(axis) for axis in axes if loop.dim in axis.dims)}
        over = {loop.dim for loop in loops if loop.step < nest.sizes[loop.dim]}
        if not self.machine.reduction == "on-chip":
            alike = {loop.dim for loop in loops if 2 * loop.step <= nest.sizes[loop.dim]} & plain
            return (self._going_on({out.name for out in nest.outs if alike - out.dims}, loops),)
        passed = {out.name for out in nest.outs if over - out.dims}
        # What is passed on is taken off what is stored last, of whichever output.
        outs = frozenset(out.name for out in nest.outs) if passed else frozenset[str]()
        first = Beside(frozenset(), outs, self._readers(loops))
        whole = {loop.dim for loop in loops if nest.sizes[loop.dim] % loop.step == 0} & plain
        if not all(over - out.dims <= whole for out in nest.outs):
            return (first,)
        return replace(self._going_on(passed, loops), resumed=frozenset()), first

    def _going_on(self, sums: Collection[str], loops: Sequence[Loop]) -> Beside:
        """A core that goes on with these sums, and so does not read what they start from."""
        starts = zip(self.nest.outs, self.nest.starts, strict=True)
        begun = frozenset(start.name for out, start in starts if start is not None and out.name in sums)
        return Beside(frozenset(sums), begun, self._readers(loops))

    def _readers(self, loops: Sequence[Loop]) -> int:
        """The most cores that one transfer serves."""
        if not self.machine.multicast:
            return 1
        nest = self.nest
        read = [frozenset(nest.sizes) - tensor.dims for tensor in nest.ins]
        read += [out.dims - start.dims for out, start in zip(nest.outs, nest.starts, strict=True) if start is not None]
        return max(prod(-(-nest.sizes[lo.dim] // lo.step) for lo in loops if lo.dim in dims) for dims in read)

    def _spared(self, candidate: CandidatePartition, part: Nest) -> int:
        """The bits that a part moves alone and not beside others: its rest, and what sums do not that pass on chip."""
        rest = self._rest(part)
        if self.machine.reduction == "dram":
            return rest
        return rest + min(spared_bits(part, self.widths, one) for one in self._beside(candidate))

    def _rest(self, part: Nest) -> int:
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
