"""How element types are held and rounded."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import bf16, f16, f32, f64, i1, i32, i64
from xdsl.ir import Attribute

from npuc.compiler.interpreter.numbers import Numbers, element_name, round_to_bfloat16


@pytest.mark.parametrize(
    ("element", "dtype", "name"),
    [
        (f32, np.float32, "f32"),
        (f64, np.float64, "f64"),
        (f16, np.float16, "f16"),
        (bf16, np.float32, "bf16"),
        (i32, np.int32, "i32"),
        (i64, np.int64, "i64"),
        (i1, np.bool_, "bool"),
    ],
)
def test_types_are_held_as(element: Attribute, dtype: type, name: str) -> None:
    assert Numbers().dtype(element) == dtype
    assert element_name(element) == name


@pytest.mark.parametrize("element", [f16, bf16, f32, f64])
def test_double_computes_every_float_in_float64(element: Attribute) -> None:
    assert Numbers(double=True).hold(1 / 3, element) == np.float64(1 / 3)


@pytest.mark.parametrize(
    ("value", "rounded"),
    [(1.0, 1.0), (1.00390625, 1.0), (1.01171875, 1.015625), (3.14159265, 3.140625), (-0.1, -0.10009765625), (0.0, 0.0)],
)
def test_bfloat16_rounds_to_nearest_even(value: float, rounded: float) -> None:
    assert round_to_bfloat16(np.array([value], np.float32))[0] == rounded


@given(st.floats(width=32, allow_nan=False, allow_infinity=False, min_value=-(2.0**100), max_value=2.0**100))
def test_bfloat16_is_a_nearest_value_of_eight_bits(value: float) -> None:
    held = round_to_bfloat16(np.array([value], np.float32))
    bits = held.view(np.uint32)[0]
    assert bits & 0xFFFF == 0
    step = 2.0 ** (np.frexp(max(abs(value), 2.0**-125))[1] - 8)
    assert abs(float(held[0]) - value) <= step / 2


def test_bfloat16_keeps_what_is_not_a_number() -> None:
    held = round_to_bfloat16(np.array([np.nan, np.inf, -np.inf], np.float32))
    assert np.isnan(held[0])
    assert held[1:].tolist() == [np.inf, -np.inf]


def test_a_float_becomes_an_integer_towards_zero() -> None:
    assert Numbers().hold([1.9, -1.9], i32).tolist() == [1, -1]


@pytest.mark.parametrize("double", [False, True])
def test_a_bool_is_true_for_what_is_not_zero(double: bool) -> None:
    numbers = Numbers(double)
    assert numbers.hold([0.5, -0.25, 0.0, -0.0, np.nan, np.inf], i1).tolist() == [True, True, False, False, True, True]
    assert numbers.hold([2, 0, -1], i1).tolist() == [True, False, True]
    assert numbers.hold([True, False], f32).tolist() == [1.0, 0.0]
    assert numbers.hold([True, False], i32).tolist() == [1, 0]
