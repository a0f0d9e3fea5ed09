"""Units are costed as far as the shortest step depends on them: the plan is that with all of them costed."""

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import pairwise, product
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from npuc.compiler.analysis.sharding.cost.cost_terms import TypeSequence
from npuc.compiler.analysis.sharding.cost.step_time import key_of
from npuc.compiler.driver.costing.needed_units import Seconds, needed_seconds
from npuc.compiler.driver.costing.unit_times import CountedUnits, Rows

SEQUENCES: tuple[TypeSequence, ...] = (("I", "I"), ("I", "II"), ("II", "I"), ("II", "II"))


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 8))
def test_the_plan_is_that_with_all_units_costed(seed: int, groups: int, units: int) -> None:
    """Seconds are small whole numbers, so that many plans are equally short."""
    r = Random(seed)
    keys = sorted(set(map(key_of, SEQUENCES)))

    def some() -> Counter[int]:
        return Counter(r.choices(range(units), k=r.randint(0, 3)))

    counted = CountedUnits(tuple({key: some() for key in keys} for _ in range(groups)), some())
    rows: Rows = {str(n): [float(r.randint(0, 4)) for _ in range(r.randint(0, 3))] for n in range(units)}
    least: Rows = {name: [row * r.choice([0, 0.5, 1]) for row in own] for name, own in rows.items()}
    moved = {pair: float(r.randint(0, 3)) for pair in product(SEQUENCES, repeat=2)}
    asked: list[int] = []

    def costed(wanted: Collection[int]) -> Rows:
        asked.extend(wanted)
        return {str(unit): rows[str(unit)] for unit in wanted}

    def length(seconds: Seconds, plan: Sequence[TypeSequence]) -> float:
        work = sum(own[key_of(sequence)] for own, sequence in zip(seconds[0], plan, strict=True))
        return seconds[1] + work + sum(moved[pair] for pair in pairwise(plan))

    def shortest(seconds: Seconds) -> Sequence[TypeSequence]:
        return min(product(SEQUENCES, repeat=groups), key=lambda plan: length(seconds, plan))

    found, whole = needed_seconds(counted, least, costed, shortest), counted.seconds(rows)
    plan = shortest(whole)
    assert shortest(found) == plan
    assert length(found, plan) == length(whole, plan)
    assert found[1] == whole[1]
    assert len(asked) == len(set(asked))
    for own, known in zip(found[0], whole[0], strict=True):
        assert all(own[key] <= known[key] for key in known)


def test_units_that_are_too_long_by_their_bounds_are_not_costed() -> None:
    counted = CountedUnits(({"I I": Counter([0]), "II II": Counter([1])},), Counter([2]))
    asked: list[int] = []

    def costed(wanted: Collection[int]) -> Rows:
        asked.extend(wanted)
        return {str(unit): [3.0] for unit in wanted}

    def shortest(seconds: Seconds) -> Sequence[TypeSequence]:
        return [min((("I", "I"), ("II", "II")), key=lambda sequence: seconds[0][0][key_of(sequence)])]

    found = needed_seconds(counted, {"0": [1.0], "1": [4.0], "2": [0.0]}, costed, shortest)
    assert (found, asked) == ((({"I I": 3.0, "II II": 4.0},), 3.0), [2, 0])
