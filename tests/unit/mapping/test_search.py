"""Mappers: what they propose is legal, complete and the same for a seed; the best is what a plain loop finds."""

from collections.abc import Iterator
from itertools import permutations, product
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.analysis.mapping.convert import normal
from npuc.compiler.analysis.mapping.exact.arrays import cluster_arrays
from npuc.compiler.analysis.mapping.exact.columns import evaluate_exact
from npuc.compiler.analysis.mapping.exact.contraction import Contraction, contraction_of
from npuc.compiler.analysis.mapping.parity import PeArray
from npuc.compiler.explore.mapping.best import (
    OBJECTIVES,
    BestMapping,
    Limits,
    MappingCost,
    MappingCosts,
    Objective,
    exact_costs,
    search,
)
from npuc.compiler.explore.mapping.candidates import Candidates, Mapper
from npuc.compiler.explore.mapping.mappers.exhaustive import ExhaustiveMapper, count_mappings
from npuc.compiler.explore.mapping.mappers.random import BLOCK, RandomMapper
from npuc.compiler.explore.mapping.space import MapSpace, divisors, fanouts_of, widths_of
from npuc.dialects.mapping import ClusterLevel, Clusters, Problem, TileLoop

ARRAY = PeArray(num_pes=4, noc_bw=2, noc_latency=2)
GEMM = contraction_of(Problem("GEMM", (("M", 4), ("N", 2), ("K", 3))))
CONV = contraction_of(Problem("CONV", (("K", 2), ("C", 1), ("R", 2), ("S", 1), ("Y", 3), ("X", 1))))
LIMITS = st.sampled_from((Limits(), Limits(l1=8), Limits(l1=6, l2=24)))


def space(work: Contraction, pes: int = 4, levels: int = 2, parallel: int = 1, *, any_tile: bool = False) -> MapSpace:
    return MapSpace(work.dims, fanouts_of(pes, levels), parallel, not any_tile)


def everything(mapper: Mapper, most: int) -> Iterator[Candidates]:
    while (batch := mapper.propose(most)) is not None:
        yield batch
        mapper.tell(np.zeros(len(batch)))


def plain_mappings(found: MapSpace) -> set[Clusters]:
    """All mappings of a space by a plain recursion over levels, dimensions and orders, without idle loops."""
    sizes = dict(found.dims)

    def level(fanout: int, given: dict[str, int]) -> set[ClusterLevel]:
        spreads = [dict[str, int]()]
        for widths in widths_of(fanout, found.parallel):
            spreads += [dict(zip(dims, widths, strict=True)) for dims in permutations(sizes, len(widths))]
        levels: set[ClusterLevel] = set()
        for spread, tiles in product(spreads, product(*(found.tiles(0, at, given[d]) for at, d in enumerate(sizes)))):
            own = dict(zip(sizes, tiles, strict=True))
            loops = [TileLoop(d, min(own[d] * spread.get(d, 1), given[d]), own[d]) for d in sizes]
            still = tuple(one for one in loops if one.temporal == given[one.dim])
            moving = [one for one in loops if one.temporal < given[one.dim]]
            levels |= {ClusterLevel(fanout, (*order, *still)) for order in permutations(moving)}
        return levels

    def all_levels(fanouts: tuple[int, ...], given: dict[str, int]) -> Iterator[tuple[ClusterLevel, ...]]:
        if not fanouts:
            yield ()
            return
        for one in level(fanouts[0], given):
            for inner in all_levels(fanouts[1:], {loop.dim: loop.spatial for loop in one.loops}):
                yield (one, *inner)

    return {
        canonical(Clusters(levels), sizes) for fanouts in found.fanouts for levels in all_levels(fanouts, dict(sizes))
    }


def canonical(mapping: Clusters, sizes: dict[str, int]) -> Clusters:
    """Without idle loops; loops of one step behind the others, in the order of their names."""
    found: list[ClusterLevel] = []
    given = dict(sizes)
    for level in normal(mapping, sizes).levels:
        moving = [loop for loop in level.loops if loop.temporal < given[loop.dim]]
        still = sorted((loop for loop in level.loops if loop.temporal == given[loop.dim]), key=lambda one: one.dim)
        given |= {loop.dim: loop.spatial for loop in level.loops}
        found.append(ClusterLevel(level.fanout, (*moving, *still)))
    return Clusters(tuple(found))


