"""Numbers beside tensors: an integer tensor takes those it holds exactly, a float tensor all."""

import numpy as np
import pytest
from xdsl.dialects.builtin import f32, i32
from xdsl.utils.exceptions import VerifyException

from npuc.compiler import run_source
from npuc.compiler.core.errors import NpucError, SourceErrors
from npuc.dialects.tensors import tensor_of
from npuc.dialects.train.arithmetic import constant
from npuc.frontends import read_source

I32 = "expected an integer from -2147483648 to 2147483647 for i32"
I64 = "expected an integer from -9007199254740991 to 9007199254740991 for i64"
EXACT = "numbers are exact below 2^53"
BESIDE: dict[str, list[float]] = {
    "x + {}": [4, 3, 2],
    "x - {}": [2, 1, 0],
    "{} - x": [-2, -1, 0],
    "x * {}": [3, 2, 1],
    "x / {}": [3, 2, 1],
    "{} / x": [0, 0, 1],
    "x ** {}": [3, 2, 1],
    "{} ** x": [1, 1, 1],
    "x == {}": [False, False, True],
    "x != {}": [True, True, False],
    "x < {}": [False, False, False],
    "{} >= x": [False, False, True],
    "min(x, {})": [1, 1, 1],
    "max({}, x)": [3, 2, 1],
    "where(x > 2, x, {})": [3, 1, 1],
    "where(x > 2, {}, x)": [1, 2, 1],
    "clip(x, 0, {})": [1, 1, 1],
    "pad(x, [1, 1], value={})": [1, 3, 2, 1, 1],
}
"""Expressions of an integer tensor x with place for a number, and their values where x is 3, 2, 1 and the number 1."""


def error_of(type: str, expression: str) -> NpucError:
    with pytest.raises(NpucError) as caught:
        read_source(f"network t() {{ input x: {type}[3]; output y = {expression} }}", training=False)
    (error,) = caught.value.errors if isinstance(caught.value, SourceErrors) else (caught.value,)
    assert error.location is not None
    return error


def values(type: str, expression: str, x: list[float]) -> list[float]:
    text = f"network t() {{ input x: {type}[{len(x)}]; output y = {expression} }}"
    return run_source(text, inputs={"x": np.array(x)}, inference=True).outputs["y"].tolist()


@pytest.mark.parametrize("expression", BESIDE)
@pytest.mark.parametrize("number", [2147483648, 3000000000])
def test_an_i32_tensor_refuses_what_is_no_i32(expression: str, number: int) -> None:
    assert error_of("i32", expression.format(number)).message.endswith(f"found {number}, {I32}")


@pytest.mark.parametrize("expression", BESIDE)
@pytest.mark.parametrize("number", [2**53 + 1, 2**63 - 1])
def test_an_i64_tensor_refuses_numbers_that_are_not_exact(expression: str, number: int) -> None:
    error = error_of("i64", expression.format(number))
    assert error.message.endswith(I64)
    assert error.hint == EXACT


@pytest.mark.parametrize(
    ("type", "expression"),
    [
        ("i32", "x > -2147483649"),
        ("i32", "clip(x, -2147483649, 0)"),
        ("i64", "x > -9007199254740993"),
        ("i64", "clip(x, -9007199254740993, 0)"),
        ("i64", "pad(x, [1, 1], value=-9007199254740993)"),
    ],
)
def test_least_numbers(type: str, expression: str) -> None:
    assert error_of(type, expression).message.endswith(I32 if type == "i32" else I64)


@pytest.mark.parametrize(("expression", "expected"), BESIDE.items())
@pytest.mark.parametrize("type", ["i32", "i64"])
def test_a_number_that_fits(type: str, expression: str, expected: list[float]) -> None:
    assert values(type, expression.format(1), [3, 2, 1]) == expected


def test_the_largest_and_the_least_number_are_themselves() -> None:
    ends = [-(2.0**31), 2.0**31 - 1]
    assert values("i32", "x == 2147483647", ends) == [False, True]
    assert values("i32", "max(x, -2147483648)", ends) == ends
    assert values("i32", "x - -2147483648", [-1, -3]) == [2147483647, 2147483645]
    assert values("i32", "-2147483648 - x", [-1, -3]) == [-2147483647, -2147483645]
    assert values("i64", "x + 9007199254740991", [0, 2]) == [2**53 - 1, 2**53 + 1]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("x + {}", [np.inf, np.inf]),
        ("x - {}", [-np.inf, -np.inf]),
        ("x * {}", [np.inf, -np.inf]),
        ("x / {}", [0, 0]),
        ("{} / x", [np.inf, -np.inf]),
        ("x < {}", [True, True]),
        ("max(x, {})", [np.inf, np.inf]),
        ("min(x, {})", [1, -2]),
        ("where(x > 0, x, {})", [1, np.inf]),
        ("clip(x, -{0}, {0})", [1, -2]),
        ("x ** {}", [1, np.inf]),
        ("pad(x, [0, 1], value={})", [1, -2, np.inf]),
    ],
)
@pytest.mark.parametrize(("type", "number"), [("f16", "70000"), ("bf16", "1e39"), ("f32", "1e39"), ("f32", "1e300")])
def test_a_number_beyond_a_float_type_is_infinite(
    type: str, number: str, expression: str, expected: list[float]
) -> None:
    assert values(type, expression.format(number), [1.0, -2.0]) == expected


def test_a_constant_of_the_ir_is_of_its_type() -> None:
    with pytest.raises(VerifyException, match=r"value is 3000000000\.0, expected -2147483648 to 2147483647 beside"):
        constant(tensor_of(i32, ()), 3e9)
    constant(tensor_of(f32, ()), 1e39)
