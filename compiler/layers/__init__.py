"""
The layer registry: what is known of each operation, and the functions a network is written with.

Each module here is one family: `LAYERS` lists its `Layer` objects, `FUNCTIONS` the functions of the language,
`LOSSES` those of them that are losses, `OPERATORS` the symbols bound to one. Modules are found by themselves: a new
family is a new file.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from npuc.compiler.layers.base import Layer
from npuc.dialects.train.base import TrainOp

Function = Callable[..., Any]


@cache
def _modules() -> tuple[ModuleType, ...]:
    return tuple(import_module(f"{__name__}.{name}") for name in sorted(info.name for info in iter_modules(__path__)))


@cache
def _layers() -> dict[type[TrainOp], Layer[Any]]:
    return {layer.op: layer for module in _modules() for layer in getattr(module, "LAYERS", ())}


@cache
def _classes() -> dict[str, type[TrainOp]]:
    return {op.name.removeprefix("train."): op for op in _layers()}


def get_layer(op: TrainOp | type[TrainOp]) -> Layer[Any]:
    """What is known of an operation or operation class of the `train` dialect."""
    return _layers()[op if isinstance(op, type) else type(op)]


def get_op_class(kind: str) -> type[TrainOp] | None:
    """The operation class named `train.<kind>`, or None."""
    return _classes().get(kind)


@cache
def get_functions() -> dict[str, Function]:
    """The functions of the language by name."""
    found = {f.__name__: f for module in _modules() for f in getattr(module, "FUNCTIONS", ())}
    return dict(sorted(found.items()))


@cache
def get_losses() -> frozenset[str]:
    """The names of the functions that are losses."""
    return frozenset(f.__name__ for module in _modules() for f in getattr(module, "LOSSES", ()))


@cache
def get_operators() -> dict[str, Function]:
    """The functions that the operators + - * / stand for."""
    return {symbol: f for module in _modules() for symbol, f in getattr(module, "OPERATORS", {}).items()}
