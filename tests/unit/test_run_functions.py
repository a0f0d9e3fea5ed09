"""Running and checking functions that are no training steps: their names, types and results; what cannot run."""

from typing import Any

import numpy as np
import pytest

from npuc.compiler import NpucError, SourceError, UsageError, compile_source, describe_source, run_source
from npuc.compiler.driver.check import check_program
from npuc.frontends.source import text_source

PRODUCT = """func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x3xf32> {npuc.name = "b"})
    -> (tensor<4x3xf32> {npuc.name = "y"}, tensor<4x8xf32>) {
  %c = train.matmul %a, %b {layer = "fc"} : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  func.return %c, %a : tensor<4x3xf32>, tensor<4x8xf32>
}
"""
NUMBERS = """func.func @f(%a: i32, %b: f32, %c: index, %d: tensor<3xi32>) -> (i32, f32, index, tensor<3xi32>, i32) {
  %e = func.call @twice(%a) : (i32) -> i32
  %f = arith.addf %b, %b : f32
  func.return %e, %f, %c, %d, %a : i32, f32, index, tensor<3xi32>, i32
}
func.func private @twice(%a: i32) -> i32 {
  %b = arith.addi %a, %a : i32
  func.return %b : i32
}
"""
GATHER = """func.func @f(%i: tensor<4xi32>, %t: tensor<5x2xf32>) -> tensor<4x2xf32> {
  %e = train.embedding %i, %t {layer = "e"} : (tensor<4xi32>, tensor<5x2xf32>) -> tensor<4x2xf32>
  func.return %e : tensor<4x2xf32>
}
"""


def run(text: str, **more: Any) -> Any:
    return run_source(text, "mlir", "f.mlir", **more)


@pytest.mark.parametrize("options", [{}, {"level": "npu"}, {"level": "tiles"}, {"opt_level": 0}])
def test_arguments_and_results_have_names(options: Any) -> None:
    random = np.random.default_rng(0)
    a, b = random.normal(size=(4, 8)), random.normal(size=(8, 3))
    result = run(PRODUCT, inputs={"arg0": a, "b": b}, dtype="float64", **options)
    assert list(result.outputs) == ["y", "result1"]
    np.testing.assert_allclose(result.outputs["y"], a @ b)
    np.testing.assert_array_equal(result.outputs["result1"], a)
    assert result.loss is None
    assert result.gradients == result.params == result.updated == {}


def test_describe_names_them_too() -> None:
    found = describe_source(PRODUCT, "mlir")
    assert found["inputs"] == {"arg0": {"shape": [4, 8], "dtype": "f32"}, "b": {"shape": [8, 3], "dtype": "f32"}}
    assert found["outputs"] == {"y": {"shape": [4, 3], "dtype": "f32"}, "result1": {"shape": [4, 8], "dtype": "f32"}}
    assert describe_source(NUMBERS, "mlir")["inputs"]["arg2"] == {"shape": [], "dtype": "index"}


def test_an_argument_that_says_only_where_it_starts_is_named_too() -> None:
    text = (
        "func.func @f(%a: tensor<2xf32> {train.bound = 0.5 : f64}) -> tensor<2xf32> { func.return %a : tensor<2xf32> }"
    )
    assert run(text, inputs={"arg0": [1, 2]}).outputs["result0"].tolist() == [1, 2]


def test_numbers_round_and_wrap_as_their_types() -> None:
    given = {"arg0": 2**31 - 1, "arg1": 0.1, "arg2": 7, "arg3": [1, 2, 3]}
    out = run(NUMBERS, inputs=given).outputs
    assert out["result0"] == -2
    assert out["result1"] == 2 * np.float32(0.1)
    assert out["result1"].dtype == np.float32
    assert (out["result2"], out["result4"]) == (7, 2**31 - 1)
    assert out["result3"].tolist() == [1, 2, 3]
    assert run(NUMBERS, inputs=given, dtype="float64").outputs["result1"] == 0.2


@pytest.mark.parametrize("text", [PRODUCT, NUMBERS, GATHER, "func.func @f() { func.return }"])
@pytest.mark.parametrize("level", ["npu", "tiles"])
def test_any_function_is_checked(text: str, level: str) -> None:
    checked = check_program(text_source(text, "mlir", "f.mlir"), {"level": level})
    assert all(one.comparison.equal for one in checked)
    assert any(one.step == "lower-to-npu" for one in checked) == ("train." in text)


def test_a_function_without_names_is_scored() -> None:
    plain = PRODUCT.replace(' {npuc.name = "b"}', "").replace(' {npuc.name = "y"}', "")
    for backend in ("cycle", "roofline"):
        assert compile_source(plain, "mlir", "f.mlir", backend=backend).totals["macs"] == 4 * 8 * 3


