"""Terms that are alike share an array, as sums do: costs are those of every term by itself, and so are bounds."""

from collections.abc import Hashable
from fractions import Fraction
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.analysis.sharding.cost.cost_terms import CostTerm, Rate, ReductionRate, TypeSequence
from npuc.compiler.analysis.sharding.cost.term_graph import Labels, graph_of_terms
from npuc.compiler.analysis.sharding.graph.placement import UNSHARDED
from npuc.compiler.analysis.solvers.choices.descent import descend
from npuc.compiler.analysis.solvers.choices.graph import Choices, Table, memory_of, plus
from npuc.compiler.analysis.solvers.choices.minimise import lower_bound, minimise
from tests.choices import KINDS, SHAPES, least, random_choices

seeds = st.integers(0, 10**6)
SEQUENCES: tuple[TypeSequence, ...] = (("I",), ("II",), ("III",), ("whole",))
RATES: tuple[Rate, ...] = tuple(ReductionRate(UNSHARDED, (None,) * 4, (deferred,) * 4) for deferred in (False, True))


@given(seeds)
def test_costs_are_those_of_each_term_by_itself(seed: int) -> None:
    r = Random(seed)
    labels = [r.sample(SEQUENCES, r.choice([2, 2, 3])) for _ in range(r.randint(1, 5))]
    amounts = {(rate, one, other): r.randint(-9, 9) for rate in RATES for one in SEQUENCES for other in SEQUENCES}

    def amount(term: CostTerm, sequences: tuple[TypeSequence, ...]) -> int:
        return term.elements * amounts[term.rate, sequences[0], sequences[-1]]

    def term() -> CostTerm:
        count = r.randint(0, min(2, len(labels)))
        return CostTerm(0, r.randint(1, 2), tuple(r.sample(range(len(labels)), count)), r.choice(RATES), "read")

    terms = [term() for _ in range(r.randint(0, 12))]
    asked: list[tuple[Hashable, Labels]] = []

    def cost(term: CostTerm, own: Labels) -> Table:
        asked.append(((term.rate, term.elements), own))
        first, last = own[0], own[-1]
        if len(own) == 1:
            return np.array([amount(term, (one,)) for one in first])
        return np.array([[amount(term, (one, other)) for other in last] for one in first])

    alone = [np.array([r.randint(0, 5) for _ in own]) for own in labels]
    found = graph_of_terms(terms, labels, alone, lambda term: (term.rate, term.elements), cost, plus)
    assert len(asked) == len(set(asked))
    for _ in range(10):
        choice = [r.randrange(len(own)) for own in labels]
        plan = [own[label] for own, label in zip(labels, choice, strict=True)]
        moved = sum(amount(term, tuple(plan[group] for group in term.groups)) for term in terms if term.groups)
        assert found.cost(choice) == moved + sum(own[label] for own, label in zip(alone, choice, strict=True))


def test_equal_sums_of_shared_arrays_are_shared() -> None:
    one, other = np.arange(9).reshape(3, 3), np.ones((3, 3), np.int64)
    both = {(0, 1): one, (1, 0): other, (2, 3): one, (3, 2): other, (0, 2): one, (2, 0): one}
    found = Choices([3] * 4, [np.zeros(3, np.int64)] * 4, both)
    assert memory_of(found.pairs[0, 1]) == memory_of(found.pairs[2, 3])
    assert found.pairs[0, 1].tolist() == (one + other.T).tolist()
    assert found.pairs[0, 2].tolist() == (one + one.T).tolist()


@given(seeds, st.sampled_from(SHAPES), st.sampled_from(KINDS), st.integers(1, 40))
@settings(max_examples=200)
def test_the_bound_alone_is_that_of_the_search(seed: int, shape: str, kind: str, table: int) -> None:
    choices = random_choices(Random(seed), shape, kind)
    bound = lower_bound(choices, max_table=table)
    assert bound == minimise(choices, max_table=table).bound
    assert bound <= least(choices)


@given(seeds, st.sampled_from(["clique", "grid", "any"]), st.integers(1, 40))
@settings(max_examples=200)
def test_the_bound_alone_is_that_of_the_search_where_sums_are_rounded(seed: int, shape: str, table: int) -> None:
    r = Random(seed)
    choices = random_choices(r, shape, "float")
    scaled = [own * r.uniform(0.1, 3.0) for own in (*choices.unary, *choices.pairs.values())]
    count = len(choices.sizes)
    rounded = Choices(choices.sizes, scaled[:count], dict(zip(choices.pairs, scaled[count:], strict=True)))
    assert lower_bound(rounded, max_table=table) == minimise(rounded, max_table=table).bound


def test_the_bound_alone_of_an_integer_program() -> None:
    table = np.array([[1, 0], [0, 1]])
    choices = Choices([2] * 3, [np.zeros(2, np.int64)] * 3, {(0, 1): table, (1, 2): table, (0, 2): table})
    assert lower_bound(choices, max_table=1, solve_exactly=True) == 1
    assert lower_bound(choices, max_table=1) < 1
    assert lower_bound(choices) == 1


@given(seeds, st.sampled_from(KINDS))
@settings(max_examples=50)
def test_all_labels_of_all_nodes_are_the_same_graph(seed: int, kind: str) -> None:
    choices = random_choices(Random(seed), "any", kind)
    assert choices.restricted([range(size) for size in choices.sizes]) is choices


def test_costs_that_are_all_allowed_are_searched_as_they_are() -> None:
    half = Fraction(1, 2)
    unary = [np.array([half, 0], dtype=np.object_), np.array([0, half], dtype=np.object_)]
    choices = Choices([2, 2], unary, {(0, 1): np.array([[0, 1], [1, 0]], dtype=np.object_)})
    assert choices.cost(descend(choices, (0, 0))) == half
