"""Bounds of schedules over cores by those of their first parts, where cores may share transfers."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.table import Energy, Machine
from npuc.compiler.analysis.schedule.candidates import MOST
from npuc.compiler.analysis.schedule.core_search import best_on_core
from npuc.compiler.analysis.schedule.exact_cost import exact_cost
from npuc.compiler.analysis.schedule.over_cores.part_search import PartSearch
from npuc.compiler.analysis.schedule.over_cores.partitions import candidates_by_bound, partitions_up_to
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.core.kinds import Reduction
from npuc.dialects.npu.nest import Nest, Schedule
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
        for candidate in candidates_by_bound(
            nest, machine, "time", widths, lambda: MOST, partitions_up_to(nest, machine.cores)
        ):
            try:
                inner = best_on_core(*search.part(candidate), "time", widths, ())
            except CapacityError:
                continue
            time = exact_cost(nest, search.whole(candidate, inner), machine, "time", widths)[0]
            assert max(candidate.least, search.least(candidate)) <= time * (1 + 1e-12)
            assert search.within(candidate, time) is not None, f"{candidate}\n{nest}\n{machine}"
