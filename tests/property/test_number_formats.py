"""Rounding to the formats of quantised training is that of exact fractions, value by value and bit by bit."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.layers.float8 import float8_codes, float8_values, round_to_float8
from npuc.compiler.layers.quantize import largest_exponent, quantize_blocks
from npuc.compiler.layers.scaled import quantize_scaled, scale_of, scaled_values
from npuc.compiler.layers.stochastic import Rounding, rounding_draws
from npuc.dialects.formats import F8E4M3, F8E5M2, INT8, BlockFloat, ScaledInteger, SmallFloat
from tests.exact_formats import draw_of, exact_blocks, exact_float8, exact_scaled, to_nearest

FLOAT8 = pytest.mark.parametrize("fmt", [F8E4M3, F8E5M2], ids=str)
ROUNDINGS = st.sampled_from(("nearest", "stochastic"))
SEEDS = st.integers(-(2**65), 2**65)
TYPES = st.sampled_from((np.float32, np.float64))
BLOCKS = st.builds(
    BlockFloat,
    st.one_of(st.integers(1, 5), st.integers(1, 24)),
    st.one_of(st.integers(1, 5), st.sampled_from((16, 4096))),
    st.one_of(st.integers(1, 3), st.integers(1, 8)),
)


def multiple(q: int, k: int) -> float:
    return q * 2.0**k


WIDE = st.floats(width=32, allow_nan=False, allow_infinity=False)
NEAR = st.builds(multiple, st.integers(-600, 600), st.integers(-22, 12))  # ties, subnormal floats of eight bits
TINY = st.builds(multiple, st.integers(-9, 9), st.integers(-149, -126))
FINITE = st.one_of(WIDE, NEAR, NEAR, TINY, st.sampled_from((0.0, -0.0)))
NUMBERS = st.one_of(FINITE, FINITE, st.sampled_from((math.inf, -math.inf)))


@st.composite
def tensors(draw: st.DrawFn, values: st.SearchStrategy[float]) -> np.ndarray:
    """Small tensors of both types; in float64 with values that float32 has not."""
    shape = [*draw(st.lists(st.integers(1, 4), max_size=2)), draw(st.integers(1, 11))]
    kind = draw(TYPES)
    flat = draw(st.lists(values, min_size=math.prod(shape), max_size=math.prod(shape)))
    array = np.array(flat, kind).reshape(draw(st.permutations(shape)))
    factors = (1, 1, 1 + 2.0**-40, 2.0**800, 2.0**-1000) if kind is np.float64 else (1,)
    return array * kind(draw(st.sampled_from(factors)))


def same(found: np.ndarray, expected: Sequence[float]) -> None:
    """Equal to the bit, signs of zeros too; NaN where NaN is expected."""
    flat = np.array(expected, np.float64)
    values = found.reshape(-1).astype(np.float64)
    assert np.array_equal(values, flat, equal_nan=True), (values, flat)
    assert np.array_equal(np.signbit(values)[~np.isnan(flat)], np.signbit(flat)[~np.isnan(flat)])


@settings(max_examples=400)
@given(tensors(st.one_of(NUMBERS, NUMBERS, NUMBERS, st.just(math.nan))), BLOCKS, ROUNDINGS, SEEDS, st.data())
def test_blocks(x: np.ndarray, fmt: BlockFloat, rounding: Rounding, seed: int, data: st.DataObject) -> None:
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    found = quantize_blocks(x, fmt, axis, rounding, seed)
    assert (found.dtype, found.shape) == (x.dtype, x.shape)
    same(found, exact_blocks(x, fmt, axis, to_nearest if rounding == "nearest" else draw_of(seed)))


@settings(max_examples=200)
@given(tensors(NUMBERS), BLOCKS, ROUNDINGS, st.data())
def test_values_in_blocks_stay(x: np.ndarray, fmt: BlockFloat, rounding: Rounding, data: st.DataObject) -> None:
    """Rounded again by whatever rule; without infinities the range of exponents ends where the tensor's did."""
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    once = quantize_blocks(x, fmt, axis, data.draw(ROUNDINGS), 1)
    same(quantize_blocks(once, fmt, axis, rounding, 2, largest=largest_exponent(x)), once.reshape(-1).tolist())
    if np.isfinite(x).all():
        same(quantize_blocks(once, fmt, axis, rounding, 3), once.reshape(-1).tolist())


