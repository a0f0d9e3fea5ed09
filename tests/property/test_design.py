"""A design search: what mappings need, and the best machines of what is known, each against brute force."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import ceil, inf, prod

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.analysis.mapping.exact.arrays import level_tiles
from npuc.compiler.analysis.mapping.exact.contraction import Contraction, contraction_of
from npuc.compiler.analysis.mapping.parity import PeArray
from npuc.compiler.explore.design.archive import Elites
from npuc.compiler.explore.design.budget import AreaModel, Budget
from npuc.compiler.explore.design.clusters import least_times, neighbours
from npuc.compiler.explore.design.combine import Machines, designs, totals
from npuc.compiler.explore.design.costs import Needs, Work, needs_of
from npuc.compiler.explore.design.energy import AccessEnergy
from npuc.compiler.explore.mapping.best import exact_costs
from npuc.compiler.explore.mapping.candidates import Candidates
from npuc.compiler.explore.mapping.genomes import Expression, Genomes
from npuc.compiler.explore.mapping.mappers.random import RandomGenomes
from npuc.compiler.explore.mapping.space import MapSpace
from npuc.compiler.explore.pareto.front import pareto
from npuc.compiler.explore.seeds import generator
from npuc.dialects.mapping import Problem

ARRAYS = st.builds(
    PeArray, st.just(1), st.integers(1, 20), st.integers(0, 2), st.integers(1, 9), st.just(1), st.integers(1, 3)
)
ENERGY = AccessEnergy(1.0, None, 2.0, 3.0)
FANOUTS = st.tuples(st.integers(1, 4), st.integers(1, 5))
SIZES = st.integers(1, 12)


@st.composite
def products(draw: st.DrawFn) -> Contraction:
    """A small matrix product."""
    return contraction_of(Problem("GEMM", tuple((dim, draw(SIZES)) for dim in "MNK")))


def drawn(work: Work, fanouts: tuple[int, ...], seed: int, count: int = 24) -> tuple[Genomes, Candidates, MapSpace]:
    space = MapSpace(work.statements[0].dims, (fanouts,))
    genomes = RandomGenomes(space, generator(seed)).draw(count)
    return genomes, Expression(space, None).candidates(genomes), space


@settings(max_examples=45)  # of many mappings each
@given(
    products(), ARRAYS, st.tuples(st.integers(1, 4), st.integers(1, 5)), st.integers(0, 99), st.sampled_from((1, 2, 4))
)
def test_a_mapping_needs_the_smallest_buffers_with_which_it_runs_at_its_cost(
    one: Contraction, array: PeArray, fanouts: tuple[int, int], seed: int, sums: int
) -> None:
    work = Work((one,), 1, array, Fraction(2), Fraction(sums))
    _, candidates, _ = drawn(work, fanouts, seed)
    for buffered in (False, True):
        needs = needs_of(work, candidates, AccessEnergy(), buffered=buffered)
        for row in range(len(candidates)):
            costs = exact_costs(work.statements, candidates, array, None, float(sums), float(sums)).row(row)
            assert needs.cycles[row] == costs.cycles
            assert needs.l2[row] == 2 * costs.l2
            if needs.l1[row] == inf:
                assert not costs.carried
                continue
            assert abs(needs.energy[row] - costs.energy) <= 1e-9 * costs.energy
            size = ceil(needs.l1[row] / 2)
            at = exact_costs(work.statements, candidates, array, size, float(sums), float(sums)).row(row)
            assert at.carried
            assert at.l1 <= size
            assert at.buffered or not buffered
            less = exact_costs(work.statements, candidates, array, size - 1, float(sums), float(sums)).row(row)
            assert size - 1 < less.l1 or not less.carried or (buffered and not less.buffered)


@given(products(), ARRAYS, FANOUTS, st.integers(0, 99))
def test_no_mapping_is_below_the_bound_of_its_clusters(
    one: Contraction, array: PeArray, fanouts: tuple[int, int], seed: int
) -> None:
    work = Work((one,), 1, array, Fraction(1), Fraction(1))
    _, candidates, space = drawn(work, fanouts, seed)
    needs = needs_of(work, candidates, AccessEnergy(), buffered=False)
    others = [fanouts, *neighbours(fanouts, 99)]
    bounds = least_times(work, space, others)
    assert len(bounds) == len(others)
    assert (needs.cycles[np.isfinite(needs.l1)] >= bounds[0]).all()
    for other, bound in zip(others, bounds, strict=True):
        assert bound == least_times(work, space, [other])[0]


def elites_of(rng: np.random.Generator, count: int, *, reshaped: bool = False) -> Elites:
    """Mappings of a contraction of one dimension, of which only clusters and needs mean anything."""
    fanouts = rng.integers(1, 4, size=(2, count))
    one = np.ones((1, count))
    levels = tuple(level_tiles(one, one, np.zeros((1, count), np.int64)) for _ in range(2))
    zeros = np.zeros((2, 1, count))
    genomes = Genomes(np.zeros(count, np.int64), zeros, zeros.astype(np.int64), zeros.astype(np.int64), zeros[:, 0])
    l1, l2, cycles, first, second = rng.integers(1, 9, size=(5, count)).astype(float)
    needs = Needs(cycles, l1, l2, first, second, np.zeros(count), np.ones(count))
    return Elites(genomes, Candidates(fanouts, levels), needs, reshaped)


@given(
    st.integers(0, 10_000),
    st.integers(1, 3),
    st.integers(1, 6),
    st.integers(10, 80),
    st.sampled_from((0.0, inf, 0.5)),
    st.booleans(),
)
def test_the_best_machine_of_known_mappings_is_the_best_of_all_choices(
    seed: int, count: int, known: int, limit: int, price: float, reshaped: bool
) -> None:
    rng = np.random.default_rng(seed)
    works = works_of(rng, count)
    elites = [elites_of(rng, known, reshaped=reshaped) for _ in works]
    model = AreaModel("toy", lambda elements, l1: elements * (1 + l1), 2.0, 1.0)
    budget, fanouts = Budget(model, float(limit)), (3, 2)
    found = designs(works, elites, fanouts, budget, ENERGY, [price])
    best = inf
    for rows in product(range(known), repeat=count):
        chosen = [one.needs.at(np.array([row])) for one, row in zip(elites, rows, strict=True)]
        clusters = [tuple(one.candidates.fanouts[:, row]) for one, row in zip(elites, rows, strict=True)]
        if not all(runs(own, fanouts, reshaped=reshaped) for own in clusters):
            continue
        l1, l2 = (max(float(getattr(one, name)[0]) for one in chosen) for name in ("l1", "l2"))
        if budget.area_mm2(prod(fanouts), l1, l2) <= limit:
            best = min(best, value(works, chosen, price))
    for one in found:
        assert one.area_mm2 <= limit
        assert one.area_mm2 == budget.area_mm2(one.size.elements, one.size.l1, one.size.l2)
        chosen = [own.needs.at(np.array([row])) for own, row in zip(elites, one.rows, strict=True)]
        assert all((own.l1 <= one.size.l1).all() and (own.l2 <= one.size.l2).all() for own in chosen)
        assert one.cycles == sum(work.repeat * own.cycles[0] for work, own in zip(works, chosen, strict=True))
    assert min((value_of(one.cycles, one.energy, price) for one in found), default=inf) == best


def runs(own: tuple[int, ...], fanouts: tuple[int, ...], *, reshaped: bool) -> bool:
    """Whether clusters are among those of a machine, or of any machine with as many elements."""
    return prod(own) <= prod(fanouts) if reshaped else all(a <= b for a, b in zip(own, fanouts, strict=True))


@given(st.integers(0, 10_000), st.integers(1, 3), st.integers(1, 8), st.sampled_from((0.0, inf, 0.5)))
def test_each_contraction_runs_the_best_mapping_that_fits(seed: int, count: int, known: int, price: float) -> None:
    """The least by the price, and of equal ones that with less of the other measure."""
    rng = np.random.default_rng(seed)
    works, elites, energy = works_of(rng, count), [elites_of(rng, known) for _ in range(count)], ENERGY
    machines = Machines((2, 3), *rng.integers(1, 9, size=(2, 4)).astype(float))
    found = totals(works, elites, machines, energy, price)
    for at, (l1, l2) in enumerate(zip(machines.l1, machines.l2, strict=True)):
        for number, (work, one) in enumerate(zip(works, elites, strict=True)):
            costs = energy.costs(work.width, np.full(known, l1), np.full(known, l2))
            keys = [
                (value_of(time, spent, price), time if price else spent)
                for time, spent in zip(one.needs.cycles, work.energy(one.needs, costs), strict=True)
            ]
            fits = one.within((2, 3)) & (one.needs.l1 <= l1) & (one.needs.l2 <= l2)
            if fits.any():
                assert keys[found.rows[number, at]] == min(key for key, fit in zip(keys, fits, strict=True) if fit)
            else:
                assert found.cycles[at] == inf


@given(st.integers(0, 10_000), st.integers(1, 3), st.integers(1, 5))
def test_smaller_machines_are_a_whole_front(seed: int, count: int, known: int) -> None:
    """What no choice of known mappings beats in cycles and area."""
    rng = np.random.default_rng(seed)
    works, elites, fanouts = works_of(rng, count), [elites_of(rng, known) for _ in range(count)], (3, 2)
    budget = Budget(AreaModel("toy", lambda elements, l1: elements * (1 + l1), 2.0, 1.0), 70.0)
    points: list[tuple[float, float]] = []
    for rows in product(range(known), repeat=count):
        chosen = [one.needs.at(np.array([row])) for one, row in zip(elites, rows, strict=True)]
        if all(one.within(fanouts)[row] for one, row in zip(elites, rows, strict=True)):
            l1, l2 = (max(float(getattr(one, name)[0]) for one in chosen) for name in ("l1", "l2"))
            area = budget.area_mm2(prod(fanouts), l1, l2)
            points += [(value(works, chosen, 0.0), area)] if area <= budget.limit_mm2 else []
    found = [(one.cycles, one.area_mm2) for one in designs(works, elites, fanouts, budget, ENERGY, [0.0], smaller=True)]
    assert front_of(found) == front_of(points)


def front_of(points: list[tuple[float, float]]) -> set[tuple[float, float]]:
    return {points[int(row)] for row in pareto(np.array(points))} if points else set()


def works_of(rng: np.random.Generator, count: int) -> list[Work]:
    statement = contraction_of(Problem("GEMM", (("M", 2), ("N", 1), ("K", 1))))
    return [Work((statement,), int(rng.integers(1, 4)), PeArray(1), Fraction(1), Fraction(1)) for _ in range(count)]


def value(works: list[Work], chosen: list[Needs], price: float) -> float:
    cycles = sum(work.repeat * float(one.cycles[0]) for work, one in zip(works, chosen, strict=True))
    spent = sum(
        work.repeat * float(work.energy(one, ENERGY.costs(work.width, one.l1, one.l2))[0])
        for work, one in zip(works, chosen, strict=True)
    )
    return value_of(cycles, spent, price)


def value_of(cycles: float, energy: float, price: float) -> float:
    return energy if price == inf else cycles + price * energy


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12))
def test_a_front_is_what_no_other_point_beats(points: list[tuple[int, int, int]]) -> None:
    kept = [points[int(row)] for row in pareto(np.array(points, float))]
    assert len(set(kept)) == len(kept)
    for one in points:
        beaten = any(other != one and all(a <= b for a, b in zip(other, one, strict=True)) for other in points)
        assert (one in kept) == (not beaten)


@given(st.floats(1, 1e4), st.integers(1, 64), st.lists(st.integers(1, 500), min_size=1, max_size=5))
def test_the_largest_shared_buffer_is_the_largest_that_fits(limit: float, elements: int, l1: list[int]) -> None:
    model = AreaModel("toy", lambda count, size: count * (1 + size / 3), 16.0, 0.7)
    budget = Budget(model, limit)
    sizes = np.array(l1, float)
    for size, own in zip(budget.largest_l2(elements, sizes), sizes, strict=True):
        if size > 0:
            assert budget.area_mm2(elements, own, size) <= limit
        assert budget.area_mm2(elements, own, size + 16) > limit
    most = budget.most_elements(float(l1[0]))
    assert most == 0 or budget.area_mm2(most, l1[0], 1) <= limit
    assert replace(budget).area_mm2(most + 1, l1[0], 1) > limit
