"""Graphs of choices under a limit against enumeration: prices, local search, the integer program."""

import math
from dataclasses import dataclass
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.analysis.solvers.choices.graph import Choices, Number, Table
from npuc.compiler.analysis.solvers.choices.limited import Limited, minimise_within
from tests.choices import KINDS, SHAPES, every_choice, exactly, random_choices

seeds = st.integers(0, 10**6)
shapes, kinds = st.sampled_from(SHAPES), st.sampled_from(KINDS)
resources = st.sampled_from(["whole", "float", "wide"])


@dataclass(frozen=True)
class Case:
    """A graph, a resource, a limit, and what enumeration says of them."""

    choices: Choices
    resource: list[Table]
    limit: Number

    def taken(self, choice: tuple[int, ...]) -> Number:
        return sum(table.item(label) for table, label in zip(self.resource, choice, strict=True))

    @property
    def least_taken(self) -> Number:
        allowed = [choice for choice in every_choice(self.choices) if exactly(self.choices, choice) < math.inf]
        return min(map(self.taken, allowed), default=math.inf)

    @property
    def least_cost(self) -> Number:
        within = [choice for choice in every_choice(self.choices) if self.taken(choice) <= self.limit]
        return min((exactly(self.choices, choice) for choice in within), default=math.inf)

    def check(self, found: Limited) -> None:
        """What holds of every result."""
        assert found.bound <= self.least_cost <= found.cost
        assert found.least <= self.least_taken
        if found.choice is None:
            assert found.cost == math.inf
            assert found.taken is None
        else:
            assert exactly(self.choices, found.choice) == found.cost
            assert self.taken(found.choice) == found.taken
            assert self.taken(found.choice) <= self.limit
        if found.exact:
            assert found.bound == found.cost == self.least_cost


def random_case(seed: int, shape: str, kind: str, of: str) -> Case:
    r = Random(seed)
    choices = random_choices(r, shape, kind)
    most = r.choice([1, 5, 1000])
    unit = {"whole": 1, "float": 0.25, "wide": 10**24}[of]
    resource: list[Table] = []
    for size in choices.sizes:
        table = np.empty(size, {"whole": np.int64, "float": np.float64}.get(of, np.object_))
        table[:] = [r.randint(0, most) * unit for _ in range(size)]
        resource.append(table)
    return Case(choices, resource, r.randint(0, most * len(resource)) * unit)


@given(seeds, shapes, kinds, resources)
@settings(max_examples=300)
def test_the_optimum_is_between_bound_and_cost(seed: int, shape: str, kind: str, of: str) -> None:
    case = random_case(seed, shape, kind, of)
    found = minimise_within(case.choices, case.resource, case.limit)
    case.check(found)
    assert found.least == case.least_taken
    assert (found.choice is None) == (case.least_taken > case.limit) == (found.bound == math.inf)


@given(seeds, shapes, kinds, resources, st.integers(1, 20))
@settings(max_examples=150)
def test_with_small_tables_too(seed: int, shape: str, kind: str, of: str, table: int) -> None:
    case = random_case(seed, shape, kind, of)
    case.check(minimise_within(case.choices, case.resource, case.limit, max_table=table))


@given(seeds, shapes, kinds, resources)
@settings(max_examples=60)
def test_the_integer_program_closes_the_gap(seed: int, shape: str, kind: str, of: str) -> None:
    case = random_case(seed, shape, kind, of)
    found = minimise_within(case.choices, case.resource, case.limit, solve_exactly=True)
    case.check(found)
    assert found.cost == case.least_cost
    assert found.exact or kind in ("float", "fractions")
