"""
The `train` dialect: tensor-valued operations of a training step.

Each module of this package is one family of operations and is found by itself: a new family is a new file.
"""

from importlib import import_module
from pkgutil import iter_modules

from xdsl.ir import Dialect

from npuc.dialects.train.base import TrainOp


def _operations() -> tuple[type[TrainOp], ...]:
    found: dict[str, type[TrainOp]] = {}
    for module in sorted(info.name for info in iter_modules(__path__)):
        for value in vars(import_module(f"{__name__}.{module}")).values():
            if isinstance(value, type) and issubclass(value, TrainOp) and hasattr(value, "name"):
                found[value.name] = value
    return tuple(found[name] for name in sorted(found))


OPERATIONS = _operations()
TRAIN = Dialect("train", [*OPERATIONS])
