"""
Levels of memory on the chip: traffic of each equals a walk in which every memory holds its elements, one by one; times
are those of one level where there is one, and lie between their bounds.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from math import prod
from random import Random

import pytest

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.levels.outer import OuterLevel, levels_in, levels_text
from npuc.compiler.analysis.machine.levels.views import views_of
from npuc.compiler.analysis.nest.common import common_bytes
from npuc.compiler.analysis.nest.cores import core_traffic
from npuc.compiler.analysis.nest.elements import footprint_bytes
from npuc.compiler.analysis.nest.traffic import traffic
from npuc.compiler.analysis.timing.double_buffer import core_timings, pipeline
from npuc.dialects.npu.nest import LevelKeep, Loop, Nest, Schedule, Tensor
from tests.schedules import gemm
from tests.widths import draw_bits, of_bytes

Draw = Callable[..., tuple[Nest, Schedule]]
Ranges = dict[str, tuple[int, int]]
Element = tuple[int, ...]
NAMES = ("L2", "L3")


def with_levels(r: Random, nest: Nest, schedule: Schedule, names: tuple[str, ...]) -> Schedule:
    """A schedule with random depths in further levels, which do not shrink outwards."""
    most, outer = len(schedule.loops) - schedule.core_depth, list[LevelKeep]()
    depths = {name: schedule.keep_depth(name) for name in nest.tensors}
    for name in names:
        kept = {t: r.randint(depth, most) for t, depth in depths.items() if r.random() < 0.7}
        depths |= kept
        outer.append(LevelKeep(name, tuple(kept.items())))
    return replace(schedule, outer=tuple(outer))


def operations(schedule: Schedule, nest: Nest) -> list[list[Ranges]]:
    """For each tile operation the ranges of all dimensions under 0, 1, … all of the loops."""
    found: list[list[Ranges]] = [[{d: (0, n) for d, n in nest.dims}]]
    for loop in schedule.loops:
        found = [
            [*one, {**one[-1], loop.dim: (low, min(low + loop.step, one[-1][loop.dim][1]))}]
            for one in found
            for low in range(*one[-1][loop.dim], loop.step)
        ]
    return found


def reached(tensor: Tensor, ranges: Ranges) -> set[Element]:
    """The elements inside the tensor that its index map reaches."""
    axes = [
        {
            position
            for at in product(*(range(*ranges[d]) for d in axis.dims))
            if 0 <= (position := axis.offset + sum(c * i for (_, c), i in zip(axis.terms, at, strict=True))) < size
        }
        for axis, size in zip(tensor.axes, tensor.shape, strict=True)
    ]
    return set(product(*axes))


@dataclass
class Memory:
    """What a memory has of one tensor: the box of its block, and its elements with how many products are in them."""

    box: object = None
    holds: dict[Element, int] = field(default_factory=dict[Element, int])
    read: int = 0
    written: int = 0
    partial: int = 0


class Walk:
    """
    Memories of one tensor, from SPM to DRAM. A sum's element is there once something was added to it; what a memory
    reads, the next one outwards must have.
    """

    def __init__(self, nest: Nest, tensor: Tensor, schedules: tuple[Schedule, ...], *, sums: bool):
        self.nest, self.tensor, self.schedules, self.sums = nest, tensor, schedules, sums
        self.chip = [Memory() for _ in schedules]
        everything = product(*map(range, tensor.shape))
        self.dram = Memory(holds={} if sums else dict.fromkeys(everything, 0))
        self.total = {e: 0 for e in reached(tensor, {d: (0, n) for d, n in nest.dims})}

    def outside(self, number: int) -> Memory:
        return (*self.chip, self.dram)[number + 1]

    def evict(self, number: int) -> None:
        mine, outer = self.chip[number], self.outside(number)
        mine.written += len(mine.holds)
        mine.partial += sum(self.total[e] > count for e, count in mine.holds.items())
        outer.holds |= mine.holds
        mine.holds = {}

    def touch(self, operation: list[Ranges]) -> None:
        """Make the blocks of all memories those of an operation."""
        boxes: list[tuple[object, set[Element]]] = []
        for schedule in self.schedules:
            ranges = operation[len(schedule.loops) - schedule.keep_depth(self.tensor.name)]
            box = tuple((d, ranges[d]) for d in sorted(self.tensor.dims))
            boxes.append((box, reached(self.tensor, ranges)))
        changed = [n for n, (box, _) in enumerate(boxes) if box != self.chip[n].box]
        for number in changed:  # from SPM outwards
            assert number == 0 or number - 1 in changed, "what is inside of a block changes with it"
            if self.sums:
                self.evict(number)
        for number in reversed(changed):
            mine, outer = self.chip[number], self.outside(number)
            mine.box, wanted = boxes[number]
            if number + 1 < len(self.chip):
                assert wanted <= boxes[number + 1][1], "outer blocks contain inner ones"
            found = {e: outer.holds[e] for e in wanted if e in outer.holds}
            assert self.sums or found.keys() == wanted, "the next memory has what is read"
            mine.read += len(found)
            mine.holds = found

    def add(self, ranges: Ranges) -> None:
        """All products of an operation, each point by itself."""
        holds = self.chip[0].holds
        for at in product(*(range(*ranges[d]) for d in self.nest.sizes)):
            point = dict(zip(self.nest.sizes, at, strict=True))
            e = tuple(axis.offset + sum(c * point[d] for d, c in axis.terms) for axis in self.tensor.axes)
            if e in self.total:
                holds[e] = holds.get(e, 0) + 1

    def finish(self) -> None:
        for number in range(len(self.chip)):
            self.evict(number)


def products_of(nest: Nest, tensor: Tensor) -> dict[Element, int]:
    """How many points of the whole nest add to each element."""
    counts: dict[Element, int] = {}
    for at in product(*(range(n) for n in nest.sizes.values())):
        point = dict(zip(nest.sizes, at, strict=True))
        e = tuple(axis.offset + sum(c * point[d] for d, c in axis.terms) for axis in tensor.axes)
        if all(0 <= i < n for i, n in zip(e, tensor.shape, strict=True)):
            counts[e] = counts.get(e, 0) + 1
    return counts


def check_walk(nest: Nest, schedules: tuple[Schedule, ...]) -> None:
    """Walk all tensors of a nest, and compare what each memory reads and writes with the closed form."""
    closed = [traffic(nest, own) for own in schedules]
    every = operations(schedules[0], nest)
    starts = {s.name: out for out, s in zip(nest.outs, nest.starts, strict=True) if s is not None}
    outs = {out.name for out in nest.outs}
    for name, tensor in nest.tensors.items():
        walk = Walk(nest, tensor, schedules, sums=name in outs)
        if name in outs:
            walk.total |= products_of(nest, tensor)
        for operation in every:
            if name in starts:  # of sums that begin here
                beside = [d for d in nest.sizes if d not in starts[name].dims]
                if any(operation[-1][d][0] > 0 for d in beside):
                    continue
            walk.touch(operation)
            if name in outs:
                walk.add(operation[-1])
        if name in outs:
            walk.finish()
            assert walk.dram.holds == walk.total, "every product is in DRAM at the end"
        missed = tensor.elements - len(walk.total)
        for memory, said in zip(walk.chip, closed, strict=True):
            own, context = said[name], f"{name} of {nest}\n{schedules}"
            assert own.read == memory.read + missed * (name in starts), context
            if name in outs:
                assert own.write == memory.written + missed, context
                assert own.spilled == memory.partial == own.resumed == own.read, context


@pytest.mark.parametrize("seed", range(6))
def test_traffic_of_each_level_equals_a_walk_of_elements(seed: int, draw: Draw) -> None:
    r = Random(seed)
    seen = 0
    while seen < 60:
        nest, schedule = draw(r, big=4)
        if prod(nest.sizes.values()) > 2000:
            continue
        names = NAMES[: r.randint(1, 2)]
        found = with_levels(r, nest, schedule, names)
        assert not list(found.problems(nest))
        check_walk(nest, found.at_levels(names))
        seen += 1


@pytest.mark.parametrize("seed", range(3))
def test_traffic_does_not_grow_outwards(seed: int, draw: Draw) -> None:
    """A larger depth moves no more where no dimension is cut twice, and holds no less."""
    r = Random(100 + seed)
    for _ in range(100):
        nest, schedule = draw(r, big=12, repeat=False)
        found = with_levels(r, nest, schedule, NAMES).at_levels(NAMES)
        widths = draw_bits(r, nest)
        rooms = [footprint_bytes(nest, own, widths) for own in found]
        assert rooms == sorted(rooms)
        writes = [sum(t.write for t in traffic(nest, own).values()) for own in found]
        assert writes == sorted(writes, reverse=True)


def machine(r: Random, levels: int, cores: int = 1) -> Machine:
    """A small machine with so many levels between SPM and DRAM."""
    size, found = r.choice([256, 1024, 4096]), list[OuterLevel]()
    for name in NAMES[:levels]:
        size *= r.choice([1, 4])
        found.append(OuterLevel(name, size, r.choice([0.5, 2.0, 8.0]), r.choice([None, 1.5])))
    return Machine(
        Array(4, 4, r.choice(["os", "ws", "is"])),
        spm_bytes=256,
        bytes_per_cycle=Fraction(r.choice([1, 3, 8]), r.choice([1, 2])),
        clock_mhz=1000.0,
        lanes=4,
        double_buffer=r.random() < 0.7,
        cores=cores,
        levels=tuple(found),
    )


@pytest.mark.parametrize("seed", range(4))
def test_times_of_levels(seed: int, draw: Draw) -> None:
    """
    The time is no less than that of the array, of every level's transfers and of every level alone, and no more than
    all of them one after another; a level that is never slow and keeps nothing costs nothing: loads may run ahead.
    """
    r = Random(200 + seed)
    for _ in range(30):
        nest, schedule = draw(r, big=8)
        chip = machine(r, r.randint(1, 2))
        names = tuple(level.name for level in chip.levels)
        found, widths = with_levels(r, nest, schedule, names), draw_bits(r, nest)
        timing = pipeline(nest, found, chip, widths)
        alone = [pipeline(nest, v.schedule, v.machine, widths) for v in views_of(found, chip)]
        transfers = [one.moved / v.machine.channel_bits for one, v in zip(alone, views_of(found, chip), strict=True)]
        assert timing.moved == alone[-1].moved
        assert timing.compute == alone[0].compute
        assert max(one.time for one in alone) <= timing.time <= timing.compute + sum(transfers)
        ends = sum(one.ends for one in alone)
        if chip.double_buffer:
            assert timing.time >= ends + timing.compute
            slowest = max(one.time - one.ends for one in alone)
            assert timing.time == slowest + ends
        else:
            assert timing.time == timing.compute + sum(transfers)
        fast = replace(chip, levels=tuple(replace(level, gb_per_s=1e7) for level in chip.levels))
        one = replace(chip, levels=())
        plain = replace(found, outer=())
        least = pipeline(nest, plain, one, widths).time
        assert pipeline(nest, plain, fast, widths).time <= least * (1 + Fraction(1, 10**4))


@pytest.mark.parametrize("seed", range(3))
def test_one_level_is_as_before(seed: int, draw: Draw) -> None:
    """Without further levels a machine is its own view, and what a schedule says of others changes nothing in SPM."""
    r = Random(300 + seed)
    for _ in range(40):
        nest, schedule = draw(r, big=8, cores=r.random() < 0.4)
        chip, widths = machine(r, 0, cores=64), draw_bits(r, nest)
        ((view),) = views_of(schedule, chip)
        assert (view.schedule, view.machine) == (schedule, chip)
        outer = with_levels(r, nest, schedule, NAMES)
        assert pipeline(nest, schedule, chip, widths) == pipeline(nest, outer, chip, widths)
        assert traffic(nest, schedule) == traffic(nest, outer)


def union_walk(nest: Nest, schedule: Schedule, level: Schedule, common: bool) -> dict[str, int]:
    """
    What the cores of a schedule bring into a memory, each in its own turn, by tensor; in a common one a block that
    another core has at the same step is there already.
    """
    parts = schedule.core_depth
    cores: dict[object, list[list[Ranges]]] = {}
    for operation in operations(schedule, nest):
        key = tuple(operation[parts][loop.dim] for loop in schedule.loops[:parts])
        cores.setdefault(key, []).append(operation)
    found: dict[str, int] = {}
    for tensor in nest.ins:
        blocks: dict[object, int] = {}
        for key, every in cores.items():
            box: object = None
            for step, operation in enumerate(every):
                ranges = operation[len(level.loops) - level.keep_depth(tensor.name)]
                now = tuple(ranges[d] for d in sorted(tensor.dims))
                if now != box:
                    whose = None if common else key
                    blocks[step, now, whose] = len(reached(tensor, ranges))
                box = now
        found[tensor.name] = sum(blocks.values())
    return found


@pytest.mark.parametrize("seed", range(3))
def test_cores_with_a_common_level(seed: int) -> None:
    """
    From DRAM comes once what several cores read at the same step, into each SPM what its core reads; blocks of one core
    and those of all take the room of all cores.
    """
    r = Random(400 + seed)
    for _ in range(25):
        sizes = {"m": r.choice([4, 8]), "n": r.choice([4, 8]), "k": r.choice([4, 8])}
        nest = gemm(**sizes)
        over = r.sample(["m", "n"], r.randint(1, 2))
        loops = [Loop(d, sizes[d] // 2, cores=True) for d in over]
        loops += [Loop(d, r.choice([1, 2])) for d in r.sample(["m", "n", "k"], 3)]
        schedule = with_levels(r, nest, Schedule(tuple(loops)), NAMES[:1])
        inner, outer = schedule.at_levels(NAMES[:1])
        chip = replace(machine(r, 1, cores=4), double_buffer=True)
        near, far = views_of(schedule, chip)
        moved = [core_traffic(nest, v.schedule, v.machine.multicast, v.machine.reduction).channel for v in (near, far)]
        own, common = union_walk(nest, schedule, inner, False), union_walk(nest, schedule, outer, True)
        for tensor in nest.ins:
            assert moved[0][tensor.name].read == own[tensor.name]
            assert moved[1][tensor.name].read == common[tensor.name]
        widths = of_bytes(nest, 2)
        timing = pipeline(nest, schedule, chip, widths)
        slowest = max(one.time for one in core_timings(nest, schedule, chip, widths))
        assert timing.time >= slowest
        assert timing.time >= max(pipeline(nest, v.schedule, v.machine, widths).time for v in (near, far))
        cores = prod(2 for _ in over)
        assert common_bytes(nest, outer, widths) <= cores * footprint_bytes(nest, outer, widths)


def test_blocks_of_several_cores_are_held_once() -> None:
    """By hand: two cores cut m; both read W, each has rows of X and sums of its own."""
    nest = gemm(8, 4, 4)
    schedule = Schedule((Loop("m", 4, cores=True), Loop("m", 2)), (), None, (LevelKeep("L2", (("X", 1), ("Y", 1))),))
    own, sums = of_bytes(nest, 2), of_bytes(nest, 2).with_sums(nest)["Y"] // 8
    (_, outer) = schedule.at_levels(("L2",))
    assert common_bytes(nest, outer, own) == 2 * (2 * 4 * 4) + 2 * 4 * 4 + 2 * (sums * 4 * 4)


def test_levels_as_text() -> None:
    levels = (OuterLevel("L2", 4096, 12.5, 1.5), OuterLevel("L3", 1 << 30, 1e6))
    assert levels_in(levels_text(levels), 4096) == levels
