"""Designs under constraints: the best machine of all mappings that meet them, by brute force on small works."""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from math import inf, prod
from random import Random

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from npuc.compiler.analysis.mapping.constraints.check import meets
from npuc.compiler.analysis.mapping.constraints.limits import LevelConstraint, MapConstraints
from npuc.compiler.analysis.mapping.exact.contraction import Contraction, contraction_of
from npuc.compiler.analysis.mapping.flexibility.axes import Support, Supports
from npuc.compiler.analysis.mapping.parity import PeArray
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.explore.design.budget import AreaModel, Budget
from npuc.compiler.explore.design.clusters import Fanouts
from npuc.compiler.explore.design.costs import Needs, Work, needs_of
from npuc.compiler.explore.design.energy import AccessEnergy
from npuc.compiler.explore.design.explore import Course, Searched, explore
from npuc.compiler.explore.design.goal import Goal
from npuc.compiler.explore.design.task import DesignTask
from npuc.compiler.explore.mapping.candidates import Candidates, join
from npuc.compiler.explore.mapping.capacity import BufferCapacity
from npuc.compiler.explore.mapping.constrained.possible import constrained, is_possible
from npuc.compiler.explore.mapping.mappers.exhaustive import ExhaustiveMapper
from npuc.compiler.explore.mapping.space import MapSpace
from npuc.dialects.mapping import Problem
from tests.property.test_constraints import constraints_for

ARRAY = PeArray(num_pes=8, noc_bw=3, offchip_bw=7)
MODEL = AreaModel("toy", lambda elements, l1: elements * (4 + l1), 1.0, 0.1)
BUDGET = Budget(MODEL, 69.0)
MOST = 6
"""Elements that the area has at most."""
CLUSTERS = [(a, b) for a, b in product(range(1, MOST + 1), repeat=2) if a * b <= MOST]
SEEDS = range(30)
SHAPES: tuple[Support, ...] = ("fixed", "any")


def drawn(seed: int) -> tuple[list[Work], list[MapConstraints]]:
    r = Random(seed)
    works: list[Work] = []
    for _ in range(r.choice([1, 2])):
        one = contraction_of(Problem("GEMM", tuple((name, r.choice([1, 2, 3, 4])) for name in "MNK")))
        works.append(Work((one,), r.choice([1, 2]), ARRAY, Fraction(1), Fraction(1)))
    own = constraints_for(r, MapSpace(works[0].statements[0].dims, ((1, 1),)))
    return works, [replace(own, divisors=True) for _ in works]


@cache
def everything(work: Contraction, fanouts: Fanouts) -> Candidates:
    mapper, parts = ExhaustiveMapper(MapSpace(work.dims, (fanouts,))), list[Candidates]()
    while (part := mapper.propose(4096)) is not None:
        parts.append(part)
    return join(parts)


def least(works: list[Work], limits: list[MapConstraints] | None) -> float:
    """The fewest cycles of a step on any machine within the area, of all mappings on it and on parts of it."""
    best = inf
    for machine in CLUSTERS:
        needs = [known(work, machine, one) for work, one in zip(works, limits or [None] * len(works), strict=True)]
        if all(len(one.cycles) for one in needs):
            best = min(best, best_of(works, needs, prod(machine)))
    return best


def known(work: Work, machine: Fanouts, limit: MapConstraints | None) -> Needs:
    """The needs of all mappings on clusters of a machine that meet constraints, of which those about shares are its."""
    statement, found = work.statements[0], list[Candidates]()
    for fanouts in CLUSTERS:
        if all(a <= b for a, b in zip(fanouts, machine, strict=True)):
            some = everything(statement, fanouts)
            if limit is not None:
                whole = np.repeat(np.array(machine)[:, None], len(some), axis=1)
                sizes = [size for _, size in statement.dims]
                demanded = replace(limit, elements=prod(machine))
                some = some.at(np.flatnonzero(meets(demanded, whole, some.levels, sizes, divides=True)))
                if any(own != one for level, own in zip(limit.levels, fanouts, strict=True) for one in level.fanout):
                    continue
            found.append(some)
    found = [one for one in found if len(one)] or [everything(statement, (1, 1)).part(slice(0))]
    needs = needs_of(work, join(found), AccessEnergy(), buffered=False)
    return needs.at(np.flatnonzero(np.isfinite(needs.l1)))


