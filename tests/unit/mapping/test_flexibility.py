"""The four axes of flexibility: sets of choices, their shares, and the figures of the formalism's examples."""

import math
from itertools import permutations

import pytest

from npuc.compiler.analysis.mapping.exact.contraction import Contraction, TensorAxis
from npuc.compiler.analysis.mapping.flexibility.axes import class_of, classes, is_within
from npuc.compiler.analysis.mapping.flexibility.choices import (
    order_count,
    pairs_of,
    shapes_of,
    stationary_orders,
    usable_orders,
)
from npuc.compiler.analysis.mapping.flexibility.flexion import (
    AxisChoices,
    OwnChoice,
    hardware_flexion,
    workload_flexion,
)
from npuc.compiler.analysis.mapping.flexibility.tiles import Estimate, TileBuffer, count_tiles

WORDS = 192
PRODUCT = {"m": 16, "n": 16, "k": 16}
CONV = {"o": 64, "i": 64, "y": 28, "x": 28, "r": 3, "s": 3}


def axis(*dims: str) -> TensorAxis:
    return TensorAxis(tuple((dim, 1) for dim in dims))


def product(m: int, n: int, k: int) -> Contraction:
    tensors = ((axis("m"), axis("k")), (axis("k"), axis("n")), (axis("m"), axis("n")))
    return Contraction((("m", m), ("n", n), ("k", k)), tensors)


def convolution() -> Contraction:
    inputs = (axis("i"), axis("y", "r"), axis("x", "s"))
    return Contraction(
        tuple(CONV.items()), (inputs, (axis("o"), axis("i"), axis("r"), axis("s")), (axis("o"), axis("y"), axis("x")))
    )


def choices(tiles: str = "fixed", order: str = "fixed", parallel: str = "fixed", shape: str = "fixed") -> AxisChoices:
    own = OwnChoice((("m", 8), ("n", 4), ("k", 2)), ("m", "n", "k"), (("m",), ("k",)), (8, 8))
    supports = tiles, order, parallel, shape
    return AxisChoices(TileBuffer((product(16, 16, 16),), WORDS), 64, supports, own)  # pyright: ignore[reportArgumentType]


def shares(given: AxisChoices, sizes: dict[str, int] | None = None) -> list[float | None]:
    found = (
        hardware_flexion(given, PRODUCT, count_tiles) if sizes is None else workload_flexion(given, sizes, count_tiles)
    )
    return [None if one is None else one.value for one in found.shares]


def test_a_product_of_16_in_192_words() -> None:
    counts = count_tiles(TileBuffer((product(16, 16, 16),), WORDS), PRODUCT)
    assert (counts.soft, counts.exact) == (Estimate(2078.0), True)
    assert counts.hard == Estimate(1109 / 2078)
    assert round(1 / counts.soft.value, 5) == 0.00048


def test_the_same_machine_for_a_product_of_8_16_4() -> None:
    counts = count_tiles(TileBuffer((product(16, 16, 16),), WORDS), {"m": 8, "n": 16, "k": 4})
    assert (counts.soft.value, counts.hard.value) == (506, 412 / 506)


@pytest.mark.parametrize(("words", "share"), [(4096, 0.474), (16384, 0.619), (65536, 0.892)])
@pytest.mark.parametrize("samples", [None, 2_000, 50_000])
def test_tiles_of_a_convolution(words: int, share: float, samples: int | None) -> None:
    counts = count_tiles(TileBuffer((convolution(),), words), CONV, samples, seed=3)
    assert counts.exact == (samples is None) == (counts.hard.error == 0)
    assert abs(counts.hard.value - share) <= max(3 * counts.hard.error, 0.001)


def test_samples_estimate_what_is_counted() -> None:
    buffer = TileBuffer((convolution(),), 16384)
    exact = count_tiles(buffer, CONV)
    off = [
        abs(found.soft.value - exact.soft.value) / found.soft.error
        for found in (count_tiles(buffer, CONV, 4_000, seed) for seed in range(20))
    ]
    assert max(off) < 4
    assert sum(one < 1 for one in off) >= 8  # 68 % of normal ones
    assert count_tiles(buffer, CONV, 500, 1) == count_tiles(buffer, CONV, 500, 1)
    assert count_tiles(buffer, CONV, 500, 1) != count_tiles(buffer, CONV, 500, 2)


def test_a_buffer_without_a_limit_holds_all_tiles() -> None:
    counts = count_tiles(TileBuffer((product(3, 4, 5),), None), {"m": 3, "n": 4, "k": 5})
    assert (counts.soft.value, counts.hard.value, counts.exact) == (60, 1.0, True)


