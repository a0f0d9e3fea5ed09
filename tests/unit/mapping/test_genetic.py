"""The genetic mapper: operators keep mappings legal, generations do not repeat, and good mappings are found soon."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator

from npuc.compiler.analysis.mapping.exact.contraction import Contraction, contraction_of
from npuc.compiler.explore.mapping.best import OBJECTIVES, BestMapping, Limits, MappingCosts, exact_costs, search
from npuc.compiler.explore.mapping.candidates import Candidates, Mapper
from npuc.compiler.explore.mapping.capacity import BufferCapacity
from npuc.compiler.explore.mapping.genomes import Expression, Genomes, mapping_hashes
from npuc.compiler.explore.mapping.mappers.exhaustive import ExhaustiveMapper, count_mappings
from npuc.compiler.explore.mapping.mappers.genetic import GeneticMapper, Operators
from npuc.compiler.explore.mapping.mappers.random import RandomGenomes, RandomMapper, content_of
from npuc.compiler.explore.mapping.space import MapSpace
from npuc.compiler.explore.seeds import generator
from npuc.dialects.mapping import Problem
from tests.unit.mapping.test_search import ARRAY, SPACES, canonical, plain_mappings, space

LAYER = contraction_of(Problem("CONV", (("K", 8), ("C", 6), ("R", 3), ("S", 3), ("Y", 10), ("X", 8))))
OPERATORS = ("crossover", "reorder", "mutate", "shift", "spread", "exchange", "cluster")


def parts(found: MapSpace, seed: int) -> tuple[Operators, Genomes, Genomes]:
    source = RandomGenomes(found, generator(seed, *content_of(found)))
    return Operators(found, generator(seed, "operators"), source), source.draw(64), source.draw(64)


def assert_legal(found: MapSpace, candidates: Candidates) -> None:
    """Tiles shrink inwards and divide where they must; a step is for no more sub-clusters than there are."""
    given = np.array([[float(size)] for _, size in found.dims])
    rigid = [at for at in range(len(found.dims)) if at not in found.cut]
    for fanout, level in zip(candidates.fanouts, candidates.levels, strict=True):
        assert (level.spatial >= 1).all()
        assert (level.spatial <= level.temporal).all()
        assert (level.temporal <= given).all()
        assert not found.divisors or (given % level.spatial == 0).all()
        counts = np.ceil(level.temporal / level.spatial)
        assert (counts.prod(axis=0) <= fanout).all()
        assert ((counts > 1).sum(axis=0) <= found.parallel).all()
        assert (np.sort(level.order, axis=0) == np.arange(len(found.dims))[:, None]).all()
        assert (level.spatial[rigid] == np.broadcast_to(given, level.spatial.shape)[rigid]).all()
        given = level.spatial
    assert {tuple(map(int, one)) for one in candidates.fanouts.T} <= set(found.fanouts)


@pytest.mark.parametrize("name", OPERATORS)
@given(
    seed=st.integers(0, 99),
    levels=st.integers(1, 3),
    parallel=st.integers(1, 2),
    any_tile=st.booleans(),
    work=st.sampled_from((LAYER, contraction_of(Problem("GEMM", (("M", 12), ("N", 1), ("K", 9)))))),
)
@settings(max_examples=15, deadline=None)
def test_each_operator_keeps_mappings_legal(
    name: str, seed: int, levels: int, parallel: int, any_tile: bool, work: Contraction
) -> None:
    found = space(work, 8, levels, parallel, any_tile=any_tile)
    operators, child, other = parts(found, seed)
    before = child.at(np.arange(len(child)))
    operator: Callable[..., None] = getattr(operators, name)
    operator(*((child, other) if name == "crossover" else (child,)))
    assert_legal(found, Expression(found, None).candidates(child))
    assert len(child) == len(before)


@pytest.mark.parametrize("name", OPERATORS)
def test_each_operator_changes_its_genes_alone(name: str) -> None:
    operators, child, other = parts(space(LAYER, 8, 2), 1)
    before = child.at(np.arange(len(child)))
    operator: Callable[..., None] = getattr(operators, name)
    operator(*((child, other) if name == "crossover" else (child,)))
    genes = ("chosen", "tiles", "orders", "spread", "share")
    changed = {one for one in genes if (getattr(before, one) != getattr(child, one)).any()}
    own = {
        "crossover": {"tiles"},
        "mutate": {"tiles"},
        "shift": {"tiles"},
        "reorder": {"orders"},
        "cluster": {"chosen"},
    }
    assert changed == own.get(name, {"spread", "share"})


@pytest.mark.parametrize("any_tile", [False, True])
def test_a_shift_makes_a_tile_smaller_and_one_larger(any_tile: bool) -> None:
    """By one divisor, or by half and twice; at one level, of at most two dimensions."""
    operators, child, _ = parts(space(LAYER, 8, 2, any_tile=any_tile), 1)
    before = child.at(np.arange(len(child)))
    operators.shift(child)
    changed = child.tiles != before.tiles
    assert changed.any(axis=(0, 1)).sum() >= len(child) // 4
    assert ((changed.sum(axis=(0, 1)) <= 2) & (changed.any(axis=1).sum(axis=0) <= 1)).all()
    smaller, larger = ((child.tiles < before.tiles).sum(), (child.tiles > before.tiles).sum())
    assert min(smaller, larger) >= len(child) // 8
    for place in np.argwhere(changed).tolist():
        level, dim, row = map(int, place)
        one, other = sorted((int(before.tiles[level, dim, row]), int(child.tiles[level, dim, row])))
        size = operators.space.dims[dim][1]
        between = [tile for tile in operators.space.tiles(0, dim, size) if one < tile < other]
        assert not between if not any_tile else other in (2 * one, 2 * one + 1, size)


@given(seed=st.integers(0, 99), l1=st.sampled_from((8, 30)), l2=st.sampled_from((60, 600)))
@settings(max_examples=20, deadline=None)
def test_tiles_are_cut_to_fit(seed: int, l1: int, l2: int) -> None:
    found = space(LAYER, 8, 2)
    capacity = BufferCapacity((LAYER,), l1, l2)
    mapper = GeneticMapper(found, seed, capacity)
    for _ in range(4):
        batch = mapper.propose(10_000)
        assert batch is not None
        assert_legal(found, batch)
        costs = exact_costs((LAYER,), batch, ARRAY)
        assert (costs.l1 <= l1).all()
        assert (costs.l2 <= l2).mean() > 0.9  # a spread dimension cannot always be cut
        mapper.tell(costs.cycles)


@pytest.mark.parametrize("name", SPACES)
def test_small_spaces_are_searched_to_the_end(name: str) -> None:
    """All proposals are mappings of the space, each once, and nearly none is left over."""
    found = SPACES[name]
    sizes, listed = dict(found.dims), list[object]()
    mapper = GeneticMapper(found, 0, BufferCapacity(()))
    total = count_mappings(found)
    while len(listed) < 2 * total and (batch := mapper.propose(100)) is not None:
        listed += [canonical(batch.mapping(row, found.dims), sizes) for row in range(len(batch))]
        mapper.tell(np.arange(len(batch), dtype=np.float64) % 7)
    assert set(listed) <= plain_mappings(found)
    assert len(set(listed)) >= 0.9 * len(plain_mappings(found))
    # Two genomes may say one mapping where several sub-clusters get a dimension that is not cut.
    assert found.parallel > 1 or len(listed) == len(set(listed))


def run(mapper: Mapper, objective: str, budget: int, most: int | None = None) -> BestMapping:
    best = BestMapping(next(one for one in OBJECTIVES if one == objective), Limits())

    def costs(candidates: Candidates) -> MappingCosts:
        return exact_costs((LAYER,), candidates, ARRAY)

    if most is None:
        search(mapper, costs, best, budget, lambda count: None)
    while most is not None and best.evaluations < budget:
        batch = mapper.propose(min(most, budget - best.evaluations))
        assert batch is not None
        mapper.tell(best.add(batch, costs(batch)))
    return best


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_better_than_random_and_the_same_for_a_seed(objective: str) -> None:
    found, capacity = space(LAYER, 8, 2), BufferCapacity(())
    genetic = [run(GeneticMapper(found, seed, capacity), objective, 2000) for seed in range(5)]
    random = [run(RandomMapper(found, seed), objective, 2000) for seed in range(5)]
    assert sum(one.key[0] <= other.key[0] for one, other in zip(genetic, random, strict=True)) >= 4
    again = run(GeneticMapper(found, 3, capacity), objective, 2000, most=37)
    assert (again.key, again.curve) == (genetic[3].key, genetic[3].curve)
    assert len({tuple(one.curve) for one in genetic}) > 1


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_within_two_percent_of_the_best(objective: str) -> None:
    work = contraction_of(Problem("GEMM", (("M", 12), ("N", 8), ("K", 9))))
    found = space(work, 8, 2)
    count = count_mappings(found)
    assert count > 20_000
    costs: Callable[[Candidates], MappingCosts] = lambda some: exact_costs((work,), some, ARRAY)  # noqa: E731
    all_of_them, some = (BestMapping(next(o for o in OBJECTIVES if o == objective), Limits()) for _ in range(2))
    search(ExhaustiveMapper(found), costs, all_of_them, count, lambda n: None)
    search(GeneticMapper(found, 0, BufferCapacity(())), costs, some, 2000, lambda n: None)
    assert some.key[0] <= 1.02 * all_of_them.key[0]


def test_a_contraction_of_one_point_has_few_mappings() -> None:
    found = space(contraction_of(Problem("GEMM", (("M", 1), ("N", 1), ("K", 1)))), 4, 2)
    mapper = GeneticMapper(found, 0, BufferCapacity(()))
    batch = mapper.propose(1000)
    assert batch is not None
    assert len(batch) == len(found.fanouts)
    mapper.tell(np.ones(len(batch)))
    assert mapper.propose(1000) is None


def test_equal_mappings_have_equal_hashes() -> None:
    found = SPACES["convolution"]
    batch = RandomMapper(found, 0).propose(2048)
    sizes = dict(found.dims)
    texts = [str(canonical(batch.mapping(row, found.dims), sizes)) for row in range(len(batch))]
    hashes = mapping_hashes(batch, found.dims)
    assert len(set(texts)) == len(set(map(int, hashes))) == len(set(zip(texts, map(int, hashes), strict=True)))


def test_generators_differ_by_purpose() -> None:
    one, two = (generator(0, *content_of(SPACES["one level"]), text) for text in ("a", "b"))
    assert isinstance(one, Generator)
    assert one.random() != two.random()
