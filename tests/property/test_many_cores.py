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
from npuc.compiler.analysis.nest.traffic import moved_bits
from npuc.compiler.analysis.schedule import core_search as core_search_of
from npuc.compiler.analysis.schedule.core_search import CoreSearch, core_search, least_on_core
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.schedule.exact_cost import exact_cost, exact_costs
from npuc.compiler.analysis.schedule.machine_space import MOST
from npuc.compiler.analysis.schedule.near_ties import best_of, near_limit
from npuc.compiler.analysis.schedule.over_cores import part_search
from npuc.compiler.analysis.schedule.over_cores.part_search import PartSearch
from npuc.compiler.analysis.schedule.over_cores.partition_bounds import PartitionBounds
from npuc.compiler.analysis.schedule.over_cores.partitions import (
    CandidatePartition,
    candidates_by_bound,
    partitions_up_to,
)
from npuc.compiler.analysis.schedule.over_cores.search import least_over_cores
from npuc.compiler.analysis.schedule.search import OBJECTIVES, best_schedule, searched_schedule
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
    for cached in (double_buffer.pipeline, core_classes.class_shapes, core_search, least_on_core, searched_schedule):
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


@pytest.mark.parametrize(("roles", "classes"), [("forward", 1), ("dx", 3), ("dw", 3), ("dxdw", 9)])
@pytest.mark.parametrize("reduction", ["dram", "on-chip"])
def test_work_does_not_grow_with_cores(
    monkeypatch: pytest.MonkeyPatch, roles: str, classes: int, reduction: str
) -> None:
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
    assert all(0 < timed <= made == classes for timed, _, made in found)
    assert found[0][1] == found[1][1]


def test_a_cut_has_two_sizes_and_sums_have_ends() -> None:
    """Parts of outputs differ by their sizes alone, those that add up to one also as the first and the last of them."""
    sizes = {"m": 1000, "n": 100, "k": 64}

    def classes(roles: str, *loops: Loop) -> list[tuple[int, ...]]:
        return [part.counts for part in core_parts(gemm(sizes, roles, (), "none"), Schedule(loops))]

    m, n, k = (Loop(dim, step, cores=True) for dim, step in (("m", 30), ("n", 25), ("k", 10)))
    assert classes("forward", m, n) == [(33, 4), (1, 4)]
    assert classes("forward", m, replace(n, step=30)) == [(33, 3), (33, 1), (1, 3), (1, 1)]
    assert classes("forward", k) == [(1,), (5,), (1,)]
    assert classes("dw", m) == [(1,), (32,), (1,)]


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
        found = [loops for loops, _ in partitions_up_to(nest, cores) if core_count(nest, Schedule(loops)) > 8]
        assert len(found) <= 3 + 3 * 2 * cores**0.5


@pytest.mark.parametrize("objective", ["time", "traffic"])
def test_most_partitions_are_left_out_unsearched(monkeypatch: pytest.MonkeyPatch, objective: Objective) -> None:
    nest = gemm(HUGE, "dxdw", (), "none")
    searched = counted(monkeypatch, part_search, "core_search")
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
        array = Array(4, 4, r.choice(["os", "ws", "is", "in-place"]), fill=r.choice(["overlap", "per-fold"]))
        machine = replace(ONE, cores=r.choice([2, 4, 6]), multicast=r.random() < 0.3, reduction=reduction, array=array)
        for objective in OBJECTIVES:
            expected = of_all_partitions(nest, machine, objective, widths)
            assert least_over_cores(nest, machine, objective, widths, ()) == expected


def of_all_partitions(nest: Nest, machine: Machine, objective: Objective, widths: Bits) -> Schedule:
    """The best of the partitions in the order of what all cores need; stops where that is no less than the best."""
    bounds, search = PartitionBounds(nest, machine, objective, widths), PartSearch(nest, machine, objective, widths, ())
    loops = [loops for loops, _ in partitions_up_to(nest, machine.cores)]
    best: tuple[float, float, Schedule] | None = None
    for bound, number in sorted((bounds.of_all_cores(one), number) for number, one in enumerate(loops)):
        candidate = CandidatePartition(loops[number], number, machine.cores)
        try:
            if machine.multicast:
                found = search.within(candidate, MOST)
                assert found is not None
                schedule = found[0]
            else:
                schedule = search.whole(candidate, least_on_core(*search.part(candidate), objective, widths, ()))
        except CapacityError:
            continue
        score, moved = exact_cost(nest, schedule, machine, objective, widths)
        for close in (*bounds.stages, bounds.of_busiest, bounds.of_all_cores):
            assert close(loops[number]) <= score, f"{nest}\n{schedule}\n{machine}"
        if best is not None and bound >= best[0]:
            continue
        if best is None or (score, moved) < best[:2]:
            best = score, moved, schedule
    assert best is not None
    return best[2]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_near_ties_are_those_of_all_partitions(seed: int, draw: Draw) -> None:
    """What is left out by two bounds changes nothing, also where parts share windows, loads or sums."""
    r = Random(seed)
    for _ in range(4):
        nest, _ = draw(r, big=6)
        widths = of_bytes(nest, 2, r.choice([2, 4]))
        reduction, multicast = r.choice(["dram", "dram", "on-chip"]), r.random() < 0.2
        cores, spm = r.choice([2, 4, 6, 12]), r.choice([160, 400, 1200])
        energy = ONE.energy if r.random() < 0.7 else None
        machine = replace(ONE, cores=cores, spm_bytes=spm, multicast=multicast, reduction=reduction, energy=energy)
        for objective in OBJECTIVES if energy else OBJECTIVES[:2]:
            for tolerance in (0.005, 0.1):
                found = best_schedule(nest, machine, objective, widths, tolerance=tolerance)
                forget()
                expected = near_of_all_partitions(nest, machine, objective, widths, tolerance)
                assert found == expected, f"{objective} {tolerance}\n{nest}\n{machine}"


