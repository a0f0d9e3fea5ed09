"""Mistakes in the arguments of elementwise functions."""

import pytest

from tests.unit.layers.wrong_call import message_of

BEFORE = "network t() { input x: f32[4, 8]; input i: i32[4]; labels y: i32[4]; m = greater(x, 0); n = equal(i, 1)"
BOOL_HINT = 'cast(x, to="f32") makes 0 and 1 of false and true'
FRACTION = 'found 0.5 beside a tensor of i32, expected an integer | cast(x, to="f32") gives the tensor fractions'


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (
            "h = clip(x, 3, high=1.5)",
            "13: argument 'low' of clip (layer 'h'): found 3, expected at most high, which is 1.5",
        ),
        (
            "h = gelu(x, approximate=erf)",
            "25: argument 'approximate' of gelu (layer 'h'): found 'erf', expected 'none' or 'tanh'",
        ),
        (
            "h = prelu(i)",
            "11: argument 'x' of prelu (layer 'h'): found a tensor of rank 1, expected [batch, channels, …]",
        ),
        (
            "h = prelu(x, weight=param([4]))",
            "5: the slopes are tensor<4xf32>, expected tensor<8xf32>: one a channel of 4x8 "
            "(layer 'h': prelu of f32[4, 8], f32[4])",
        ),
        (
            "h = log_softmax(x, axis=2)",
            "25: argument 'axis' of log_softmax (layer 'h'): found 2, expected -2 to 1 for a tensor of rank 2",
        ),
        (
            "h = sigmoid(i)",
            "5: elements are i32, expected floating point: cast them first (layer 'h': sigmoid of i32[4])",
        ),
        ("h = relu(m)", "5: elements are bool, expected numbers: cast them first (layer 'h': relu of bool[4, 8])"),
        (
            "h = m + m",
            "7: elements are bool, expected numbers: cast them first (layer 'h': '+' of bool[4, 8], bool[4, 8])",
        ),
        ("h = m * 2", f"7: found 2 beside a tensor of bool, expected a tensor of bool | {BOOL_HINT}"),
        ("h = i * 0.5", f"7: {FRACTION}"),
        ("h = 0.5 - i", f"9: {FRACTION}"),
        ("h = i / 0.5", f"7: {FRACTION}"),
        (
            "h = max(i, 0.5)",
            f"12: argument 'y' of max (layer 'h'): {FRACTION}",
        ),
        (
            "h = less(0.5, i)",
            f"10: argument 'x' of less (layer 'h'): {FRACTION}",
        ),
        ("h = less(param([4]), i)", "5: element types differ: f32 and i32 (layer 'h': less of f32[4], i32[4])"),
        (
            "h = pow(i, -1)",
            "5: exponent is -1.0, expected an integer of at least 0 for i32 (layer 'h': pow of i32[4], -1)",
        ),
        (
            "h = pow(0.5, exponent=i)",
            f"9: argument 'x' of pow (layer 'h'): {FRACTION}",
        ),
        (
            "h = where(x, x, 0)",
            "5: the condition has element type f32, expected bool: compare, as in x > 0 "
            "(layer 'h': where of f32[4, 8], f32[4, 8], 0)",
        ),
        (
            "h = where(m, 1, 0)",
            "17: argument 'y' of where (layer 'h'): found two numbers, expected x or y to be a tensor | "
            'cast(condition, to="f32") makes 1 and 0 of true and false',
        ),
        (
            "h = where(n, x, 0)",
            "5: shapes 4 of the condition and 4x8 do not broadcast (layer 'h': where of bool[4], f32[4, 8], 0)",
        ),
        (
            "h = logical_and(m, x)",
            "5: rhs has element type f32, expected bool: compare, as in x > 0 "
            "(layer 'h': logical_and of bool[4, 8], f32[4, 8])",
        ),
        (
            "h = logical_not(i)",
            "5: x has element type i32, expected bool: compare, as in x > 0 (layer 'h': logical_not of i32[4])",
        ),
    ],
)
def test_message(statement: str, expected: str) -> None:
    assert message_of(statement, before=BEFORE) == expected
