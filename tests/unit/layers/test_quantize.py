"""Block floating point, floats of eight bits and scaled integers: figures on random data, corners, errors."""

import math
from itertools import pairwise
from typing import cast

import numpy as np
import pytest

from npuc.compiler.core.errors import UsageError
from npuc.compiler.layers.base import Array
from npuc.compiler.layers.float8 import float8_codes, float8_values, round_to_float8
from npuc.compiler.layers.quantize import fast_threshold, improvement, largest_exponent, quantize_blocks
from npuc.compiler.layers.scaled import quantize_scaled, scale_of, scaled_values
from npuc.compiler.layers.stochastic import DEAR, Rounding, rounding_draws
from npuc.dialects.formats import F8E4M3, F8E5M2, INT8, BlockFloat, ScaledInteger, SmallFloat, parse_format
from tests.exact_formats import all_values, draw_of, exact_scaled

GAUSSIAN = np.random.default_rng(0).standard_normal((500, 400)).astype(np.float32)
FLOAT8 = pytest.mark.parametrize("fmt", [F8E4M3, F8E5M2], ids=str)
INF, NAN = math.inf, math.nan


def relative_error(fmt: BlockFloat, rounding: Rounding) -> float:
    """||Q(x) - x|| / ||x|| of Gaussian data, in groups along rows."""
    error = quantize_blocks(GAUSSIAN, fmt, 1, rounding, 5).astype(np.float64) - GAUSSIAN
    return float(np.linalg.norm(error) / np.linalg.norm(GAUSSIAN.astype(np.float64)))


@pytest.mark.parametrize(
    ("mantissa", "nearest", "stochastic"),
    [(2, 0.236, 0.329), (3, 0.117, 0.165), (4, 0.058, 0.082), (8, 0.0036, 0.0051)],
)
def test_errors_of_blocks_on_gaussian_data(mantissa: int, nearest: float, stochastic: float) -> None:
    """The figures of an earlier measurement with other data: root mean squares, groups of 16."""
    assert relative_error(BlockFloat(mantissa, 16, 3), "nearest") == pytest.approx(nearest, rel=0.01)
    assert relative_error(BlockFloat(mantissa, 16, 3), "stochastic") == pytest.approx(stochastic, rel=0.01)


@pytest.mark.parametrize("rounding", ["nearest", "stochastic"])
def test_the_error_halves_with_each_bit_of_mantissa(rounding: Rounding) -> None:
    errors = [relative_error(BlockFloat(m, 16, 8), rounding) for m in range(2, 16)]
    for coarse, fine in pairwise(errors):
        assert coarse / fine == pytest.approx(2, rel=0.1)


def test_the_improvement_on_gaussian_data() -> None:
    low, high = BlockFloat(2, 16, 3), BlockFloat(4, 16, 3)
    assert improvement(GAUSSIAN, low, high, 1) == pytest.approx(0.252, abs=0.002)
    assert improvement(GAUSSIAN, low, low, 1) == 0
    assert improvement(np.zeros((3, 3)), low, high, 0) == 0
    assert math.isnan(improvement(np.array([1.0, NAN]), low, high, 0))


def test_the_improvement_by_hand() -> None:
    """In one group 1 and 0.3: with steps of a half 1 and 0.5, with steps of an eighth 1 and 0.25."""
    assert improvement(np.array([1.0, 0.3]), BlockFloat(2, 2, 3), BlockFloat(4, 2, 3), 0) == 0.25 / 1.5


def rounded(x: Array, name: str, seed: int) -> Array:
    """Rounded stochastically to a format."""
    fmt = parse_format(name)
    if isinstance(fmt, BlockFloat):
        return quantize_blocks(x, fmt, 1, "stochastic", seed)
    if isinstance(fmt, SmallFloat):
        return round_to_float8(x, fmt, "stochastic", seed)
    scale = scale_of(x, fmt)
    return scaled_values(quantize_scaled(x, fmt, scale, "stochastic", seed), fmt, scale)


@pytest.mark.parametrize("name", ["bfp<2, 16, 3>", "bfp<4, 16, 3>", "f8e4m3", "f8e5m2", "int8"])
def test_stochastic_rounding_is_unbiased(name: str) -> None:
    """Magnitudes, where none is clipped: the first of each group of 16 is 2, the others are below 1.5."""
    x = np.abs(np.clip(GAUSSIAN, -1.49, 1.49))
    x[:, ::16] = 2
    errors = rounded(x, name, 3).astype(np.float64) - x
    assert errors.std() > 0
    assert abs(errors.mean()) < 3 * errors.std() / math.sqrt(errors.size)


