"""Lower bounds of what a nest costs over cores, given the loops over them, in closed form for time and traffic."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod

from npuc.compiler.analysis.machine.compute import compute, part_cycles_lower_bound
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.stationary import carried_passes, time_passes
from npuc.compiler.analysis.nest.blocks import TiledDimension, axis_sum, is_plain, touched
from npuc.compiler.analysis.nest.core_classes import reached_positions
from npuc.compiler.analysis.nest.cores import core_count, core_parts, core_traffic
from npuc.compiler.analysis.nest.elements import BYTE, Bits, Width
from npuc.compiler.analysis.nest.traffic import moved_bits
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.schedule.exact_cost import ExactCost
from npuc.dialects.npu.nest import Loop, Nest, Schedule, Tensor

Loops = tuple[Loop, ...]


@dataclass(frozen=True)
class ChannelTensor:
    """
    A tensor that moves between DRAM and scratchpads: its elements that statements touch, and the bits of each in DRAM
    and as a partial sum. The first cores along dimensions that are not `among` these move it alone.
    """

    tensor: Tensor
    is_sum: bool
    touched: int
    stored: Width
    sums: Width
    among: frozenset[str]

    @cached_property
    def repeats(self) -> frozenset[str]:
        """The dimensions along which cores repeat it."""
        return self.among - self.tensor.dims


class PartitionBounds:
    """Lower bounds of an objective over all schedules with given loops over cores."""

    def __init__(self, nest: Nest, machine: Machine, objective: Objective, widths: Bits):
        self.nest, self.machine, self.widths = nest, machine, widths
        self.objective: Objective = objective
        self.moved = list(_channel_tensors(nest, widths))
        self.rest = [(one, one.stored * (one.tensor.elements - one.touched)) for one in self.moved[len(nest.ins) :]]
        self.untouched = sum(bits for _, bits in self.rest)
        self.on_chip = machine.reduction == "on-chip"
        self.after = self._after_transfers()
        self.known_channel: dict[Loops, Width] = {}

    @property
    def stages(self) -> tuple[Callable[[Loops], float], ...]:
        """The cheap bounds, each closer than the ones before."""
        return (self.of_elements, self.of_work) if self.objective in ("time", "edp") else (self.of_elements,)

    def of_elements(self, loops: Loops) -> float:
        """By every element once for each core that needs it, and by the multiply-accumulates of the largest part."""
        macs = time_passes(self.nest, self.machine.array)
        for loop in loops:
            macs = macs // self.nest.sizes[loop.dim] * loop.step
        bits = sum(self._bits(one, one.touched, self._parts(one, loops)) for one in self.moved)
        time = max(float(macs) / self.machine.array.elements, self._transfers(bits, self.untouched))
        return self._value(time, bits + self.untouched, bits + self.untouched)

    def of_work(self, loops: Loops) -> float:
        """By the folds of the largest part; only for objectives that count time."""
        bits = 0 if self.objective == "time" else self._used
        return self._value(float(self._work(loops)), bits, bits)

    def of_all_cores(self, loops: Loops) -> float:
        """By the traffic of all cores together, and the folds of the largest part; 0 for objectives with energy."""
        if self.objective not in ("time", "traffic"):
            return 0.0
        least = self.channel(loops)
        if self.objective == "traffic":
            return float(least)
        return max(float(self._work(loops)), self._transfers(least - self.untouched, self.untouched))

    def of_busiest(self, loops: Loops) -> float:
        """By the traffic of the core that moves most, and by what passes through the scratchpads of all."""
        if self.objective == "traffic":
            return float(self.channel(loops))
        if self.objective == "time":
            time = self._transfers(self.channel(loops) - self.untouched, self.untouched)
            return max(time, self._busiest(loops, *self.of_cores(loops)))
        return self._of_classes(loops)

    def channel(self, loops: Loops) -> Width:
        """The least bits on the DRAM channel: every core moves what it touches once."""
        found = self.known_channel.get(loops)
        if found is None:
            steps = {loop.dim: loop.step for loop in loops}
            found = self.untouched
            for one in self.moved:
                found += self._bits(one, self._visited(one, steps), self._parts(one, loops))
            self.known_channel[loops] = found
        return found

    @cached_property
    def rate(self) -> tuple[int, int]:
        """So many bits pass the channel in so many cycles."""
        return self.machine.channel_bits.numerator, self.machine.channel_bits.denominator

    @cached_property
    def _used(self) -> Width:
        """The bits of all touched elements."""
        return sum(one.touched * one.stored for one in self.moved)

    def _count(self, loops: Loops) -> int:
        return core_count(self.nest, Schedule(loops))

    def _parts(self, one: ChannelTensor, loops: Loops) -> int:
        """The number of cores that move the same elements of a tensor."""
        return prod(-(-self.nest.sizes[loop.dim] // loop.step) for loop in loops if loop.dim in one.repeats)

    def _visited(self, one: ChannelTensor, steps: Mapping[str, int]) -> int:
        """The elements of the parts of a tensor, those on the border of several parts once for each."""
        sizes, visited = self.nest.sizes, one.touched
        for axis, size in zip(one.tensor.axes, one.tensor.shape, strict=True):
            if is_plain(axis) or not any(dim in steps for dim in axis.dims):
                continue
            whole = axis_sum(axis, size, tuple(TiledDimension(sizes[dim], ()) for dim in axis.dims))
            cuts = tuple(TiledDimension(sizes[dim], (steps[dim],) if dim in steps else ()) for dim in axis.dims)
            visited = visited // max(1, whole) * axis_sum(axis, size, cuts)
        return visited

    def _bits(self, one: ChannelTensor, visited: int, parts: int) -> Width:
        """
        The bits on the channel of a tensor whose parts have `visited` elements together, each for `parts` cores.

        A sum is read back and written again for each visit but the first; on chip, for each but one of each core.
        """
        if not one.is_sum:
            return one.stored * visited * (1 if self.machine.multicast else parts)
        again = (visited - one.touched) * parts if self.on_chip else visited * parts - one.touched
        return one.stored * one.touched + 2 * one.sums * again

    def _work(self, loops: Loops) -> int:
        """The least cycles of the array of the first core."""
        return part_cycles_lower_bound(self.nest, self._extents(loops), self.machine.array)

    def _extents(self, loops: Loops) -> dict[str, int]:
        return self.nest.sizes | {loop.dim: min(loop.step, self.nest.sizes[loop.dim]) for loop in loops}

    def _busiest(self, loops: Loops, first: int, *others: int) -> float:
        """The least time of cores that are billed for so many bits of touched elements, each on its share."""
        count = self._count(loops)
        # What no statement touches belongs to the first core.
        untouched = sum(bits // self._readers(one, loops) for one, bits in self.rest)
        time = self._transfers(first * count, untouched * count)
        return max(time, self._transfers(max(others, default=0) * count, 0))

    def _readers(self, one: ChannelTensor, loops: Loops) -> int:
        """The cores that a transfer of a tensor serves."""
        return self._parts(one, loops) if self.machine.multicast and not one.is_sum else 1

    def of_cores(self, loops: Loops) -> Iterator[Width]:
        """
        The least bits of touched elements that the first core is billed for, and its neighbours, which go on with its
        sums: of what a transfer brings to several cores its share.
        """
        sizes, extents = self.nest.sizes, self._extents(loops)
        cut = {dim for dim, extent in extents.items() if extent < sizes[dim]}
        readers = {one.tensor.name: self._readers(one, loops) for one in self.moved}
        yield self._of_core(extents, cut, None, readers)
        for dim in () if self.on_chip else cut:
            # Beside a part along a dimension with a window there is none alike.
            if all(is_plain(axis) for one in self.moved for axis in one.tensor.axes if dim in axis.dims):
                beside = extents | {dim: min(extents[dim], sizes[dim] - extents[dim])}
                later = cut - {dim} if 2 * extents[dim] >= sizes[dim] else cut
                yield self._of_core(beside, later, dim, readers)

    def _of_core(
        self, extents: Mapping[str, int], later: set[str], before: str | None, readers: Mapping[str, int]
    ) -> Width:
        """
        The least bits of a core with these extents, where other cores come after it along some dimensions, and before
        it along one or none; inputs and starts are billed to so many `readers` in equal shares.
        """
        bits = 0
        for one in self.moved:
            elements = 1
            for axis, size in zip(one.tensor.axes, one.tensor.shape, strict=True):
                if is_plain(axis):
                    elements *= extents[axis.terms[0][0]]
                else:
                    elements *= reached_positions(axis, size, {d: (0, extents[d]) for d in axis.dims}).bit_count()
            width = one.stored
            if one.is_sum:
                passed = bool(later & one.repeats)
                width = (0 if self.on_chip else one.sums) if passed else one.stored
                width += one.sums * (before in one.repeats)
            elif before is not None and before not in one.among:
                width = 0
            bits += width * elements // readers[one.tensor.name]
        return bits

    def _of_classes(self, loops: Loops) -> float:
        """By what cores of each class move and pass through their scratchpads."""
        schedule, machine = Schedule(loops), self.machine
        moves = core_traffic(self.nest, schedule, machine.multicast, machine.reduction)
        of_cores = [moved_bits(self.nest, rows, self.widths) for rows in moves.moved]
        parts, least = core_parts(self.nest, schedule), self.channel(loops)
        time = self._transfers(least - self.untouched, self.untouched)
        billed = self.of_cores(loops) if machine.multicast else (of_cores[0] - self.untouched, *of_cores[1:])
        time = max(time, self._busiest(loops, *billed))
        spm = sum(part.cores * bits for part, bits in zip(parts, of_cores, strict=True))
        if machine.array.row_stationary is None:
            sums = self.widths.with_sums(self.nest)
            # Tiles only add accesses: to a stationary tile that stays they add none, and it is loaded once.
            for part in parts:
                accesses = compute(part.nest, part.schedule, machine.array).accesses
                spm += part.cores * sum(sums[name] * accesses.get(name, 0) for name in sums)
        return self._value(time, least, spm)

    def _transfers(self, bits: Width, untouched: Width) -> float:
        """
        The least time in which cores move so many bits together, and beside these those of elements that no statement
        touches, which move at any time: after the last load of a core come fill and drain.
        """
        bits_in, cycles = self.rate
        # Quotients of integers are rounded like fractions, and take a tenth of the time.
        return max(float(bits * cycles / bits_in) + self.after, float((bits + untouched) * cycles / bits_in))

    def _after_transfers(self) -> Width:
        """
        The least cycles from a core's last load to the end beside the last store.

        0 where what cores share is not billed to each, or a stationary tile that stays makes fill and drain shorter.
        """
        array = self.machine.array
        return 0 if self.machine.multicast or self.on_chip or array.skips_reloads else array.op_overhead

    def _value(self, time: float, moved: Width, spm: Width) -> float:
        """The objective for lower bounds of cycles, of bits on the channel and of bits in and out of scratchpads."""
        energy = self.machine.energy
        joules = (
            None
            if energy is None
            else energy.joules(carried_passes((self.nest,), self.machine.array), spm / BYTE, moved / BYTE)
        )
        return ExactCost(time, moved, joules).score(self.objective)


def _channel_tensors(nest: Nest, widths: Bits) -> Iterator[ChannelTensor]:
    """What moves of a nest. Of the starts of sums no core moves any whose sums an earlier core begins."""
    stored, sums, every = widths.by_name(nest), widths.with_sums(nest), frozenset(nest.sizes)
    moved = [(tensor, False, every) for tensor in nest.ins] + [(tensor, True, every) for tensor in nest.outs]
    moved += [(s, False, o.dims) for o, s in zip(nest.outs, nest.starts, strict=True) if s is not None]
    for tensor, is_sum, among in moved:
        name = tensor.name
        yield ChannelTensor(tensor, is_sum, touched(tensor, nest.sizes), stored[name], sums[name], among)
