"""What a training function's arguments and results may say, and what is refused with its place."""

import pytest

from npuc.compiler import SourceError, compile_source

STEP = """
func.func @step(%x: tensor<2x3xf32> {train.input = "x"}, %w: tensor<3xf32> {train.param = "w"})
    -> (tensor<f32> {train.loss}, tensor<3xf32> {train.updates = 1 : i64}) {
  %y = train.add %x, %w {layer = "y"} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %l = train.dot_loss %y, %x {layer = "l"} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  %n = train.sgd %w, %w lr 0.5 {layer = "w", role = "update"} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %l, %n : tensor<f32>, tensor<3xf32>
}
"""


def test_a_right_step_is_scored() -> None:
    assert compile_source(STEP, format="mlir").totals["cycles"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("train.updates = 1", "train.updates = 9", "train.updates = 9, which is not the number of such an argument"),
        ("train.updates = 1", "train.updates = 0", "train.updates = 0, which is not the number of such an argument"),
        ("train.updates = 1", "train.gradient = -1", "train.gradient = -1, which is not the number"),
        ('train.param = "w"', 'train.param = "x"', "two arguments are named 'x'"),
        ("tensor<f32> {train.loss}, tensor<3xf32> {", "tensor<f32>, tensor<3xf32> {train.loss, ", "the loss is"),
        ("  func.return %l, %n : tensor<f32>, tensor<3xf32>\n", "", "does not end in func.return"),
        (
            "func.return %l, %n : tensor<f32>, tensor<3xf32>",
            "func.return %l : tensor<f32>",
            "arguments to have the same types",
        ),
    ],
)
def test_a_wrong_signature_is_refused(old: str, new: str, message: str) -> None:
    assert old in STEP
    with pytest.raises(SourceError, match=message):
        compile_source(STEP.replace(old, new), format="mlir")


def test_a_program_without_a_function_is_refused() -> None:
    with pytest.raises(SourceError, match="the program has no function") as caught:
        compile_source("builtin.module {}", "mlir", "f.mlir")
    assert str(caught.value.location) == "f.mlir:1:1"


@pytest.mark.parametrize(
    ("spec", "message"),
    [('{kind = "sgd"}', "lacks lr"), ('{kind = "sgd", lr = 1.0 : f64, mass = 1.0 : f64}', "wrong option 'mass'")],
)
def test_a_wrong_optimizer_is_refused(spec: str, message: str) -> None:
    text = STEP.replace("{train.updates = 1 : i64}) {", '{train.output = "n"}) attributes {train.optimizer = SPEC} {')
    with pytest.raises(SourceError, match=message):
        compile_source(text.replace("SPEC", spec), format="mlir")
