"""Which layers a nest is: convolutions of all kinds, products, gradients; and where a mapping is of another one."""

import pytest

from npuc.dialects.mapping import Problem
from npuc.dialects.mapping.problem import KindName
from npuc.dialects.npu.mapped import layout_of, layouts, problem_of
from tests.unit.mapping.texts import nest_of


def layer(kind: KindName, strides: dict[str, int] | None = None, **sizes: int) -> Problem:
    return Problem(kind, tuple(sizes.items()), tuple((strides or {}).items()))


CONV = """(b = 2, o = 8, i = 3, y = 112, x = 112, r = 7, s = 5)
    ins(X = 2x3x224x224[b, i, y * 2 + r - 3, x * 2 + s - 2], W = 8x3x7x5[o, i, r, s]) outs(Y = 2x8x112x112[b, o, y, x])
    do(Y += X * W)"""
UNEVEN = """(b = 1, o = 8, i = 3, y = 3, x = 1, r = 3, s = 3)
    ins(X = 1x3x8x3[b, i, y * 2 + r, x + s], W = 8x3x3x3[o, i, r, s]) outs(Y = 1x8x3x1[b, o, y, x]) do(Y += X * W)"""
DX = """(b = 2, o = 8, i = 3, y = 4, x = 4, r = 3, s = 3) ins(dY = 2x8x4x4[b, o, y, x], W = 8x3x3x3[o, i, r, s])
    outs(dX = 2x3x8x8[b, i, y * 2 + r - 1, x * 2 + s - 1]) do(dX += dY * W)"""
DW = """(b = 2, o = 8, i = 3, y = 4, x = 4, r = 3, s = 3) ins(X = 2x3x8x8[b, i, y * 2 + r - 1, x * 2 + s - 1],
    dY = 2x8x4x4[b, o, y, x]) outs(dW = 8x3x3x3[o, i, r, s]) do(dW += X * dY)"""
TRANSPOSED = """(b = 2, i = 8, o = 3, y = 4, x = 4, r = 3, s = 3) ins(X = 2x8x4x4[b, i, y, x], W = 8x3x3x3[i, o, r, s])
    outs(Y = 2x3x9x9[b, o, y * 2 + r, x * 2 + s]) do(Y += X * W)"""
DEPTHWISE = """(b = 2, i = 8, y = 6, x = 6, r = 3, s = 3) ins(X = 2x8x8x8[b, i, y + r, x + s], W = 8x1x3x3[i, 0, r, s])
    outs(Y = 2x8x6x6[b, i, y, x]) do(Y += X * W)"""
MULTIPLIED = """(b = 2, i = 8, o = 2, y = 6, x = 6, r = 3, s = 3) ins(X = 2x8x8x8[b, i, y + r, x + s],
    W = 16x1x3x3[i * 2 + o, 0, r, s]) outs(Y = 2x16x6x6[b, i * 2 + o, y, x]) do(Y += X * W)"""
GROUPED = """(b = 2, g = 4, o = 2, i = 3, y = 6, x = 6, r = 3, s = 3) ins(X = 2x12x8x8[b, g * 3 + i, y + r, x + s],
    W = 8x3x3x3[g * 2 + o, i, r, s]) outs(Y = 2x8x6x6[b, g * 2 + o, y, x]) do(Y += X * W)"""
ONE_TAP = """(b = 2, o = 8, i = 3, y = 4, x = 4) ins(X = 2x3x8x8[b, i, y * 2, x * 2], W = 8x3x1x1[o, i, 0, 0])
    outs(Y = 2x8x4x4[b, o, y, x]) do(Y += X * W)"""
DILATED = """(b = 2, o = 8, i = 3, y = 4, x = 4, r = 3, s = 3) ins(X = 2x3x8x8[b, i, y + r * 2, x + s * 2],
    W = 8x3x3x3[o, i, r, s]) outs(Y = 2x8x4x4[b, o, y, x]) do(Y += X * W)"""
PRODUCT = "(m = 6, n = 4, k = 8) ins(X = 6x8[m, k], W = 8x4[k, n]) outs(Y = 6x4[m, n]) do(Y += X * W)"
BATCHED = """(b = 3, m = 6, n = 4, k = 8) ins(X = 3x6x8[b, m, k], W = 3x8x4[b, k, n]) outs(Y = 3x6x4[b, m, n])
    do(Y += X * W)"""
