"""
Random calls of every function of the language, one family a file: `CALLS` names them, "function" or "function variant".

The same calls are differentiated numerically, computed by PyTorch, and strung together to networks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, TypeAlias

from hypothesis import strategies as st

Shape: TypeAlias = tuple[int, ...]
Index: TypeAlias = tuple[Shape, int]


@dataclass(frozen=True)
class Call:
    """
    A call of a language function, without the values of its operands.

    `tensors` are the float operands by argument name, `indices` the integer ones with the number n of their values 0 to
    n - 1 (a list stands for a list of tensors), `masks` the boolean ones, `arguments` the rest. The values of a float
    operand lie within its `ranges`, by default -1 to 1.
    """

    function: str
    tensors: Mapping[str, Shape | list[Shape]] = field(default_factory=dict[str, "Shape | list[Shape]"])
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    indices: Mapping[str, Index | list[Index]] = field(default_factory=dict[str, "Index | list[Index]"])
    masks: Mapping[str, Shape] = field(default_factory=dict[str, Shape])
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])


Draw: TypeAlias = Callable[[st.DataObject], Call]
PRICED = frozenset({"opaque"})
"""Functions of which only the cost is known: nothing computes them."""
COUNTED = frozenset({"nonzero", "non_max_suppression"})
"""Functions that refuse values of another number than their size, which only their own draws and values keep to."""


@cache
def all_calls() -> dict[str, Draw]:
    """The calls of all families by name."""
    found: dict[str, Draw] = {}
    for name in sorted(info.name for info in iter_modules(__path__)):
        for key, draw in getattr(import_module(f"{__name__}.{name}"), "CALLS", {}).items():
            assert key not in found, f"two families have calls named {key!r}"
            found[key] = draw
    return found
