"""Whether a mapping computes each point once: the verdict by groups against a visit of every tile."""

from collections import Counter
from itertools import product

from hypothesis import event, given, settings
from hypothesis import strategies as st

from npuc.compiler.analysis.mapping.coverage import coverage, enough
from npuc.compiler.analysis.mapping.walk import computed, leaves, plan_of
from npuc.dialects.mapping import Mapping
from tests.mappings import layers, mappings, times_computed


def machine(mapping: Mapping, top: int) -> int:
    size = top
    for cluster in mapping.clusters:
        size *= cluster
    return size


@given(st.data())
@settings(max_examples=600)
def test_legal_is_every_point_once(data: st.DataObject) -> None:
    problem = data.draw(layers())
    mapping = data.draw(mappings(problem))
    assert next(mapping.problems(), None) is None
    num_pes = machine(mapping, data.draw(st.integers(1, 5)))
    found = times_computed(mapping, num_pes)
    points = list(product(*(range(problem.outputs(dim)) for dim in problem.named)))
    assert set(found) <= set(points)
    once = all(found[point] == 1 for point in points)
    event(f"legal: {once}, levels: {len(mapping.levels)}")
    problems = coverage(mapping, num_pes)
    assert (not problems) == once, problems


@given(st.data())
@settings(max_examples=150)
def test_the_walk_visits_the_same_points(data: st.DataObject) -> None:
    problem = data.draw(layers())
    mapping = data.draw(mappings(problem))
    num_pes = machine(mapping, data.draw(st.integers(1, 4)))
    found: Counter[tuple[int, ...]] = Counter()
    busy: set[tuple[int, int]] = set()
    for leaf in leaves(plan_of(mapping, num_pes)):
        assert 0 <= leaf.element < num_pes
        assert (leaf.step, leaf.element) not in busy
        busy.add((leaf.step, leaf.element))
        ranges = computed(problem, leaf.ranges)
        if ranges is not None:
            found.update(product(*(range(*ranges[dim]) for dim in problem.named)))
    assert found == times_computed(mapping, num_pes)
    assert {step for step, _ in busy} == set(range(1 + max(step for step, _ in busy)))


@given(st.data())
@settings(max_examples=150)
def test_the_number_of_elements_matters_to_two_maps_at_the_top_only(data: st.DataObject) -> None:
    mapping = data.draw(mappings(data.draw(layers())))
    verdicts = {not coverage(mapping, machine(mapping, top)) for top in (1, 2, 3, 5)}
    verdicts.add(not coverage(mapping, enough(mapping)))
    assert len(verdicts) == 1 or sum(one.spatial for one in mapping.levels[0]) > 1
