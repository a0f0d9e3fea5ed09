"""Partitions come in the order of their bounds, however far searches before this one have asked for them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.table import Energy, Machine
from npuc.compiler.analysis.schedule.over_cores.partition_bounds import PartitionBounds
from npuc.compiler.analysis.schedule.over_cores.partitions import (
    CandidatePartition,
    candidates_by_bound,
    partitions_up_to,
)
from npuc.compiler.analysis.schedule.search import OBJECTIVES
from npuc.dialects.npu.nest import Nest, Schedule
from tests.widths import of_bytes

Draw = Callable[..., tuple[Nest, Schedule]]
ONE = Machine(Array(4, 4), 400, Fraction(2), 1000.0, 8, element_bytes=2, energy=Energy(0.2, 1.0, 20.0))


def every_candidate(nest: Nest, bounds: PartitionBounds, cores: int) -> list[tuple[float, CandidatePartition]]:
    """All partitions with all of their bounds, by the traffic that decides between equal ones."""
    found: list[tuple[float, CandidatePartition]] = []
    for number, (loops, of) in enumerate(partitions_up_to(nest, cores)):
        by_all, busiest = bounds.of_all_cores(loops), bounds.of_busiest(loops)
        least = max(by_all, busiest, *(stage(loops) for stage in bounds.stages))
        found.append((float(bounds.channel(loops)), CandidatePartition(loops, number, of, by_all, least)))
    return found


@pytest.mark.parametrize("seed", range(6))
def test_candidates_come_by_their_bounds(seed: int, draw: Draw) -> None:
    r = Random(seed)
    for _ in range(4):
        nest, _ = draw(r, big=8)
        widths, objective = of_bytes(nest, 2, r.choice([2, 4])), r.choice(OBJECTIVES)
        machine = replace(ONE, cores=r.choice([2, 5, 12, 60]), bytes_per_cycle=Fraction(r.choice([1, 3, 12])))
        machine = replace(machine, multicast=r.random() < 0.5, reduction=r.choice(["dram", "on-chip"]))
        known = every_candidate(nest, PartitionBounds(nest, machine, objective, widths), machine.cores)
        factors = [r.choice([0.5, 1.0, 1.25]) for _ in known]

        def closest(candidate: CandidatePartition, factors: Sequence[float] = factors) -> float:
            return candidate.least * factors[candidate.number]

        for most in r.choices([one.least * 1.1 for _, one in known], k=4):
            for close in (None, closest):
                ranked = sorted(
                    (one.least if close is None else max(one.least, close(one)), moved, one.number, one)
                    for moved, one in known
                )
                expected = [(number, least) for least, _, number, _ in ranked if least <= most]
                found = list(
                    candidates_by_bound(
                        nest, machine, objective, widths, lambda most=most: most, partitions_up_to, close
                    )
                )
                assert [(one.number, one.least) for one in found] == expected
                assert all(one.bound == known[one.number][1].bound for one in found)
