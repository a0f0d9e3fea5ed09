"""
What PyTorch's operators mean, as calls of the language's functions: a function an operator, in a file a family.

    @operator("aten.relu")
    def relu(c: Context, x: Tensor) -> Call: …

Parameters have the names of the operator's schema (`self` is `x`), those that a file may leave out its defaults. The
result is an expression, a tensor, or a list of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

Meaning = Callable[..., Any]


@cache
def meanings() -> Mapping[str, Meaning]:
    """The meaning of each operator, by its name with or without overload."""
    modules = [import_module(f"{__name__}.{info.name}") for info in iter_modules(__path__)]
    return {name: function for module in modules for name, function in getattr(module, "MEANINGS", {}).items()}


def meaning_of(operator: str) -> Meaning | None:
    """The meaning of an operator such as `aten.add.Tensor`; an entry without overload stands for all of them."""
    found = meanings().get(operator)
    return found if found is not None else meanings().get(operator.rpartition(".")[0])


def registry(meanings: dict[str, Meaning]) -> Callable[..., Callable[[Meaning], Meaning]]:
    """A decorator that enters the meaning of operators into a table."""

    def operator(*names: str) -> Callable[[Meaning], Meaning]:
        def enter(function: Meaning) -> Meaning:
            for name in names:
                meanings[name] = function
            return function

        return enter

    return operator
