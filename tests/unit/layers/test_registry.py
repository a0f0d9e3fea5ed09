"""The registry of layers: complete, consistent with the dialect, and usable one family a file."""

import inspect
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

from npuc.compiler import layers
from npuc.compiler.layers import get_functions, get_layer, get_losses, get_operators
from npuc.compiler.layers.base import Layer
from npuc.dialects import distributed as dist
from npuc.dialects.outside import operation_of_kind
from npuc.dialects.train import OPERATIONS, TRAIN
from npuc.dialects.train.base import TrainOp


@pytest.mark.parametrize("op", OPERATIONS, ids=lambda op: op.name)
def test_every_operation_has_a_layer(op: type[TrainOp]) -> None:
    layer = get_layer(op)
    assert layer.op is op
    assert "evaluate" in {name for kind in type(layer).__mro__ if kind is not Layer for name in vars(kind)}
    assert operation_of_kind(op.name.removeprefix("train.")) is op


def _listed() -> dict[type[TrainOp], str]:
    """The module that lists the layer of each operation."""
    names = [info.name for info in iter_modules(layers.__path__)]
    modules = [(name, import_module(f"{layers.__name__}.{name}")) for name in names]
    return {layer.op: name for name, module in modules for layer in getattr(module, "LAYERS", ())}


def test_an_operation_and_its_layer_are_listed_in_files_of_one_name() -> None:
    operations = (*OPERATIONS, *dist.OPERATIONS)
    assert _listed() == {op: op.__module__.rpartition(".")[2] for op in operations}


def test_the_dialect_holds_the_operations_that_its_modules_define() -> None:
    assert [op.name for op in TRAIN.operations] == sorted(op.name for op in OPERATIONS)


@pytest.mark.parametrize("name", get_functions())
def test_a_function_says_what_it_does_and_types_its_parameters(name: str) -> None:
    function = get_functions()[name]
    assert function.__doc__
    builder, *parameters = inspect.signature(function).parameters.values()
    assert builder.name == "b"
    assert all(p.annotation is not inspect.Parameter.empty for p in parameters)


def test_losses_and_operators_are_functions() -> None:
    assert get_losses() <= set(get_functions())
    assert {f.__name__ for f in get_operators().values()} <= set(get_functions())
    assert list(get_operators()) == ["+", "-", "*", "/", "==", "!=", "<", "<=", ">", ">=", "**"]


def test_the_text_of_every_operation_is_tested() -> None:
    files = (Path(__file__).parents[2] / "filecheck/dialects/train").glob("*.mlir")
    text = "".join(file.read_text() for file in files if "invalid" not in file.name)
    assert [op.name for op in OPERATIONS if f"{op.name} " not in text] == []
