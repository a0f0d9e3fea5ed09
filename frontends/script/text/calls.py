"""Calls with all their arguments, by the names of their parameters, so that equal ones are equal however written."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from npuc.compiler.layers import get_functions
from npuc.frontends.dsl.binding import Required, Signature, signature_of
from npuc.frontends.dsl.blocks import library_block
from npuc.frontends.dsl.calls import PARAM
from npuc.frontends.dsl.syntax import Argument, Call, Expr, Literal, Name, Place

_NOWHERE = Place(1, 1)
_WORDS = {"true": True, "false": False, "none": None}
_NAMED = frozenset({"kernel", "axis", "start", "size", "diagonal", "equation"})
_PLAIN = frozenset({"features", "channels", "entries"})
"""Parameters without a default that are clearer with their name, and with a default that need none."""


@dataclass(frozen=True)
class FunctionParameter:
    """A parameter of a function: its name, and its default where that is a number, string, boolean or none."""

    name: str
    default: Literal | None


@cache
def parameters_of(function: str) -> tuple[FunctionParameter, ...]:
    """The parameters of a function of the language, `param` or a block that ships with it."""
    return tuple(FunctionParameter(f.name, _default(f.default)) for f in _signature(function).formals)


def _signature(function: str) -> Signature:
    known = get_functions().get(function)
    if known is not None:
        return signature_of(known)
    routine = library_block(function)
    return PARAM if routine is None else routine.signature


def _default(text: str | Required) -> Literal | None:
    if isinstance(text, Required):
        return None
    if text in _WORDS:
        return Literal(_NOWHERE, _WORDS[text])
    if text.startswith('"'):
        return Literal(_NOWHERE, text.strip('"'))
    for number in (int, float):
        try:
            return Literal(_NOWHERE, number(text))
        except ValueError:
            continue
    return None


def filled(call: Call) -> dict[str, Expr]:
    """The arguments of a call by the names of their parameters, with the defaults of those that are not given."""
    parameters = parameters_of(call.function)
    given = {a.name or parameters[number].name: a.value for number, a in enumerate(call.arguments)}
    found: dict[str, Expr] = {}
    for parameter in parameters:
        value = given.get(parameter.name, parameter.default)
        if value is not None:
            found[parameter.name] = value
    return found


def written(function: str, values: dict[str, Expr], *, frozen: bool) -> Call:
    """A call of these arguments, without those that are defaults: the first ones by their places."""
    arguments: list[Argument] = []
    positional = True
    for number, parameter in enumerate(parameters_of(function)):
        value = values.get(parameter.name)
        if value is None:
            positional = False
            continue
        is_default = parameter.default is not None and same(value, parameter.default)
        if is_default:
            positional = False
            continue
        is_plain = (parameter.default is None and parameter.name not in _NAMED) or parameter.name in _PLAIN
        positional = positional and number < 3 and (is_plain or (isinstance(value, Name) and number == 0))
        arguments.append(Argument(_NOWHERE, None if positional else parameter.name, value))
    return Call(_NOWHERE, function, tuple(arguments), frozen)


def same(a: Expr, b: Expr) -> bool:
    """Whether two expressions are the same number, string, boolean or none."""
    if not isinstance(a, Literal) or not isinstance(b, Literal):
        return False
    return a.value == b.value and isinstance(a.value, bool) == isinstance(b.value, bool)
