"""Arguments of a call -> parameters of a function: by position and name, checked against the kinds it takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from xdsl.ir import BlockArgument, OpResult, SSAValue

from npuc.compiler.core.errors import SourceError, either
from npuc.compiler.core.frozen import frozen
from npuc.frontends.dsl.spellings import argument_hint
from npuc.frontends.dsl.syntax import Argument, Call
from npuc.frontends.dsl.values import Fault, Value, describe, is_integer, is_number, literal_text
from npuc.frontends.source_text import SourceText


class Required:
    """The default of a parameter that has none."""


REQUIRED = Required()
_NOUNS = {SSAValue: "tensor", int: "integer", float: "number", bool: "boolean", str: "string", NoneType: "none"}


@frozen
class Formal:
    """A parameter: its name, the annotation that says what it takes (None: anything) and the text of its default."""

    name: str
    kind: object = None
    default: str | Required = REQUIRED

    @cached_property
    def as_they_are(self) -> frozenset[type]:
        """The types whose values it takes without a change."""
        found: set[type] = set()
        for one in _alternatives(self.kind):
            if one is SSAValue:
                found |= {OpResult, BlockArgument}
            elif isinstance(one, type) and not (one is int and float in _alternatives(self.kind)):
                found.add(one)
        return frozenset(found)


@frozen
class Signature:
    """What a layer function, block or optimizer takes."""

    function: str
    formals: tuple[Formal, ...]

    @cached_property
    def by_name(self) -> Mapping[str, Formal]:
        """The parameters by their names, in order."""
        return {formal.name: formal for formal in self.formals}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return tuple(self.by_name)

    @cached_property
    def required(self) -> tuple[str, ...]:
        """The names of the parameters without a default."""
        return tuple(f.name for f in self.formals if isinstance(f.default, Required))

    def formal(self, name: str) -> Formal:
        """The parameter of a name."""
        return self.by_name[name]

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
    names, known = signature.names, signature.by_name
    given: dict[str, Argument] = {}
    is_named = False
    for number, argument in enumerate(call.arguments):
        name = argument.name
        if name is None:
            if number >= len(names) or is_named:
                raise _misplaced(signature, call, argument, source, surplus=number >= len(names))
            name = names[number]
        elif name not in known:
            near, usage = argument_hint(call.function, name, names), f"signature: {signature.text}"
            hint = f"{near} {usage}" if near else usage
            raise source.error(argument.at, f"{call.function} has no argument '{name}'", hint)
        else:
            is_named = True
        if name in given:
            message = f"argument '{name}' of {call.function} is given twice"
            raise source.error(argument.at, message, _usage(signature))
        given[name] = argument
    missing = [name for name in signature.required if name not in given]
    if missing:
        listed = ", ".join(f"'{name}'" for name in missing)
        message = f"{call.function} needs the argument{'s' * (len(missing) > 1)} {listed}"
        raise source.error(call.at, message, f"signature: {signature.text}")
    return given


def _misplaced(
    signature: Signature, call: Call, argument: Argument, source: SourceText, *, surplus: bool
) -> SourceError:
    """The error of an argument without a name that there is no parameter for, or that follows one with a name."""
    names, usage = signature.names, _usage(signature)
    if surplus:
        count = f"at most {len(names)} argument{'s' * (len(names) != 1)}" if names else "no arguments"
        return source.error(argument.at, f"{call.function} takes {count}, found {len(call.arguments)}", usage)
    return source.error(argument.at, "found an argument without a name after one with a name", usage)


def _usage(signature: Signature) -> str:
    """A signature for calls of too many arguments, with the parameters whose items may have been given one by one."""
    lists = [one for one in signature.formals if _takes_lists_only(one.kind)]
    said = [f"{one.name} is {kind_text(one.kind)}, in brackets" for one in lists]
    return "; ".join([f"signature: {signature.text}", *said])


def _takes_lists_only(kind: object) -> bool:
    return all(get_origin(one) is not None for one in _alternatives(kind))


# ---- kinds


def _alternatives(kind: object) -> tuple[object, ...]:
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def takes_strings(kind: object) -> bool:
    """True when a parameter of this kind may be a string."""
    return str in _alternatives(kind)


def fitted(value: Value, formal: Formal) -> Value:
    """A value as a parameter wants it; see `convert`."""
    return value if type(value) in formal.as_they_are else convert(value, formal.kind)


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
    if items := get_args(kind):
        return f"list of {_noun(items[0])}s"
    return _NOUNS.get(kind, "one value") if isinstance(kind, type) else "one value"
