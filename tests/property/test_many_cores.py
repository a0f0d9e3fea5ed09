"""Many cores: like cores are looked at once, and the search of partitions leaves out only what cannot be the best."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.table import Energy, Machine
from npuc.compiler.analysis.nest import core_classes
from npuc.compiler.analysis.nest import cores as cores_of
from npuc.compiler.analysis.nest.cores import core_count, core_parts, core_traffic, on_cores
from npuc.compiler.analysis.nest.elements import Bits
from npuc.compiler.analysis.schedule import search
from npuc.compiler.analysis.schedule.core_partitions import PartitionBounds, partitions_up_to
from npuc.compiler.analysis.schedule.exact_cost import exact_cost, exact_costs
from npuc.compiler.analysis.schedule.search import OBJECTIVES, best_schedule
from npuc.compiler.analysis.timing import double_buffer
from npuc.compiler.core.errors import CapacityError
from npuc.dialects.npu.nest import Axis, Loop, Nest, Schedule, Statement, Tensor
from tests.property.conftest import gemm
from tests.widths import of_bytes

Draw = Callable[..., tuple[Nest, Schedule]]
ONE = Machine(Array(4, 4), 400, Fraction(2), 1000.0, 8, element_bytes=2, energy=Energy(0.2, 1.0, 20.0))
HUGE = {"m": 1 << 14, "n": 96, "k": 64}


def forget() -> None:
    """Empty the caches of what cores do."""
    for cached in (core_parts, core_traffic, double_buffer.core_runs, double_buffer.core_timings):
        cached.cache_clear()
    for cached in (double_buffer.pipeline, core_classes.class_shapes, search.best_on_core):
        cached.cache_clear()


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """No test finds, or leaves, what another one has cached."""
    forget()
    yield
    forget()


class Counted:
    """A function that counts its calls."""

    def __init__(self, function: Callable[..., object]):
        self.function, self.calls = function, 0

    def __call__(self, *arguments: object, **keywords: object) -> object:
        self.calls += 1
        return self.function(*arguments, **keywords)


def counted(monkeypatch: pytest.MonkeyPatch, module: object, name: str) -> Counted:
    found = Counted(getattr(module, name))
    monkeypatch.setattr(module, name, found)
    return found


@pytest.mark.parametrize("roles", ["forward", "dx", "dw", "dxdw"])
@pytest.mark.parametrize("reduction", ["dram", "on-chip"])
def test_work_does_not_grow_with_cores(monkeypatch: pytest.MonkeyPatch, roles: str, reduction: str) -> None:
    """A nest on 4 x 3 cores and on 512 x 3 takes as many timings, volumes and parts: those of the classes."""
    nest = gemm(HUGE, roles, (), "none")
    widths = of_bytes(nest, 2)
    timings = counted(monkeypatch, double_buffer, "_timing")
    volumes = counted(monkeypatch, cores_of, "volume")
    parts = counted(monkeypatch, cores_of, "part_nest")
    found: list[tuple[int, int, int]] = []
    for number in (4, 512):
        loops = Loop("m", HUGE["m"] // number, cores=True), Loop("n", 32, cores=True), Loop("m", 16), Loop("k", 8)
        schedule = Schedule(loops)
        assert core_count(nest, schedule) == 3 * number
        before = timings.calls, volumes.calls, parts.calls
        exact_costs(nest, schedule, replace(ONE, cores=3 * number, reduction=reduction), widths)
        after = timings.calls, volumes.calls, parts.calls
        found.append((after[0] - before[0], after[1] - before[1], after[2] - before[2]))
    assert all(0 < timed <= made == 9 for timed, _, made in found)
    assert found[0][1] == found[1][1]


def test_parts_of_a_window_are_as_many_as_its_borders_need() -> None:
    """Inside an image all parts of a convolution are alike, however many there are."""

    def convolved(size: int) -> Nest:
        x = Tensor("X", (size,), (Axis((("y", 1), ("r", 1)), -1),))
        w, y = Tensor("W", (3,), (Axis((("r", 1),)),)), Tensor("Y", (size,), (Axis((("y", 1),)),))
        return Nest((("y", size), ("r", 3)), (x, w), (y,), (None,), (Statement("Y", "X", "W"),))

    counts = [len(core_parts(convolved(n), Schedule((Loop("y", 4, cores=True),)))) for n in (64, 4096)]
    assert counts == [3, 3]


def test_candidates_grow_with_the_ways_to_share_cores_alone() -> None:
    """Two dimensions share C cores in less than 2 sqrt(C) ways."""
    nest = gemm(HUGE, "forward", (), "none")
    for cores in (16, 528, 4096):
        found = [loops for loops in partitions_up_to(nest, cores) if core_count(nest, Schedule(loops)) > 8]
        assert len(found) <= 3 + 3 * 2 * cores**0.5


@pytest.mark.parametrize("objective", ["time", "traffic"])
def test_most_partitions_are_left_out_unsearched(monkeypatch: pytest.MonkeyPatch, objective: search.Objective) -> None:
    nest = gemm(HUGE, "dxdw", (), "none")
    searched = counted(monkeypatch, search, "best_on_core")
    machine = replace(ONE, cores=528, array=Array(8, 8), spm_bytes=1 << 16)
    best_schedule(nest, machine, objective, of_bytes(nest, 2))
    assert 0 < searched.calls < len(list(partitions_up_to(nest, 528))) / 4


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_search_is_that_of_all_partitions(seed: int, draw: Draw) -> None:
    """Bounds hold for what they leave out, and the best is found among equals as in a search of all."""
    r = Random(seed)
    for _ in range(2):
        nest, _ = draw(r, big=5)
        widths = of_bytes(nest, 2, r.choice([2, 4]))
        reduction = r.choice(["dram", "on-chip"])
        machine = replace(ONE, cores=r.choice([2, 4, 6]), multicast=r.random() < 0.3, reduction=reduction)
        for objective in OBJECTIVES:
            expected = of_all_partitions(nest, machine, objective, widths)
            assert search.least_schedule(nest, machine, objective, widths, (), 0.0) == expected


def of_all_partitions(nest: Nest, machine: Machine, objective: search.Objective, widths: Bits) -> Schedule:
    """The best of the partitions in the order of what all cores need; stops where that is no less than the best."""
    bounds = PartitionBounds(nest, machine, objective, widths)
    loops = list(partitions_up_to(nest, machine.cores))
    best: tuple[float, float, Schedule] | None = None
    for bound, number in sorted((bounds.of_all_cores(one), number) for number, one in enumerate(loops)):
        part = cores_of.first_part(nest, Schedule(loops[number]))
        core = machine.core(core_count(nest, Schedule(loops[number])))
        try:
            inner = search.least_schedule(part, core, objective, widths, (), 0.0)
        except CapacityError:
            continue
        schedule = Schedule((*loops[number], *inner.loops), inner.keep, inner.spm)
        score, moved = exact_cost(nest, schedule, machine, objective, widths)
        for close in (*bounds.stages, bounds.of_busiest, bounds.of_all_cores):
            assert close(loops[number]) <= score, f"{nest}\n{schedule}\n{machine}"
        if best is not None and bound >= best[0]:
            continue
        if best is None or (score, moved) < best[:2]:
            best = score, moved, schedule
    assert best is not None
    return best[2]


@pytest.mark.parametrize("seed", range(4))
def test_classes_are_what_single_cores_are(monkeypatch: pytest.MonkeyPatch, seed: int, draw: Draw) -> None:
    """Traffic and timings of the classes, core by core, are those where every core is a class of its own."""
    r = Random(seed)
    cases = [draw(r, big=12, cores=True) for _ in range(40)]
    machine = replace(ONE, multicast=r.random() < 0.5, reduction=r.choice(["dram", "on-chip"]), cores=64)

    def found(nest: Nest, schedule: Schedule) -> tuple[object, ...]:
        moves = core_traffic(nest, schedule, machine.multicast, machine.reduction)
        spread = [on_cores(nest, schedule, moves.moved)]
        if schedule.core_depth:
            timings = double_buffer.core_timings(nest, schedule, machine, of_bytes(nest, 2))
            return moves.channel, spread, on_cores(nest, schedule, timings)
        return moves.channel, spread

    alike = [found(*case) for case in cases]

    def never(axis: Axis) -> bool:
        return False

    def another(*arguments: object, **keywords: object) -> object:
        return object()

    monkeypatch.setattr(core_classes, "is_plain", never)
    monkeypatch.setattr(core_classes, "_shape", another)
    forget()
    alone = [found(*case) for case in cases]
    assert alike == alone
