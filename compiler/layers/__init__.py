"""
The layer registry: the semantics, derivative and cost of each operation, and the functions of the network language.

Each module here is one family: `LAYERS` lists its `Layer` objects, `FUNCTIONS` the functions of the language,
`LOSSES` those of them that are losses, `OPERATORS` the symbols bound to one. Modules are found by themselves: a new
family is a new file. Families from outside are modules that installed distributions publish through the entry point
group `npuc.layers`; they may also list optimizers in `OPTIMIZERS`. npuc's own functions win over others of a name.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from npuc.compiler.layers.base import Layer
from npuc.compiler.layers.outside import OutsideLayer
from npuc.dialects.outside import families
from npuc.dialects.train.base import TrainOp

Function = Callable[..., Any]


@cache
def _modules() -> tuple[ModuleType, ...]:
    return tuple(import_module(f"{__name__}.{name}") for name in sorted(info.name for info in iter_modules(__path__)))


@cache
def _layers() -> dict[type[TrainOp], Layer[Any]]:
    return {layer.op: layer for module in _modules() for layer in getattr(module, "LAYERS", ())}


@cache
def _outside_layers() -> dict[type[TrainOp], Layer[Any]]:
    modules = families().modules.values()
    return {layer.op: OutsideLayer(layer) for module in modules for layer in module.LAYERS}


def get_layer(op: TrainOp | type[TrainOp]) -> Layer[Any]:
    """The layer of an operation or operation class of the `train` dialect."""
    kind = op if isinstance(op, type) else type(op)
    return _layers().get(kind) or _outside_layers()[kind]


@cache
def get_functions() -> dict[str, Function]:
    """The functions of the language by name."""
    modules = (*families().modules.values(), *_modules())
    return dict(sorted({f.__name__: f for module in modules for f in getattr(module, "FUNCTIONS", ())}.items()))


@cache
def get_losses() -> frozenset[str]:
    """The names of the functions that are losses."""
    functions = set(get_functions().values())
    modules = (*_modules(), *families().modules.values())
    return frozenset(f.__name__ for module in modules for f in getattr(module, "LOSSES", ()) if f in functions)


@cache
def get_operators() -> dict[str, Function]:
    """The functions that the operators + - * / stand for."""
    return {symbol: f for module in _modules() for symbol, f in getattr(module, "OPERATORS", {}).items()}


def forget_outside() -> None:
    """Look for layers in installed distributions anew, for a process in which some are added or removed."""
    for known in (families, _outside_layers, get_functions, get_losses):
        known.cache_clear()
