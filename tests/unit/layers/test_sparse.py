"""Pruning by each pattern against masks found independently, and what is refused of it."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import ceil, prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import f32, f64, i1
from xdsl.ir import Attribute, Block
from xdsl.utils.exceptions import VerifyException

from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Array
from npuc.compiler.layers.pruning import block_mask, magnitude_mask, structured_mask, uniform_mask
from npuc.dialects.sparse import sparse_type
from npuc.dialects.sparse_formats import Bitmap, Blocks, CompressedColumns, CompressedRows, Structured, most_kept
from npuc.dialects.tensors import tensor_of
from npuc.dialects.train.base import Param
from npuc.dialects.train.sparse import CompressOp, PruneOp

SHAPES = st.lists(st.integers(1, 7), min_size=1, max_size=3).map(tuple)
DENSITIES = st.fractions(Fraction(1, 50), 1, max_denominator=50)


@st.composite
def tensors(draw: st.DrawFn) -> Array:
    """Tensors of few values, so that there are ties."""
    shape = draw(SHAPES)
    values = draw(st.lists(st.integers(-4, 4), min_size=prod(shape), max_size=prod(shape)))
    return np.array(values, np.float32).reshape(shape)


def best(scores: Sequence[float], count: int) -> set[int]:
    """The places of the largest scores, of equal ones the first."""
    return set(sorted(range(len(scores)), key=lambda place: (-scores[place], place))[:count])


def places(mask: Array) -> set[int]:
    return set(np.flatnonzero(mask).tolist())


@given(tensors(), DENSITIES)
def test_magnitudes_keep_exactly_so_many(x: Array, density: Fraction) -> None:
    expected = best([abs(value) for value in x.reshape(-1).tolist()], ceil(density * x.size))
    assert places(magnitude_mask(x, density)) == expected


@given(tensors(), st.integers(2, 5).flatmap(lambda of: st.tuples(st.integers(1, of), st.just(of))), st.data())
def test_groups_keep_so_many_each(x: Array, counts: tuple[int, int], data: st.DataObject) -> None:
    kept, of = counts
    axis = data.draw(st.integers(0, x.ndim - 1))
    mask = structured_mask(x, kept, of, axis)
    for index in np.ndindex(*(size for a, size in enumerate(x.shape) if a != axis)):
        line: Any = (*index[:axis], slice(None), *index[axis:])
        values, found = x[line].tolist(), mask[line].tolist()
        for start in range(0, len(values), of):
            group = [abs(value) for value in values[start : start + of]]
            assert {n for n, one in enumerate(found[start : start + of]) if one} == best(group, kept)
    format = Structured(kept, of, (axis,))
    assert mask.sum() == most_kept(format, format.density, x.shape)


@given(tensors(), DENSITIES, st.data())
def test_blocks_are_kept_whole(x: Array, density: Fraction, data: st.DataObject) -> None:
    block = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=x.ndim)))
    sizes = (*(1,) * (x.ndim - len(block)), *block)
    parts = [
        tuple(slice(start, start + size) for start, size in zip(starts, sizes, strict=True))
        for starts in product(*(range(0, length, size) for length, size in zip(x.shape, sizes, strict=True)))
    ]
    mask = block_mask(x, block, density)
    kept = best([float(np.square(x[part]).sum()) for part in parts], ceil(density * len(parts)))
    for number, part in enumerate(parts):
        assert mask[part].all() == mask[part].any() == (number in kept)
    assert mask.sum() <= most_kept(Blocks(block), density, x.shape)


@given(SHAPES, DENSITIES, DENSITIES, st.integers(0, 9))
def test_chance_keeps_exactly_so_many_and_is_nested(
    shape: tuple[int, ...], one: Fraction, other: Fraction, seed: int
) -> None:
    low, high = sorted((one, other))
    masks = [uniform_mask(shape, density, seed) for density in (low, high)]
    assert [int(mask.sum()) for mask in masks] == [ceil(density * prod(shape)) for density in (low, high)]
    assert not (masks[0] & ~masks[1]).any()


def test_independent_chance_keeps_so_many_on_average() -> None:
    counts = [int(uniform_mask((40, 50), Fraction(1, 5), seed, independent=True).sum()) for seed in range(40)]
    assert len(set(counts)) > 5
    # of 80,000 draws the mean of all is within 5 deviations
    assert abs(sum(counts) - 16_000) < 5 * (80_000 * 0.2 * 0.8) ** 0.5


def test_what_is_no_number_is_kept() -> None:
    x = np.array([1.0, np.nan, 3.0, -5.0])
    assert places(magnitude_mask(x, Fraction(1, 2))) == {1, 3}
    assert places(structured_mask(x, 1, 2, 0)) == {1, 3}


def built(shape: Sequence[int], element: Attribute = f32, *beside: Any, result: Any = None, **params: Param) -> PruneOp:
    block = Block(arg_types=[tensor_of(f32, shape), *beside])
    out = tensor_of(element if result is None else result, shape)
    return PruneOp(*block.args, results=[out], **params)


@given(tensors(), DENSITIES, st.integers(-3, 3))
@settings(max_examples=30)
def test_what_is_dropped_is_zero_or_beta_times_itself(x: Array, density: Fraction, beta: int) -> None:
    layer, mask = get_layer(PruneOp), magnitude_mask(x, density)
    said: dict[str, Any] = {"kept": density.numerator, "of": density.denominator}
    (plain,) = layer.evaluate(built(x.shape, **said), x)
    (scaled,) = layer.evaluate(built(x.shape, f32, tensor_of(f32, ()), **said), x, np.array(beta, np.float32))
    assert np.array_equal(plain, np.where(mask, x, 0))
    assert np.array_equal(scaled, np.where(mask, x, beta * x))
    mask_type = tensor_of(i1, x.shape)
    (by_mask,) = layer.evaluate(built(x.shape, f32, mask_type, pattern="given"), x, mask)
    assert np.array_equal(by_mask, plain)


def test_compressing_changes_nothing() -> None:
    block = Block(arg_types=[tensor_of(f32, (2, 3))])
    op = CompressOp(*block.args, results=[tensor_of(sparse_type(f32, Fraction(1, 2), Bitmap()), (2, 3))])
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert get_layer(op).evaluate(op, x)[0] is x
    assert get_layer(op).work(op).vector_ops == 2 * 6


@pytest.mark.parametrize(
    ("params", "beside", "ops", "again"),
    [
        ({"kept": 1, "of": 2}, (), 3, True),
        ({"pattern": "uniform"}, (), 2, False),
        ({"pattern": "n:m", "kept": 2, "of": 4}, (), 5, False),
        ({"pattern": "blocks", "block": (2, 2)}, (), 5, True),
        ({"pattern": "given"}, (tensor_of(i1, (4, 6)),), 1, False),
        ({"pattern": "given"}, (tensor_of(i1, (4, 6)), tensor_of(f32, ())), 2, False),
    ],
)
def test_work_of_pruning(params: dict[str, Param], beside: tuple[Any, ...], ops: int, again: bool) -> None:
    op = built((4, 6), f32, *beside, **params)
    work = get_layer(op).work(op)
    assert work.vector_ops == ops * 24
    assert (work.reread is not None) == again


def sparse(kept: int, of: int, format: Any) -> Attribute:
    return sparse_type(f32, Fraction(kept, of), format)


@pytest.mark.parametrize(
    ("beside", "params", "message"),
    [
        ((), {"pattern": "best"}, "pattern is 'best', expected one of magnitude, uniform, n:m, blocks, given"),
        ((), {"kept": 3, "of": 2}, "kept is 3 of 2, expected 1 to 2"),
        ((), {"pattern": "n:m", "axis": 2}, "axis is 2, expected one of x, which has 2"),
        ((), {"pattern": "blocks"}, r"block is \[\], expected sizes along the last axes of x with blocks alone"),
        ((), {"block": (2,)}, r"block is \[2\], expected sizes"),
        ((), {"independent": True}, "independent has no effect on pattern 'magnitude'"),
        ((), {"pattern": "given"}, "found no mask, expected one with pattern 'given'"),
        ((tensor_of(i1, (6, 4)),), {"pattern": "given"}, "the mask is 6x4 of i1, expected 4x6 of bool as x is"),
        ((tensor_of(f32, (4, 6)),), {"pattern": "given"}, "the mask is 4x6 of f32, expected 4x6 of bool"),
        ((tensor_of(f32, ()),) * 2, {}, "found 2 operands where beta is, expected one or none"),
        ((tensor_of(f32, ()),), {"result": sparse(1, 2, Bitmap())}, "times beta is not zero: expected a dense result"),
        ((), {"result": f64}, "values of the result are f64, expected f32 as of x"),
        ((), {"result": sparse(1, 2, CompressedRows(4))}, "csr<4> has a length of 4, expected 6"),
        ((), {"result": sparse(1, 2, CompressedColumns(6))}, "csc<6> has a length of 6, expected 4"),
        ((), {"result": sparse(1, 2, Structured(2, 4, (2,)))}, "groups along axis 2 of a tensor of 2 axes"),
        ((), {"result": sparse(1, 2, Blocks((2, 2, 2)))}, "blocks of 3 axes, the tensor has 2"),
    ],
)
def test_what_is_no_pruning_is_refused(beside: tuple[Any, ...], params: dict[str, Any], message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        built((4, 6), f32, *beside, **params)


def test_results_of_compressing_are_sparse() -> None:
    block = Block(arg_types=[tensor_of(f32, (2, 3))])
    with pytest.raises(VerifyException, match=r"the result has elements of f32, expected !npu\.sparse"):
        CompressOp(*block.args, results=[tensor_of(f32, (2, 3))])
