"""
More scratchpad or bandwidth does not make the best candidate worse by its objective, nor the best schedule by traffic
and energy x delay, and more cores do not make the best schedule worse by time and traffic.

For time and energy a schedule search also tries the least traffic of one scratchpad, which is not among what it tries
with another.
"""

from fractions import Fraction
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.analysis.machine.array import Array, Dataflow
from npuc.compiler.analysis.machine.table import Energy, Machine
from npuc.compiler.analysis.nest.elements import uniform_widths
from npuc.compiler.analysis.schedule.candidates import best_candidate
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.schedule.exact_cost import exact_cost
from npuc.compiler.analysis.schedule.search import OBJECTIVES, best_schedule
from npuc.compiler.core.errors import CapacityError
from npuc.dialects.npu.nest import Nest
from tests.schedules import fused, gemm

MEMORIES = (64, 96, 200, 256, 500, 960, 1024, 3000)
RATES = (Fraction(1, 4), Fraction(1), Fraction(3, 2), Fraction(5))
DATAFLOWS: tuple[Dataflow, ...] = ("os", "ws", "is")
SIZES = st.tuples(*[st.integers(1, 40)] * 3)


def best(nest: Nest, machine: Machine, objective: Objective) -> float | None:
    """The score of the best candidate, or of the best schedule where all of the search follows; None if none fits."""
    widths = uniform_widths(nest, machine)
    if machine.cores == 1 and objective in ("time", "energy"):
        candidates = (best_candidate(nest, machine, objective, widths, (), fine=fine) for fine in (False, True))
        return min((found.score for found in candidates if found is not None), default=None)
    try:
        schedule = best_schedule(nest, machine, objective, widths)
    except CapacityError:
        return None
    return exact_cost(nest, schedule, machine, objective, widths)[0]


def chip(dataflow: Dataflow, spm: int, rate: Fraction, cores: int = 1) -> Machine:
    energy = Energy(0.2, 1.0, 20.0)
    return Machine(Array(4, 4, dataflow), spm, rate, 1000.0, 4, element_bytes=2, energy=energy, cores=cores)


def assert_falls(scores: list[float | None]) -> None:
    known = [score for score in scores if score is not None]
    assert scores[len(scores) - len(known) :] == known, "what fits little room fits more"
    for less, more in pairwise(known):
        assert more <= less * (1 + 1e-12), scores


@settings(max_examples=20)
@given(SIZES, st.booleans(), st.sampled_from(DATAFLOWS), st.sampled_from(OBJECTIVES), st.sampled_from(RATES))
def test_more_scratchpad(
    sizes: tuple[int, int, int], pair: bool, dataflow: Dataflow, objective: Objective, rate: Fraction
) -> None:
    nest = fused(gemm(*sizes)) if pair else gemm(*sizes)
    assert_falls([best(nest, chip(dataflow, spm, rate), objective) for spm in MEMORIES])


@settings(max_examples=20)
@given(SIZES, st.booleans(), st.sampled_from(DATAFLOWS), st.sampled_from(OBJECTIVES), st.sampled_from(MEMORIES))
def test_more_bandwidth(
    sizes: tuple[int, int, int], pair: bool, dataflow: Dataflow, objective: Objective, spm: int
) -> None:
    nest = fused(gemm(*sizes)) if pair else gemm(*sizes)
    assert_falls([best(nest, chip(dataflow, spm, rate), objective) for rate in RATES])


@settings(max_examples=10)
@given(SIZES, st.sampled_from(DATAFLOWS), st.sampled_from(("time", "traffic")), st.sampled_from(MEMORIES))
def test_more_cores(sizes: tuple[int, int, int], dataflow: Dataflow, objective: Objective, spm: int) -> None:
    assert_falls([best(gemm(*sizes), chip(dataflow, spm, Fraction(1), cores), objective) for cores in (2, 3, 4, 5)])
