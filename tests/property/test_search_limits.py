"""A search within a limit is the search without it, as far as that costs no more; programs are the same with limits."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.table import Energy, Machine
from npuc.compiler.analysis.programs import cheapest
from npuc.compiler.analysis.programs.cheapest import CostedProgram, FusedNest, best_program
from npuc.compiler.analysis.programs.interleave_search import InterleaveProblem
from npuc.compiler.analysis.programs.sequential import statement_nests
from npuc.compiler.analysis.schedule.core_search import core_search
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.schedule.exact_cost import exact_cost
from npuc.compiler.analysis.schedule.machine_space import MOST
from npuc.compiler.analysis.schedule.search import OBJECTIVES, best_schedule, best_schedule_within
from npuc.compiler.core.errors import CapacityError, UsageError
from npuc.dialects.npu.nest import Nest, Schedule
from npuc.dialects.npu.shared import number_values
from tests.property.conftest import gemm
from tests.widths import of_bytes

Draw = Callable[..., tuple[Nest, Schedule]]
ONE = Machine(Array(4, 4), 400, Fraction(2), 1000.0, 8, element_bytes=2, energy=Energy(0.2, 1.0, 20.0))


def some_machine(r: Random) -> Machine:
    array = Array(4, 4, r.choice(["os", "ws", "is"]), edge_elements=r.choice([1, 1, 2]))
    machine = replace(ONE, cores=r.choice([1, 2, 5, 7, 16]), array=array, spm_bytes=r.choice([160, 400, 1200]))
    reduction = r.choice(["dram", "dram", "on-chip"])
    return replace(machine, multicast=r.random() < 0.2, reduction=reduction, bytes_per_cycle=Fraction(r.choice([1, 4])))


@pytest.mark.parametrize("tolerance", [0.0, 0.005, 0.1])
@pytest.mark.parametrize("seed", range(2))
def test_a_limit_leaves_out_what_costs_more_alone(seed: int, tolerance: float, draw: Draw) -> None:
    r = Random(seed)
    left_out = 0
    for _ in range(3):
        nest, _ = draw(r, big=5)
        machine, widths = some_machine(r), of_bytes(nest, 2, r.choice([2, 4]))
        objective, monotone = r.choice(OBJECTIVES), tolerance == 0 and machine.cores < 3
        search = nest, machine, objective, widths, (), tolerance
        try:
            found = best_schedule(*search, monotone=monotone)
        except CapacityError:
            continue
        score = exact_cost(nest, found, machine, objective, widths)[0]
        for factor in (0.5, 0.97, 1.0, 1.03, 2.0):
            core_search.cache_clear()
            within = best_schedule_within(*search, score * factor, monotone=monotone)
            left_out += within is None
            assert within == found or (within is None and factor < 1), f"{factor}\n{nest}\n{machine}\n{objective}"
    assert left_out


@pytest.mark.parametrize("tolerance", [0.0, 0.005, 0.1])
@pytest.mark.parametrize("seed", range(2))
def test_programs_are_those_without_limits(monkeypatch: pytest.MonkeyPatch, seed: int, tolerance: float) -> None:
    """What costs more than another program is not searched to its end, and is never taken."""
    r = Random(seed)
    cases: list[tuple[Machine, dict[str, int], Objective]] = [
        (some_machine(r), {dim: r.randint(2, 9) for dim in "mnk"}, r.choice(OBJECTIVES)) for _ in range(2)
    ]

    def programs() -> list[CostedProgram | None]:
        best_program.cache_clear()
        core_search.cache_clear()
        return [program_of(*case, tolerance) for case in cases]

    limited = programs()

    def never(*arguments: object) -> float:
        return MOST

    monkeypatch.setattr(cheapest, "_worth", never)
    assert limited == programs()
    assert any(limited)


def program_of(machine: Machine, sizes: dict[str, int], goal: Objective, tolerance: float) -> CostedProgram | None:
    """The cheapest program of the two gradients of a product; None where none fits."""
    nest = gemm(sizes, "dxdw", (), "none")
    widths = of_bytes(nest, 2)
    parts = statement_nests(nest, widths)
    assert parts is not None
    nests = tuple(part for part, _ in parts)
    values = number_values([[tensor.name for tensor in part.ins] for part in nests])
    try:
        own, strict = (
            tuple(best_schedule(part, machine, goal, bits, (), near) for part, bits in parts)
            for near in (tolerance, 0.0)
        )
    except CapacityError:
        return None
    problem = InterleaveProblem(nests, values, (None,) * len(nests), tuple(bits for _, bits in parts), machine)
    return best_program(problem, own, FusedNest(nest, widths), goal, tolerance, strict if tolerance else ())


def test_energies_are_needed_within_a_limit_too() -> None:
    nest = gemm({"m": 4, "n": 4, "k": 4}, "forward", (), "none")
    with pytest.raises(UsageError, match=r"the objective energy needs energy\.mac_pj"):
        best_schedule_within(nest, replace(ONE, energy=None), "energy", of_bytes(nest, 2), limit=1.0)
