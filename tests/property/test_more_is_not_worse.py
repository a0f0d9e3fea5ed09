"""
A machine with more scratchpad, a faster channel, a wider edge or more cores is no worse by its objective, where the
search is monotone.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import islice, pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from npuc.compiler import compile_source
from npuc.compiler.analysis.machine.array import Array, Dataflow
from npuc.compiler.analysis.machine.table import Energy, Machine
from npuc.compiler.analysis.nest.cores import core_count, first_part
from npuc.compiler.analysis.nest.elements import uniform_widths
from npuc.compiler.analysis.schedule.core_search import best_on_core
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.schedule.exact_cost import exact_cost
from npuc.compiler.analysis.schedule.machine_space import MOST, space_of
from npuc.compiler.analysis.schedule.over_cores.part_front import front
from npuc.compiler.analysis.schedule.over_cores.part_search import PartSearch
from npuc.compiler.analysis.schedule.over_cores.partitions import candidates_by_bound, partitions_of_up_to
from npuc.compiler.analysis.schedule.over_cores.whole_measure import WholeMeasure
from npuc.compiler.analysis.schedule.search import OBJECTIVES, best_schedule
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.core.kinds import Reduction
from npuc.dialects.npu.nest import Nest, Schedule
from tests.schedules import fused, gemm

MEMORIES = (64, 200, 500, 960, 3000)
RATES = (Fraction(1, 4), Fraction(3, 2), Fraction(5))
EDGES = (1, 2, 3, None)
DATAFLOWS: tuple[Dataflow, ...] = ("os", "ws", "is")
ENERGY = Energy(0.2, 1.0, 20.0)
SIZES = st.tuples(*[st.integers(1, 24)] * 3)
SHARING: tuple[tuple[bool, Reduction], ...] = ((False, "dram"), (True, "dram"), (False, "on-chip"))
"""Whether loads serve several cores, and where their partial sums are added."""


def best(nest: Nest, machine: Machine, objective: Objective) -> float | None:
    """The score of the best schedule; None if none fits."""
    widths = uniform_widths(nest, machine)
    try:
        schedule = best_schedule(nest, machine, objective, widths, monotone=True)
    except CapacityError:
        return None
    return exact_cost(nest, schedule, machine, objective, widths)[0]


def chip(dataflow: Dataflow, spm: int, rate: Fraction, cores: int = 1, edge: int | None = 1) -> Machine:
    array = Array(4, 4, dataflow, edge_elements=edge)
    return Machine(array, spm, rate, 1000.0, 4, element_bytes=2, energy=ENERGY, cores=cores)


def assert_falls(scores: list[float | None]) -> None:
    known = [score for score in scores if score is not None]
    assert scores[len(scores) - len(known) :] == known, "what fits little room fits more"
    for less, more in pairwise(known):
        assert more <= less, scores


@settings(max_examples=8)
@given(SIZES, st.booleans(), st.sampled_from(DATAFLOWS), st.sampled_from(OBJECTIVES), st.sampled_from(EDGES))
def test_more_scratchpad_and_bandwidth(
    sizes: tuple[int, int, int], pair: bool, dataflow: Dataflow, objective: Objective, edge: int | None
) -> None:
    nest = fused(gemm(*sizes)) if pair else gemm(*sizes)
    grid = [[best(nest, chip(dataflow, spm, rate, edge=edge), objective) for rate in RATES] for spm in MEMORIES]
    for scores in grid:
        assert_falls(scores)
    for column in zip(*grid, strict=True):
        assert_falls(list(column))


@pytest.mark.parametrize(
    ("sizes", "side", "memories"), [((32, 64, 48), 8, (2520, 2620)), ((40, 24, 60), 4, (680, 720))]
)
def test_the_least_traffic_with_less_scratchpad_is_a_candidate(
    sizes: tuple[int, int, int], side: int, memories: tuple[int, int]
) -> None:
    """Tiles that move a little more take less time here; the least traffic with all of the larger one is slower."""
    array = Array(side, side, "ws", edge_elements=None)
    machines = [Machine(array, spm, Fraction(1), 1000.0, 4, element_bytes=2, energy=ENERGY) for spm in memories]
    assert_falls([best(gemm(*sizes), machine, "time") for machine in machines])


@settings(max_examples=8)
@given(SIZES, st.sampled_from(DATAFLOWS), st.sampled_from(OBJECTIVES), st.sampled_from(MEMORIES))
def test_a_wider_edge(sizes: tuple[int, int, int], dataflow: Dataflow, objective: Objective, spm: int) -> None:
    machines = [chip(dataflow, spm, Fraction(1), edge=edge) for edge in EDGES]
    assert_falls([best(gemm(*sizes), machine, objective) for machine in machines])


@settings(max_examples=3)
@given(st.tuples(*[st.sampled_from((160, 200, 256, 384))] * 3), st.sampled_from((3, 5, 9, 16)))
@example((256, 384, 384), 9)
def test_more_bandwidth_for_large_nests(sizes: tuple[int, int, int], kib: int) -> None:
    """Where fine tilings take long, and only some machines need them."""
    machines = [Machine(Array(16, 16), kib << 10, Fraction(rate), 1000.0, 4, element_bytes=2) for rate in (3, 4, 6, 8)]
    assert_falls([best(gemm(*sizes), machine, "time") for machine in machines])


@settings(max_examples=4)
@given(
    SIZES,
    st.booleans(),
    st.sampled_from(DATAFLOWS),
    st.sampled_from(OBJECTIVES),
    st.sampled_from(MEMORIES),
    st.sampled_from(EDGES),
    st.sampled_from(SHARING),
)
@example((24, 5, 11), False, "is", "energy", 64, None, (False, "on-chip"))
@example((8, 12, 11), True, "os", "energy", 64, 3, (False, "on-chip"))
@example((11, 20, 16), False, "ws", "energy", 500, 1, (True, "dram"))
def test_more_cores(
    sizes: tuple[int, int, int],
    pair: bool,
    dataflow: Dataflow,
    objective: Objective,
    spm: int,
    edge: int | None,
    sharing: tuple[bool, Reduction],
) -> None:
    """Each number of cores, also where partial sums of several cores are added and parts are unequal."""
    multicast, reduction = sharing
    nest = fused(gemm(*sizes)) if pair else gemm(*sizes)
    machine = replace(chip(dataflow, spm, Fraction(1), edge=edge), multicast=multicast, reduction=reduction)
    assert_falls([best(nest, replace(machine, cores=cores), objective) for cores in (1, 2, 3, 4, 5, 9, 12)])


@settings(max_examples=6)
@given(
    SIZES,
    st.booleans(),
    st.sampled_from(DATAFLOWS),
    st.sampled_from((64, 200, 500)),
    st.sampled_from((2, 3, 5)),
)
@example((7, 7, 18), True, "os", 500, 2)
def test_more_of_each_core(sizes: tuple[int, int, int], pair: bool, dataflow: Dataflow, spm: int, cores: int) -> None:
    """The time of all cores falls with SPM, channel and edge, also where parts are unequal or add to partial sums."""
    nest = fused(gemm(*sizes)) if pair else gemm(*sizes)
    one = chip(dataflow, spm, Fraction(1), cores)
    assert_falls([best(nest, replace(one, spm_bytes=room), "time") for room in (spm, spm + 24, 2 * spm)])
    assert_falls([best(nest, replace(one, bytes_per_cycle=rate), "time") for rate in RATES])
    assert_falls([best(nest, chip(dataflow, spm, Fraction(1), cores, edge), "time") for edge in EDGES])


@pytest.mark.heavy
@settings(max_examples=5)
@given(
    SIZES,
    st.booleans(),
    st.sampled_from(DATAFLOWS),
    st.sampled_from(("traffic", "energy")),
    st.integers(40, 240),
    st.sampled_from((2, 3, 5)),
    st.sampled_from(SHARING),
)
@example((11, 11, 13), True, "os", "traffic", 100, 5, (True, "dram"))
@example((17, 10, 23), False, "os", "energy", 106, 2, (False, "on-chip"))
@example((17, 10, 23), True, "os", "energy", 122, 2, (False, "on-chip"))
def test_traffic_and_energy_of_more_of_each_core(
    sizes: tuple[int, int, int],
    pair: bool,
    dataflow: Dataflow,
    objective: Objective,
    spm: int,
    cores: int,
    sharing: tuple[bool, Reduction],
) -> None:
    """They fall with SPM where the best schedule of the first part alone would move more with other cores beside it."""
    multicast, reduction = sharing
    nest = fused(gemm(*sizes)) if pair else gemm(*sizes)
    one = replace(chip(dataflow, spm, Fraction(1), cores, edge=3), multicast=multicast, reduction=reduction)
    assert_falls([best(nest, replace(one, spm_bytes=room), objective) for room in (spm, spm + 6, spm + 30, 2 * spm)])


@settings(max_examples=5)
@given(
    SIZES,
    st.booleans(),
    st.sampled_from(("traffic", "energy")),
    st.sampled_from(MEMORIES),
    st.sampled_from((2, 3, 5)),
    st.sampled_from((*SHARING, (True, "on-chip"))),
)
def test_what_is_left_out_costs_more(
    sizes: tuple[int, int, int],
    pair: bool,
    objective: Objective,
    spm: int,
    cores: int,
    sharing: tuple[bool, Reduction],
) -> None:
    """What a part may cost by itself, for all cores to cost so much, is no less than what it costs."""
    multicast, reduction = sharing
    nest = fused(gemm(*sizes)) if pair else gemm(*sizes)
    machine = replace(chip("os", spm, Fraction(1), cores), multicast=multicast, reduction=reduction)
    widths = uniform_widths(nest, machine)
    search = PartSearch(nest, machine, objective, widths, ())
    for candidate in candidates_by_bound(nest, machine, objective, widths, lambda: MOST, partitions_of_up_to):
        part, core = search.part(candidate)
        whole = WholeMeasure(search, candidate)
        for fine in (False, True):
            space = space_of(part, core, objective, widths, (), fine, True, True)
            for schedule in islice(front(space, lambda: MOST), 20):
                least = whole.own(whole.of(schedule).score)
                assert exact_cost(part, schedule, core, objective, widths)[0] <= least


def test_the_best_schedule_of_the_first_part_alone_would_be_slower() -> None:
    """With a little more SPM, as the other core's part is unequal."""
    machine = chip("ws", 40, Fraction(3), cores=2)
    assert_falls([best(gemm(7, 12, 11), replace(machine, spm_bytes=spm), "time") for spm in (40, 44)])


