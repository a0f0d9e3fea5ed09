"""The mapper `cma-es`: what the package `cmaes` asks for, each mapping once, better than random ones."""

import sys

import numpy as np
import pytest

from npuc.compiler.core.errors import UsageError
from npuc.compiler.explore.mapping.best import OBJECTIVES
from npuc.compiler.explore.mapping.capacity import BufferCapacity
from npuc.compiler.explore.mapping.mapper import ALGORITHMS, MapRequest
from npuc.compiler.explore.mapping.mappers.cma_es import CmaEsMapper
from npuc.compiler.explore.mapping.mappers.exhaustive import count_mappings
from npuc.compiler.explore.mapping.mappers.random import RandomMapper
from npuc.compiler.explore.mapping.space import MapSpace
from npuc.dialects.mapping import Problem
from tests.unit.mapping.test_genetic import LAYER, assert_legal, run
from tests.unit.mapping.test_search import SPACES, canonical, contraction_of, plain_mappings, space


def request(found: MapSpace, seed: int = 0, capacity: BufferCapacity | None = None) -> MapRequest:
    return MapRequest(found, seed, capacity or BufferCapacity(()), 10_000)


def test_without_the_package_it_is_refused_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cmaes", None)
    with pytest.raises(UsageError) as caught:
        ALGORITHMS.get("cma-es").refusal(request(space(LAYER, 8, 2)))
    assert caught.value.message == "--mapper cma-es needs the package cmaes, which is not installed"
    assert caught.value.hint == 'pip install "npuc[search]"'
    assert "cmaes" in ALGORITHMS.about("cma-es")


@pytest.mark.parametrize("name", SPACES)
def test_proposals_are_mappings_of_the_space_each_once_until_there_are_none(name: str) -> None:
    pytest.importorskip("cmaes")
    found = SPACES[name]
    sizes, listed = dict(found.dims), list[object]()
    mapper = CmaEsMapper(request(found))
    total = count_mappings(found)
    while len(listed) < 2 * total and (batch := mapper.propose(100)) is not None:
        assert_legal(found, batch)
        listed += [canonical(batch.mapping(row, found.dims), sizes) for row in range(len(batch))]
        mapper.tell(np.where(np.arange(len(batch)) % 7 == 3, np.inf, np.arange(len(batch), dtype=np.float64) + 1))
    assert set(listed) <= plain_mappings(found)
    assert found.parallel > 1 or len(listed) == len(set(listed))
    assert len(set(listed)) >= 0.5 * min(len(plain_mappings(found)), 200)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_better_than_random_and_the_same_for_a_seed(objective: str) -> None:
    pytest.importorskip("cmaes")
    found = space(LAYER, 8, 2)
    strategy = [run(CmaEsMapper(request(found, seed)), objective, 2000) for seed in range(5)]
    random = [run(RandomMapper(found, seed), objective, 2000) for seed in range(5)]
    assert sum(one.key[0] <= other.key[0] for one, other in zip(strategy, random, strict=True)) >= 4
    again = run(CmaEsMapper(request(found, 3)), objective, 2000, most=37)
    assert (again.key, again.curve) == (strategy[3].key, strategy[3].curve)
    assert len({tuple(one.curve) for one in strategy}) > 1


def test_tiles_are_cut_to_fit() -> None:
    pytest.importorskip("cmaes")
    capacity = BufferCapacity((LAYER,), 8, 600)
    batch = CmaEsMapper(request(space(LAYER, 8, 2), 1, capacity)).propose(10_000)
    assert batch is not None
    assert (capacity.need(batch.levels[-1].spatial) <= 8).all()


def test_a_contraction_of_one_point_has_few_mappings() -> None:
    pytest.importorskip("cmaes")
    found = space(contraction_of(Problem("GEMM", (("M", 1), ("N", 1), ("K", 1)))), 4, 2)
    mapper, count = CmaEsMapper(request(found)), 0
    while (batch := mapper.propose(1000)) is not None:
        count += len(batch)
        mapper.tell(np.ones(len(batch)))
    assert count == len(found.fanouts)
