"""Spaces under constraints: all mappings that meet them, no others, whichever mapper searches."""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from math import prod
from random import Random

import numpy as np
import pytest

from npuc.compiler.analysis.mapping.constraints.check import meets
from npuc.compiler.analysis.mapping.constraints.limits import WHOLE, LevelConstraint, MapConstraints, TileLimit
from npuc.compiler.analysis.mapping.exact.arrays import Ints
from npuc.compiler.analysis.mapping.exact.contraction import Contraction, contraction_of
from npuc.compiler.analysis.mapping.parity import PeArray
from npuc.compiler.explore.mapping.best import OBJECTIVES, BestMapping, Limits, exact_costs, search
from npuc.compiler.explore.mapping.bounds import CostBound
from npuc.compiler.explore.mapping.candidates import Candidates, Mapper, join
from npuc.compiler.explore.mapping.capacity import BufferCapacity
from npuc.compiler.explore.mapping.constrained.legal import LegalTiles, arranged
from npuc.compiler.explore.mapping.constrained.possible import constrained, is_possible
from npuc.compiler.explore.mapping.genomes import mapping_hashes
from npuc.compiler.explore.mapping.mapper import MapRequest
from npuc.compiler.explore.mapping.mappers.cma_es import CmaEsMapper
from npuc.compiler.explore.mapping.mappers.exact import ExactMapper
from npuc.compiler.explore.mapping.mappers.exhaustive import ExhaustiveMapper, count_mappings
from npuc.compiler.explore.mapping.mappers.genetic import GeneticMapper
from npuc.compiler.explore.mapping.mappers.random import RandomMapper
from npuc.compiler.explore.mapping.space import MapSpace, fanouts_of
from npuc.dialects.mapping import Problem

SEEDS = range(40)


def product_of(r: Random) -> Contraction:
    return contraction_of(Problem("GEMM", tuple((name, r.choice([1, 2, 3, 4, 6])) for name in "MNK")))


def space_of(r: Random, work: Contraction) -> MapSpace:
    levels = r.choice([1, 2, 2])
    return MapSpace(work.dims, fanouts_of(r.choice([4, 6, 8]), levels), r.choice([1, 1, 2]), r.random() < 0.5)


def level_of(r: Random, space: MapSpace) -> LevelConstraint:
    dims, large = range(len(space.dims)), [at for at, (_, size) in enumerate(space.dims) if size > 1]
    level = LevelConstraint()
    if r.random() < 0.4:
        level = level.with_spread(r.sample(dims, r.randint(0, len(dims))))
    if r.random() < 0.3 and large:
        level = level.with_must([r.choice(large)])
    if r.random() < 0.5:
        level = level.with_before(combinations(r.sample(dims, r.randint(2, len(dims))), 2))
    for at in dims:
        if r.random() < 0.3:
            size = r.choice([1, 2, 3, 4, WHOLE])
            limit = r.choice([TileLimit((size,)), TileLimit(least=size), TileLimit(most=size)])
            level = level.with_tile(at, limit)
    if r.random() < 0.2:
        level = replace(level, utilization=r.choice([0.25, 0.5, 1.0]))
    if r.random() < 0.1:
        level = replace(level, fanout=(r.choice([1, 2, 4]),))
    return level


def constraints_for(r: Random, space: MapSpace) -> MapConstraints:
    levels = tuple(level_of(r, space) for _ in range(space.levels))
    elements = max(map(prod, space.fanouts))
    return MapConstraints(levels, elements, r.choice([0.0, 0.0, 0.0, 0.5, 0.75]), r.random() < 0.2)


def drawn(seed: int) -> tuple[Contraction, MapSpace, MapConstraints, Random]:
    r = Random(seed)
    work = product_of(r)
    space = space_of(r, work)
    return work, space, constraints_for(r, space), r


def everything(space: MapSpace) -> Candidates | None:
    mapper, parts = ExhaustiveMapper(space), list[Candidates]()
    while (part := mapper.propose(4096)) is not None:
        parts.append(part)
    return join(parts) if parts else None


def hashes(space: MapSpace, found: Candidates | None) -> set[int]:
    return set() if found is None else set(mapping_hashes(found, space.dims).tolist())


def filtered(space: MapSpace, constraints: MapConstraints) -> set[int]:
    """The mappings of an unconstrained space that meet constraints."""
    found = everything(space)
    assert found is not None
    sizes = [size for _, size in space.dims]
    divides = space.divisors or constraints.divisors
    fine = meets(constraints, found.fanouts, found.levels, sizes, divides=divides)
    rows: Ints = np.flatnonzero(fine)
    return hashes(space, found.at(rows)) if len(rows) else set()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_constrained_space_is_the_whole_one_filtered(seed: int) -> None:
    work, space, constraints, _ = drawn(seed)
    own = constrained(space, constraints)
    found = everything(own) if own.fanouts else None
    wanted = filtered(space, constraints)
    assert hashes(space, found) == wanted
    assert count_mappings(own) == (0 if found is None else len(found))
    assert is_possible(own, BufferCapacity((work,))) == bool(wanted)