@settings(max_examples=6)
@given(SIZES, st.booleans(), st.sampled_from(DATAFLOWS), st.sampled_from(MEMORIES), st.sampled_from((2, 3, 5)))
@example((13, 7, 5), False, "os", 64, 3)
def test_the_time_of_all_cores_decides(
    sizes: tuple[int, int, int], pair: bool, dataflow: Dataflow, spm: int, cores: int
) -> None:
    """It is no more than with the best schedule of the first part alone, of each partition."""
    nest = fused(gemm(*sizes)) if pair else gemm(*sizes)
    machine = chip(dataflow, spm, Fraction(1), cores)
    widths = uniform_widths(nest, machine)
    least = best(nest, machine, "time")
    for loops, _ in partitions_of_up_to(nest, cores):
        cut = Schedule(loops)
        try:
            inner = best_on_core(
                first_part(nest, cut), machine.core(core_count(nest, cut)), "time", widths, (), monotone=True
            )
        except CapacityError:
            continue
        whole = Schedule((*loops, *inner.loops), inner.keep, inner.spm)
        assert least is not None
        assert least <= exact_cost(nest, whole, machine, "time", widths)[0]


STEP = """network step(batch=%d) {
  input x: f32[batch, %d]
  labels y: i32[batch]
  h = layer_norm(relu(linear(x, %d)))
  loss cross_entropy(linear(h, 5), y)
  optimizer sgd(lr=0.1, momentum=0.9)
}
"""
TOTALS: dict[Objective, tuple[str, ...]] = {
    "time": ("cycles",),
    "traffic": ("dram_read_bytes", "dram_write_bytes"),
    "energy": ("energy_j",),
}


