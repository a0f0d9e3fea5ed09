"""
What ONNX's operators mean, as calls of the language's functions: a function an operator, in a file a family.

    @operator("Relu")
    def relu(c: OnnxContext) -> Result: …

    @operator("Col2Im", ranks={0: 3})
    def columns_to_image(c: OnnxContext) -> Result: …

Calls have the form of the newest operators (`versions.py`). The result is an expression, a variable, a constant (of no
elements), or a list of them where the operator has several results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.onnx.context import OnnxContext
from npuc.frontends.onnx.values import Constant

Result = Call | Name | Constant | Sequence[Call | Name | Constant | None]
Meaning = Callable[[OnnxContext], Result]
Ranks = Mapping[int, int | tuple[int, ...]]
NO_RANKS: Ranks = MappingProxyType({})


@cache
def meanings() -> Mapping[str, Meaning]:
    """The meaning of each operator, by its name, with the domain before it where it is not ONNX's own."""
    modules = [import_module(f"{__name__}.{info.name}") for info in iter_modules(__path__)]
    return {name: function for module in modules for name, function in getattr(module, "MEANINGS", {}).items()}


def registry(meanings: dict[str, Meaning]) -> Callable[..., Callable[[Meaning], Meaning]]:
    """
    A decorator that enters the meaning of operators into a table.

    `ranks` says which ranks an operand may have, by its number: others are refused before the meaning is asked for.
    """

    def operator(*names: str, ranks: Ranks = NO_RANKS) -> Callable[[Meaning], Meaning]:
        def enter(function: Meaning) -> Meaning:
            def checked(c: OnnxContext) -> Result:
                for index, expected in ranks.items():
                    c.check_rank(index, expected)
                return function(c)

            meanings.update(dict.fromkeys(names, checked if ranks else function))
            return function

        return enter

    return operator