MAPPERS: dict[str, Callable[[MapRequest], Mapper]] = {
    "random": lambda asked: RandomMapper(asked.space, asked.seed, asked.capacity),
    "genetic": lambda asked: GeneticMapper(asked.space, asked.seed, asked.capacity, bound=asked.bound),
    "exact": lambda asked: ExactMapper(asked, bound_of(asked)),
    "cma-es": CmaEsMapper,
}
ARRAY = PeArray(num_pes=8, noc_bw=3, offchip_bw=7)


def bound_of(asked: MapRequest) -> CostBound:
    assert asked.bound is not None
    return asked.bound


@pytest.mark.parametrize("name", MAPPERS)
@pytest.mark.parametrize("seed", SEEDS)
def test_no_mapper_proposes_what_constraints_exclude(name: str, seed: int) -> None:
    if name == "cma-es":
        pytest.importorskip("cmaes")
    work, space, constraints, r = drawn(seed)
    own, allowed = constrained(space, constraints), filtered(space, constraints)
    if not allowed:
        return
    capacity = BufferCapacity((work,), r.choice([None, 8]), r.choice([None, 40]))
    bound = CostBound((work,), ARRAY, "time")
    mapper = MAPPERS[name](MapRequest(own, seed, capacity, 10_000, bound))
    costs, count = np.random.default_rng(seed), 0
    while count < 3000 and (batch := mapper.propose(512)) is not None:
        assert hashes(space, batch) <= allowed
        mapper.tell(costs.random(len(batch)) + 1e6)
        count += len(batch)
    assert count or capacity.l1 is not None or capacity.l2 is not None


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_proved_is_the_best_that_meets_them(seed: int) -> None:
    """Under constraints the exact mapper finds what all mappings do, and never less than without them."""
    work, space, constraints, r = drawn(seed)
    own = constrained(space, constraints)
    if not is_possible(own, BufferCapacity((work,))):
        return
    objective, limits = r.choice(OBJECTIVES), r.choice([Limits(), Limits(l1=8, l2=60)])
    asked = MapRequest(
        own, 0, BufferCapacity((work,), limits.l1, limits.l2), 10**6, CostBound((work,), ARRAY, objective)
    )

    def least(mapper: Mapper) -> float:
        best = BestMapping(objective, limits)
        search(mapper, lambda some: exact_costs((work,), some, ARRAY, limits.l1), best, 10**6, lambda costs: None)
        return best.key[0]

    exact = ExactMapper(asked, bound_of(asked))
    found = least(exact)
    assert found == pytest.approx(least(ExhaustiveMapper(own)), rel=1e-12)
    assert exact.bound == pytest.approx(found, rel=1e-12)
    assert least(ExhaustiveMapper(replace(space, divisors=space.divisors or constraints.divisors))) <= found * (
        1 + 1e-12
    )
    assert bound_of(asked).of_space(own) <= found


@pytest.mark.parametrize("divides", [False, True])
def test_repaired_tiles_are_the_legal_ones(divides: bool) -> None:
    """Of each tile the largest legal one that is no larger, else the smallest; every legal one is itself."""
    r = Random(1)
    for _ in range(100):
        size, levels = r.choice([5, 12, 16]), r.randint(1, 3)
        limits = tuple(
            r.choice(
                [TileLimit(), TileLimit((r.randint(1, 9),)), TileLimit(least=r.randint(1, 4), most=r.randint(3, 20))]
            )
            for _ in range(levels)
        )
        legal = LegalTiles(size, limits, tuple(r.random() < 0.3 for _ in range(levels)), divides)
        givens = {size}
        for level in range(levels):
            after: set[int] = set()
            for given in givens:
                own = list(legal.tiles(level, given))
                after |= set(own)
                for tile in range(1, size + 1) if own else ():
                    wanted = max((one for one in own if one <= tile), default=own[0])
                    assert legal.repaired(level, np.array([float(given)]), np.array([float(tile)]))[0] == wanted
            assert bool(after) == legal.is_possible
            givens = after


def test_orders_are_arranged() -> None:
    """Every order becomes one that is allowed, and those that are stay."""
    r = np.random.default_rng(0)
    orders: Ints = r.random((5, 200)).argsort(axis=0)
    pairs = LevelConstraint().with_before([(3, 1), (1, 0), (4, 0)]).before
    assert (3, 0) in pairs
    found = arranged(orders, pairs)
    place = found.argsort(axis=0)
    assert (np.sort(found, axis=0) == np.arange(5)[:, None]).all()
    assert all((place[outer] < place[inner]).all() for outer, inner in pairs)
    assert (arranged(found, pairs) == found).all()