@settings(max_examples=3)
@given(SIZES, st.sampled_from(DATAFLOWS), st.sampled_from(tuple(TOTALS)))
def test_a_whole_step(sizes: tuple[int, int, int], dataflow: Dataflow, objective: Objective) -> None:
    """The sum of its rows, vector work among them that reads what it cannot hold twice."""
    base = {"array.rows": 4, "array.cols": 4, "array.dataflow": dataflow, "memory.spm_kib": 0.5, "dram.gb_per_s": 0.5}

    def total(**more: object) -> float:
        overrides = base | {name.replace("__", "."): value for name, value in more.items()}
        report = compile_source(
            STEP % sizes, hardware="igo-small", overrides=overrides, opt_level=0, objective=objective, tolerance=0.0
        )
        return sum(float(str(report.totals[key])) for key in TOTALS[objective])

    for name, values in (
        ("memory__spm_kib", (0.5, 0.75, 1.5)),
        ("dram__gb_per_s", (0.5, 0.75, 2.0)),
        ("array__edge_elements", (1, 2, "unlimited")),
        ("array__cores", (1, 2, 3)),
    ):
        totals = [total(**{name: value}) for value in values]
        for less, more in pairwise(totals):
            assert more <= less * (1 + 1e-12), f"{name} {totals}"
