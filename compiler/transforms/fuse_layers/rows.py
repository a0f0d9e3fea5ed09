"""
Groups that walk rows: their members band by band, with what stays in SPM, at the prices of the backend.

All that passes between members stays in SPM. Halos are kept there or computed again; operands of the group that two
bands read are kept as well, or read again. Of the bands that fit, the tallest few are priced, for each of these choices
and for several shares of the room that held weights may take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from xdsl.ir import Block, Operation, SSAValue

from npuc.compiler.analysis.fusion.problem import summed
from npuc.compiler.analysis.fusion.rows.bands import Band, RowError, RowProgram, bands_of
from npuc.compiler.analysis.fusion.rows.body import kinds_of
from npuc.compiler.analysis.fusion.rows.maps import RowMap, RowStep, Span, row_dim
from npuc.compiler.analysis.fusion.rows.sized import Extent, extent_of, of_rows, on_rows
from npuc.compiler.analysis.fusion.slices import clipped
from npuc.compiler.analysis.nest.elements import contract_widths
from npuc.compiler.analysis.programs.reported_costs import ReportedCost
from npuc.compiler.analysis.programs.resident import are_moved_once, resident_cost, resident_spm_bytes
from npuc.compiler.transforms.fuse_layers.chain import ChainStep
from npuc.compiler.transforms.fuse_layers.frame import Frame, FrameValue
from npuc.compiler.transforms.fuse_layers.layout import SHARES, Design, Layout, MemberCosts, fitting_in
from npuc.compiler.transforms.fuse_layers.sized import Placed, Priced, Sized
from npuc.dialects.npu import ContractOp, VectorOp
from npuc.dialects.npu.groups.batches import WHOLE
from npuc.dialects.npu.groups.walk import RowWalk
from npuc.dialects.npu.nest import Schedule
from npuc.dialects.npu.widths import Width, elements_of, whole_bytes

AXIS = 2
"""The axis of rows of an image [batch, channels, height, width]."""


class BandSized(Sized):
    """One kind of operation on the rows of a band."""

    def __init__(self, base: Sized, step: RowStep, extent: Extent):
        op = base.op
        types = [
            value.type if place is None or one is None else of_rows(value.type, one.axis, place.rows)
            for value, one, place in zip(op.operands, step.reads, extent.places, strict=True)
        ]
        arguments: dict[SSAValue, SSAValue] = {}
        for value, arg in zip(op.operands, Block(arg_types=types).args, strict=True):
            arguments.setdefault(value, arg)
        self.op = on_rows(op, step, extent, [arguments[value] for value in op.operands])
        self.machine, self.element = base.machine, base.element
        self.nest = self.bits = self.schedule = None
        self.own, self.prices, self.bounds = {}, {}, {}
        if isinstance(self.op, ContractOp):
            self.nest, self.bits = self.op.nest, contract_widths(self.op, base.machine)
            self.schedule = replace(self.op.schedule, spm=base.machine.spm_bytes)

    def by(self, placed: Placed, schedule: Schedule) -> Priced | None:
        """The cost of a contraction by a schedule; None where it does not fit."""
        assert self.nest is not None
        assert self.bits is not None
        room = resident_spm_bytes(self.nest, schedule, self.bits, placed.names) + placed.reserved
        if room > self.machine.spm_bytes or not are_moved_once(self.nest, schedule, placed.names - placed.unmoved):
            return None
        return Priced(resident_cost(self.nest, schedule, self.machine, self.bits, placed.unmoved), schedule)


class RowCosts(MemberCosts, Protocol):
    """What members cost, also in bands of rows."""

    def band(self, step: ChainStep, own: RowStep, extent: Extent) -> BandSized:
        """A kind of operation on the rows of a band."""
        ...

    def band_cost(self, sized: BandSized, placed: Placed, *, search: bool) -> Priced | None:
        """The cost of an operation in a band with what is resident; None where it does not fit."""
        ...


@dataclass(frozen=True)
class Walked:
    """The rows of the members of a frame in all bands, which are of so many kinds."""

    walk: RowWalk
    program: RowProgram
    bands: Sequence[Band]
    kinds: Sequence[tuple[Band, int]]


def walked_by(program: RowProgram, walk: RowWalk) -> Walked:
    """The bands of a walk. Raises `RowError`."""
    bands = bands_of(program, walk)
    return Walked(walk, program, bands, kinds_of(program, bands))


class RowLayout(Layout):
    """What is in SPM while a group walks rows. Raises `RowError` where rows that stay are read from DRAM."""

    def __init__(self, designs: RowCosts, frame: Frame, first: int, walked: Walked, *, keeps_operands: bool):
        super().__init__(designs, frame, first, 1)
        self.costs, self.walk = designs, walked.walk
        self.program, bands, self.kinds = walked.program, walked.bands, walked.kinds
        staying = {value for band in bands for value in band.left}
        self.values = {value: self._value(value) for value in frame.values}
        self.inner = [value for value in self.passing if value.accesses[0].defines]
        self.staying = {value for value in frame.values if self.values[value] in staying}
        readers = {(self.values[v], self.steps[a.step].op) for v in self.inner for a in v.accesses}
        for band in bands:
            for op, number in band.read:
                value = op.operands[number]
                if value in band.old and value.owner in self.program.steps and (value, op) not in readers:
                    raise RowError("rows that stay are read by an operation that does not find them in SPM")
        outside = [v for v in frame.values if not v.whole and not v.is_sum and not v.accesses[0].defines]
        self.kept = tuple(value for value in outside if keeps_operands and value in self.staying)
        self.row_bits: dict[FrameValue, Width] = {}
        self.maps: dict[SSAValue, RowMap] = {}
        for op, step in self.program.steps.items():
            self.maps |= {v: RowMap(step.axis, step.height) for v in op.results}
            self.maps |= {v: one for v, one in zip(op.operands, step.reads, strict=True) if one is not None}

    def _value(self, value: FrameValue) -> SSAValue:
        access = value.accesses[0]
        op = self.steps[access.step].op
        assert isinstance(op, ContractOp | VectorOp)
        return (op.named_results() if access.defines else op.named_operands())[access.name]

    @cached_property
    def free(self) -> int:
        """The bytes of SPM that are free during each member beside all residents but weights; may be negative."""
        used = max(self._used(band, number) for band, _ in self.kinds for number in self.frame.members)
        return self.designs.machine.spm_bytes - used

    def best_design(self, limit: float) -> Design | None:
        """The best of the shares of the room that may be held; None where none fits and scores below a limit."""
        best: Design | None = None
        wholes = sorted((v for v in self.frame.values if v.whole), key=lambda v: -v.bytes)
        free = self.free
        tried: set[tuple[FrameValue, ...]] = set()
        for share, of in SHARES if free > 0 else ():
            held = tuple(fitting_in(wholes, free * share // of))
            if held in tried:
                continue
            tried.add(held)
            found = self.design(held, limit)
            if found is not None:
                best, limit = found, self._score(found.cost)
        return best

    def _used(self, band: Band, number: int) -> int:
        """The bytes in SPM during a member of all that is resident, with no weights."""
        op, rows = self.steps[number].op, 0
        for value in (*self.inner, *self.kept):
            if any(access.step == number for access in value.accesses):
                rows += sum(self._bytes(value, span) for span in self._own(band, op, value))
        return self._reserved(band, number, ()) + rows

    def _own(self, band: Band, op: Operation, value: FrameValue) -> list[Span]:
        """The rows of a value that an operation reads or computes in a band, if it accesses the value."""
        whole = self.values[value]
        if whole in op.results:
            return [band.made[op]] if op in band.made else []
        return [span for (own, number), span in band.read.items() if own is op and op.operands[number] is whole][:1]

    def _bytes(self, value: FrameValue, span: Span) -> int:
        if value not in self.row_bits:
            whole, chain = self.values[value], self.designs.chain
            samples = 1 if chain.axes.get(whole, WHOLE) == WHOLE else chain.samples
            count = elements_of(whole) // samples // self.maps[whole].size
            self.row_bits[value] = count * chain.widths.element_bits(whole.type)
        return whole_bytes(self.row_bits[value] * (span[1] - span[0]))

    def _beside(self, number: int, chosen: list[FrameValue], held: tuple[FrameValue, ...]) -> int:
        return 0  # It differs from band to band: see `_reserved`.

    def _over(self, number: int, ins: list[str], outs: list[str]) -> tuple[tuple[str, str], ...]:
        op = self.steps[number].op
        assert isinstance(op, ContractOp | VectorOp)
        staying = {self.values[value] for value in self.staying}
        return tuple(
            (name, under)
            for name, under in super()._over(number, ins, outs)
            if op.named_operands()[under] not in staying
        )

    def _reserved(self, band: Band, number: int, held: tuple[FrameValue, ...]) -> int:
        """The bytes in SPM during a member in a band that are none of its own."""
        op = self.steps[number].op
        total = sum(v.bytes for v in held if all(access.step != number for access in v.accesses))
        for value in (*self.inner, *self.kept):
            whole = self.values[value]
            slot = max((self._bytes(value, s[whole]) for s in (band.old, band.left) if whole in s), default=0)
            new = self._bytes(value, band.fresh[whole]) if whole in band.fresh else 0
            own = sum(self._bytes(value, span) for span in self._own(band, op, value))
            if value in self.kept:
                spans = [s[whole] for s in (band.window, band.fresh, band.old) if whole in s]
                hull = (min(start for start, _ in spans), max(stop for _, stop in spans)) if spans else (0, 0)
                total += self._bytes(value, hull) - own
                continue
            runs = [access.step for access in value.accesses if self.steps[access.step].op in band.made]
            alive = bool(runs) and runs[0] <= number <= runs[-1]
            total += slot + (new if alive else 0) - own
        return total

    def design(self, held: tuple[FrameValue, ...], limit: float, *, search: bool = False) -> Design | None:
        """The group with these operands held; None where a member does not fit in some band, or from a score on."""
        placed = {n: self._placed(n, self.inner, (*held, *self.kept)) for n in self.frame.members}
        schedules: dict[int, Priced] = {}
        total = [self._moved(self._size(value)) for value in held]
        for number in self.frame.members:
            step, own = self.steps[number], self.program.steps[self.steps[number].op]
            runs = [(band, count) for band, count in self.kinds if step.op in band.made]
            extents = [extent_of(own, band.made[step.op], _reads(band, step.op)) for band, _ in runs]
            largest = max(
                range(len(runs)), key=lambda n: (extents[n].rows, sum(p.rows for p in extents[n].places if p))
            )
            rooms = [self._reserved(band, number, held) for band, _ in runs]
            asked = replace(placed[number], reserved=max(rooms))
            found = self.costs.band_cost(self.costs.band(step, own, extents[largest]), asked, search=search)
            if found is None:
                return None
            schedules[number] = found
            for (_, count), extent, room in zip(runs, extents, rooms, strict=True):
                sized = self.costs.band(step, own, extent)
                price = self._in_band(sized, own, extent, replace(placed[number], reserved=room), found)
                if price is None:
                    return None
                total.append(_repeated(price, count * self.runs))
            if self._score(summed(total)) >= limit:
                return None
        for value in self.kept:
            for band, count in self.kinds:
                if self.values[value] in band.fresh:
                    moved = self._moved(self._bytes(value, band.fresh[self.values[value]]))
                    total.append(_repeated(moved, count * self.runs))
        cost = summed(total)
        if self._score(cost) >= limit:
            return None
        return Design(cost, self.frame, placed, schedules, held, self.walk, self.kept)

    def _in_band(
        self, sized: BandSized, own: RowStep, extent: Extent, placed: Placed, found: Priced
    ) -> ReportedCost | None:
        """What a member costs in a band, a contraction by the schedule of the largest band, clipped to this one."""
        if found.schedule is None or sized.nest is None:
            price = sized.cost(placed, self.designs.objective)
        else:
            dim = row_dim(sized.nest, own.axis)
            assert dim is not None
            price = sized.by(placed, clipped(found.schedule, dim, extent.rows))
        return None if price is None else price.cost


def _repeated(cost: ReportedCost, count: int) -> ReportedCost:
    joules = None if cost.joules is None else cost.joules * count
    return ReportedCost(cost.cycles * count, cost.moved * count, joules)


def _reads(band: Band, op: Operation) -> dict[int, Span]:
    return {number: span for (own, number), span in band.read.items() if own is op}
