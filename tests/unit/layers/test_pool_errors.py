"""Mistakes in the arguments of pooling."""

import pytest

from tests.unit.layers.wrong_call import error_of


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("max_pool(s, 2)", "14 x: found a tensor of rank 3, expected [batch, channels, height, width]"),
        ("max_pool(x, [2, 2, 2])", "17 kernel: found a list of 3, expected an integer or a list of two"),
        ("max_pool(x, 0)", "17 kernel: found 0, expected at least 1"),
        ("max_pool(x, 2, stride=0)", "27 stride: found 0, expected at least 1"),
        ("max_pool(x, 2, stride=[1, 2, 3])", "27 stride: found a list of 3, expected an integer or a list of two"),
        ("max_pool(x, 2, padding=2)", "28 padding: found 2, expected 0 to 1, half of the window"),
        (
            "max_pool(x, 2, padding=round)",
            "28 padding: found 'round', expected an integer, [top, bottom, left, right], 'same' or 'valid'",
        ),
        ("max_pool(x, 2, padding=-1)", "28 padding: found -1, expected 0 to 1, half of the window"),
        ("max_pool(x, 3, padding=[0, 3])", "28 padding: found 3, expected 0 to 1, half of the window"),
        ("max_pool(x, 2, padding=[1, 1, 1])", "28 padding: found a list of 3, expected [top, bottom, left, right]"),
        ("max_pool(x, 2, dilation=0)", "29 dilation: found 0, expected at least 1"),
        ("max_pool(x, 2, dilation=[1, 1, 1])", "29 dilation: found a list of 3, expected an integer or a list of two"),
        ("max_pool(x, 4, dilation=2)", "5: a 7x7 window does not fit into 6x6 with padding [0, 0, 0, 0]"),
        ("max_pool(cast(x, to=bool), 2)", "5: elements are bool, expected numbers: cast them first"),
        ("max_pool3d(x, 2)", "16 x: found a tensor of rank 4, expected [batch, channels, depth, height, width]"),
        (
            "adaptive_avg_pool3d(x, 2)",
            "25 x: found a tensor of rank 4, expected [batch, channels, depth, height, width]",
        ),
        (
            "avg_pool3d(unsqueeze(x, 0), [2, 2])",
            "33 kernel: found a list of 2, expected an integer or a list of three",
        ),
        ("max_pool3d(unsqueeze(x, 0), 2, padding=2)", "44 padding: found 2, expected 0 to 1, half of the window"),
        ("adaptive_max_pool3d(unsqueeze(x, 0), 0)", "42 size: found 0, expected at least 1"),
        ("avg_pool(s, 2)", "14 x: found a tensor of rank 3, expected [batch, channels, height, width]"),
        ("avg_pool(x, 7)", "5: a 7x7 window does not fit into 6x6 with padding [0, 0, 0, 0]"),
        ("avg_pool(i, 2)", "5: elements are i32, expected floating point: cast them first"),
        ("max_pool1d(x, 2)", "16 x: found a tensor of rank 4, expected [batch, channels, length]"),
        ("max_pool1d(s, 2, padding=[1, 1, 1])", "30 padding: found a list of 3, expected an integer or [left, right]"),
        ("max_pool1d(s, 9)", "5: a 1x9 window does not fit into 1x6 with padding [0, 0, 0, 0]"),
        ("max_pool1d(s, 0)", "19 kernel: found 0, expected at least 1"),
        ("max_pool1d(s, 2, stride=0)", "29 stride: found 0, expected at least 1"),
        ("max_pool1d(s, 2, dilation=-1)", "31 dilation: found -1, expected at least 1"),
        (
            "max_pool1d(s, 2, padding=none)",
            "30 padding: found none, expected an integer, a list of integers or a string",
        ),
        ("avg_pool1d(s, 2, padding=2)", "30 padding: found 2, expected 0 to 1, half of the window"),
        ("avg_pool1d(x, 2)", "16 x: found a tensor of rank 4, expected [batch, channels, length]"),
        (
            "global_avg_pool(v)",
            "21 x: found a tensor of rank 1, expected [batch, channels, length] or [batch, channels, height, width]",
        ),
        ("global_max_pool(reshape(x, [2, 4, 6, 6, 1]))", "21 x: found a tensor of rank 5, expected rank 3 or 4"),
        ("adaptive_avg_pool(x, 0)", "26 size: found 0, expected at least 1"),
        ("adaptive_avg_pool(x, [2, 2, 2])", "26 size: found a list of 3, expected an integer or a list of two"),
        ("adaptive_avg_pool(s, [2, 2])", "26 size: found [2, 2], expected an integer for [batch, channels, length]"),
        (
            "adaptive_avg_pool(v, 2)",
            "23 x: found a tensor of rank 1, expected [batch, channels, length] or [batch, channels, height, width]",
        ),
        ("adaptive_avg_pool(i, 2)", "5: elements are i32, expected floating point: cast them first"),
        ("adaptive_max_pool(reshape(x, [2, 4, 6, 6, 1]), 2)", "23 x: found a tensor of rank 5, expected rank 3 or 4"),
        ("adaptive_max_pool(cast(x, to=bool), 2)", "5: elements are bool, expected numbers: cast them first"),
    ],
)
def test_a_wrong_argument_is_an_error_at_its_place(call: str, expected: str) -> None:
    assert error_of(call) == expected