def plain_cost(work: Contraction, mapping: Clusters, objective: Objective, limits: Limits) -> float:
    table = evaluate_exact(work, cluster_arrays(work, [mapping]), ARRAY)
    for need, room in ((table["l1_size_req"][0], limits.l1), (table["l2_size_req"][0], limits.l2)):
        if room is not None and need > room:
            return inf
    time, energy = float(table["runtime_cycles"][0]), float(table["energy_total_mac_units"][0])
    return {"time": time, "energy": energy, "edp": time * energy}[objective]


SPACES = {
    "one level": space(GEMM, levels=1),
    "two levels": space(contraction_of(Problem("GEMM", (("M", 2), ("N", 2), ("K", 3))))),
    "any tile": space(contraction_of(Problem("GEMM", (("M", 3), ("N", 1), ("K", 3)))), any_tile=True),
    "two dimensions side by side": space(GEMM, levels=1, parallel=2),
    "convolution": space(CONV),
}


@pytest.mark.parametrize("name", SPACES)
def test_exhaustive_lists_every_mapping(name: str) -> None:
    found = SPACES[name]
    sizes, listed = dict(found.dims), list[Clusters]()
    for batch in everything(ExhaustiveMapper(found), 37):
        listed += [canonical(batch.mapping(row, found.dims), sizes) for row in range(len(batch))]
    assert len(listed) == count_mappings(found)
    assert found.parallel > 1 or len(listed) == len(set(listed))
    assert set(listed) == plain_mappings(found)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("limits", [Limits(), Limits(l1=8), Limits(l1=8, l2=30)])
def test_exhaustive_finds_what_a_plain_loop_finds(objective: Objective, limits: Limits) -> None:
    found, best = space(CONV), BestMapping(objective, limits)
    search(ExhaustiveMapper(found), lambda c: exact_costs((CONV,), c, ARRAY), best, 10**9, lambda _: None)
    plain = min(plain_cost(CONV, one, objective, limits) for one in plain_mappings(found))
    assert best.evaluations == count_mappings(found)
    assert best.cost is not None
    assert isinstance(best.found, Candidates)
    assert best.cost.of(objective) == plain
    assert plain_cost(CONV, best.found.mapping(0, CONV.dims), objective, limits) == plain


@settings(max_examples=40)
@given(st.data())
def test_random_never_beats_exhaustive(data: st.DataObject) -> None:
    work = data.draw(st.sampled_from((GEMM, CONV)))
    found = space(work, data.draw(st.sampled_from((2, 3, 4))), data.draw(st.sampled_from((1, 2))))
    objective, limits = data.draw(st.sampled_from(OBJECTIVES)), data.draw(LIMITS)
    costs: dict[str, float] = {}
    for mapper in (ExhaustiveMapper(found), RandomMapper(found, data.draw(st.integers(0, 5)))):
        best = BestMapping(objective, limits)
        search(mapper, lambda c: exact_costs((work,), c, ARRAY), best, 10_000, lambda _: None)
        costs[type(mapper).__name__] = best.key[0]
    assert costs["RandomMapper"] >= costs["ExhaustiveMapper"]


@settings(max_examples=60)
@given(st.data())
def test_random_mappings_are_legal(data: st.DataObject) -> None:
    dims = tuple((d, data.draw(st.integers(1, 24))) for d in "abcd"[: data.draw(st.integers(1, 4))])
    levels, pes = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 20))
    divide = data.draw(st.booleans())
    whole = frozenset(data.draw(st.sets(st.sampled_from([d for d, _ in dims]))))
    found = MapSpace(dims, fanouts_of(pes, levels), data.draw(st.integers(1, 3)), divide, whole)
    batch = RandomMapper(found, 0).propose(60)
    for row in range(len(batch)):
        mapping = batch.mapping(row, dims)
        assert list(mapping.problems(dict(dims))) == []
        assert len(mapping.levels) == levels
        assert mapping.processing_elements <= pes
        given_now = dict(dims)
        for level in mapping.levels:
            assert sum(loop.parts > 1 for loop in level.loops) <= found.parallel
            for loop in level.loops:
                assert loop.dim not in whole
                assert not divide or given_now[loop.dim] % loop.spatial == 0
                given_now[loop.dim] = loop.spatial


