"""
Options of verbs in groups: a group is a dataclass whose fields are options, and a verb takes it as one parameter.

    def command(machine: Annotated[Machine, Takes(without=("mapping",))], …) -> None: …
    app.command("map")(expanded(command))

An option that is added to a group is taken by all verbs that have the group.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Mapping, Sequence
from copy import copy
from dataclasses import MISSING, field, fields
from functools import cache
from typing import Annotated, Any, ClassVar, TypeVar, cast, get_args, get_origin, get_type_hints

from typer.models import OptionInfo, ParameterInfo

from npuc.compiler.cli.shared import parse_defines
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.options import CompileKeywords

ResultT = TypeVar("ResultT")
KEYWORDS = {"hw": "hardware", "setting": "overrides", "define": "defines"}
"""The keywords of `Options` that fields of groups have other names than."""


@frozen
class Takes:
    """How a verb takes a group: without some of its options, and what is said of others."""

    without: tuple[str, ...] = ()
    help: Mapping[str, str] = field(default_factory=dict[str, str])
    metavar: Mapping[str, str] = field(default_factory=dict[str, str])
    default: Mapping[str, object] = field(default_factory=dict[str, object])


@frozen
class Group:
    """Options that belong together, with the values that the command line gave; `title` heads them in a verb's help."""

    title: ClassVar[str] = ""

    def keywords(self) -> CompileKeywords:
        """The keywords of a compilation that were given. Raises `UsageError` for items that do not parse."""
        given: dict[str, Any] = {}
        for option in fields(self):
            name, value = KEYWORDS.get(option.name, option.name), getattr(self, option.name)
            if value is not None and name in CompileKeywords.__annotations__:
                given[name] = _READ[name](value) if name in _READ else value
        return cast("CompileKeywords", given)

    @classmethod
    def names(cls) -> dict[str, list[str]]:
        """The options of the group, each with how it is spelt on the command line."""
        hints = _hints_of(cls)
        found: dict[str, list[str]] = {}
        for option in fields(cls):
            _, info = get_args(hints[option.name])
            if isinstance(info, OptionInfo):
                spelt = [text for text in (info.default, *(info.param_decls or ())) if isinstance(text, str)]
                found[option.name] = [one for text in spelt for one in text.split("/")]
        return found

    def given(self) -> dict[str, object]:
        """The options whose values are not their defaults, as they are spelt on the command line."""
        names, values = type(self).names(), {option.name: option.default for option in fields(self)}
        changed = {name: getattr(self, name) for name in names if getattr(self, name) != values[name]}
        return {max(names[name], key=len): value for name, value in changed.items()}


def parse_settings(items: Sequence[str]) -> dict[str, object]:
    """`KEY=VALUE` items by key. Raises `UsageError` for another form and for a key given twice."""
    from npuc.hardware import parse_setting

    found: dict[str, object] = {}
    for key, value in map(parse_setting, items):
        if key in found:
            raise UsageError(f"--set {key} is given twice", hint=f"npuc sweep --vary {key}=A,B compares both")
        found[key] = value
    return found


_READ: Mapping[str, Callable[[Any], object]] = {"overrides": parse_settings, "defines": parse_defines}


def collected(*groups: Group, known: Container[str] | None = None) -> CompileKeywords:
    """The keywords of several groups, read in this order; of them those that are `known`, where somebody says."""
    found: CompileKeywords = {}
    for group in groups:
        found |= group.keywords()
    if known is None:
        return found
    return cast("CompileKeywords", {name: value for name, value in found.items() if name in known})


def expanded(verb: Callable[..., ResultT]) -> Callable[..., ResultT]:
    """A verb whose groups are replaced by their options, which is what the command line is made from."""
    parameters: list[inspect.Parameter] = []
    groups: dict[str, tuple[type[Group], list[str]]] = {}
    for parameter in inspect.signature(verb, eval_str=True).parameters.values():
        kind, takes = _group_of(parameter.annotation)
        if kind is None:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
        else:
            own = _parameters(kind, takes)
            groups[parameter.name] = kind, [one.name for one in own]
            parameters += own

    def command(**values: object) -> ResultT:
        made = {name: kind(**{one: values.pop(one) for one in names}) for name, (kind, names) in groups.items()}
        return verb(**values, **made)

    command.__doc__ = verb.__doc__
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    command.__dict__["__signature__"] = inspect.Signature(parameters)
    return command


@cache
def _hints_of(group: type[Group]) -> Mapping[str, Any]:
    """What the options of a group are annotated with: many verbs take a group, and its annotations are text."""
    return get_type_hints(group, include_extras=True)


def _group_of(annotation: Any) -> tuple[type[Group] | None, Takes]:
    """The group that a parameter is, and how it is taken; None for an option or argument of its own."""
    kind, takes = annotation, Takes()
    if get_origin(annotation) is Annotated:
        kind, *said = get_args(annotation)
        takes = next((one for one in said if isinstance(one, Takes)), takes)
    return (kind if isinstance(kind, type) and issubclass(kind, Group) else None), takes


def _parameters(group: type[Group], takes: Takes) -> list[inspect.Parameter]:
    """The options of a group that a verb takes, in their order."""
    hints, found = _hints_of(group), list[inspect.Parameter]()
    names = [option.name for option in fields(group)]
    for name in (*takes.without, *takes.help, *takes.metavar, *takes.default):
        assert name in names, f"{group.__name__} has no option {name}"
    for option in fields(group):
        if option.name in takes.without:
            continue
        kind, info = get_args(hints[option.name])
        if isinstance(info, ParameterInfo):
            info = copy(info)
            info.help = takes.help.get(option.name, info.help)
            info.metavar = takes.metavar.get(option.name, info.metavar)
            info.rich_help_panel = group.title if isinstance(info, OptionInfo) else None
        default = takes.default.get(option.name, option.default)
        found.append(
            inspect.Parameter(
                option.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if default is MISSING else default,
                annotation=Annotated[kind, info],
            )
        )
    return found
