"""The arguments of a call as the meaning of its operator takes them: by name, of the kinds of its annotations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from inspect import Parameter, signature
from types import NoneType, UnionType
from typing import Any, Union, cast, get_args, get_origin

from npuc.frontends.dsl.syntax import Name
from npuc.frontends.script.weights import Empty, Refused, Uniform, Weight
from npuc.frontends.torch.operators import Meaning

_ALIASES = {"self": "x", "input": "x", "A": "x"}
"""How meanings call the tensor that an operator is of, where they do not take its own name."""


@dataclass(frozen=True)
class _Kind:
    """What a parameter takes: its annotation, and the types whose values fit without a closer look."""

    annotation: Any
    plain: frozenset[type]

    @staticmethod
    def of(annotation: Any) -> _Kind:
        kinds = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
        return _Kind(annotation, frozenset(kind for kind in kinds if isinstance(kind, type)))

    def fits(self, value: object) -> bool:
        """Whether a value is of this kind."""
        return type(value) in self.plain or _fits(value, self.annotation)


@dataclass(frozen=True)
class _Parameters:
    """The parameters of a meaning but for the first, which is the context; `takes_all`: any others, too."""

    kinds: Mapping[str, _Kind]
    required: tuple[str, ...]
    takes_all: bool


@cache
def _parameters(meaning: Meaning) -> _Parameters:
    found = list(signature(meaning, eval_str=True).parameters.values())[1:]
    plain = [one for one in found if one.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)]
    return _Parameters(
        {one.name: _Kind.of(one.annotation) for one in found},
        tuple(one.name for one in plain if one.default is Parameter.empty),
        any(one.kind is Parameter.VAR_KEYWORD for one in found),
    )


def bound(meaning: Meaning, given: Mapping[str, object]) -> dict[str, object]:
    """The arguments of a call by the names of a meaning's parameters. Raises `Refused` for those that do not fit."""
    parameters = _parameters(meaning)
    kinds = parameters.kinds
    found: dict[str, object] = {}
    for name, value in given.items():
        own = name if name in kinds else _ALIASES.get(name, name)
        if own in kinds:
            if not kinds[own].fits(value):
                raise Refused(f"argument '{name}': found {_told(value)}, which is not read")
        elif not parameters.takes_all:
            raise Refused(f"found the argument '{name}', which is not read")
        found[own] = value
    for name in parameters.required:
        if name not in found:
            raise Refused(f"argument '{name}' is missing")
    return found


def _fits(value: object, kind: Any) -> bool:
    """Whether a value is of a kind, as annotations say it; an integer is a float, too, a boolean no number."""
    if kind is Parameter.empty or kind is object or kind is Any:
        return True
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in get_args(kind))
    if origin is not None:
        (item,) = get_args(kind)
        return isinstance(value, list) and all(_fits(one, item) for one in cast("list[object]", value))
    if isinstance(value, bool):
        return kind in (bool, int, float)
    if kind is float:
        return isinstance(value, int | float)
    return kind is not bool and isinstance(value, NoneType if kind is None else kind)


def _told(value: object) -> str:
    """A value in a message."""
    match value:
        case Name() | Weight() | Empty() | Uniform():
            return "a tensor"
        case list():
            return "a list"
        case str():
            return f"'{value[:40]}'"
        case None | bool() | int() | float():
            return str(value)
        case _:
            return f"a {type(value).__name__.lower()}"
