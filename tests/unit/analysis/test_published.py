"""The published rule for the order of fused gradients."""

import pytest

from npuc.compiler.analysis.programs.published_order import PublishedChoice, published_choice, published_order
from npuc.dialects.npu.nest import Axis, Nest, Statement, Tensor


@pytest.mark.parametrize(
    ("m", "n", "k", "choice"),
    [
        (4096, 4096, 1025, "in turn"),
        (4096, 4096, 1024, "dX-major"),
        (25088, 256, 64, "dX-major"),
        (392, 512, 4608, "dW-major"),
        (64, 4096, 4096, "dX-major"),
        (4096, 64, 4096, "dX-major"),
        (8, 1000, 2048, "dW-major"),
    ],
)
def test_the_rule_looks_at_the_shape(m: int, n: int, k: int, choice: PublishedChoice) -> None:
    assert published_choice(m, n, k) == choice


def _plain(name: str, *dims: tuple[str, int]) -> Tensor:
    return Tensor(name, tuple(size for _, size in dims), tuple(Axis(((dim, 1),)) for dim, _ in dims))


def _fused(m: int, n: int, k: int, groups: int = 1) -> Nest:
    sizes = {"m": m, "n": n, "k": k} | ({"g": groups} if groups > 1 else {})
    group = [("g", groups)] if groups > 1 else []
    y, w, x = ([*group, *((d, sizes[d]) for d in dims)] for dims in ("mn", "kn", "mk"))
    return Nest(
        tuple(sizes.items()),
        (_plain("dY", *y), _plain("W", *w), _plain("X", *x)),
        (_plain("dX", *x), _plain("dW", *w)),
        (None, None),
        (Statement("dX", "dY", "W"), Statement("dW", "X", "dY")),
    )


def test_orders_are_of_the_nests_dimensions() -> None:
    assert published_order(_fused(64, 8, 4)) == ("m", "k", "n")
    assert published_order(_fused(4, 8, 64)) == ("n", "k", "m")
    assert published_order(_fused(4, 4, 4)) is None


def test_groups_come_first_and_do_not_count() -> None:
    assert published_order(_fused(64, 8, 4, groups=3)) == ("g", "m", "k", "n")
    assert published_order(_fused(4, 4, 4, groups=100)) is None
