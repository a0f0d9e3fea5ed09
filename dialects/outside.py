"""
Operations of the `train` dialect from outside: families of layers that installed distributions publish.

    [project.entry-points."npuc.layers"]
    cube = "my_package.cube"               # a module with LAYERS and FUNCTIONS; see `npuc.compiler.layers`

A family is taken as a whole or not at all; of what is not taken, `Families` has the reason. The dialect reads the
classes of operations from the layers that a family lists, so that each is written down once.
"""

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from types import ModuleType

from npuc.compiler.core.frozen import frozen
from npuc.dialects.train import OPERATIONS
from npuc.dialects.train.base import TrainOp

ENTRY_POINTS = "npuc.layers"
PREFIX = "train."


@frozen
class Families:
    """Modules from outside by the names of their entry points, their operations, and why others are not taken."""

    modules: dict[str, ModuleType]
    operations: tuple[type[TrainOp], ...]
    problems: dict[str, str]


@cache
def families() -> Families:
    """What is installed, looked at once; `families.cache_clear()` has it looked at again."""
    from importlib.metadata import entry_points

    modules: dict[str, ModuleType] = {}
    known = {op.name: op for op in OPERATIONS}
    problems: dict[str, str] = {}
    for point in sorted(entry_points(group=ENTRY_POINTS)):
        try:
            module = import_module(point.value)
        except (Exception, SystemExit) as e:  # whatever foreign code raises
            problems[point.name] = f"cannot be loaded from {point.value}: {type(e).__name__}: {e}".partition("\n")[0]
            continue
        listed = [getattr(layer, "op", None) for layer in getattr(module, "LAYERS", ())]
        problem = _problem(listed, known, point.value)
        if problem is not None:
            problems[point.name] = problem
            continue
        modules[point.name] = module
        known.update((op.name, op) for op in _operations(listed))
    own = {op.name for op in OPERATIONS}
    return Families(modules, tuple(op for name, op in sorted(known.items()) if name not in own), problems)


def _operations(listed: Sequence[object]) -> list[type[TrainOp]]:
    return [op for op in listed if isinstance(op, type) and issubclass(op, TrainOp)]


def _problem(listed: Sequence[object], known: dict[str, type[TrainOp]], place: str) -> str | None:
    """What is wrong with the operations of a family; None if nothing is."""
    operations = _operations(listed)
    if not listed:
        return f"{place} has no LAYERS"
    if len(operations) < len(listed):
        return f"{place}: a layer has no `op`, a subclass of npuc.dialects.train.base.TrainOp"
    names = [getattr(op, "name", "") for op in operations]
    for name in names:
        if not name.startswith(PREFIX):
            return f"{place}: the operation is called {name!r}, expected a name that begins with '{PREFIX}'"
        if name in known or names.count(name) > 1:
            return f"{place}: there is an operation '{name}' already"
    return None


def operation_of_kind(kind: str) -> type[TrainOp] | None:
    """The operation `train.<kind>`; None where there is none."""
    return _own_kinds().get(kind) or next((op for op in families().operations if op.name == PREFIX + kind), None)


@cache
def _own_kinds() -> dict[str, type[TrainOp]]:
    return {op.name.removeprefix(PREFIX): op for op in OPERATIONS}


def all_operations() -> tuple[type[TrainOp], ...]:
    """npuc's operations of the dialect, and those from outside."""
    return (*OPERATIONS, *families().operations)
