"""Graphs of choices: kinds of costs, ties, orders, what is refused."""

import math
import sys
from fractions import Fraction

import numpy as np
import pytest

from npuc.compiler import UsageError
from npuc.compiler.analysis.solvers.choices import graph
from npuc.compiler.analysis.solvers.choices.graph import Choices, Table, largest_sum
from npuc.compiler.analysis.solvers.choices.limited import minimise_within
from npuc.compiler.analysis.solvers.choices.minimise import minimise
from npuc.compiler.analysis.solvers.choices.order import best_order, by_fill, by_weight

INF = math.inf
PLAIN = [[0, 1], [1, 0], [0, 0]]


def numbers(*values: object) -> Table:
    return np.array(values, dtype=np.object_)


def complete(count: int) -> Choices:
    """All pairs of so many nodes; it costs 1 for each two of the same label, and there are two."""
    same = np.eye(2, dtype=np.int64)
    pairs = {(i, j): same for j in range(count) for i in range(j)}
    return Choices([2] * count, [np.zeros(2, np.int64)] * count, pairs)


def test_nothing_to_choose_costs_nothing() -> None:
    found = minimise(Choices([], [], {}))
    assert (found.choice, found.cost, found.bound, found.exact, found.width) == ((), 0, 0, True, 0)


def test_tables_that_pairs_share_stay_shared() -> None:
    table = np.arange(9.0).reshape(3, 3)
    few = Choices([3] * 3, [np.zeros(3)] * 3, {(0, 1): table, (1, 2): table}).restricted([[0, 2], [0, 2], [0, 2]])
    assert few.pairs[0, 1] is few.pairs[1, 2]
    assert few.pairs[0, 1].tolist() == [[0, 2], [6, 8]]
    other = Choices([3] * 3, [np.zeros(3)] * 3, {(0, 1): table, (1, 2): table}).restricted([[0, 2], [0, 2], [1]])
    assert other.pairs[0, 1].tolist() == [[0, 2], [6, 8]]
    assert other.pairs[1, 2].tolist() == [[1], [7]]


@pytest.mark.parametrize("entries", [1, 9, 1 << 20])
def test_each_table_counts_in_the_largest_sum(entries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "MOST_ENTRIES", entries)
    table = np.array([[1.0, -7.0], [INF, 2.0]])
    assert largest_sum([table, np.array([3]), table, table.T, table[:1, :1], np.zeros(0)]) == 7 + 3 + 7 + 7 + 1
    with pytest.raises(ValueError, match="NaN"):
        largest_sum([table, table, np.array([math.nan])])


def test_of_equally_good_labels_the_smallest_are_taken() -> None:
    assert minimise(Choices([2, 3], [np.zeros(2), np.zeros(3)], {})).choice == (0, 0)
    assert minimise(complete(3)).choice in {(0, 0, 1), (0, 1, 0), (1, 0, 0)}
    assert minimise(complete(3)) == minimise(complete(3))


def test_a_pair_counts_in_both_orders() -> None:
    one = np.array([[0, 5, 5], [5, 5, 0]])
    both = Choices([2, 3], [np.zeros(2, int), np.zeros(3, int)], {(0, 1): one, (1, 0): one.T[:, ::-1]})
    assert both.cost((0, 0)) == 5
    assert both.cost((1, 2)) == 5
    assert minimise(both).cost == 5
    assert both.cost((0, 1)) == 10


def test_whole_numbers_that_64_bits_do_not_hold_stay_exact() -> None:
    large = np.array([2**62, 2**62 - 1])
    found = minimise(Choices([2, 2, 2], [large, large, large], {(0, 1): np.array([[0, 1], [1, 1]])}))
    assert found.cost == 3 * 2**62 - 2
    assert found.choice == (1, 1, 1)


def test_whole_numbers_beside_floats_stay_exact() -> None:
    found = minimise(Choices([2, 2], [np.array([2**60 + 1, 2**60 + 2]), np.array([INF, 0.5])], {}))
    assert found.cost == 2**60 + 1 + Fraction(1, 2)


def test_fractions_stay_fractions() -> None:
    choices = Choices([2], [numbers(Fraction(1, 3), Fraction(1, 4))], {})
    assert minimise(choices).cost == Fraction(1, 4)


def test_nothing_allowed_costs_inf() -> None:
    diagonal = np.array([[0.0, INF], [INF, 0.0]])
    other = np.array([[INF, 0.0], [0.0, INF]])
    choices = Choices([2] * 3, [np.zeros(2)] * 3, {(0, 1): diagonal, (1, 2): diagonal, (0, 2): other})
    assert minimise(choices).cost == INF
    assert minimise(choices).exact
    assert minimise(choices, max_table=2, solve_exactly=True).bound == INF


