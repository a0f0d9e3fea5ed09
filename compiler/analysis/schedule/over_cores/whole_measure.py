"""The traffic or the energy of a nest over cores by schedules of its first part, which do not depend on the machine."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from npuc.compiler.analysis.nest.cores import core_traffic
from npuc.compiler.analysis.nest.traffic import moved_bits
from npuc.compiler.analysis.schedule.candidates import ROUNDING, FoundSchedule
from npuc.compiler.analysis.schedule.exact_cost import ExactCost, joules_of
from npuc.compiler.analysis.schedule.grid.array_work import times_every_edge
from npuc.compiler.analysis.schedule.machine_space import MOST, space_of
from npuc.compiler.analysis.schedule.monotone import with_less_room
from npuc.compiler.analysis.schedule.over_cores.part_front import front
from npuc.compiler.analysis.schedule.over_cores.part_search import PartSearch
from npuc.compiler.analysis.schedule.over_cores.partitions import CandidatePartition
from npuc.dialects.npu.nest import Schedule


@dataclass(frozen=True, eq=False)
class WholeMeasure:
    """
    What a nest moves, or its energy, on all cores of a partition whose parts have a schedule.

    That is at least the bound of the partition and what the first part costs more by itself than in a single tile: its
    tiles add as much to it beside other cores.
    """

    search: PartSearch
    candidate: CandidatePartition

    def of(self, schedule: Schedule) -> FoundSchedule:
        """The nest with a schedule of the first part."""
        search = self.search
        nest, machine, widths = search.nest, search.machine, search.widths
        whole = search.whole(self.candidate, schedule)
        moved = moved_bits(nest, core_traffic(nest, whole, machine.multicast, machine.reduction).channel, widths)
        joules = None if search.objective == "traffic" else joules_of(nest, whole, machine, widths, moved)
        return FoundSchedule(whole, ExactCost(0.0, moved, joules).score(search.objective), moved)

    def own(self, score: float) -> float:
        """What the first part may cost by itself, at most, where the nest costs at most `score`."""
        return MOST if score == MOST else ROUNDING * (score + self._in_one_tile) - self.candidate.least / ROUNDING

    @cached_property
    def _in_one_tile(self) -> float:
        search = self.search
        (part, core), widths = search.part(self.candidate), search.widths
        moved = moved_bits(part, core_traffic(part, Schedule()).channel, widths)
        joules = None if search.objective == "traffic" else joules_of(part, Schedule(), core, widths, moved)
        return ExactCost(0.0, moved, joules).score(search.objective)

    def results(self, limit: float) -> Iterator[FoundSchedule]:
        """
        The nest with schedules of the first part, none worse than those before, that cost at most `limit`.

        They are the coarse ones and the fine ones that no other such one covers (`front`), and those of the least
        traffic with each smaller SPM.
        """
        for schedule in self._schedules(lambda: self.own(limit)):
            found = self.of(schedule)
            if found.score <= limit:
                limit = found.score
                yield found

    def _schedules(self, most: Callable[[], float]) -> Iterator[Schedule]:
        search = self.search
        (part, core), objective, widths = search.part(self.candidate), search.objective, search.widths
        for fine in (False, True):
            edges = times_every_edge(core.array)
            yield from front(space_of(part, core, objective, widths, search.order, fine, edges, True), most)
        if search.order or core.policy == "lru":
            return
        for edge in (1,) if objective == "traffic" else (1, max(core.array.rows, core.array.cols)):
            yield from with_less_room(part, core, objective, widths, edge, most)
