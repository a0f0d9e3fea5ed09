"""Bounds of schedules over cores by those of their first parts, where cores may share transfers."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.table import Energy, Machine
from npuc.compiler.analysis.nest.cores import core_count, first_part
from npuc.compiler.analysis.schedule.core_search import best_on_core
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.schedule.exact_cost import exact_cost
from npuc.compiler.analysis.schedule.machine_space import MOST
from npuc.compiler.analysis.schedule.over_cores.part_search import PartSearch
from npuc.compiler.analysis.schedule.over_cores.partitions import (
    CandidatePartition,
    candidates_by_bound,
    partitions_up_to,
)
from npuc.compiler.analysis.schedule.search import best_schedule
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.core.kinds import Reduction
from npuc.dialects.npu.nest import Axis, Nest, Schedule, Statement, Tensor
from tests.property.conftest import gemm
from tests.widths import of_bytes

Draw = Callable[..., tuple[Nest, Schedule]]
ONE = Machine(Array(4, 4), 400, Fraction(2), 1000.0, 8, element_bytes=2, energy=Energy(0.2, 1.0, 20.0))


@pytest.mark.parametrize("reduction", ["dram", "on-chip"])
@pytest.mark.parametrize("multicast", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_no_schedule_takes_less_than_its_first_part(
    seed: int, multicast: bool, reduction: Reduction, draw: Draw
) -> None:
    """Bounds by the first part, by its tilings and by the core that is billed most hold where cores share transfers."""
    r = Random(seed)
    for _ in range(4):
        nest, _ = draw(r, big=8)
        widths = of_bytes(nest, 2, r.choice([2, 4]))
        array = Array(4, 4, r.choice(["os", "ws", "is", "in-place"]), fill=r.choice(["overlap", "overlap", "per-fold"]))
        rate, spm = Fraction(r.choice([1, 3, 12])), r.choice([160, 400, 1200])
        machine = replace(ONE, cores=r.choice([2, 3, 6, 12]), bytes_per_cycle=rate, array=array, spm_bytes=spm)
        machine = replace(machine, multicast=multicast, reduction=reduction)
        search = PartSearch(nest, machine, "time", widths, ())
        for candidate in candidates_by_bound(nest, machine, "time", widths, lambda: MOST, partitions_up_to):
            # What is known to be no more than the candidate's own bound is not looked for further.
            least, alone = search.least(candidate), search.least(replace(candidate, least=0.0))
            assert max(candidate.least, least) == pytest.approx(max(candidate.least, alone), rel=1e-12)
            try:
                inner = best_on_core(*search.part(candidate), "time", widths, ())
            except CapacityError:
                continue
            time = exact_cost(nest, search.whole(candidate, inner), machine, "time", widths)[0]
            assert max(candidate.least, search.least(candidate)) <= time * (1 + 1e-12)
            assert search.within(candidate, time) is not None, f"{candidate}\n{nest}\n{machine}"


@pytest.mark.parametrize(("cores", "most"), [(8, 10), (132, 24)])
def test_few_parts_are_searched_where_one_transfer_serves_several(
    monkeypatch: pytest.MonkeyPatch, cores: int, most: int
) -> None:
    """The core that is billed most bounds a partition, also by what no statement touches."""
    steps = {"b": 1, "i": 1, "y": 2, "x": 2}
    x = Tensor("dX", (32, 64, 28, 28), tuple(Axis(((dim, step),)) for dim, step in steps.items()))
    y = Tensor("dY", (32, 128, 14, 14), tuple(Axis(((dim, 1),)) for dim in "boyx"))
    w = Tensor("W", (128, 64), (Axis((("o", 1),)), Axis((("i", 1),))))
    dims = (("b", 32), ("o", 128), ("i", 64), ("y", 14), ("x", 14))
    nest = Nest(dims, (y, w), (x,), (None,), (Statement("dX", "dY", "W"),))
    machine = replace(ONE, array=Array(64, 64), spm_bytes=1 << 20, bytes_per_cycle=Fraction(40), cores=cores)
    machine = replace(machine, multicast=True)
    searched: list[CandidatePartition] = []
    within = PartSearch.within

    def seen(self: PartSearch, candidate: CandidatePartition, score: float) -> object:
        searched.append(candidate)
        return within(self, candidate, score)

    monkeypatch.setattr(PartSearch, "within", seen)
    best_schedule(nest, machine, "time", of_bytes(nest, 2), tolerance=0.005)
    assert 0 < len(searched) <= most < len(list(partitions_up_to(nest, cores)))


@pytest.mark.parametrize(("objective", "gains"), [("time", 0.03), ("edp", 0.001)])
def test_a_part_is_searched_as_its_transfers_are_billed(objective: Objective, gains: float) -> None:
    """Where cores share what they read, a search that knows it loses on no partition, and gains on average."""
    r, ratios = Random(0), list[float]()
    for _ in range(8):
        sizes = {dim: r.choice([8, 16, 64, 100, 512]) for dim in "mnk"}
        nest = gemm(sizes, r.choice(["forward", "dx", "dw", "dxdw"]), (), "none")
        widths, cores = of_bytes(nest, 2), r.choice([4, 8, 16])
        spm, rate = r.choice([1000, 8000, 100000]), Fraction(r.choice([1, 4, 16]))
        machine = replace(ONE, array=Array(8, 8), spm_bytes=spm, bytes_per_cycle=rate, cores=cores, multicast=True)
        search = PartSearch(nest, machine, objective, widths, ())
        for number, (loops, _) in enumerate(partitions_up_to(nest, cores)):
            candidate = CandidatePartition(loops, number, cores)
            part = first_part(nest, Schedule(loops))
            try:
                alone = best_on_core(part, machine.core(core_count(nest, Schedule(loops))), objective, widths, ())
            except CapacityError:
                continue
            found = search.within(candidate, MOST)
            assert found is not None
            least, known = (
                exact_cost(nest, one, machine, objective, widths)[0]
                for one in (found[0], search.whole(candidate, alone))
            )
            assert least <= known, f"{candidate}\n{nest}\n{machine}"
            ratios.append(least / known)
    assert sum(ratios) <= (1 - gains) * len(ratios), sum(ratios) / len(ratios)
