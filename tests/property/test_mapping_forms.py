"""Directives to cluster form and back: the same points on the same elements in the same steps."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import chain, product
from typing import TypeAlias

from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from npuc.compiler.analysis.mapping.convert import normal, to_clusters, to_maestro
from npuc.compiler.analysis.mapping.coverage import coverage
from npuc.compiler.analysis.mapping.walk import computed, leaves, plan_of, plan_of_clusters
from npuc.dialects.mapping import Clusters, Mapping
from npuc.dialects.npu.mapped import Layout, layout_of, layouts
from npuc.dialects.npu.nest import Nest
from tests.mappings import clusters, gradient_of, layers, mappings, nest_of

Work: TypeAlias = AbstractSet[tuple[int, int, tuple[int, ...]]]
"""Steps, elements and points of the nest."""


def work_of_clusters(mapping: Clusters, nest: Nest) -> Work:
    found = leaves(plan_of_clusters(mapping, nest.sizes))
    return {
        (leaf.step, leaf.element, point)
        for leaf in found
        for point in product(*(range(*leaf.ranges[dim]) for dim in nest.sizes))
    }


def work_of_directives(mapping: Mapping, nest: Nest, num_pes: int) -> Work:
    layout = layout_of(nest, mapping.problem)
    assert isinstance(layout, Layout)
    order = [dim for _, own in layout.dims for dim in own]
    alone = {dim: 0 for dim in nest.sizes if dim not in order}  # of one point, no dimension of the layer stands for it
    assert all(nest.sizes[dim] == 1 for dim in alone)
    found: set[tuple[int, int, tuple[int, ...]]] = set()
    for leaf in leaves(plan_of(mapping, num_pes)):
        ranges = computed(mapping.problem, leaf.ranges)
        if ranges is not None:
            parts = [_indices(ranges.get(name, (0, 1)), [nest.sizes[d] for d in own]) for name, own in layout.dims]
            for point in product(*parts):
                index = alone | dict(zip(order, chain(*point), strict=True))
                found.add((leaf.step, leaf.element, tuple(index[dim] for dim in nest.sizes)))
    return found


def _indices(span: tuple[int, int], sizes: Sequence[int]) -> list[tuple[int, ...]]:
    """The indices of a range along several dimensions, the last of them innermost."""
    return list(product(*map(range, sizes)))[slice(*span)]


@given(st.data())
@settings(max_examples=300)
def test_directives_in_cluster_form_do_the_same(data: st.DataObject) -> None:
    nest = nest_of(data.draw(layers()))
    if data.draw(st.integers(0, 3)) == 0:
        nest = gradient_of(nest, data.draw(st.sampled_from(("dX", "dW"))))
    problems = [one.problem(nest) for one in layouts(nest)]
    assume(problems)
    mapping = data.draw(mappings(data.draw(st.sampled_from(problems))))
    num_pes = data.draw(st.integers(1, 4))
    for size in mapping.clusters:
        num_pes *= size
    assume(not coverage(mapping, num_pes))
    found = to_clusters(mapping, nest, num_pes)
    event("converted" if isinstance(found, Clusters) else found)
    if isinstance(found, Clusters):
        assert next(found.problems(nest.sizes), None) is None
        assert found == normal(found, nest.sizes)
        assert work_of_clusters(found, nest) == work_of_directives(mapping, nest, num_pes)


@given(st.data())
@settings(max_examples=250)
def test_cluster_form_in_directives_does_the_same_and_comes_back(data: st.DataObject) -> None:
    nest = nest_of(data.draw(layers()))
    taps = data.draw(st.integers(0, 3)) == 0
    mapping = data.draw(clusters({dim: size for dim, size in nest.sizes.items() if taps or dim not in "rs"}, shared=1))
    found = to_maestro(mapping, nest)
    event("converted" if isinstance(found, Mapping) else found)
    if isinstance(found, Mapping):
        assert next(found.problems(), None) is None
        assert coverage(found, mapping.processing_elements) == ()
        assert to_clusters(found, nest, mapping.processing_elements) == normal(mapping, nest.sizes)
        assert work_of_directives(found, nest, mapping.processing_elements) == work_of_clusters(mapping, nest)
