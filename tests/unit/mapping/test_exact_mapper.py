"""Lower bounds hold for every mapping, and branch and bound finds the best one and proves it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.analysis.mapping.exact.contraction import Contraction, contraction_of
from npuc.compiler.analysis.mapping.parity import PeArray
from npuc.compiler.explore.mapping import bounds
from npuc.compiler.explore.mapping.best import OBJECTIVES, BestMapping, Limits, Objective, exact_costs, search
from npuc.compiler.explore.mapping.bounds import CostBound, count_spreads, spread_choices
from npuc.compiler.explore.mapping.candidates import ProvingMapper
from npuc.compiler.explore.mapping.capacity import BufferCapacity
from npuc.compiler.explore.mapping.mapper import MapRequest
from npuc.compiler.explore.mapping.mappers import exact
from npuc.compiler.explore.mapping.mappers.exact import ExactMapper
from npuc.compiler.explore.mapping.mappers.exhaustive import ExhaustiveMapper
from npuc.compiler.explore.mapping.mappers.genetic import GeneticMapper
from npuc.compiler.explore.mapping.mappers.random import RandomMapper
from npuc.compiler.explore.mapping.received import ElementBuffers
from npuc.compiler.explore.mapping.space import MapSpace
from npuc.dialects.mapping import Problem
from tests.unit.mapping.test_search import space

SMALL = st.integers(1, 3)


@st.composite
def works(draw: st.DrawFn) -> Contraction:
    """A small product or convolution."""
    if draw(st.booleans()):
        return contraction_of(Problem("GEMM", tuple((name, draw(st.integers(1, 9))) for name in "MNK")))
    sizes = {name: draw(SMALL) for name in "KCRS"}
    sizes |= {"Y": sizes["R"] + draw(st.integers(0, 5)), "X": sizes["S"] + draw(st.integers(0, 4))}
    return contraction_of(Problem("CONV", tuple(sizes.items())))


ARRAYS = st.builds(
    PeArray,
    num_pes=st.sampled_from((1, 2, 4, 6, 8)),
    noc_bw=st.sampled_from((1, 2, 3, 8, 100)),
    noc_latency=st.integers(0, 3),
    offchip_bw=st.sampled_from((1, 2, 7, 100)),
    lanes=st.integers(1, 3),
    offchip_cycles=st.sampled_from((1, 3)),
)


@given(
    work=works(),
    array=ARRAYS,
    levels=st.integers(1, 3),
    parallel=st.integers(1, 2),
    any_tile=st.booleans(),
    l1=st.sampled_from((None, 6, 12)),
)
@settings(max_examples=60, deadline=None)
def test_no_mapping_is_below_its_bounds(
    work: Contraction, array: PeArray, levels: int, parallel: int, any_tile: bool, l1: int | None
) -> None:
    """The bound of the space, and those of the mapping with the tiles of its outer levels known."""
    found = space(work, array.num_pes, levels, parallel, any_tile=any_tile)
    batch = RandomMapper(found, 0, BufferCapacity((work,), l1)).propose(512)
    costs = exact_costs((work,), batch, array, l1)
    elements = None if l1 is None else ElementBuffers(found, l1, 1.0)
    widths = np.stack([np.ceil(one.temporal / one.spatial) for one in batch.levels])
    tiles = np.stack([one.spatial for one in batch.levels])
    for objective in OBJECTIVES:
        bound = CostBound((work,), array, objective, elements)
        values = np.where(Limits(l1).fit(costs, objective), costs.of(objective), np.inf)
        assert (bound.of_space(found) <= values).all()
        for known in range(levels + 1):
            assert (bound.of(widths, tiles[:known]) <= values).all()


def request(found: MapSpace, work: Contraction, array: PeArray, objective: Objective, limits: Limits) -> MapRequest:
    elements = None if limits.l1 is None else ElementBuffers(found, limits.l1, 1.0)
    bound = CostBound((work,), array, objective, elements)
    return MapRequest(found, 0, BufferCapacity((work,), limits.l1, limits.l2), 10**6, bound)


def run(asked: MapRequest, work: Contraction, array: PeArray, objective: Objective, budget: int) -> tuple[float, float]:
    """The cost of the best mapping, and what is proved."""
    assert asked.bound is not None
    best = BestMapping(objective, Limits(asked.capacity.l1, asked.capacity.l2))
    mapper = ExactMapper(asked, asked.bound)
    assert isinstance(mapper, ProvingMapper)
    search(mapper, lambda some: exact_costs((work,), some, array, best.limits.l1), best, budget, lambda count: None)
    return best.key[0], mapper.bound


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("warm", [0, 1_500])
@given(
    work=works(),
    array=ARRAYS,
    levels=st.integers(1, 2),
    limits=st.sampled_from((Limits(), Limits(l1=8), Limits(l1=6, l2=24))),
)
@settings(max_examples=8, deadline=None)
def test_what_is_proved_is_the_best_of_all(
    objective: Objective, warm: int, work: Contraction, array: PeArray, levels: int, limits: Limits
) -> None:
    """With and without the genetic mapper before; against all mappings, one by one."""
    sizes = Contraction(tuple((name, min(size, 4)) for name, size in work.dims), work.tensors)
    found = space(sizes, array.num_pes, levels)
    best = BestMapping(objective, limits)
    budget = 10**6
    search(
        ExhaustiveMapper(found),
        lambda some: exact_costs((sizes,), some, array, limits.l1),
        best,
        40_000,
        lambda n: None,
    )
    if best.evaluations == 40_000:
        return
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(exact, "WARM", warm)
        patched.setattr(exact, "EVOLVED", warm)
        cost, proved = run(request(found, sizes, array, objective, limits), sizes, array, objective, budget)
    assert cost == best.key[0]
    assert proved == cost


LAYER = contraction_of(Problem("CONV", (("K", 16), ("C", 12), ("R", 3), ("S", 3), ("Y", 18), ("X", 18))))
MACHINE = PeArray(num_pes=16, noc_bw=8, noc_latency=1, offchip_bw=8)


def test_a_layer_of_many_mappings_is_proved() -> None:
    asked = request(space(LAYER, 16, 2), LAYER, MACHINE, "time", Limits())
    cost, proved = run(asked, LAYER, MACHINE, "time", 20_000)
    assert proved == cost
    genetic = BestMapping("time", Limits())
    mapper = GeneticMapper(asked.space, 1, asked.capacity)
    search(mapper, lambda some: exact_costs((LAYER,), some, MACHINE), genetic, 20_000, lambda n: None)
    assert cost <= genetic.key[0]


def test_what_is_proved_grows_with_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = request(space(LAYER, 16, 2), LAYER, MACHINE, "edp", Limits())
    found = [run(asked, LAYER, MACHINE, "edp", budget) for budget in (50, 2_000, 12_000)]
    assert all(proved <= cost for cost, proved in found)
    assert [cost for cost, _ in found] == sorted((cost for cost, _ in found), reverse=True)
    assert found[0][1] <= found[2][1]
    monkeypatch.setattr(exact, "BOUNDED", 1)  # then no branch is split
    cost, proved = run(asked, LAYER, MACHINE, "edp", 6_000)
    assert asked.bound is not None
    assert proved == asked.bound.of_space(asked.space) < cost


def test_proposals_do_not_depend_on_how_many_are_taken() -> None:
    asked = request(space(LAYER, 16, 2), LAYER, MACHINE, "edp", Limits())
    assert asked.bound is not None
    curves: list[list[float]] = []
    for most in (2048, 300):
        mapper, values, left = ExactMapper(asked, asked.bound), list[float](), 9_000
        while left and (batch := mapper.propose(min(most, left))) is not None:
            costs = exact_costs((LAYER,), batch, MACHINE).of("edp")
            mapper.tell(costs)
            values += costs.tolist()
            left -= len(batch)
        curves.append(values)
    assert curves[0] == curves[1]


@pytest.mark.parametrize(("levels", "parallel"), [(1, 1), (2, 1), (3, 1), (2, 2), (1, 3)])
def test_choices_are_counted_and_bounded_coarsely_where_there_are_many(
    monkeypatch: pytest.MonkeyPatch, levels: int, parallel: int
) -> None:
    found = space(LAYER, 16, levels, parallel)
    listed = sum(widths.shape[-1] for _, widths in spread_choices(found))
    assert listed <= count_spreads(found)
    assert parallel > 1 or listed == count_spreads(found)
    for objective in OBJECTIVES:
        bound = CostBound((LAYER,), MACHINE, objective)
        fine = bound.of_space(found)
        with monkeypatch.context() as patched:
            patched.setattr(bounds, "MOST_SPREADS", 0)
            assert 0 < bound.of_space(found) <= fine


def test_what_cannot_be_proved_is_refused() -> None:
    asked = request(space(LAYER, 16, 2), LAYER, MACHINE, "time", Limits())
    assert exact.MAPPER.refusal(asked) is None
    parity = exact.MAPPER.refusal(replace(asked, bound=None))
    assert parity is not None
    assert "mode parity" in parity.reason
    many = exact.MAPPER.refusal(replace(asked, space=space(LAYER, 64, 3, 3)))
    assert many is not None
    assert "choices of what levels spread, more than the 200,000" in many.reason
