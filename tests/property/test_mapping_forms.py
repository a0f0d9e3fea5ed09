"""Directives to cluster form and back: the same points on the same elements in the same steps."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import chain, product
from math import prod
from typing import TypeAlias

from hypothesis import assume, event, example, given, settings
from hypothesis import strategies as st

from npuc.compiler.analysis.mapping.convert import normal, to_clusters, to_maestro
from npuc.compiler.analysis.mapping.coverage import coverage
from npuc.compiler.analysis.mapping.walk import computed, leaves, plan_of, plan_of_clusters
from npuc.dialects.mapping import Cluster, Clusters, Directive, Map, Mapping, Problem, Sz
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


@st.composite
def mapped(draw: st.DrawFn) -> tuple[Nest, Mapping, int]:
    """The product of a layer or a gradient of it, a mapping that computes it, and processing elements enough."""
    nest = nest_of(draw(layers()))
    if draw(st.integers(0, 3)) == 0:
        nest = gradient_of(nest, draw(st.sampled_from(("dX", "dW"))))
    problems = [one.problem(nest) for one in layouts(nest)]
    assume(problems)
    mapping = draw(mappings(draw(st.sampled_from(problems))))
    num_pes = draw(st.integers(1, 4)) * prod(mapping.clusters)
    assume(not coverage(mapping, num_pes))
    return nest, mapping, num_pes


def strip(rows: int, taps: int, stride: int, *directives: Directive) -> tuple[Nest, Mapping, int]:
    """A depthwise convolution of one column and its mapping, on as many processing elements as taps and clusters."""
    dims = (("C", 1), ("R", taps), ("S", 1), ("Y", rows), ("X", 1))
    mapping = Mapping(Problem("DSCONV", dims, (("Y", stride), ("X", 1))), directives)
    return nest_of(mapping.problem), mapping, taps * prod(mapping.clusters)


TAPS_AFTER_TAPS = (
    *(Map("R", 2, 2, spatial=True), Map("X'", 1, 1), Map("S", Sz("S"), Sz("S")), Cluster(2)),
    *(Map("Y", 1, 1, spatial=True), Map("R", 1, 1, spatial=True)),
)
"""Inside taps 2 and 3 of all rows, the row of a tap is another one than the first."""
ROWS_LEFT_OVER = (
    *(Map("Y", 4, 2, spatial=True), Map("R", 2, 2, spatial=True), Cluster(1)),
    *(Map("Y", 3, 2, spatial=True), Cluster(1), Map("Y", 2, 2, spatial=True)),
)
"""Of 3 rows with one window of 2 taps, 2 apart from the next, the last row is a tile with nothing to compute."""


@given(mapped())
@example(strip(3, 3, 1, *TAPS_AFTER_TAPS))
@example(strip(8, 6, 2, *ROWS_LEFT_OVER))
@settings(max_examples=300)
def test_directives_in_cluster_form_do_the_same(drawn: tuple[Nest, Mapping, int]) -> None:
    nest, mapping, num_pes = drawn
    assert not coverage(mapping, num_pes)
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
