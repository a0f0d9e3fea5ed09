"""What kind of function passes, backends and `explain` take, and what they say of others."""

from pathlib import Path

import pytest

from npuc.compiler import CapacityError, SourceError, compile_file, compile_source
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


@pytest.mark.parametrize("name", ["parallelize{devices=2}", "autodiff", "predict-gradients", "recompute"])
def test_plain_numbers_are_no_arguments_of_a_step(name: str) -> None:
    text = NUMBER
    if name in ("autodiff", "predict-gradients"):
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
        compile_source(PLAIN.format(name="f"), "mlir", "f.mlir", pipeline="recompute")


@pytest.mark.parametrize("backend", ["cycle", "roofline", "maestro"])
@pytest.mark.parametrize("text", [PLAIN.format(name="f"), TWO])
def test_autodiff_says_that_it_takes_a_loss(backend: str, text: str) -> None:
    if text == TWO and backend == "roofline":
        return  # it takes one function
    with pytest.raises(SourceError, match="autodiff: found a function without a loss, expected one") as caught:
        compile_source(text, "mlir", "f.mlir", backend=backend, pipeline="autodiff")
    assert str(caught.value.location) == "f.mlir:1:1"
    assert caught.value.exit_code == 1


def test_autodiff_of_a_network_for_inference_is_refused() -> None:
    with pytest.raises(SourceError, match="autodiff: found a function without a loss"):
        compile_file("samples:mlp", pipeline="autodiff,lower-to-npu", inference=True)


def test_autodiff_leaves_training_steps_and_what_stands_beside_a_loss() -> None:
    once, twice = (compile_file("samples:mlp", pipeline=f"{a},lower-to-npu") for a in ("autodiff", "autodiff,autodiff"))
    assert once.totals == twice.totals
    loss = """func.func @g(%w: tensor<4xf32> {train.param = "w"}) -> (tensor<f32> {train.loss}) {
      %l = train.dot_loss %w, %w {layer = "l"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
      func.return %l : tensor<f32>
    }
    """
    named = PLAIN.format(name="f").replace("%a: tensor<4x8xf32>", '%a: tensor<4x8xf32> {train.input = "a"}')
    two = compile_source(named + loss, "mlir", "f.mlir", pipeline="autodiff,lower-to-npu")
    assert {(row.name, row.phase) for row in two.ops} >= {("f", "forward"), ("l", "dw")}
    gradients = compile_source("layer,M,N,K,has_dX\na,4,4,4,1\n", "csv", "t.csv", pipeline="autodiff,lower-to-npu")
    assert [row.phase for row in gradients.ops] == ["forward", "dx", "dw"]


@pytest.mark.parametrize("backend", ["cycle", "roofline", "maestro"])
def test_numbers_beside_tensors_cost_nothing(backend: str) -> None:
    assert compile_source(NUMBER, "mlir", "f.mlir", backend=backend).ops == []
    assert compile_source(NUMBER, "mlir", "f.mlir", backend=backend, pipeline="lower-to-npu").ops == []


def test_a_batch_that_does_not_divide_has_a_place() -> None:
    with pytest.raises(CapacityError, match="expected a multiple of 3") as caught:
        compile_source(PLAIN.format(name="f"), "mlir", "f.mlir", mesh="3", parallel="dp")
    assert str(caught.value.location) == "f.mlir:1:1"


def test_a_loss_is_computed_by_operations() -> None:
    text = """func.func @f(%w: tensor<f32> {train.param = "w"}) -> (tensor<f32> {train.loss}) {
  func.return %w : tensor<f32>
}
"""
    with pytest.raises(SourceError, match="autodiff: found a loss that is an argument") as caught:
        compile_source(text, "mlir", "f.mlir", backend="roofline")
    assert str(caught.value.location) == "f.mlir:1:1"


def test_a_state_of_the_optimizer_finds_its_name_free() -> None:
    text = """func.func @f(%w: tensor<4xf32> {train.param = "w"}, %s: STATE) -> (tensor<f32> {train.loss})
    attributes {train.optimizer = {kind = "adam", lr = 0.1 : f64}} {
  %l = train.dot_loss %w, %w {layer = "l"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  func.return %l : tensor<f32>
}
"""
    for state, message in (
        ('tensor<4xf32> {train.state = "w.mean"}', "autodiff: found an argument 'w.mean'"),
        ('tensor<3xi64> {train.state = "step"}', "argument 'step', which counts steps, is tensor<3xi64>"),
    ):
        with pytest.raises(SourceError, match=message) as caught:
            compile_source(text.replace("STATE", state), "mlir", "f.mlir", backend="roofline")
        assert str(caught.value.location) == "f.mlir:1:1"
    compile_source(text.replace("STATE", 'tensor<i64> {train.state = "step"}'), "mlir", "f.mlir")
