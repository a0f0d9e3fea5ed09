"""The price of a nest over cores by the schedule of its first part."""

from dataclasses import dataclass
from functools import cached_property

from npuc.compiler.analysis.nest.cores import core_parts
from npuc.compiler.analysis.schedule.candidates import MOST
from npuc.compiler.analysis.schedule.exact_cost import exact_cost
from npuc.compiler.analysis.schedule.over_cores.part_search import PartSearch
from npuc.compiler.analysis.schedule.over_cores.partitions import CandidatePartition
from npuc.dialects.npu.nest import Nest, Schedule


@dataclass(frozen=True)
class WholePrice:
    """
    What a nest costs on all cores of a partition whose parts have a schedule, where no transfer serves several cores.

    No core takes less time than the first part alone would on its share of the channel, without elements that no
    statement of it touches, and each core that works on at least as much takes as much traffic and energy.
    """

    search: PartSearch
    candidate: CandidatePartition

    @property
    def counts_rest(self) -> bool:
        """Not so: what a part does not touch of an output with windows, another part does."""
        return False

    def of(self, schedule: Schedule) -> tuple[float, float]:
        """The score of all cores with a schedule of the first part, and the bits on the channel."""
        search = self.search
        whole = search.whole(self.candidate, schedule)
        return exact_cost(search.nest, whole, search.machine, search.objective, search.widths)

    def limit(self, score: float) -> float:
        """The most that a bound of the first part may be where all cores score so much."""
        if score == MOST or self.search.objective == "time":
            return score
        return score / self.like_first

    @cached_property
    def like_first(self) -> int:
        """How many cores work on at least as much as the first one, with any schedule."""
        parts = core_parts(self.search.nest, Schedule(self.candidate.loops))
        first = parts[0].nest
        return 1 + sum(part.cores for part in parts[1:] if part.nest.dims == first.dims and _is_inside(part.nest))


def _is_inside(part: Nest) -> bool:
    """Whether no window of a part, which is not the first, reaches beyond a tensor's end."""
    for tensor in part.tensors.values():
        for axis, size in zip(tensor.axes, tensor.shape, strict=True):
            last = axis.offset + sum(factor * (part.sizes[dim] - 1) for dim, factor in axis.terms)
            if last >= size or any(factor < 0 for _, factor in axis.terms):
                return False
    return True