@pytest.mark.parametrize("name", ["bfp<2, 16, 3>", "bfp<4, 16, 3>", "f8e4m3", "f8e5m2", "int8"])
def test_stochastic_rounding_of_both_signs_is_unbiased(name: str) -> None:
    errors = rounded(GAUSSIAN, name, 3).astype(np.float64) - GAUSSIAN
    assert abs(errors.mean()) < 3 * errors.std() / math.sqrt(errors.size)


def test_a_value_is_rounded_up_as_often_as_it_is_near() -> None:
    x = np.full(100_000, 0.3, np.float32)
    x[0] = 1
    up = (quantize_blocks(x, BlockFloat(2, 4096, 3), 0, "stochastic", 1)[1:4096] == 0.5).mean()
    assert up == pytest.approx(0.6, abs=3 * math.sqrt(0.6 * 0.4 / 4095))


def test_a_largest_value_beyond_the_largest_multiple_is_clipped_by_whatever_rule() -> None:
    x = np.array([3.9, -3.9, 3.4, 0.0])
    for seed in range(20):
        assert quantize_blocks(x, BlockFloat(2, 4, 3), 0, "stochastic", seed)[:2].tolist() == [3, -3]
    assert quantize_blocks(x, BlockFloat(2, 4, 3), 0).tolist() == [3, -3, 3, 0]


def test_ties_go_to_the_even_multiple() -> None:
    x = np.array([7, 0.5, 1.5, 2.5, -2.5, 6.5, -0.5])
    found = quantize_blocks(x, BlockFloat(3, 16, 3), 0)
    assert found.tolist() == [7, 0, 2, 2, -2, 6, 0]
    assert np.signbit(found).tolist() == np.signbit(x).tolist()


def test_an_exponent_of_few_bits_ends_at_the_largest_of_the_tensor() -> None:
    """Of two bits: 3, 2, 1, 0. The third group has exponent 0, too, in place of -2, and the last becomes zeros."""
    x = np.array([[8.0, 1.0], [1.0, 0.75], [0.25, 0.3], [0.2, 0.0]])
    found = quantize_blocks(x, BlockFloat(2, 2, 2), 1)
    assert found.tolist() == [[8, 0], [1, 1], [0, 0.5], [0, 0]]
    assert largest_exponent(x) == 3


def test_numbers_that_are_none_in_blocks() -> None:
    x = np.array([[4.0, 1.0], [NAN, 1.0], [-INF, 1.0], [0.5, 0.25]], np.float32)
    found = quantize_blocks(x, BlockFloat(2, 2, 8), 1)
    assert np.array_equal(found, [[4, 0], [NAN, NAN], [-6, 0], [0.5, 0.25]], equal_nan=True)
    assert quantize_blocks(np.array([INF, 0]), BlockFloat(2, 2, 8), 0).tolist() == [1.5 * 2.0**1023, 0]


def test_an_infinity_where_the_float_type_ends_before_the_mantissa() -> None:
    """The exponent is that of 8 times the smallest number: of 31 halves of it the type has 15 wholes."""
    x = np.array([INF, 8 * 2.0**-149], np.float32)
    assert quantize_blocks(x, BlockFloat(5, 1, 1), 0).tolist() == [15 * 2.0**-149, 8 * 2.0**-149]


def test_a_sum_of_exactly_one_rounds_up() -> None:
    x = np.array([2.0, 0.5, 0.5], np.float32)
    draws = np.array([0, 0.5, 0.5 - 2.0**-24], np.float32)
    assert quantize_blocks(x, BlockFloat(2, 4, 3), 0, "stochastic", draws=draws).tolist() == [2, 1, 0]


def test_quotients_beside_ties_are_rounded_as_the_exact_ones() -> None:
    """Where float32 has a tie for the quotient of numbers that are not quite half a code apart."""
    random = np.random.default_rng(0)
    scales, codes = random.uniform(1, 2, 50).astype(np.float32), np.arange(-127, 127)
    for scale in scales:
        near = ((codes + 0.5) * float(scale)).astype(np.float32)
        x = np.concatenate([near, np.nextafter(near, np.float32(0)), np.nextafter(near, 2 * near)])
        expected = [exact_scaled(float(v), INT8, float(scale), None) for v in x]
        assert quantize_scaled(x, INT8, scale).tolist() == expected


