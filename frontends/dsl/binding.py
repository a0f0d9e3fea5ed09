"""Arguments of a call -> parameters of a function: by position and name, checked against the kinds it takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from xdsl.ir import SSAValue

from npuc.compiler.core.errors import either
from npuc.frontends.dsl.spellings import argument_hint
from npuc.frontends.dsl.syntax import Argument, Call
from npuc.frontends.dsl.values import Fault, Value, describe, is_integer, is_number, literal_text
from npuc.frontends.source_text import SourceText


class Required:
    """The default of a parameter that has none."""


REQUIRED = Required()
_NOUNS = {SSAValue: "tensor", int: "integer", float: "number", bool: "boolean", str: "string", NoneType: "none"}


@dataclass(frozen=True)
class Formal:
    """A parameter: its name, the annotation that says what it takes (None: anything) and the text of its default."""

    name: str
    kind: object = None
    default: str | Required = REQUIRED


@dataclass(frozen=True)
class Signature:
    """What a layer function, block or optimizer takes."""

    function: str
    formals: tuple[Formal, ...]

    def formal(self, name: str) -> Formal:
        """The parameter of a name."""
        return next(f for f in self.formals if f.name == name)

    @property
    def text(self) -> str:
        """The signature as messages show it: `linear(x, features, bias=true)`."""
        shown = (f.name if isinstance(f.default, Required) else f"{f.name}={f.default}" for f in self.formals)
        return f"{self.function}({', '.join(shown)})"


@cache
def signature_of(function: Callable[..., Any]) -> Signature:
    """The signature of a language function; its first parameter, the builder, does not count."""
    parameters = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
    return Signature(
        function.__name__,
        tuple(
            Formal(p.name, p.annotation, REQUIRED if p.default is p.empty else literal_text(_listed(p.default)))
            for p in parameters
        ),
    )


def _listed(default: Value) -> Value:
    return list(default) if isinstance(default, tuple) else default


def match_arguments(signature: Signature, call: Call, source: SourceText) -> dict[str, Argument]:
    """The argument of each given parameter; a located error for a surplus, unknown, repeated or missing one."""
    names = [f.name for f in signature.formals]
    given: dict[str, Argument] = {}
    usage = f"signature: {signature.text}"
    for number, argument in enumerate(call.arguments):
        if argument.name is None:
            if number >= len(names):
                count = f"at most {len(names)} argument{'s' * (len(names) != 1)}" if names else "no arguments"
                raise source.error(argument.at, f"{call.function} takes {count}, found {len(call.arguments)}", usage)
            if any(a.name is not None for a in call.arguments[:number]):
                raise source.error(argument.at, "found an argument without a name after one with a name", usage)
            name = names[number]
        elif argument.name not in names:
            near = argument_hint(call.function, argument.name, names)
            hint = f"{near} {usage}" if near else usage
            raise source.error(argument.at, f"{call.function} has no argument '{argument.name}'", hint)
        else:
            name = argument.name
        if name in given:
            raise source.error(argument.at, f"argument '{name}' of {call.function} is given twice", usage)
        given[name] = argument
    missing = [f.name for f in signature.formals if isinstance(f.default, Required) and f.name not in given]
    if missing:
        listed = ", ".join(f"'{name}'" for name in missing)
        raise source.error(call.at, f"{call.function} needs the argument{'s' * (len(missing) > 1)} {listed}", usage)
    return given


# ---- kinds


def _alternatives(kind: object) -> tuple[object, ...]:
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def takes_strings(kind: object) -> bool:
    """True when a parameter of this kind may be a string."""
    return str in _alternatives(kind)


def convert(value: Value, kind: object) -> Value:
    """
    A value as a parameter of a kind wants it; an integer given for a float becomes one.

    Raises a Fault that says what was found and expected.
    """
    for one in _alternatives(kind):
        if _accepts(value, one):
            return float(value) if one is float and isinstance(value, int) else value
    raise Fault(f"found {describe(value)}, expected {kind_text(kind)}")


def _accepts(value: Value, kind: object) -> bool:
    if kind is None or kind is inspect.Parameter.empty:
        return not isinstance(value, tuple)
    if get_origin(kind) is not None:
        (item,) = get_args(kind)
        return isinstance(value, list) and all(_accepts(v, item) for v in value)
    if kind is float:
        return is_number(value)
    if kind is int:
        return is_integer(value)
    return isinstance(kind, type) and isinstance(value, kind)


def kind_text(kind: object) -> str:
    """What a parameter takes, in words: `an integer or a list of integers`."""
    return either([_noun_phrase(one) for one in _alternatives(kind)])


def _noun_phrase(kind: object) -> str:
    items: Sequence[object] = get_args(kind)
    if items:
        return f"a list of {_noun(items[0])}s"
    noun = _noun(kind)
    if noun in ("none", "one value"):
        return noun
    return f"{'an' if noun == 'integer' else 'a'} {noun}"


def _noun(kind: object) -> str:
    return _NOUNS.get(kind, "one value") if isinstance(kind, type) else "one value"