def test_a_buffer_that_holds_nothing() -> None:
    found = workload_flexion(
        AxisChoices(TileBuffer((product(4, 4, 4),), 2), 4, ("some", "any", "any", "any"), OWN), SMALL, count_tiles
    )
    assert (found.axes[0].every.value, found.axes[0].share, found.together) == (0, None, None)


SMALL = {"m": 4, "n": 4, "k": 4}
OWN = OwnChoice((("m", 1), ("n", 1), ("k", 1)), ("m", "n", "k"), (("m",), ("k",)), (2, 2))


def test_classes() -> None:
    names = [class_of(one) for one in classes()]
    assert names == [f"{number:04b}" for number in range(16)]
    assert class_of(("some", "fixed", "any", "fixed")) == "1010"
    for number, outer in enumerate(classes()):
        inside = [inner for inner in classes()[: number + 1] if is_within(inner, outer)]
        assert len(inside) == 2 ** class_of(outer).count("1")
    assert is_within(("some", "fixed", "any", "fixed"), ("any", "fixed", "any", "some"))
    assert not is_within(("any", "fixed", "fixed", "fixed"), ("some", "any", "any", "any"))


def test_orders() -> None:
    own = ("o", "i", "r", "s", "y", "x")  # weights stay while rows and columns run
    found = stationary_orders(convolution(), own)
    assert (len(found), order_count(len(own))) == (3, 720)
    assert own in found
    assert found[0] == ("i", "r", "s", "y", "x", "o")
    assert found[2] == ("o", "y", "x", "i", "r", "s")
    assert usable_orders(found, {**CONV, "r": 1, "s": 1}) == 3
    assert usable_orders(found, {**CONV, "i": 1, "r": 1, "s": 1}) == 2


@pytest.mark.parametrize("own", list(permutations("mnk")))
def test_any_order_is_one_of_three(own: tuple[str, ...]) -> None:
    found = stationary_orders(product(16, 16, 16), own)
    assert own in found
    assert len({order[-1] for order in found}) == len(found) == 3


def test_pairs_and_shapes() -> None:
    assert len(pairs_of(tuple(CONV))) == 30
    assert shapes_of(12) == ((1, 12), (2, 6), (3, 4), (4, 3), (6, 2), (12, 1))
    assert shapes_of(64, 4) == ((4, 16), (8, 8), (16, 4))


def test_hardware_flexion() -> None:
    fixed = [1 / 2078, 1 / 6, 1 / 6, 1 / 7]
    assert shares(choices()) == pytest.approx([*fixed, math.prod(fixed)])
    assert shares(choices("some", "some", "any", "any"))[:4] == pytest.approx([1109 / 2078, 0.5, 1, 1])
    assert shares(choices("any", "any", "any", "any")) == [1.0] * 5


def test_workload_flexion() -> None:
    sizes = {"m": 8, "n": 16, "k": 4}
    # Shapes of 64: rows and columns are two of 8, 16, 4, so 8x8 (m n, n m) and 16x4, 4x16 (with n), 4x16 alike.
    tiles, order, parallel, shape, together = shares(choices("some"), sizes)
    assert (tiles, order, parallel, shape) == pytest.approx((412 / 506, 1 / 6, 1 / 6, 1 / 3))
    assert together == 0  # the dataflow's m and k have no work for 8 x 8
    free = shares(choices("any", "any", "any", "any"), sizes)
    assert free == [1.0] * 5
    fixed = shares(choices(parallel="any"), {"m": 8, "n": 16, "k": 8})
    usable = [(a, b) for a, b in permutations((8, 16, 8), 2) for r, c in shapes_of(64) if a >= r and b >= c]
    own = [(a, b) for a, b in permutations((8, 16, 8), 2) if a >= 8 and b >= 8]
    assert fixed[4] == pytest.approx((fixed[0] or 0) / 6 * len(own) / len(usable))


def test_a_tile_larger_than_the_contraction_is_of_no_use() -> None:
    assert shares(choices(), {"m": 8, "n": 4, "k": 1})[0] == 0
    assert shares(choices(), {"m": 8, "n": 4, "k": 2})[0] == pytest.approx(
        1 / count_tiles(choices().buffer, {"m": 8, "n": 4, "k": 2}).soft.value
    )


def test_a_contraction_with_no_choice_of_shape() -> None:
    *_, shape, together = shares(choices("any", "any", "any", "any"), {"m": 2, "n": 2, "k": 2})
    assert (shape, together) == (None, None)