@pytest.mark.filterwarnings("error")
def test_signalling_nans_stay_without_a_warning() -> None:
    x = np.array([0x7F800001, 0xFFA00000, 0x3F800000], np.uint32).view(np.float32)
    for rounding in ("nearest", "stochastic"):
        assert np.isnan(quantize_blocks(x, BlockFloat(2, 2, 8), 0, rounding)).tolist() == [True, True, False]
        assert np.isnan(round_to_float8(x, F8E4M3, rounding)).tolist() == [True, True, False]
        assert quantize_scaled(x, F8E4M3, 3.0, rounding)[:2].tolist() == [0x7F, 0xFF]


def test_the_largest_numbers_of_float32_stay_finite() -> None:
    x = np.array([np.finfo(np.float32).max, -INF], np.float32)
    for mantissa in (1, 4, 24):
        assert np.isfinite(quantize_blocks(x, BlockFloat(mantissa, 2, 8), 0)).all()


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3)])
def test_nothing(shape: tuple[int, ...]) -> None:
    x = np.zeros(shape, np.float32)
    assert quantize_blocks(x, BlockFloat(2, 2, 8), 0, "stochastic").shape == shape
    assert round_to_float8(x, F8E4M3, "stochastic").shape == shape
    assert quantize_scaled(x, INT8, scale_of(x, INT8)).shape == shape
    assert scale_of(x, INT8) == 1


def test_other_types_are_rounded_as_float32() -> None:
    assert quantize_blocks(np.array([1.0, 0.3], np.float16), BlockFloat(2, 2, 8), 0).dtype == np.float32
    assert round_to_float8(np.array(3, np.int32), F8E4M3).dtype == np.float32


def test_arrays_in_other_orders() -> None:
    x = GAUSSIAN[:8, :6]
    assert np.array_equal(quantize_blocks(x.T, BlockFloat(2, 4, 3), 0), quantize_blocks(x, BlockFloat(2, 4, 3), 1).T)
    assert np.array_equal(round_to_float8(x.T, F8E5M2), round_to_float8(x, F8E5M2).T)
    assert np.array_equal(
        float8_codes(round_to_float8(x[::-1], F8E5M2), F8E5M2), float8_codes(round_to_float8(x, F8E5M2), F8E5M2)[::-1]
    )


@FLOAT8
def test_all_codes(fmt: SmallFloat) -> None:
    """The values of all 256, and that each is rounded to itself and written as itself (NaN with one code)."""
    codes = np.arange(256, dtype=np.uint8)
    values, finite = float8_values(codes, fmt), [float(v) for v in all_values(fmt)]
    special = [NAN] if fmt is F8E4M3 else [INF, NAN, NAN, NAN]
    assert np.array_equal(values[:128], [*finite, *special], equal_nan=True)
    assert np.array_equal(values[128:], -values[:128], equal_nan=True)
    assert np.array_equal(float8_codes(values, fmt)[~np.isnan(values)], codes[~np.isnan(values)])
    assert {*float8_codes(values, fmt)[np.isnan(values)] & 0x7F} == {0x7F}
    stays = np.isfinite(values)
    for rounding in ("nearest", "stochastic"):
        assert np.array_equal(round_to_float8(values, fmt, rounding)[stays], values[stays])
    assert finite[-1] == fmt.largest


@FLOAT8
def test_floats_of_eight_bits_saturate(fmt: SmallFloat) -> None:
    x = np.array([INF, -INF, fmt.largest * 1.01, -3e38, NAN], np.float32)
    expected = [fmt.largest, -fmt.largest, fmt.largest, -fmt.largest, NAN]
    assert np.array_equal(round_to_float8(x, fmt), expected, equal_nan=True)
    assert np.array_equal(round_to_float8(x, fmt, "stochastic", 1), expected, equal_nan=True)


