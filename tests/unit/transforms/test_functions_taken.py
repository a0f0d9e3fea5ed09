"""What kind of function passes, backends and `explain` take, and what they say of others."""

from pathlib import Path

import pytest

from npuc.compiler import CapacityError, SourceError, compile_source
from npuc.compiler.cli import run_command

PLAIN = """func.func @{name}(%a: tensor<4x8xf32>, %b: tensor<8x8xf32>) -> tensor<4x8xf32> {{
  %c = train.matmul %a, %b {{layer = "{name}"}} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  func.return %c : tensor<4x8xf32>
}}
"""
TWO = PLAIN.format(name="f") + PLAIN.format(name="g")
NUMBER = "func.func @f(%a: index, %b: tensor<2xf32>) -> tensor<2xf32> { func.return %b : tensor<2xf32> }"


@pytest.mark.parametrize("verb", [["explain", "--devices", "2"], ["compile", "-b", "roofline"], ["reuse"], ["check"]])
def test_one_function_is_expected(verb: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "two.mlir"
    file.write_text(TWO)
    assert run_command([verb[0], str(file), *verb[1:]]) == 1
    assert ":5:1: error: found 2 functions: @f, @g, expected one" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["parallelize{devices=2}", "autodiff", "recompute"])
def test_plain_numbers_are_no_arguments_of_a_step(name: str) -> None:
    text = NUMBER
    if name == "autodiff":
        text = text.replace("-> tensor<2xf32>", "-> (tensor<2xf32>, tensor<f32> {train.loss})").replace(
            "func.return %b : tensor<2xf32>",
            '%l = train.dot_loss %b, %b {layer = "l"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>\n'
            "  func.return %b, %l : tensor<2xf32>, tensor<f32>",
        )
    with pytest.raises(SourceError) as caught:
        compile_source(text, "mlir", "f.mlir", pipeline=name)
    wanted = (
        "there is no backward pass"
        if name == "recompute"
        else "found the argument 'arg0' of type index, expected tensors"
    )
    assert f"{name.partition('{')[0]}: {wanted}" in caught.value.message
    assert caught.value.location is not None


def test_recompute_says_that_a_function_without_a_loss_has_no_backward_pass() -> None:
    with pytest.raises(SourceError, match="a function without a loss gets none"):
        compile_source(PLAIN.format(name="f"), "mlir", "f.mlir", pipeline="autodiff,recompute")


@pytest.mark.parametrize("backend", ["cycle", "roofline", "maestro"])
def test_numbers_beside_tensors_cost_nothing(backend: str) -> None:
    assert compile_source(NUMBER, "mlir", "f.mlir", backend=backend).ops == []
    assert compile_source(NUMBER, "mlir", "f.mlir", backend=backend, pipeline="lower-to-npu").ops == []


def test_a_batch_that_does_not_divide_has_a_place() -> None:
    with pytest.raises(CapacityError, match="expected a multiple of 3") as caught:
        compile_source(PLAIN.format(name="f"), "mlir", "f.mlir", mesh="3", parallel="dp")
    assert str(caught.value.location) == "f.mlir:1:1"
