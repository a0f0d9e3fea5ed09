"""What the verifiers of StableHLO's operations refuse, each with its message."""

import pytest
from xdsl.utils.exceptions import VerifyException

from npuc.compiler.reference.example import example_module
from npuc.compiler.reference.operations import operation_page, own_operations
from npuc.frontends.mlir import make_context

KNOWN = own_operations()


@pytest.mark.parametrize(
    ("name", "right", "wrong", "message"),
    [
        ("abs", "-> tensor<2x3xf32>", "-> tensor<3x2xf32>", "equal types"),
        ("add", "-> tensor<2x3xf32>", "-> tensor<2x3xf64>", "equal types"),
        ("compare", "tensor<2x3xi1>", "tensor<2x3xi8>", "result of i1"),
        ("select", "(tensor<2x3xi1>", "(tensor<2x3xi8>", "predicate of i1"),
        ("select", "(tensor<2x3xi1>", "(tensor<3xi1>", "predicate of shape"),
        ("clamp", "(tensor<f32>, ", "(tensor<2xf32>, ", "bound of shape"),
        ("convert", "tensor<2x3xbf16>", "tensor<2x4xbf16>", "result of shape"),
        ("bitcast_convert", "tensor<2x3xui32>", "tensor<2x4xui32>", "last axis"),
        ("constant", "-> tensor<2x3xf32>", "-> tensor<2x3xf64>", "result tensor"),
        ("iota", "1 : i64", "2 : i64", "dimension 2 is none"),
        ("broadcast_in_dim", "array<i64: 1>", "array<i64: 0>", "cannot become axis 0"),
        ("broadcast_in_dim", "array<i64: 1>", "array<i64: 1, 0>", "expected 1 numbers"),
        ("reshape", "tensor<6xf32>", "tensor<7xf32>", "expected 6 elements"),
        ("transpose", "array<i64: 1, 0>", "array<i64: 1, 1>", "different dimensions"),
        ("reverse", "array<i64: 1>", "array<i64: 2>", "none of a tensor"),
        ("concatenate", "tensor<2x1xf32>", "tensor<3x1xf32>", "does not go beside"),
        ("slice", "array<i64: 2, 6>", "array<i64: 3, 6>", "is no slice"),
        ("dynamic_slice", "array<i64: 1, 3>", "array<i64: 1, 7>", "does not lie within"),
        ("dynamic_update_slice", "tensor<1x3xf32>", "tensor<3x3xf32>", "does not lie within"),
        ("pad", "array<i64: 1, 0>", "array<i64: -1, 0>", "at least 0"),
        ("pad", "array<i64: 0, -1>", "array<i64: 0, -9>", "more is taken away"),
        ("dot_general", "tensor<5x3x4xf32>", "tensor<5x2x4xf32>", "is paired with axis"),
        ("dot_general", "-> tensor<5x2x4xf32>", "-> tensor<2x5x4xf32>", "result of shape"),
        ("convolution", "-> tensor<2x4x4x4xf32>", "-> tensor<2x4x5x4xf32>", "result of shape"),
        ("convolution", "tensor<4x3x3x3xf32>", "tensor<4x2x3x3xf32>", "do not fit"),
        ("convolution", "tensor<2x2xi64>", "tensor<1x2xi64>", "padding of shape"),
        ("convolution", "array<i64: 2, 2>", "array<i64: 0, 2>", "at least 1"),
        ("reduce", "-> tensor<2xf32>", "-> tensor<3xf32>", "result of shape"),
        ("reduce_window", "-> tensor<2x3xf32>", "-> tensor<2x2xf32>", "result of shape"),
        ("select_and_scatter", "tensor<3xf32>", "tensor<4xf32>", "result of shape"),
        ("sort", "-> tensor<2x3xf32>", "-> tensor<2x4xf32>", "equal types"),
        ("gather", "array<i64: 1, 4>", "array<i64: 1, 5>", "does not lie within"),
        ("gather", "-> tensor<5x4xf32>", "-> tensor<4x5xf32>", "result of shape"),
        ("scatter", "inserted_window_dims = [0]", "inserted_window_dims = [2]", "none of a tensor"),
        ("while", "^bb0(%n: tensor<i32>, %a: tensor<2xf32>)", "^bb0(%n: tensor<i32>)", "arguments of the condition"),
        ("rng_bit_generator", "(tensor<2xui64>, tensor<4xui32>)", "(tensor<3xui64>, tensor<4xui32>)", "equal types"),
    ],
)
def test_a_wrong_operation_is_refused(name: str, right: str, wrong: str, message: str) -> None:
    example = operation_page(KNOWN[f"stablehlo.{name}"]).example
    assert example is not None
    assert right in example
    with pytest.raises(Exception, match=message) as caught:
        example_module(example.replace(right, wrong, 1), make_context()).verify()
    assert isinstance(caught.value, VerifyException)


def test_unknown_sizes_are_not_checked() -> None:
    text = '%y = "stablehlo.transpose"(%x) <{permutation = array<i64: 1, 0>}> : (tensor<?x3xf32>) -> tensor<3x?xf32>'
    example_module(text, make_context()).verify()