@pytest.mark.parametrize(
    ("peak", "fmt", "scale"),
    [
        (127, INT8, 1),
        (2, INT8, np.float32(2) / np.float32(127)),
        (7, ScaledInteger(4), 1),
        (2.0**-149, INT8, 2.0**-149),
        (448, F8E4M3, 1),
        (448.5, F8E4M3, 2),
        (225, F8E4M3, 1),
        (224, F8E4M3, 0.5),
        (57344, F8E5M2, 1),
        (3e38, F8E4M3, 2.0**120),
        (2.0**-149, F8E4M3, 2.0**-149),
        (1e300, F8E4M3, 2.0**127),
        (1e300, INT8, np.finfo(np.float32).max),
        (0, F8E4M3, 1),
        (0, INT8, 1),
        (INF, INT8, 1),
    ],
)
def test_scales(peak: float, fmt: SmallFloat | ScaledInteger, scale: float) -> None:
    assert scale_of(np.array([-peak, peak / 3 if peak < INF else 0]), fmt) == scale


def test_integers_have_no_nan() -> None:
    x = np.array([1, NAN, 2], np.float32)
    scale = scale_of(x, INT8)
    assert math.isnan(scale)
    assert np.isnan(scaled_values(quantize_scaled(x, INT8, scale), INT8, scale)).all()
    with pytest.raises(UsageError, match="int8 has no NaN"):
        quantize_scaled(x, INT8, 1.0)


def test_floats_have_a_nan() -> None:
    x = np.array([448, NAN, -2, INF], np.float32)
    assert scale_of(x, F8E4M3) == 1
    found = scaled_values(quantize_scaled(x, F8E4M3, 1.0), F8E4M3, 1.0)
    assert np.array_equal(found, [448, NAN, -2, 448], equal_nan=True)


@pytest.mark.parametrize("of", [(), (1,), (7, 5), (3, 2, 70_001)])
def test_random_numbers_are_those_of_their_places(of: tuple[int, ...]) -> None:
    whole = rounding_draws(-3, of)
    assert whole.shape == of
    flat, draw = whole.reshape(-1), draw_of(-3)
    for place in {*range(min(20, flat.size)), *range(max(0, flat.size - 5), flat.size)}:
        assert float(flat[place]) == draw(place)
    some = [np.array(sorted({0, size // 2, size - 1})) for size in of]
    assert np.array_equal(rounding_draws(-3, of, some), whole[np.ix_(*some)] if of else whole)


def test_random_numbers_of_a_part_of_a_tensor_that_no_machine_holds() -> None:
    of, index = (2**20, 2**20, 8), (np.array([2**20 - 1]), np.array([5, 2**19]), np.arange(8))
    found = rounding_draws(9, of, index)
    assert DEAR * found.size < 2**43
    places = [((2**20 - 1) * 2**20 + j) * 8 + k for j in (5, 2**19) for k in range(8)]
    assert [float(draw_of(9)(place) or 0) for place in places] == found.reshape(-1).tolist()


def test_thresholds_fall_over_depth_and_over_training() -> None:
    assert fast_threshold(0, 10, 0, 100) == 0.6
    assert fast_threshold(5, 10, 0, 100) == pytest.approx(0.45)
    assert fast_threshold(5, 10, 50, 100) == pytest.approx(0.3)
    assert fast_threshold(1, 2, 1, 4, alpha=1, beta1=0.5, beta2=0.4) == pytest.approx(0.65)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ((3, 3, 0, 1), "of 3 layers there is no layer 3"),
        ((-1, 3, 0, 1), "of 3 layers there is no layer -1"),
        ((0, 1, 5, 5), "of 5 steps there is no step 5"),
    ],
)
def test_thresholds_of_nothing(place: tuple[int, int, int, int], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        fast_threshold(*place)


def test_wrong_calls() -> None:
    x, fmt = np.zeros((2, 3)), BlockFloat(2, 2, 8)
    for axis in (2, -3):
        with pytest.raises(UsageError, match=f"axis of the tensor, which has 2; got axis {axis}"):
            quantize_blocks(x, fmt, axis)
    for wrong in (0, -1, INF, NAN):
        with pytest.raises(UsageError, match="a scale is positive and finite"):
            quantize_scaled(x, F8E4M3, wrong)
    with pytest.raises(UsageError, match="unknown rounding 'up'"):
        round_to_float8(x, F8E4M3, cast(Rounding, "up"))
    with pytest.raises(UsageError, match=r"have its shape \(2, 3\), got \(3, 2\)"):
        round_to_float8(x, F8E4M3, "stochastic", draws=rounding_draws(0, (3, 2)))
