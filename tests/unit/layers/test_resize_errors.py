"""Mistakes in the arguments of resizing and region pooling."""

import pytest

from tests.unit.layers.wrong_call import error_of


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("upsample(r, 2)", "14 x: found a tensor of rank 2, expected [batch, channels, height, width]"),
        (
            "upsample(s, 2, mode=bilinear)",
            "14 x: found a tensor of rank 3, expected [batch, channels, height, width]",
        ),
        ("upsample(x, 2, mode=linear)", "14 x: found a tensor of rank 4, expected [batch, channels, length]"),
        ("upsample(x)", "5 size: found neither scale nor size, expected one of them"),
        ("upsample(x, 2, size=12)", "25 size: found both scale and size, expected one of them"),
        ("upsample(x, 0)", "17 scale: found 0.0, expected a number above 0"),
        ("upsample(x, 1e300)", "17 scale: found 1e+300, which makes 2**63 or more of 6 rows or columns"),
        ("upsample(x, [1, 1e308])", "17 scale: found 1e+308, which makes 2**63 or more of 6 rows or columns"),
        ("upsample(x, 0.1)", "17 scale: found 0.1, which leaves nothing of 6 rows or columns"),
        ("upsample(x, [2])", "17 scale: found a list of 1, expected a number or a list of two"),
        ('upsample(x, "two")', '17 scale: found string "two", expected a number, a list of numbers or none'),
        ("upsample(x, size=[1, 2, 3])", "22 size: found a list of 3, expected an integer or a list of two"),
        ("upsample(x, size=0)", "22 size: found 0, expected at least 1"),
        (
            "upsample(x, 2, mode=cubic)",
            "25 mode: found 'cubic', "
            "expected 'nearest', 'nearest-exact', 'linear', 'bilinear', 'trilinear' or 'bicubic'",
        ),
        ("upsample(x, 2, antialias=true)", "30 antialias: found true, expected false where mode is 'nearest'"),
        ("upsample(s, size=[2, 2], mode=linear)", "22 size: found a list of 2, expected an integer or a list of one"),
        ("grid_sample(x, x)", "20 grid: found the shape [2, 4, 6, 6], expected [2, rows, columns, 2]"),
        ("grid_sample(s, s)", "17 x: found a tensor of rank 3, expected [batch, channels, height, width]"),
        ("grid_sample(x, x, mode=area)", "28 mode: found 'area', expected 'bilinear', 'nearest' or 'bicubic'"),
        ("grid_sample(x, x, padding=zero)", "31 padding: found 'zero', expected 'zeros', 'border' or 'reflection'"),
        ("fold(s, 3, 3)", "10 x: found 4 rows, expected a multiple of the window's 9"),
        ("fold(s, 4, 2)", "10 x: found 6 windows, expected 9 over [4, 4]"),
        ("vector_norm(x, 0)", "20 order: found 0.0, expected a number above 0 | amax(abs(x)) is the norm of order ∞"),
        ("upsample(x, 2, align_corners=true)", "34 align_corners: found true, expected false where mode is 'nearest'"),
        ("upsample(i, 2, mode=bilinear)", "5: elements are i32, expected floating point: cast them first"),
        ("pixel_shuffle(x, 3)", "22 factor: found 3, expected an integer whose square divides 4 channels"),
        ("pixel_shuffle(x, 0)", "22 factor: found 0, expected an integer whose square divides 4 channels"),
        ("pixel_shuffle(s, 2)", "19 x: found a tensor of rank 3, expected [batch, channels, height, width]"),
        ("roi_align(s, r, 2)", "15 x: found a tensor of rank 3, expected [batch, channels, height, width]"),
        ("roi_align(x, s, 2)", "18 rois: found the shape [2, 4, 6], expected [regions, 5]"),
        ("roi_align(x, reshape(r, [5, 3]), 2)", "18 rois: found the shape [5, 3], expected [regions, 5]"),
        ("roi_align(x, r, 0)", "21 size: found 0, expected at least 1"),
        ("roi_align(x, r, [2, 2, 2])", "21 size: found a list of 3, expected an integer or a list of two"),
        ("roi_align(x, r, 2, scale=0)", "30 scale: found 0.0, expected a number above 0"),
        (
            "roi_align(x, r, 2, sampling_ratio=-1)",
            "39 sampling_ratio: found -1, expected at least 1 | the number of samples cannot depend on the region",
        ),
        ("roi_align(i, r, 2)", "5: elements are i32, expected floating point: cast them first"),
    ],
)
def test_a_wrong_argument_is_an_error_at_its_place(call: str, expected: str) -> None:
    assert error_of(call) == expected
