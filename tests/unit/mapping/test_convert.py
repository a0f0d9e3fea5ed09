"""Known mappings in the other form, and what has no words there."""

import pytest

from npuc.compiler.analysis.mapping.convert import normal, to_clusters, to_maestro
from npuc.dialects.mapping import Mapping
from npuc.dialects.mapping.syntax import mapping_text
from tests.unit.mapping.texts import clusters_of, mapping_of, nest_of

CONV = nest_of("""(o = 4, i = 8, y = 5, x = 5, r = 3, s = 3)
    ins(X = 1x8x7x7[0, i, y + r, x + s], W = 4x8x3x3[o, i, r, s]) outs(Y = 1x4x5x5[0, o, y, x]) do(Y += X * W)""")
STRIDED = nest_of("""(b = 2, o = 4, i = 8, y = 5, x = 4, r = 3, s = 1)
    ins(X = 2x8x11x10[b, i, y * 2 + r, x * 3 + s], W = 4x8x3x1[o, i, r, s]) outs(Y = 2x4x5x4[b, o, y, x])
    do(Y += X * W)""")
DW = nest_of("""(b = 2, o = 8, i = 3, y = 4, x = 4, r = 3, s = 3) ins(X = 2x3x6x6[b, i, y + r, x + s],
    dY = 2x8x4x4[b, o, y, x]) outs(dW = 8x3x3x3[o, i, r, s]) do(dW += X * dY)""")
PRODUCT = nest_of("(m = 6, n = 4, k = 8) ins(X = 6x8[m, k], W = 8x4[k, n]) outs(Y = 6x4[m, n]) do(Y += X * W)")
FUSED = nest_of("""(m = 6, n = 4, k = 8) ins(dY = 6x4[m, n], W = 8x4[k, n], X = 6x8[m, k]) outs(dX = 6x8[m, k],
    dW = 8x4[k, n]) do(dX += dY * W, dW += X * dY)""")
SIZES = "CONV, sizes {K = 4, C = 8, R = 3, S = 3, Y = 7, X = 7}"
GEMM = "GEMM, sizes {M = 6, N = 4, K = 8}"


def test_windows_and_channels() -> None:
    mapping = mapping_of(f"{SIZES}, [spatial (1, 1) K, temporal (Sz(R), 1) Y, cluster 4, spatial (2, 2) C]")
    assert to_clusters(mapping, CONV, 16) == clusters_of("4 [o : 4 / 1, y : 1], 4 [i : 8 / 2]")
    assert to_clusters(mapping, CONV, 8) == clusters_of("2 [o : 2 / 1, y : 1], 4 [i : 8 / 2]")


def test_rows_and_taps_that_move_together_are_taps() -> None:
    text = f"{SIZES}, [spatial (Sz(R), 1) Y, temporal (5, 3) X, cluster Sz(R), spatial (1, 1) Y, spatial (1, 1) R]"
    assert to_clusters(mapping_of(text), CONV, 12) == clusters_of("4 [y : 4 / 1, x : 3], 3 [r : 3 / 1]")


def test_rows_of_strided_windows() -> None:
    mapping = clusters_of("2 [y : 2 / 1, x : 2, b : 1], 3 [r : 3 / 1], 2 [x : 2 / 1]")
    found = to_maestro(mapping, STRIDED)
    assert isinstance(found, Mapping)
    assert mapping_text(found) == (
        "CONV, sizes {N = 2, K = 4, C = 8, R = 3, S = 1, Y = 11, X = 10}, strides {Y = 2, X = 3}, "
        "[spatial (3, 2) Y, temporal (4, 6) X, temporal (1, 1) N, cluster 3, spatial (1, 1) Y, spatial (1, 1) R, "
        "temporal (4, 6) X, cluster 2, spatial (1, 3) X]"
    )
    assert to_clusters(found, STRIDED, 12) == mapping