@settings(max_examples=150)
@given(tensors(NUMBERS), BLOCKS, ROUNDINGS, SEEDS, st.data())
def test_parts_between_groups_are_as_in_the_whole(
    x: np.ndarray, fmt: BlockFloat, rounding: Rounding, seed: int, data: st.DataObject
) -> None:
    axis = data.draw(st.integers(0, x.ndim - 1))
    index: list[np.ndarray] = []
    for own, size in enumerate(x.shape):
        groups = -(-size // fmt.group) if own == axis else size
        taken = sorted(data.draw(st.sets(st.integers(0, groups - 1), min_size=1)))
        wide = fmt.group if own == axis else 1
        index.append(np.array([i for g in taken for i in range(g * wide, min(size, (g + 1) * wide))]))
    place = np.ix_(*index)
    whole = quantize_blocks(x, fmt, axis, rounding, seed)[place]
    draws = rounding_draws(seed, x.shape, index)
    part = quantize_blocks(x[place], fmt, axis, rounding, seed, largest=largest_exponent(x), draws=draws)
    same(part, whole.reshape(-1).tolist())


@FLOAT8
@settings(max_examples=200)
@given(x=tensors(st.one_of(NUMBERS, NUMBERS, NUMBERS, st.just(math.nan))), rounding=ROUNDINGS, seed=SEEDS)
def test_floats_of_eight_bits(fmt: SmallFloat, x: np.ndarray, rounding: Rounding, seed: int) -> None:
    found = round_to_float8(x, fmt, rounding, seed)
    assert (found.dtype, found.shape) == (x.dtype, x.shape)
    draw = to_nearest if rounding == "nearest" else draw_of(seed)
    same(found, [exact_float8(float(v), fmt, draw(i)) for i, v in enumerate(x.flat)])
    same(round_to_float8(found, fmt, "stochastic", seed + 1), found.reshape(-1).tolist())
    same(float8_values(float8_codes(found, fmt), fmt), found.reshape(-1).tolist())


@settings(max_examples=400)
@given(
    x=tensors(NUMBERS),
    fmt=st.one_of(st.sampled_from((F8E4M3, F8E5M2, INT8)), st.builds(ScaledInteger, st.integers(2, 8))),
    rounding=ROUNDINGS,
    seed=SEEDS,
    scale=st.one_of(st.none(), st.none(), st.floats(2.0**-149, 2.0**127, width=32)),
)
def test_codes_under_a_scale(
    x: np.ndarray, fmt: SmallFloat | ScaledInteger, rounding: Rounding, seed: int, scale: float | None
) -> None:
    draw = to_nearest if rounding == "nearest" else draw_of(seed)
    by = scale_of(x, fmt) if scale is None else np.float32(scale)
    if isinstance(fmt, ScaledInteger) or scale is not None:
        with np.errstate(over="ignore"):
            x = x.astype(np.float32)  # quotients of float64 are rounded themselves
    codes = quantize_scaled(x, fmt, by, rounding, seed)
    assert codes.dtype == (np.int8 if isinstance(fmt, ScaledInteger) else np.uint8)
    assert codes.reshape(-1).tolist() == [
        exact_scaled(v, fmt, float(by), draw(i)) for i, v in enumerate(map(float, x.flat))
    ]
    with np.errstate(over="ignore"):
        assert scaled_values(codes, fmt, by).shape == x.shape


@settings(max_examples=200)
@given(tensors(NUMBERS), st.sampled_from((F8E4M3, F8E5M2, INT8)))
def test_the_scale_reaches_the_largest_number(x: np.ndarray, fmt: SmallFloat | ScaledInteger) -> None:
    with np.errstate(over="ignore"):
        x = x.astype(np.float32)
    scale, peak = scale_of(x, fmt), max((abs(float(v)) for v in x.flat if math.isfinite(v)), default=0.0)
    assert scale.dtype == np.float32
    if not peak:
        assert scale == 1
    elif isinstance(fmt, ScaledInteger):
        assert scale == np.float32(max(peak / 127, 2.0**-149))
    else:
        assert math.frexp(scale)[0] == 0.5
        assert peak <= fmt.largest * float(scale)
        assert peak > fmt.largest * float(scale) / 2 or scale == np.float32(2.0**-149)
