"""Mappings by name: legal for every product on every machine, and the same work in both forms."""

from collections import Counter
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.analysis.mapping.named.clusters import named_clusters
from npuc.compiler.analysis.mapping.named.directives import mapping_for, named_mapping
from npuc.compiler.analysis.mapping.named.templates import TEMPLATES, Template
from npuc.compiler.analysis.mapping.walk import leaves, plan_of_clusters
from npuc.dialects.mapping import Problem
from npuc.dialects.npu.nest import Axis, Nest, Statement, Tensor
from tests.mappings import gradient_of, layers, nest_of


def plain(m: int, n: int, k: int, batch: int) -> Nest:
    """A product over m, n, k, with a batch of two axes if it is more than one."""
    lead = [("b0", batch), ("b1", 2)] if batch > 1 else []

    def tensor(name: str, *dims: tuple[str, int]) -> Tensor:
        own = [*lead, *dims]
        return Tensor(name, tuple(size for _, size in own), tuple(Axis(((dim, 1),)) for dim, _ in own))

    x, w, y = tensor("X", ("m", m), ("k", k)), tensor("W", ("k", k), ("n", n)), tensor("Y", ("m", m), ("n", n))
    dims = (*lead, ("m", m), ("n", n), ("k", k))
    return Nest(dims, (x, w), (y,), (None,), (Statement("Y", "X", "W"),))


@st.composite
def nests(draw: st.DrawFn) -> Nest:
    """A layer or a product, or a gradient of it."""
    if draw(st.integers(0, 2)):
        nest = nest_of(draw(layers()))
    else:
        nest = plain(*(draw(st.integers(1, 5)) for _ in range(4)))
    out = draw(st.sampled_from(("Y", "dX", "dW")))
    return nest if out == "Y" else gradient_of(nest, out)


@given(nests(), st.sampled_from(TEMPLATES), st.integers(1, 40))
@settings(max_examples=400)
def test_named_mappings_compute_each_point_once(nest: Nest, template: Template, num_pes: int) -> None:
    mapping = named_clusters(template, nest, nest.statements[0], num_pes)
    assert list(mapping.problems(nest.sizes)) == []
    assert mapping.processing_elements <= num_pes
    found: Counter[tuple[int, ...]] = Counter()
    for leaf in leaves(plan_of_clusters(mapping, nest.sizes)):
        found.update(product(*(range(*leaf.ranges[dim]) for dim in nest.sizes)))
    assert set(found.values()) == {1}
    assert len(found) == nest.points


@given(nests(), st.sampled_from(TEMPLATES), st.integers(1, 200))
@settings(max_examples=200)
def test_named_mappings_by_directives_are_right_as_written(nest: Nest, template: Template, num_pes: int) -> None:
    mapping = named_mapping(template, nest, num_pes)
    assert mapping is not None
    assert list(mapping.problems()) == []
    assert mapping.problem.macs == nest.points
    inner = 1
    for size in mapping.clusters:
        inner *= size
    assert inner <= num_pes


@given(layers(), st.sampled_from(TEMPLATES))
@settings(max_examples=100)
def test_directives_of_a_layer_are_of_that_layer(problem: Problem, template: Template) -> None:
    mapping = mapping_for(template, problem, 1000)
    assert mapping.problem is problem
    assert list(mapping.problems()) == []
