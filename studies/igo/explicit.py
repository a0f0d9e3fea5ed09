"""
The preset `explicit`: npuc's own machine, on which every program has its own best tiles and residency.

Residency is explicit in the schedule. The closed forms and the pipeline of the backend `cycle` cost the products, and
each program is searched by itself, the sequential one too, unlike under the preset `lru`. The published orders are loop
orders of one nest (dX-major m, k, n; dW-major n, k, m); a partition is a loop around it.

Each core has an SPM of its own, and all share the DRAM channel; partial sums of several cores pass through DRAM. The
sequential program partitions each product at its best. Interleaved gradients are costed for the largest part, followed
by the exchange of its sums.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.cores import core_traffic
from npuc.compiler.analysis.nest.traffic import bits_by_tensor, traffic
from npuc.compiler.analysis.programs.interleave_search import InterleaveProblem, best_round_robin
from npuc.compiler.analysis.programs.published_order import PublishedChoice
from npuc.compiler.analysis.schedule.search import best_schedule
from npuc.compiler.analysis.timing.double_buffer import pipeline
from npuc.compiler.analysis.timing.interleave import interleaved_pipeline, interleaved_traffic
from npuc.dialects.npu.nest import Loop, Nest, Schedule, Statement
from npuc.dialects.npu.shared import RoundRobin
from npuc.studies.igo.cost import NOTHING, Cost, cost_of
from npuc.studies.igo.products import DW, DX, FORWARD, Size, floor_time, fused_nest, nest_of, widths_of
from npuc.studies.igo.times import PARTS, LayerPartition

LOOPS: Mapping[PublishedChoice, tuple[str, ...]] = {"dX-major": ("m", "k", "n"), "dW-major": ("n", "k", "m")}
VALUES = (0, 1), (2, 0)
"""The values that dX and dW read, by number: dY, W; X, dY."""
SUMMED = {"m": DW, "n": DX}
"""The product whose parts are partial sums when a dimension is cut."""


class ExplicitCosts:
    """Costs of the programs of a layer on a machine of one core or several."""

    cut_orders: Sequence[PublishedChoice] = ("dX-major", "dW-major")
    """Round-robin nests gain nothing from a loop around both: the operand that they share is resident whole."""

    def __init__(self, machine: Machine):
        self.machine = machine

    def forward(self, size: Size) -> Cost:
        """The forward product."""
        return self.best(nest_of(size, FORWARD))

    def weights(self, size: Size) -> Cost:
        """dW of a layer that has no dX."""
        return self.best(nest_of(size, DW))

    def sequential(self, size: Size) -> Cost:
        """dX, then dW."""
        return self.best(nest_of(size, DX)) + self.best(nest_of(size, DW))

    def together(self, size: Size, order: PublishedChoice, cut: LayerPartition | None = None) -> Cost:
        """Both gradients together; a partition is over time on one core, over cores otherwise."""
        if cut is None and self.machine.cores > 1:
            cut = LayerPartition("m", self.machine.cores)
        if order == "in turn":
            return self._in_turn(size, cut)
        nest, outer, part, core = fused_nest(size), self._outer(size, cut), self._part(size, cut), self._core(size, cut)
        inner = best_schedule(fused_nest(part), core, "time", widths_of(nest, core), LOOPS[order])
        return self._priced(nest, Schedule((*outer, *inner.loops), inner.keep))

    def floor(self, size: Size) -> Fraction:
        """The array's work, or every tensor once over the channel."""
        return floor_time(size, self.machine)

    def cuts(self, size: Size) -> Iterator[LayerPartition]:
        """One part a core, or over time."""
        for dim, extent in size.dims:
            counts = PARTS if self.machine.cores == 1 else (self.machine.cores,)
            yield from (LayerPartition(dim, parts) for parts in counts if 1 < parts <= extent)

    def best(self, nest: Nest) -> Cost:
        """A nest at its best schedule."""
        return self._priced(nest, best_schedule(nest, self.machine, "time", widths_of(nest, self.machine)))

    def _priced(self, nest: Nest, schedule: Schedule) -> Cost:
        """A scheduled nest; on several cores with the traffic of all on the channel."""
        machine, widths = self.machine, widths_of(nest, self.machine)
        if schedule.core_depth:
            moved = core_traffic(nest, schedule, machine.multicast, machine.reduction).channel
        else:
            moved = traffic(nest, schedule)
        time = pipeline(nest, schedule, machine, widths).time
        return cost_of(time, [bits_by_tensor(nest, moved, widths)])

    def _outer(self, size: Size, cut: LayerPartition | None) -> tuple[Loop, ...]:
        """The loop of a partition."""
        if cut is None:
            return ()
        return (Loop(cut.dim, -(-dict(size.dims)[cut.dim] // cut.parts), cores=self.machine.cores > 1),)

    def _part(self, size: Size, cut: LayerPartition | None) -> Size:
        """The largest part of a partition."""
        return size if cut is None else size.cut(cut.dim, cut.parts)[0]

    def _core(self, size: Size, cut: LayerPartition | None) -> Machine:
        """The machine of one part."""
        parts = 1 if cut is None or self.machine.cores == 1 else len(size.cut(cut.dim, cut.parts))
        return self.machine.core(parts)

    def _in_turn(self, size: Size, cut: LayerPartition | None) -> Cost:
        """Both products in turn, as if each of several cores had the largest part."""
        part, core = self._part(size, cut), self._core(size, cut)
        nests = nest_of(part, DX), nest_of(part, DW)
        widths = tuple(widths_of(nest, core) for nest in nests)
        schedules = best_round_robin(InterleaveProblem(nests, VALUES, (None, None), widths, core))
        assert schedules is not None, "there is no limit"
        together = RoundRobin(nests, schedules, VALUES)
        parts = 1 if cut is None else len(size.cut(cut.dim, cut.parts))
        moves = [bits_by_tensor(*own) for own in zip(nests, interleaved_traffic(together), widths, strict=True)]
        own = cost_of(interleaved_pipeline(together, core, widths).time, moves * parts)
        return own + self._passing(size, cut)

    def _passing(self, size: Size, cut: LayerPartition | None) -> Cost:
        """Each core but the first reads and rewrites the sums over DRAM."""
        product: Statement | None = None if cut is None else SUMMED.get(cut.dim)
        if cut is None or product is None:
            return NOTHING
        again = len(size.cut(cut.dim, cut.parts)) - 1
        nest = nest_of(size, product)
        (bits,) = widths_of(nest, self.machine).sums
        passed = Fraction(again * bits * nest.outs[0].elements)
        return Cost(2 * passed / self.machine.channel_bits, passed, passed)