def test_random_does_not_depend_on_how_many_are_taken_at_a_time() -> None:
    found = space(GEMM)
    few, many = RandomMapper(found, 7), RandomMapper(found, 7)
    texts: list[list[str]] = []
    for mapper, most in ((few, 97), (many, 5000)):
        batches: list[Candidates] = []
        while sum(map(len, batches)) < BLOCK + 100:
            batches.append(mapper.propose(most))
        texts.append([str(batch.mapping(row, found.dims)) for batch in batches for row in range(len(batch))])
    assert texts[0][: BLOCK + 100] == texts[1][: BLOCK + 100]
    assert texts[0][:100] != [str(RandomMapper(found, 8).propose(100).mapping(row, found.dims)) for row in range(100)]


def test_best_takes_the_first_of_equals_and_the_other_measure_before() -> None:
    batch = RandomMapper(space(GEMM), 0).propose(5)
    costs = MappingCosts(*(np.array(values, float) for values in ([9, 7, 7, 7, 7], [1, 5, 4, 4, 6], [1] * 5, [1] * 5)))
    best = BestMapping("time", Limits())
    best.add(batch, costs)
    assert best.cost == costs.row(2)
    assert best.curve == [(1, 9.0), (2, 7.0)]
    assert isinstance(best.found, Candidates)
    assert best.found.mapping(0, GEMM.dims) == batch.mapping(2, GEMM.dims)
    best.add(batch, costs)
    assert best.curve == [(1, 9.0), (2, 7.0)]
    assert best.evaluations == 10
    known = Clusters((ClusterLevel(4, ()),))
    best.add_known(known, MappingCost(7.0, 4.0, 1.0, 1.0))
    assert isinstance(best.found, Candidates)
    best.add_known(known, MappingCost(7.0, 3.0, 1.0, 1.0))
    assert best.found is known


def test_what_cannot_be_run_or_does_not_fit_is_not_taken() -> None:
    batch = RandomMapper(space(GEMM), 0).propose(4)
    costs = MappingCosts(*(np.array(v, float) for v in ([np.nan, 1, 2, 3], [1, 1, 1, 1], [1, 9, 1, 1], [1, 1, 9, 1])))
    best = BestMapping("edp", Limits(l1=8, l2=8))
    assert best.add(batch, costs).tolist() == [inf, inf, inf, 3.0]
    assert best.cost == costs.row(3)


def test_what_is_not_carried_or_buffered_is_not_taken() -> None:
    """Only objectives with energy need what is refetched inside clusters to be buffered."""
    ones = np.ones(3)
    costs = MappingCosts(ones, ones, ones, ones, np.array([True, False, True]), np.array([True, True, False]))
    assert Limits().fit(costs, "time").tolist() == [True, False, True]
    assert Limits().fit(costs, "edp").tolist() == [True, False, False]


def test_spaces() -> None:
    assert fanouts_of(6, 1) == ((6,),)
    assert set(fanouts_of(6, 2)) == {(6, 1), (3, 2), (2, 3), (1, 4), (1, 6)}
    assert all(np.prod(one) <= 12 for one in fanouts_of(12, 3))
    assert divisors(12) == (1, 2, 3, 4, 6, 12)
    assert widths_of(1, 2) == ()
    assert widths_of(6, 1) == ((6,),)
    assert set(widths_of(6, 2)) == {(6,), (2,), (3,), (2, 3), (3, 2)}


def test_counting_ends_early() -> None:
    large = MapSpace((("m", 720), ("n", 720), ("k", 720)), fanouts_of(64, 2))
    assert 10**6 < count_mappings(large, 10**6) < count_mappings(large)
