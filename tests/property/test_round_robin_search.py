"""The search for nests that run round-robin against every tiling of both, and against running them whole."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

from npuc.compiler.analysis.machine.array import Dataflow
from npuc.compiler.analysis.machine.facts import Machine, machine_from
from npuc.compiler.analysis.programs.interleave_search import InterleaveProblem, best_round_robin
from npuc.compiler.analysis.timing.interleave import interleaved_pipeline
from npuc.dialects.npu.nest import Loop, Nest, Schedule
from npuc.dialects.npu.shared import RoundRobin
from npuc.hardware import load_hardware, machine_target
from npuc.studies.igo.products import DW, DX, Size, nest_of, widths_of

VALUES = (0, 1), (2, 0)
"""dX reads dY and W, dW reads X and dY."""
LARGE = machine_from(machine_target(load_hardware("igo-large", {"memory.element_bytes": 2})))


def problem_of(size: Size, machine: Machine) -> InterleaveProblem:
    """dX and dW of a layer."""
    nests = nest_of(size, DX), nest_of(size, DW)
    widths = tuple(widths_of(nest, machine) for nest in nests)
    return InterleaveProblem(nests, VALUES, (None, None), widths, machine)


def time_of(problem: InterleaveProblem, schedules: tuple[Schedule, ...]) -> Fraction | None:
    """The cycles of the nests with schedules; None where these do not fit."""
    together = RoundRobin(problem.nests, schedules, problem.values)
    if problem.room(together) > problem.budget:
        return None
    return interleaved_pipeline(together, problem.machine, problem.widths).time


def tilings(nest: Nest) -> list[Schedule]:
    """Every dimension whole, in halves, or element by element; loops in the order of the nest and reversed."""
    steps = [[(dim, step) for step in sorted({1, -(-size // 2), size})] for dim, size in nest.sizes.items()]
    found: dict[tuple[Loop, ...], None] = {}
    for chosen in product(*steps):
        loops = tuple(Loop(dim, step) for dim, step in chosen if step < nest.sizes[dim])
        found |= {loops: None, loops[::-1]: None}
    return [Schedule(loops) for loops in found]


@pytest.mark.parametrize(
    ("dataflow", "side", "spm", "rate", "size"),
    [
        ("os", 8, 512, 16, Size(16, 16, 4)),
        ("os", 8, 2048, 16, Size(8, 16, 4)),
        ("os", 4, 512, 1, Size(8, 8, 4)),
        ("os", 16, 2048, 4, Size(4, 4, 4)),
        ("ws", 8, 2048, 16, Size(8, 16, 4)),
        ("ws", 4, 512, 4, Size(8, 4, 8)),
        ("in-place", 4, 1024, 16, Size(16, 4, 8)),
    ],
)
def test_no_tiling_of_both_is_faster(dataflow: Dataflow, side: int, spm: int, rate: int, size: Size) -> None:
    array = replace(LARGE.array, rows=side, cols=side, dataflow=dataflow)
    machine = replace(LARGE, array=array, spm_bytes=spm, bytes_per_cycle=Fraction(rate))
    problem = problem_of(size, machine)
    found = best_round_robin(problem)
    assert found is not None
    best = time_of(problem, found)
    times = [time_of(problem, pair) for pair in product(*map(tilings, problem.nests))]
    known = [time for time in times if time is not None]
    assert best is not None
    assert len(known) > 20
    assert best <= min(known)


@pytest.mark.parametrize("size", [Size(64, 32, 48), Size(100, 20, 30), Size(8, 512, 10)])
def test_nests_that_fit_whole_are_no_slower_than_whole(size: Size) -> None:
    problem = problem_of(size, LARGE)
    found = best_round_robin(problem)
    assert found is not None
    best, whole = time_of(problem, found), time_of(problem, (Schedule(), Schedule()))
    assert best is not None
    assert whole is not None
    assert best <= whole


@pytest.mark.parametrize("dataflow", ["os", "ws", "in-place"])
@pytest.mark.parametrize("size", [Size(2, 33, 8), Size(2, 8, 33), Size(9, 8, 9), Size(16, 5, 40)])
@pytest.mark.parametrize("rate", [Fraction(1, 2), Fraction(8)])
def test_a_limit_changes_nothing_else(dataflow: Dataflow, size: Size, rate: Fraction) -> None:
    array = replace(LARGE.array, rows=64, cols=16, dataflow=dataflow)
    problem = problem_of(size, replace(LARGE, array=array, spm_bytes=54 << 10, bytes_per_cycle=rate))
    free = best_round_robin(problem)
    assert free is not None
    time = time_of(problem, free)
    assert time is not None
    assert best_round_robin(problem, below=float(time) * 1.001) == free
