"""The time of a nest over cores by the schedule of its first part."""

from dataclasses import dataclass, field

from npuc.compiler.analysis.schedule.exact_cost import exact_cost
from npuc.compiler.analysis.schedule.over_cores.part_search import PartSearch
from npuc.compiler.analysis.schedule.over_cores.partitions import CandidatePartition
from npuc.compiler.analysis.timing.double_buffer import time_up_to
from npuc.dialects.npu.nest import Schedule


@dataclass(frozen=True, eq=False)
class WholePrice:
    """
    What a nest takes on all cores of a partition whose parts have a schedule, where no transfer serves several cores.

    It is no less than the first part alone takes on its share of the channel, without elements that it does not touch.
    """

    search: PartSearch
    candidate: CandidatePartition
    known: dict[Schedule, tuple[float, float, float]] = field(
        default_factory=dict[Schedule, tuple[float, float, float]]
    )
    """What was priced, each with the limit up to which it is exact."""

    @property
    def counts_rest(self) -> bool:
        """Not so: what a part does not touch of an output with windows, another part does."""
        return False

    def of(self, schedule: Schedule, limit: float) -> tuple[float, float]:
        """
        The time of all cores with a schedule of the first part, and the bits on the channel; a lower bound of the time
        where that is above `limit`.
        """
        search = self.search
        whole = search.whole(self.candidate, schedule)
        if not self.candidate.loops:
            return exact_cost(search.nest, whole, search.machine, search.objective, search.widths)
        known = self.known.get(whole)
        if known is None or (known[0] > known[2] and known[0] <= limit):
            time, moved = time_up_to(search.nest, whole, search.machine, search.widths, limit)
            known = self.known[whole] = float(time), float(moved), limit
        return known[0], known[1]
