"""
What groups cost: for a range of steps and a micro-batch, what passes in SPM, what is held there, and every schedule.

All that passes between members stays in SPM, and sliced operands that several members read, from the first that reads
them to the last. Where a member does not fit beside that, the largest such value is left to DRAM. Whole operands, such
as weights, are held from the first micro-batch to the last in several shares of the room that is left, of which the
best is taken: held ones are loaded once and leave less room for blocks, others are read by every micro-batch. Sums over
micro-batches are held as partial sums, or what computes them runs after the group, whichever is better.

Nothing overlaps but within an operation: a micro-batch is the sum of its operations, held operands are loaded before,
sums stored after. Prices are those of the backend `cycle`, to the cycle.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from math import inf

from npuc.compiler.analysis.fusion.problem import summed
from npuc.compiler.analysis.fusion.rows.maps import RowStep
from npuc.compiler.analysis.fusion.rows.sized import Extent
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.programs.reported_costs import ReportedCost
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.transforms.fuse_layers.bounds import SLACK, least_cost, least_of
from npuc.compiler.transforms.fuse_layers.chain import Chain, ChainStep
from npuc.compiler.transforms.fuse_layers.frame import Frame, facts_of, frames_from
from npuc.compiler.transforms.fuse_layers.layout import Design, Layout
from npuc.compiler.transforms.fuse_layers.row_search import RowSearch, leaves_rows_out, row_program
from npuc.compiler.transforms.fuse_layers.rows import BandSized, RowLayout, walked_by
from npuc.compiler.transforms.fuse_layers.sized import NOTHING, Placed, Priced, Sized, alone_cost
from npuc.dialects.npu import ContractOp

REACH = 32
"""The most steps of a range [our choice]: longer groups would pass through SPM what is long dead."""
GRID = 8
"""Room for blocks is counted in so many parts of SPM, rounded down, so that few schedules are searched."""


class Designs:
    """The prices of the ranges of a chain, each kind of operation costed once for a micro-batch and a room."""

    def __init__(self, chain: Chain, machine: Machine, room: int, objective: Objective, halos: Sequence[str] = ()):
        """`halos` are what may become of rows that two bands of a group read; none: no group walks rows."""
        self.halos = tuple(halos)
        self.bands: dict[object, BandSized] = {}
        self.chain = chain
        self.objective: Objective = objective
        self.machine = replace(machine, spm_bytes=room)
        self.whole = machine
        self.sized: dict[tuple[Hashable, int], Sized] = {}
        self.costs: dict[object, Priced | None] = {}
        self.frames: dict[int, dict[int, list[Frame]]] = {}
        self.facts = [facts_of(step) for step in chain.steps]
        self.designs: dict[tuple[int, int], Design] = {}
        self.above: dict[tuple[int, int], float] = {}
        """By a frame and its micro-batch a score that no group of them is as good as."""
        self.fits: dict[tuple[Hashable, int, Placed], Placed | None] = {}
        self.bounds: dict[tuple[int, int], ReportedCost] = {}
        self.single: dict[object, ReportedCost] = {}
        self.numbers: dict[object, int] = {}

    def alone(self, step: int) -> ReportedCost:
        """The cost of a step by itself, as it is."""
        one = self.chain.steps[step]
        key = step if one.kind is None else one.kind
        if key not in self.single:
            self.single[key] = alone_cost(one.op, self.whole)
        return self.single[key]

    def ends(self, first: int) -> Iterator[int]:
        """The last steps of the ranges that may be a group."""
        yield from self._frames(first)

    def group(self, first: int, last: int, micro: int) -> ReportedCost | None:
        """The least cost of a range with a group in it; None where none fits."""
        found = self.design(first, last, micro)
        if found is None:
            return None
        return self._in_range(found.cost, found.frame, first, last)

    def least(self, first: int, last: int, micro: int) -> ReportedCost:
        """What a range with a group in it costs at least, in each measure."""
        found: list[ReportedCost] = []
        for frame in self._frames(first).get(last, ()):
            key = (frame.number, micro)
            if key not in self.bounds:
                self.bounds[key] = self._least(frame, first, micro)
            found.append(self._in_range(self.bounds[key], frame, first, last))
        return least_of(found)

    def _least(self, frame: Frame, first: int, micro: int) -> ReportedCost:
        """What a group costs at least; nothing is known of one whose bands may leave rows out."""
        steps = {number: self.chain.steps[first + number] for number in frame.members}
        if self.halos and micro == 1 and leaves_rows_out(frame, steps):
            return NOTHING
        sized = {number: self.of(step, micro) for number, step in steps.items()}
        return least_cost(frame, sized, self.chain.samples // micro, self.machine)

    def _in_range(self, cost: ReportedCost, frame: Frame, first: int, last: int) -> ReportedCost:
        """The cost of a range whose group costs this much: with the steps in between that are no members."""
        inside = {first + number for number in frame.members}
        return summed([cost, *(self.alone(n) for n in range(first, last + 1) if n not in inside)])

    def within(self, first: int, last: int, micro: int, limit: float) -> ReportedCost | None:
        """The least cost of a range with a group in it; None where it scores above a limit, or none fits."""
        found = self.design(first, last, micro, limit)
        return None if found is None else self._in_range(found.cost, found.frame, first, last)

    def design(self, first: int, last: int, micro: int, limit: float = inf) -> Design | None:
        """
        The best group of a range, its cost that of its members alone; None where the range scores above a limit.
        """
        best: Design | None = None
        for frame in self._frames(first).get(last, ()):
            rest = self._in_range(NOTHING, frame, first, last)
            found = self._best(frame, first, micro, self._left(limit, rest))
            if found is None:
                continue
            score = summed([found.cost, rest]).score(self.objective)
            if best is None or score < limit:
                best, limit = found, score
        return best

    def _left(self, limit: float, rest: ReportedCost) -> float:
        """What of a limit is left for a group beside the rest of a range; scores of products do not add up."""
        if self.objective == "edp":
            return inf
        left = limit - rest.score(self.objective)
        return left + SLACK * abs(limit) if self.objective == "energy" else left

    def _best(self, frame: Frame, first: int, micro: int, limit: float) -> Design | None:
        """The best group of a frame if it scores at most a limit."""
        key = (frame.number, micro)
        if key not in self.designs and limit > self.above.get(key, -inf):
            found = self._designed(frame, first, micro, limit)
            if found is None:
                self.above[key] = limit
            else:
                self.designs[key] = found
        found = self.designs.get(key)
        return None if found is None or found.cost.score(self.objective) > limit else found

    def _frames(self, first: int) -> dict[int, list[Frame]]:
        """By the last step of a range its groups: with its sums, and without them."""
        if first not in self.frames:
            found: dict[int, list[Frame]] = {}
            for last, frame in frames_from(self.chain, self.facts, first, REACH):
                found.setdefault(last, []).append(self._numbered(frame))
            self.frames[first] = found
        return self.frames[first]

    def _numbered(self, frame: Frame) -> Frame:
        """A frame whose kinds are numbers, which compare fast, and that has a number itself."""
        kinds = tuple(self.numbers.setdefault(kind, len(self.numbers)) for kind in frame.kinds)
        number = self.numbers.setdefault((kinds, frame.members, frame.values), len(self.numbers))
        return replace(frame, kinds=kinds, number=number)

    def _designed(self, frame: Frame, first: int, micro: int, limit: float) -> Design | None:
        """The best group of a frame, by micro-batches or, where not all that passes in a sample fits, by rows."""
        layout = Layout(self, frame, first, micro)
        found = layout.best(limit)
        if not self.halos or micro > 1 or layout.holds_all():
            return found
        limit = limit if found is None else found.cost.score(self.objective)
        walked = RowSearch(self, frame, first).best(self.halos, limit)
        return found if walked is None else walked

    def of(self, step: ChainStep, micro: int) -> Sized:
        """A kind of operation at a micro-batch."""
        key = (step.kind, micro)
        if key not in self.sized:
            self.sized[key] = Sized(step, self.chain.samples, micro, self.machine, self.chain.widths)
        return self.sized[key]

    def fitting(self, step: ChainStep, micro: int, placed: Placed) -> Placed | None:
        """What is resident with an operation; the room of other values is rounded up where that fits, too."""
        key = (step.kind, micro, placed)
        if key not in self.fits:
            grain = max(1, self.machine.spm_bytes // GRID)
            rounded = placed
            if isinstance(step.op, ContractOp):
                rounded = replace(placed, reserved=-(-placed.reserved // grain) * grain)
            sized = self.of(step, micro)
            self.fits[key] = next((one for one in dict.fromkeys((rounded, placed)) if sized.fits(one)), None)
        return self.fits[key]

    def cost(self, step: ChainStep, micro: int, placed: Placed, *, search: bool) -> Priced | None:
        """The cost of an operation beside what fits; None where only a search tells, which there is none of."""
        key = (step.kind, micro, placed)
        found = self.costs.get(key)
        if found is None and (search or key not in self.costs):
            sized = self.of(step, micro)
            found = (sized.cost if search else sized.without_search)(placed, self.objective)
            self.costs[key] = found
        return found

    def band(self, step: ChainStep, own: RowStep, extent: Extent) -> BandSized:
        """A kind of operation on the rows of a band."""
        key = (step.kind, own, extent)
        if key not in self.bands:
            self.bands[key] = BandSized(self.of(step, 1), own, extent)
        return self.bands[key]

    def band_cost(self, sized: BandSized, placed: Placed, *, search: bool) -> Priced | None:
        """The cost of an operation in a band, with the room of other values rounded up where that fits, too."""
        key = (id(sized), placed, search)  # `bands` keeps it, so that no other has its number
        if key not in self.costs:
            self.costs[key] = sized.cost(placed, self.objective, search=search)
        return self.costs[key]

    def refined(self, first: int, micro: int, design: Design) -> Design:
        """A group with the best schedules that a search finds for its contractions, in the room that each has."""
        if design.walk is not None:
            steps = {number: self.chain.steps[first + number] for number in design.frame.members}
            walked = walked_by(row_program(design.frame, steps), design.walk)
            layout = RowLayout(self, design.frame, first, walked, keeps_operands=bool(design.kept))
            found = layout.design(design.held, inf, search=True)
            better = found is not None and found.cost.score(self.objective) < design.cost.score(self.objective)
            return found if found is not None and better else design
        runs = self.chain.samples // micro
        schedules = dict(design.schedules)
        total = design.cost
        for number, placed in design.placed.items():
            step, now = self.chain.steps[first + number], design.schedules[number]
            found = self.of(step, micro).cost(placed, self.objective, search=True)
            if found is not None and found.cost.score(self.objective) < now.cost.score(self.objective):
                schedules[number] = found
                total = ReportedCost(
                    total.cycles - runs * (now.cost.cycles - found.cost.cycles),
                    total.moved - runs * (now.cost.moved - found.cost.moved),
                    None
                    if total.joules is None or now.cost.joules is None or found.cost.joules is None
                    else total.joules - runs * (now.cost.joules - found.cost.joules),
                )
        return replace(design, schedules=schedules, cost=total)
