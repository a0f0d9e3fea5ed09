"""From outputs to a training step: what is chosen by rule, what is asked for, labels."""

from collections import Counter
from collections.abc import Sequence

import pytest
from xdsl.dialects.func import FuncOp

from npuc.compiler.core.errors import Location, UsageError
from npuc.compiler.core.verify import location_of
from npuc.dialects.train.signature import arguments_of
from npuc.frontends.dsl.syntax import Name
from npuc.frontends.script.script import Script
from npuc.frontends.script.training import Wanted, complete


def _step(shapes: dict[str, Sequence[int]], wanted: Wanted) -> tuple[Script, list[str]]:
    """A script of a linear layer an output, with its step."""
    script = Script("net", "net.onnx")
    x = script.input("x", "f32", [2, 3])
    outputs: dict[str, Name] = {}
    for name, shape in shapes.items():
        h = script.let(f"{name}_layer", "linear", x, 12)
        h = script.let(f"{name}_shape", "reshape", h, list(shape)) if shape else script.let(f"{name}_mean", "mean", h)
        outputs[name] = h
    return script, complete(script, outputs, wanted)


@pytest.mark.parametrize(
    ("shape", "function"),
    [((2, 12), "cross_entropy"), ((2, 3, 4), "cross_entropy"), ((2, 3, 2, 2), "mse"), ((24,), "mse")],
)
def test_the_loss_by_rule_is_said(shape: tuple[int, ...], function: str) -> None:
    script, remarks = _step({"out": shape}, Wanted())
    assert remarks == [f"the loss is {function}(out, y); --loss chooses another"]
    names = Counter(op.name for op in script.finish().walk())
    assert names[f"train.{function}"] == 1


def test_a_scalar_output_is_the_loss() -> None:
    script, remarks = _step({"logits": (2, 12), "cost": ()}, Wanted())
    assert remarks == ["the loss is output 'cost'; --loss chooses another"]
    assert "train.labels" not in str(script.finish())


def test_several_outputs_need_a_choice() -> None:
    with pytest.raises(UsageError, match="cannot tell the loss: found the outputs a, b") as caught:
        _step({"a": (2, 12), "b": (2, 12)}, Wanted())
    assert "--result NAME" in (caught.value.hint or "")
    script, _ = _step({"a": (2, 12), "b": (2, 12)}, Wanted(results=("b",)))
    layers = {str(op.attributes["layer"]).strip('"') for op in script.finish().walk() if "layer" in op.attributes}
    assert "b_layer" in layers
    assert "a_layer" not in layers


def test_each_loss_has_labels_of_its_own() -> None:
    script, _ = _step({"a": (2, 12), "b": (2, 3, 4)}, Wanted(losses=("cross_entropy", "mse(reduction=sum)")))
    (func,) = (op for op in script.finish().ops if isinstance(op, FuncOp))
    types = {one.name: str(type) for one, type in zip(arguments_of(func), func.body.block.arg_types, strict=True)}
    assert types["y"] == "tensor<2xi32>"
    assert types["y2"] == "tensor<2x3x4xf32>"


def test_equal_losses_have_outputs_of_their_own() -> None:
    script, _ = _step({"a": (2, 12), "b": (2, 12)}, Wanted(losses=("cross_entropy", "cross_entropy")))
    layers = {str(op.attributes["layer"]).strip('"') for op in script.finish().walk() if "layer" in op.attributes}
    assert {"a_layer", "b_layer"} <= layers


def test_an_output_that_is_a_loss_is_compared_with_no_labels() -> None:
    script, _ = _step({"out": (2, 12), "balance": ()}, Wanted(losses=("cross_entropy", "output:balance")))
    assert script.labels == ["y"]
    layers = Counter(
        str(op.attributes["layer"]).strip('"') for op in script.finish().walk() if "layer" in op.attributes
    )
    assert {"out_layer", "balance_layer", "balance_mean", "cross_entropy", "loss"} <= set(layers)


def test_statistics_that_no_result_depends_on_are_left_out() -> None:
    script = Script("net", "net.onnx")
    x = script.input("x", "f32", [2, 3, 4, 4])
    outputs = {name: script.let(f"{name}_norm", "batch_norm", x) for name in ("kept", "other")}
    complete(script, outputs, Wanted(results=("kept",)))
    (func,) = (op for op in script.finish().ops if isinstance(op, FuncOp))
    names = {one.name for one in arguments_of(func)}
    assert "kept_norm.running_mean" in names
    assert not [name for name in names if name.startswith("other")]


def test_classes_along_another_axis() -> None:
    script, _ = _step({"out": (2, 3, 4)}, Wanted(losses=("cross_entropy(axis=1)",)))
    assert "%y: tensor<2x4xi32>" in str(script.finish())


def test_an_output_that_is_called_as_a_loss_is() -> None:
    script, _ = _step({"mse": ()}, Wanted(losses=("output:mse",)))
    assert "train.mse" not in str(script.finish())


def test_places_are_nodes_and_names_get_numbers() -> None:
    script = Script("net", "net.onnx", training=False)
    x = script.input("x", "f32", [2, 3])
    with script.node(7):
        first, second = (script.let("block.relu", "relu", x) for _ in range(2))
    assert (first.text, second.text) == ("block.relu", "block.relu_2")
    script.add_output("out", second)
    op = next(op for op in script.finish().walk() if op.name == "train.relu")
    assert location_of(op) == Location("net.onnx", 7, 1)


def test_values_that_depend_on_no_input_are_known() -> None:
    script = Script("net", "net.onnx")
    place = script.let("place", "arange", 4, dtype="i64")
    mask = script.let(
        "mask", "less", script.let("row", "reshape", place, [1, 4]), script.let("c", "reshape", place, [4, 1])
    )
    found = script.numbers(mask)
    assert found is not None
    assert found.sum() == 6
    assert script.numbers(script.input("x", "f32", [2])) is None