def best_of(works: list[Work], needs: list[Needs], elements: int) -> float:
    best = inf
    for l1 in np.unique(np.concatenate([one.l1 for one in needs])):
        l2 = BUDGET.largest_l2(elements, np.array([l1]))[0]
        fits = [one.cycles[(one.l1 <= l1) & (one.l2 <= l2)] for one in needs]
        if l2 > 0 and all(map(len, fits)):
            best = min(best, sum(work.repeat * float(own.min()) for work, own in zip(works, fits, strict=True)))
    return best


def spaces_of(works: list[Work], limits: list[MapConstraints]) -> list[MapSpace]:
    pairs = zip(works, limits, strict=True)
    return [MapSpace(work.statements[0].dims, ((1, 1),), constraints=limit) for work, limit in pairs]


def are_possible(works: list[Work], limits: list[MapConstraints]) -> bool:
    """Whether each contraction has mappings on some clusters; those that have none are refused before any search."""
    wide = [replace(space, fanouts=tuple(CLUSTERS)) for space in spaces_of(works, limits)]
    return all(
        is_possible(constrained(space, limit), BufferCapacity(work.statements))
        for work, space, limit in zip(works, wide, limits, strict=True)
    )


def searched(works: list[Work], limits: list[MapConstraints], shape: Support = "fixed") -> Searched:
    spaces = spaces_of(works, limits)
    task = DesignTask(ModuleOp([]), tuple(works), tuple(spaces), (), tuple(range(len(works))))
    course = Course(4000, 0, lambda count: None)
    supports: Supports = ("any", "any", "any", shape)
    return explore(task, BUDGET, AccessEnergy(), [Goal("time")], course, area=False, classes=[supports])


@pytest.mark.parametrize("seed", SEEDS)
def test_the_best_machine_is_that_of_all_mappings_that_meet_them(seed: int) -> None:
    works, limits = drawn(seed)
    best = least(works, limits)
    assert least(works, None) <= best
    if not are_possible(works, limits):
        assert best == inf
        return
    if best == inf:
        with pytest.raises(CapacityError):
            searched(works, limits)
        return
    found = searched(works, limits)
    design = found.designs[0].design
    assert design.cycles == best
    assert found.bound <= best
    assert design.area_mm2 <= BUDGET.limit_mm2


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", SEEDS)
def test_mappings_of_a_design_meet_them_on_its_machine(seed: int, shape: Support) -> None:
    works, limits = drawn(seed)
    if least(works, limits) == inf:
        return
    found = searched(works, limits, shape).designs[0]
    for work, limit, mapping in zip(works, limits, found.mappings, strict=True):
        own, size = mapping.candidates, found.design.size
        machine = own.fanouts if shape == "any" else np.array(size.fanouts)[:, None]
        sizes = [one for _, one in work.statements[0].dims]
        demanded = replace(limit, elements=size.elements)
        assert meets(demanded, machine, own.levels, sizes, divides=True).all()


def test_there_are_seeds_of_every_kind() -> None:
    """Some constraints cost time, some nothing, and some leave no machine."""
    kinds = {"dearer": 0, "free": 0, "none": 0}
    for seed in SEEDS:
        works, limits = drawn(seed)
        one, other = least(works, None), least(works, limits)
        kinds["none" if other == inf else "dearer" if one < other else "free"] += 1
    assert min(kinds.values()) > 2, kinds


def test_a_share_of_a_larger_machine_must_work() -> None:
    """A mapping on part of the clusters is none of a machine of which more must work."""
    one = contraction_of(Problem("GEMM", (("M", 4), ("N", 4), ("K", 1))))
    work = Work((one,), 1, ARRAY, Fraction(1), Fraction(1))
    small = contraction_of(Problem("GEMM", (("M", 2), ("N", 1), ("K", 1))))
    other = Work((small,), 1, ARRAY, Fraction(1), Fraction(1))
    free = MapConstraints((LevelConstraint(), LevelConstraint()), 1)
    full = replace(free, utilization=1.0)
    assert searched([work, other], [free, free]).designs[0].design.size.elements > 2
    assert searched([work, other], [full, full]).designs[0].design.size.elements <= 2