def near_of_all_partitions(
    nest: Nest, machine: Machine, objective: Objective, widths: Bits, tolerance: float
) -> Schedule:
    """The best by the next measure of the best schedule and that of each partition, whatever their bounds."""
    search = PartSearch(nest, machine, objective, widths, ())
    options = [least_over_cores(nest, machine, objective, widths, ())]
    most = near_limit(exact_costs(nest, options[0], machine, widths).reported(objective), objective, tolerance)
    candidates = candidates_by_bound(nest, machine, objective, widths, lambda: MOST, partitions_up_to)
    for candidate in sorted(candidates, key=lambda candidate: candidate.number):
        found = search.near(candidate, tolerance)
        if found is not None and exact_cost(nest, found, machine, objective, widths)[0] <= most:
            options.append(found)
    return best_of(options, lambda one: exact_costs(nest, one, machine, widths), objective, tolerance)


@pytest.mark.parametrize("seed", range(4))
def test_a_limit_changes_no_search(seed: int, draw: Draw) -> None:
    """A search within a limit finds what one without finds, or nothing where that costs more."""
    r = Random(seed)
    for _ in range(4):
        nest, _ = draw(r, big=6)
        widths = of_bytes(nest, 2, r.choice([2, 4]))
        machine = replace(ONE, spm_bytes=r.choice([60, 160, 400, 1200]), bytes_per_cycle=Fraction(r.choice([1, 3, 12])))
        search = nest, machine, "time", widths, (), False
        best = CoreSearch(*search).within(MOST)
        if best is None:
            continue
        limits = [best.score * factor for factor in (0.6, 0.9, 0.999, 1.0, 1.001, 1.05, 1.5)]
        for limit in (*limits, *reversed(limits)):
            expected = best if best.score <= limit else None
            assert CoreSearch(*search).within(limit) == expected, f"{limit} of {best.score}\n{nest}\n{machine}"


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


@pytest.mark.parametrize("seed", range(4))
def test_the_least_traffic_over_cores_in_closed_form(seed: int, draw: Draw) -> None:
    """It is that of the cores' parts without tiles, whichever dimensions are split, and no core moves less."""
    r = Random(seed)
    for _ in range(60):
        nest, drawn = draw(r, big=9, cores=True)
        widths = of_bytes(nest, 2, r.choice([2, 4]))
        reduction, multicast = r.choice(["dram", "on-chip"]), r.random() < 0.3
        machine = replace(ONE, cores=64, reduction=reduction, multicast=multicast)
        for loops in (drawn.loops[: drawn.core_depth], *(one for one, _ in partitions_up_to(nest, r.choice([3, 6])))):
            bounds = PartitionBounds(nest, machine, "time", widths)
            moves = core_traffic(nest, Schedule(loops), multicast, reduction)
            context = f"{loops} {machine}\n{nest}"
            assert bounds.channel(loops) == moved_bits(nest, moves.channel, widths), context
            of_classes = [moved_bits(nest, rows, widths) for rows in moves.moved]
            first, *others = on_cores(nest, Schedule(loops), of_classes)
            least, *of_others = bounds.of_cores(loops)
            assert least <= first - bounds.untouched, context
            assert max(of_others, default=0) <= max(others, default=0), context


@pytest.mark.parametrize("cores", [8, 32, 528])
@pytest.mark.parametrize(
    ("m", "n", "k", "roles", "most"),
    [
        (100352, 24, 96, "forward", 1),
        (25088, 192, 32, "forward", 3),
        (6272, 64, 192, "dw", 2),
        (6272, 384, 64, "forward", 4),
        (1568, 512, 2048, "forward", 4),
        (32, 1000, 2048, "forward", 4),
    ],
)
def test_few_parts_are_searched(
    monkeypatch: pytest.MonkeyPatch, m: int, n: int, k: int, roles: str, most: int, cores: int
) -> None:
    """Of all parts few are searched, however many cores there are: others cannot be the result by their bounds."""
    nest = gemm({"m": m, "n": n, "k": k}, roles, (), "none")
    searched = counted(monkeypatch, part_search, "core_search")
    spaces = counted(monkeypatch, core_search_of, "best_candidate")
    machine = replace(ONE, array=Array(128, 128), spm_bytes=18 << 20, bytes_per_cycle=Fraction(150), cores=cores)
    best_schedule(nest, machine, "time", of_bytes(nest, 2), tolerance=0.005)
    assert 0 < searched.calls <= most
    assert spaces.calls <= 2 * most, "coarse and fine candidates of each"
