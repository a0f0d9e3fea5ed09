"""The time of a nest over cores by the schedule of its first part."""

from dataclasses import dataclass

from npuc.compiler.analysis.schedule.exact_cost import exact_cost
from npuc.compiler.analysis.schedule.over_cores.part_search import PartSearch
from npuc.compiler.analysis.schedule.over_cores.partitions import CandidatePartition
from npuc.dialects.npu.nest import Schedule


@dataclass(frozen=True)
class WholePrice:
    """
    What a nest takes on all cores of a partition whose parts have a schedule, where no transfer serves several cores.

    It is no less than the first part alone takes on its share of the channel, without elements that it does not touch.
    """

    search: PartSearch
    candidate: CandidatePartition

    @property
    def counts_rest(self) -> bool:
        """Not so: what a part does not touch of an output with windows, another part does."""
        return False

    def of(self, schedule: Schedule) -> tuple[float, float]:
        """The time of all cores with a schedule of the first part, and the bits on the channel."""
        search = self.search
        whole = search.whole(self.candidate, schedule)
        return exact_cost(search.nest, whole, search.machine, search.objective, search.widths)