def test_a_result_without_a_name_outlives_autodiff() -> None:
    text = """func.func @f(%x: tensor<2x3xf32>, %w: tensor<3x1xf32> {train.param = "w"})
    -> (tensor<2x1xf32>, tensor<f32> {train.loss}) {
  %h = train.matmul %x, %w {layer = "h"} : (tensor<2x3xf32>, tensor<3x1xf32>) -> tensor<2x1xf32>
  %l = train.dot_loss %h, %h {layer = "l"} : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<f32>
  func.return %h, %l : tensor<2x1xf32>, tensor<f32>
}
"""
    given = {"arg0": np.ones((2, 3)), "w": np.full((3, 1), 2.0)}
    result = run(text, inputs=given)
    assert result.outputs["result0"].tolist() == [[6.0]] * 2
    assert result.gradients["w"].shape == (3, 1)
    check_program(text_source(text, "mlir", "f.mlir"), {"pipeline": "autodiff,lower-to-npu"})


BODY = "{ func.return %a : i32 }"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"func.func @f(%a: i32) -> i32 {BODY}\nfunc.func @g(%a: i32) -> i32 {BODY}", "found 2 functions: @f, @g"),
        (f'func.func @f(%a: i32, %b: i32 {{npuc.name = "arg0"}}) -> i32 {BODY}', "two arguments are named 'arg0'"),
        (f"func.func @f(%a: i32 {{npuc.name = 3 : i64}}) -> i32 {BODY}", "npuc.name is 3 : i64, expected a string"),
        (
            'func.func @f(%a: i32 {npuc.name = "a", train.input = "x"}) { func.return }',
            "argument 0 has train.input and npuc.name, expected one of them",
        ),
        ("func.func @f(%a: i32 {train.input = 3 : i64}) { func.return }", "train.input is 3 : i64, expected a string"),
        (
            f'func.func @f(%a: i32) -> (i32 {{train.updates = "a"}}) {BODY}',
            'result 0: train.updates is "a", expected an integer',
        ),
        ("func.func @f(%a: memref<4xi32>) { func.return }", "'arg0' is memref<4xi32>, expected a number"),
        ("func.func @f(%a: tensor<?xi32>) { func.return }", r"'arg0' is tensor<\?xi32>, expected a number"),
        ("func.func @f(%a: tensor<4xi128>) { func.return }", "'arg0' is tensor<4xi128>, expected a number"),
    ],
)
def test_a_function_that_cannot_run_says_why(text: str, message: str) -> None:
    with pytest.raises(SourceError, match=message) as caught:
        run(text)
    assert caught.value.location is not None
    with pytest.raises(SourceError, match=message):
        check_program(text_source(text, "mlir", "f.mlir"), {})


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("%b = arith.muli %a, %a : tensor<4xi32>", "arith.muli does not take it"),
        ("%b = func.call @f(%a) : (tensor<4xi32>) -> tensor<4xi32>", "maximum recursion depth"),
        ("%b = tensor.empty() : tensor<4xi32>", "tensor.empty"),
    ],
)
def test_what_an_operation_of_another_dialect_cannot_do(body: str, message: str) -> None:
    text = f"func.func @f(%a: tensor<4xi32>) -> tensor<4xi32> {{\n  {body}\n  func.return %b : tensor<4xi32>\n}}"
    with pytest.raises(SourceError, match=f"cannot run on this data: .*{message}") as caught:
        run(text, inputs={"arg0": [1, 2, 3, 4]})
    assert str(caught.value.location) == "f.mlir:2:3"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"arg0": 1.5}, "'arg0' has fractions, expected integers"),
        ({"arg0": 2**31}, "values beyond"),
        ({"arg0": [1]}, "'arg0' has shape 1, expected scalar"),
        ({"arg1": 1}, "unknown input 'arg1'"),
    ],
)
def test_wrong_data_is_an_error_of_usage(given: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        run(f"func.func @f(%a: i32) -> i32 {BODY}", inputs=given)
    assert isinstance(caught.value, NpucError)


def test_a_defect_of_an_operation_is_no_error_of_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    from npuc.compiler.layers.matmul import MatmulLayer

    def fails(*_: Any) -> Any:
        raise ValueError("operands could not be broadcast together")

    monkeypatch.setattr(MatmulLayer, "evaluate", fails)
    with pytest.raises(ValueError, match="broadcast"):
        run(PRODUCT, inputs={"arg0": np.ones((4, 8)), "b": np.ones((8, 3))})


def test_a_constant_that_cannot_be_computed_is_an_error_of_the_run_alone() -> None:
    text = """network n() {
  input x: i32[4]
  a = full([4], 1, dtype="i32") / full([4], 0, dtype="i32")
  output y = a + x
}"""
    assert compile_source(text, inference=True).ops
    with pytest.raises(SourceError, match="cannot run on this data: division of an integer by zero"):
        run_source(text, inputs={"x": [1, 2, 3, 4]}, inference=True)
