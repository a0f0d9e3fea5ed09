"""A contraction with a mapping is the one without: forward, gradients, in both forms."""

from dataclasses import replace

import numpy as np
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from npuc.compiler.analysis.mapping.boxes import boxes
from npuc.compiler.analysis.mapping.coverage import coverage, enough
from npuc.compiler.interpreter.contraction import contract
from npuc.dialects.mapping import Clusters, Mapping
from npuc.dialects.npu.mapped import layouts
from npuc.dialects.npu.nest import Axis, Nest, Tensor
from tests.mappings import clusters, gradient_of, layers, mappings, nest_of


@st.composite
def nests(draw: st.DrawFn) -> Nest:
    """A product of any kind, or a gradient of it, with padding or without."""
    nest = nest_of(draw(layers()))
    part = draw(st.sampled_from(("Y", "Y", "dX", "dW")))
    if part != "Y":
        nest = gradient_of(nest, part)
    pad = draw(st.integers(0, 1))
    windows = {
        n: t for n, t in nest.tensors.items() if any(len(axis.terms) == 2 and "g" not in axis.dims for axis in t.axes)
    }

    def padded(tensor: Tensor) -> Tensor:
        if tensor.name not in windows:
            return tensor
        axes = tuple(Axis(a.terms, -pad) if set(a.dims) & set("yx") else a for a in tensor.axes)
        return replace(tensor, axes=axes)

    return replace(nest, ins=tuple(map(padded, nest.ins)), outs=tuple(map(padded, nest.outs)))


def check(nest: Nest, mapping: Mapping | Clusters, seed: int) -> None:
    random = np.random.default_rng(seed)
    arrays = {t.name: random.integers(-4, 5, t.shape).astype(np.float64) for t in nest.ins}
    found = boxes(nest, mapping)
    assert not isinstance(found, str), found
    for mine, expected in zip(contract(nest, arrays, found), contract(nest, arrays), strict=True):
        np.testing.assert_array_equal(mine, expected)


@given(st.data(), st.integers(0, 1000))
@settings(max_examples=120)
def test_cluster_form_computes_the_contraction(data: st.DataObject, seed: int) -> None:
    nest = data.draw(nests())
    check(nest, data.draw(clusters(nest.sizes)), seed)


@given(st.data(), st.integers(0, 1000))
@settings(max_examples=200)
def test_directives_compute_the_contraction_or_are_refused(data: st.DataObject, seed: int) -> None:
    nest = data.draw(nests())
    problems = [one.problem(nest) for one in layouts(nest)]
    assume(problems)
    mapping = data.draw(mappings(data.draw(st.sampled_from(problems))))
    wrong = coverage(mapping, enough(mapping))
    event("refused" if wrong else "computed")
    if wrong:
        assert boxes(nest, mapping) == wrong[0]
    else:
        check(nest, mapping, seed)