FUSED = """(m = 6, n = 4, k = 8) ins(dY = 6x4[m, n], W = 8x4[k, n], X = 6x8[m, k]) outs(dX = 6x8[m, k], dW = 8x4[k, n])
    do(dX += dY * W, dW += X * dY)"""

LAYERS = [
    (CONV, layer("CONV", {"Y": 2, "X": 2}, N=2, K=8, C=3, R=7, S=5, Y=230, X=228)),
    (UNEVEN, layer("CONV", {"Y": 2}, K=8, C=3, R=3, S=3, Y=8, X=3)),
    (DX, layer("GEMM", M=2 * 4 * 4, N=3 * 3 * 3, K=8)),
    (DW, layer("GEMM", M=3 * 3 * 3, N=8, K=2 * 4 * 4)),
    (TRANSPOSED, layer("TRCONV", {"Y": 2, "X": 2}, N=2, K=3, C=8, R=3, S=3, Y=9, X=9)),
    (DEPTHWISE, layer("DSCONV", N=2, C=8, R=3, S=3, Y=8, X=8)),
    (MULTIPLIED, layer("NGCONV", N=2, G=8, K=2, C=1, R=3, S=3, Y=8, X=8)),
    (GROUPED, layer("NGCONV", N=2, G=4, K=2, C=3, R=3, S=3, Y=8, X=8)),
    (ONE_TAP, layer("CONV", {"Y": 2, "X": 2}, N=2, K=8, C=3, R=1, S=1, Y=8, X=8)),
    (DILATED, layer("GEMM", M=2 * 4 * 4, N=8, K=3 * 3 * 3)),
    (PRODUCT, layer("GEMM", M=6, N=4, K=8)),
    (BATCHED, layer("NGCONV", G=3, N=6, K=4, C=8, R=1, S=1, Y=1, X=1)),
]


@pytest.mark.parametrize(("text", "expected"), LAYERS)
def test_the_layer_that_a_nest_is(text: str, expected: Problem) -> None:
    nest = nest_of(text)
    found = problem_of(nest)
    assert found is not None
    assert (found.kind, found.sizes, found.stride) == (expected.kind, expected.sizes, expected.stride)
    assert found.macs == nest.points
    assert next(found.problems(), None) is None


@pytest.mark.parametrize("text", [text for text, _ in LAYERS])
def test_every_layer_that_a_nest_is_has_its_points(text: str) -> None:
    nest = nest_of(text)
    for one in layouts(nest):
        assert one.problem(nest).macs == nest.points
        assert not isinstance(layout_of(nest, one.problem(nest)), str)


def test_the_input_may_be_larger_than_the_windows_reach() -> None:
    nest = nest_of(CONV)
    said = {228: "Y' is 111, the nest has y = 112", 229: None, 230: None, 231: "Y' is 113, the nest has y = 112"}
    for rows, message in said.items():
        found = layout_of(nest, layer("CONV", {"Y": 2, "X": 2}, N=2, K=8, C=3, R=7, S=5, Y=rows, X=228))
        expected = None if message is None else f"the mapping is of another CONV: {message}"
        assert (found if isinstance(found, str) else None) == expected


def test_rows_of_a_product_are_one_of_three_dimensions() -> None:
    nest = nest_of(PRODUCT)
    for rows in ("N", "Y", "X"):
        sizes = {"K": 4, "C": 8, "R": 1, "S": 1, "Y": 1, "X": 1} | {rows: 6}
        found = layout_of(nest, Problem("CONV", tuple(sizes.items())))
        assert not isinstance(found, str)
        assert dict(found.dims)[rows] == ("m",)
    assert "N is 2" in str(layout_of(nest, layer("CONV", N=2, K=4, C=8, R=1, S=1, Y=3, X=1)))


def test_several_statements_are_no_layer() -> None:
    nest = nest_of(FUSED)
    assert problem_of(nest) is None
    assert "2 statements" in str(layout_of(nest, layer("GEMM", M=6, N=8, K=4)))


def test_gradients_stand_for_flattened_dimensions() -> None:
    view = layout_of(nest_of(DW), layer("GEMM", M=27, N=8, K=32))
    assert not isinstance(view, str)
    assert dict(view.dims) == {"M": ("i", "r", "s"), "N": ("o",), "K": ("b", "y", "x")}
