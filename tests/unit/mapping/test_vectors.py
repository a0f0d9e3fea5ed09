"""Mappings as vectors of real numbers: any vector is a legal mapping, and each mapping has a vector."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from npuc.compiler.analysis.mapping.exact.contraction import contraction_of
from npuc.compiler.explore.mapping.genomes import Expression, mapping_hashes
from npuc.compiler.explore.mapping.mappers.random import RandomGenomes, content_of
from npuc.compiler.explore.mapping.space import MapSpace
from npuc.compiler.explore.mapping.vectors import VectorCode, reflected
from npuc.compiler.explore.seeds import generator
from npuc.dialects.mapping import Problem
from tests.unit.mapping.test_genetic import LAYER, assert_legal
from tests.unit.mapping.test_search import space

PRODUCT = contraction_of(Problem("GEMM", (("M", 12), ("N", 1), ("K", 9))))
POINT = contraction_of(Problem("GEMM", (("M", 1), ("N", 1), ("K", 1))))


@st.composite
def spaces(draw: st.DrawFn) -> MapSpace:
    work = draw(st.sampled_from((LAYER, PRODUCT, POINT)))
    return space(work, 8, draw(st.integers(1, 3)), draw(st.integers(1, 3)), any_tile=draw(st.booleans()))


@given(found=spaces(), data=st.data())
@settings(max_examples=60, deadline=None)
def test_any_vector_is_a_legal_mapping(found: MapSpace, data: st.DataObject) -> None:
    code = VectorCode(found)
    numbers = st.floats(-1e6, 1e6) | st.sampled_from((0.0, 1.0, -1.0, 0.5, 2.0))
    vectors = data.draw(arrays(np.float64, (code.size, 5), elements=numbers))
    assert_legal(found, Expression(found, None).candidates(code.decode(vectors)))


@given(found=spaces(), seed=st.integers(0, 999))
@settings(max_examples=60, deadline=None)
def test_each_mapping_has_a_vector(found: MapSpace, seed: int) -> None:
    expression, code = Expression(found, None), VectorCode(found)
    genomes = RandomGenomes(found, generator(seed, *content_of(found))).draw(32)
    genomes.share[:, ::5] = 1.0  # nothing is spread
    mappings = expression.candidates(genomes)
    vectors = code.encode(genomes)
    assert vectors.shape == (code.size, 32)
    again = expression.candidates(code.decode(vectors))
    assert (mapping_hashes(again, found.dims) == mapping_hashes(mappings, found.dims)).all()
    # Close by is the same mapping: an encoded vector is no border of what it means.
    near = expression.candidates(code.decode(vectors + np.where(seed % 2, 1e-7, -1e-7)))
    assert (near.fanouts == mappings.fanouts).all()
    for one, other in zip(near.levels, mappings.levels, strict=True):
        assert (one.spatial == other.spatial).all()


@pytest.mark.parametrize(
    ("value", "inside"), [(0.25, 0.25), (1.25, 0.75), (-0.25, 0.25), (2.25, 0.25), (-1.75, 0.25), (1.0, 1.0)]
)
def test_numbers_outside_are_reflected(value: float, inside: float) -> None:
    assert reflected(np.array([value]))[0] == pytest.approx(inside)
