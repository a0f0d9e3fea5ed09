"""What the buffers of processing elements receive at least, and the energy of mappings as it is estimated."""

from random import Random

import numpy as np
import pytest

from npuc.compiler.analysis.mapping.exact.columns import evaluate_exact
from npuc.compiler.analysis.mapping.exact.contraction import contraction_of
from npuc.compiler.analysis.mapping.parity import AccessCosts, PeArray
from npuc.compiler.explore.mapping.best import Limits, exact_costs
from npuc.compiler.explore.mapping.capacity import BufferCapacity
from npuc.compiler.explore.mapping.estimate import energy_estimate
from npuc.compiler.explore.mapping.genomes import Expression
from npuc.compiler.explore.mapping.mappers.exhaustive import ExhaustiveMapper, count_mappings
from npuc.compiler.explore.mapping.mappers.random import RandomGenomes
from npuc.compiler.explore.mapping.received import ElementBuffers
from npuc.compiler.explore.mapping.space import MapSpace, fanouts_of
from npuc.compiler.explore.seeds import generator
from npuc.dialects.mapping import Problem
from tests.property.test_mapping_exact import draw_work

COUNT = 64
ARRAY = PeArray(99, 4, 1, 4, costs=AccessCosts(7.0, 2.0, 3.0))


def received(table: dict[str, np.ndarray]) -> np.ndarray:
    return table["input_l1_write"] + table["filter_l1_write"]


def test_no_mapping_receives_less() -> None:
    """Over random contractions, of strides and dilations, and random mappings that fit small buffers."""
    r, near, tried = Random(3), 0, 0
    for seed in range(250):
        work, levels = draw_work(r), r.randint(1, 3)
        pes = r.choice((1, 4, 6))
        space = MapSpace(work.dims, fanouts_of(pes, levels), r.randint(1, 2), divisors=r.random() < 0.5)
        l1, sums = r.randint(6, 40), r.choice((1.0, 2.0))
        capacity = BufferCapacity((work,), l1, None, sums, sums)
        batch = Expression(space, capacity).candidates(RandomGenomes(space, generator(seed)).draw(COUNT))
        runs = Limits(l1).fit(exact_costs((work,), batch, ARRAY, l1, sums, sums), "time")
        found = received(evaluate_exact(work, list(batch.levels), ARRAY))[runs]
        least = ElementBuffers(space, l1, sums).least_received(work)
        assert (found >= least).all()
        near += int((found <= 1.3 * least).any())
        tried += bool(len(found))
    assert near >= tried / 4


def test_it_is_what_the_best_mapping_of_a_product_receives() -> None:
    """Of all mappings on one element, whose buffer holds a tile of one element of each tensor."""
    work = contraction_of(Problem("GEMM", (("M", 6), ("N", 4), ("K", 6))))
    space = MapSpace(work.dims, ((1,),))
    mapper, least = ExhaustiveMapper(space), np.inf
    batch = mapper.propose(count_mappings(space))
    assert batch is not None
    runs = Limits(6).fit(exact_costs((work,), batch, ARRAY, 6), "time")
    least = received(evaluate_exact(work, list(batch.levels), ARRAY))[runs].min()
    bound = ElementBuffers(space, 6, 1.0).least_received(work)
    assert bound == pytest.approx(6 * 4 * 6, rel=1e-9)
    assert bound <= least <= 1.2 * bound


def test_buffers_of_any_tile_have_no_bound_where_too_many_fit() -> None:
    work = contraction_of(Problem("GEMM", (("M", 400), ("N", 400), ("K", 400))))
    space = MapSpace(work.dims, ((1,),), divisors=False)
    assert ElementBuffers(space, 100_000, 1.0).least_received(work) == 0
    assert ElementBuffers(space, 60, 1.0).least_received(work) > 0


def test_energy_is_estimated_exactly_where_tiles_are_whole() -> None:
    """Where neither windows are cut nor sub-clusters are left over; elsewhere it is near for most."""
    r, exact, near, tried = Random(4), 0, 0, 0
    for seed in range(150):
        work, levels = draw_work(r, most=3_000), r.randint(1, 2)
        space = MapSpace(work.dims, fanouts_of(r.choice((1, 2, 4, 8)), levels))
        batch = Expression(space, None).candidates(RandomGenomes(space, generator(seed)).draw(COUNT))
        energy = exact_costs((work,), batch, ARRAY).energy
        found = energy_estimate(work, ARRAY.costs, batch)
        ratio = found / energy
        exact += int((abs(ratio - 1) < 1e-9).sum())
        near += int((abs(ratio - 1) < 0.15).sum())
        tried += COUNT
    assert exact >= 0.8 * tried
    assert near >= 0.98 * tried