def test_flattened_dimensions_of_a_gradient() -> None:
    mapping = mapping_of(
        "GEMM, sizes {M = 27, N = 8, K = 32}, [temporal (8, 8) K, spatial (1, 1) N, temporal (3, 3) M]"
    )
    assert to_clusters(mapping, DW, 4) == clusters_of("4 [b : 1, y : 2, o : 4 / 1, i : 1, r : 1]")


def test_a_level_where_nothing_is_side_by_side() -> None:
    found = to_maestro(clusters_of("2 [m : 1], 4 [k : 4 / 1]"), PRODUCT)
    assert isinstance(found, Mapping)
    assert mapping_text(found) == f"{GEMM}, [temporal (1, 1) M, spatial (8, 8) K, cluster 4, spatial (1, 1) K]"


def test_loops_that_do_nothing_are_left_out() -> None:
    mapping = clusters_of("2 [m : 6, n : 2 / 1, k : 8], 4 [n : 1, k : 4 / 1]")
    assert normal(mapping, PRODUCT.sizes) == clusters_of("2 [n : 2 / 1], 4 [k : 4 / 1]")


NOT_CLUSTERS = [
    (f"{GEMM}, [spatial (3, 2) M]", "M = 2 is computed 2 times"),
    (
        "GEMM, sizes {M = 6, N = 4, K = 7}, [spatial (1, 1) M]",
        "the mapping is of another GEMM: K is 7, the nest has k = 8",
    ),
]
NOT_CONV = [
    ("[spatial (1, 1) R, cluster 1, spatial (3, 3) Y]", "rows of Y are cut where R is: tap by tap other positions"),
]
NOT_DIRECTIVES = [
    ("2 [q : 1]", "unknown dimension 'q' at level 0, the nest has m, n, k"),
    ("4 [m : 2 / 1, n : 2 / 1]", "level 0 spreads m and n, directives one dimension of a level"),
    ("4 [m : 3 / 1]", "a step of level 0 takes m : 3 / 1, and leaves sub-clusters without work"),
    ("2 [m : 1, n : 1, k : 1]", "level 0 has no dimension that is whole and could be its spatial map"),
    ("1 [], 1 [], 1 [], 1 [], 1 []", "it has 5 levels, directives have at most 4"),
]
NOT_ROWS = [
    ("3 [r : 1]", "r is cut in steps: a temporal map of R must be whole"),
    ("3 [r : 3 / 1], 1 [y : 1]", "y is cut where R is: directives cut rows, not positions"),
    ("2 [y : 4 / 2], 3 [r : 3 / 1]", "r is spread over sub-clusters that have several of Y': whole rows"),
]


@pytest.mark.parametrize(("text", "message"), NOT_CLUSTERS)
def test_no_cluster_form_of_a_product(text: str, message: str) -> None:
    assert to_clusters(mapping_of(text), PRODUCT, 4) == message


@pytest.mark.parametrize(("text", "message"), NOT_CONV)
def test_no_cluster_form_of_a_convolution(text: str, message: str) -> None:
    assert to_clusters(mapping_of(f"{SIZES}, {text}"), CONV, 3) == message


@pytest.mark.parametrize(("text", "message"), NOT_DIRECTIVES)
def test_no_directives_for_a_product(text: str, message: str) -> None:
    assert to_maestro(clusters_of(text), PRODUCT) == message


@pytest.mark.parametrize(("text", "message"), NOT_ROWS)
def test_no_directives_for_a_convolution(text: str, message: str) -> None:
    assert to_maestro(clusters_of(text), CONV) == message


def test_no_directives_for_other_nests() -> None:
    assert to_maestro(clusters_of("2 [m : 2 / 1]"), FUSED) == "the nest is no layer in the terms of directives"
    assert (
        to_maestro(clusters_of("2 [m : 2 / 1]"), PRODUCT, "DSCONV")
        == "the nest is no DSCONV in the terms of directives"
    )
    assert to_maestro(clusters_of("2 [r : 2 / 1]"), DW) == "M stands for i x r x s: tiles of r are no tiles of it"