def test_limits_that_nothing_keeps() -> None:
    choices = Choices([2, 2], [np.array([0.0, 9.0]), np.array([0.0, INF])], {})
    found = minimise_within(choices, [np.array([5, 2]), np.array([4, 1])], 5)
    assert (found.choice, found.cost, found.bound, found.exact, found.least) == (None, INF, INF, True, 6)
    kept = minimise_within(choices, [np.array([5, 2]), np.array([4, 1])], 6.5)
    assert (kept.choice, kept.cost, kept.exact, kept.taken) == ((1, 0), 9.0, True, 6)


def test_a_limit_that_all_keep_changes_nothing() -> None:
    choices = complete(4)
    free = minimise(choices)
    for limit in (INF, 8, 100.5):
        found = minimise_within(choices, [np.array([1, 2])] * 4, limit, solve_exactly=True)
        assert (found.choice, found.cost, found.bound, found.exact) == (free.choice, free.cost, free.cost, True)


def test_the_gap_of_the_relaxation_is_told_and_closed() -> None:
    # of two things that take 2 each one fits, and half of the other
    choices = Choices([2, 2], [np.array([0, -10])] * 2, {})
    found = minimise_within(choices, [np.array([0, 2])] * 2, 3)
    assert (found.cost, found.bound, found.exact, found.price) == (-10, -15, False, 5)
    closed = minimise_within(choices, [np.array([0, 2])] * 2, 3, solve_exactly=True)
    assert (closed.cost, closed.bound, closed.exact) == (-10, -10, True)


def test_prices_of_wide_numbers_are_rounded_and_their_bounds_hold() -> None:
    cost, resource = np.array([0, 10**15 + 7, 3 * 10**15]), np.array([10**15 + 9, 10**14 + 3, 0])
    choices = Choices([3] * 5, [cost] * 5, {})
    limit = 2 * 10**15
    found = minimise_within(choices, [resource] * 5, limit, solve_exactly=True)
    assert found.bound <= found.cost == 4 * (10**15 + 7)
    assert found.taken == 10**15 + 9 + 4 * (10**14 + 3)


def test_orders_by_fill_are_not_looked_for_too_long() -> None:
    count = 200
    near = [[j for j in range(count) if j != i] for i in range(count)]
    assert by_fill([2] * count, near) is None
    order = by_weight([2] * count, near, series=False)
    assert order.width == count - 1
    assert best_order([2] * count, near, 1 << 24).nodes == tuple(range(count))


def test_a_missing_solver_is_wrong_usage_only_where_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    assert minimise(complete(4), solve_exactly=True).exact
    with pytest.raises(UsageError, match="needs HiGHS") as caught:
        minimise(complete(6), max_table=1, solve_exactly=True)
    assert caught.value.exit_code == 2


WRONG: list[tuple[list[int], list[object], dict[tuple[int, int], object], str]] = [
    ([2], [], {}, "1 nodes and costs of 0"),
    ([0], [[]], {}, r"node 0 has 0 labels \(at least 1\)"),
    ([2], [[1, 2, 3]], {}, r"node 0 has 2 labels .* shape \(3,\)"),
    ([2, 3], [[0, 0], [0, 0, 0]], {(0, 0): PLAIN}, r"\(0, 0\) is no pair of two of 2 nodes"),
    ([2, 3], [[0, 0], [0, 0, 0]], {(0, 2): PLAIN}, r"\(0, 2\) is no pair"),
    ([2, 3], [[0, 0], [0, 0, 0]], {(0, 1): PLAIN}, r"have 2 and 3 labels, costs of shape \(3, 2\)"),
    ([1], [[math.nan]], {}, "found NaN or -inf"),
    ([1], [[-INF]], {}, "found NaN or -inf"),
    ([1], [numbers("a")], {}, "found 'a'"),
    ([1], [numbers(math.nan)], {}, "found nan"),
    ([1], [["a"]], {}, "costs are numbers"),
    ([1, 1], [[1.7e308], [1.7e308]], {}, "too large"),
]


@pytest.mark.parametrize(("sizes", "unary", "pairs", "message"), WRONG)
def test_costs_that_do_not_fit_are_refused(
    sizes: list[int], unary: list[object], pairs: dict[tuple[int, int], object], message: str
) -> None:
    tables = {key: np.array(table) for key, table in pairs.items()}
    with pytest.raises(ValueError, match=message):
        Choices(sizes, [np.array(table) for table in unary], tables)


@pytest.mark.parametrize(
    ("resource", "message"), [([[1, 2]], "other shapes"), ([[1, 2], [1, INF]], "a resource is finite")]
)
def test_resources_that_do_not_fit_are_refused(resource: list[list[float]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        minimise_within(complete(2), [np.array(table) for table in resource], 3)
