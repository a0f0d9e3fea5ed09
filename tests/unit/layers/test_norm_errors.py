"""Mistakes in the arguments of normalisations."""

import pytest

from tests.unit.layers.wrong_call import error_of


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("batch_norm(v)", "16 x: found a tensor of rank 1, expected [batch, channels, …]"),
        ("batch_norm(x, eps=-1e-5)", "23 eps: found -1e-05, expected a number of at least 0"),
        ("batch_norm(x, momentum=1.5)", "28 momentum: found 1.5, expected 0 to 1"),
        ("batch_norm(x, weight=s)", "26 weight: found a tensor of shape [2, 4, 6], expected [4]"),
        ("batch_norm(x, bias=s)", "24 bias: found a tensor of shape [2, 4, 6], expected [4]"),
        ("batch_norm(x, affine=false, bias=v)", "26 affine: found false beside weight or bias, which it leaves out"),
        ("group_norm(x, 2, weight=s)", "29 weight: found a tensor of shape [2, 4, 6], expected [4]"),
        (
            "group_norm(x, 2, affine=false, weight=v)",
            "29 affine: found false beside weight or bias, which it leaves out",
        ),
        ("layer_norm(s, weight=v)", "26 weight: found a tensor of shape [4], expected [6]"),
        ("rms_norm(s, affine=false, weight=v)", "24 affine: found false beside weight, which it leaves out"),
        ("linear(s, 3, bias=v)", "23 bias: found a tensor of shape [4], expected [3]"),
        ("conv2d(x, 3, kernel=1, bias=v)", "33 bias: found a tensor of shape [4], expected [3]"),
        ("batch_norm(i)", "5: elements are i32, expected floating point: cast them first"),
        ("layer_norm(s, axes=4)", "24 axes: found 4, expected 1 to 3 for a tensor of rank 3"),
        ("layer_norm(s, axes=0)", "24 axes: found 0, expected 1 to 3 for a tensor of rank 3"),
        ("layer_norm(s, eps=-1)", "23 eps: found -1.0, expected a number of at least 0"),
        ("layer_norm(sum(s))", "16 x: found a tensor of rank 0, expected at least one axis"),
        ("layer_norm(i)", "5: elements are i32, expected floating point: cast them first"),
        ("rms_norm(s, axes=-1)", "22 axes: found -1, expected 1 to 3 for a tensor of rank 3"),
        ("rms_norm(s, eps=-0.5)", "21 eps: found -0.5, expected a number of at least 0"),
        ("rms_norm(i)", "5: elements are i32, expected floating point: cast them first"),
        ("group_norm(x, 3)", "19 groups: found 3, expected a divisor of the 4 channels"),
        ("group_norm(x, groups=0)", "26 groups: found 0, expected a divisor of the 4 channels"),
        ("group_norm(v, 2)", "16 x: found a tensor of rank 1, expected [batch, channels, …]"),
        ("group_norm(x, 2, eps=-1)", "26 eps: found -1.0, expected a number of at least 0"),
        ("instance_norm(v)", "19 x: found a tensor of rank 1, expected [batch, channels, length, …]"),
        (
            "instance_norm(reshape(x, [2, 144, 1]))",
            "19 x: found one position a channel, expected more than one to normalise",
        ),
        ("instance_norm(x, eps=-2)", "26 eps: found -2.0, expected a number of at least 0"),
        ("local_response_norm(x, 0)", "28 size: found 0, expected at least 1"),
        ("local_response_norm(v, 5)", "25 x: found a tensor of rank 1, expected [batch, channels, …]"),
        ("local_response_norm(x, 5, alpha=-1)", "37 alpha: found -1.0, expected a number of at least 0"),
        ("local_response_norm(x, 5, k=-1)", "33 k: found -1.0, expected a number of at least 0"),
        ("local_response_norm(i, 5)", "5: elements are i32, expected floating point: cast them first"),
    ],
)
def test_a_wrong_argument_is_an_error_at_its_place(call: str, expected: str) -> None:
    assert error_of(call) == expected
