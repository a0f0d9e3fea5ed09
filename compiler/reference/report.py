"""What a key of a report is: its type and its meaning, by the structs of which reports are made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.reference.docstrings import documentation, field_documentation
from npuc.compiler.report.document import ReportData
from npuc.compiler.report.sections import Section

SECTIONS = (
    "npuc.compiler.report.sections",
    "npuc.compiler.report.sparse",
    "npuc.compiler.report.groups",
    "npuc.backends.cycle.facts",
    "npuc.backends.hetero.rows",
    "npuc.backends.roofline.facts",
)
"""Where sections of `native` are."""
NATIVE = "What only some backends have, of a row or of the whole report."
LONGEST = 8
"""So many keys a hint lists."""


@dataclass(frozen=True)
class ReportKeyPage:
    """
    What a key is, by its path without the numbers of lists: `ops.limit`.

    `about` says what the struct is that has the key; `keys` are those of the struct that it holds.
    """

    name: str
    type: str
    meaning: str | None
    about: str
    keys: tuple[str, ...]


@cache
def report_keys() -> Mapping[str, ReportKeyPage]:
    """All keys of a report, in the order in which it has them."""
    return {page.name: page for page in _pages(ReportData, "")}


@cache
def native_keys() -> Mapping[str, ReportKeyPage]:
    """The keys of `native` that sections have, as `native.folds`: each has the text of its section."""
    for module in SECTIONS:
        import_module(module)
    pages: dict[str, ReportKeyPage] = {}
    for section in _sections(Section):
        told = documentation(section)
        types = get_type_hints(section)
        text = " ".join((told.summary, *told.details))
        for field in section.__struct_fields__:
            page = ReportKeyPage(f"native.{field}", _type_text(types[field]), text, NATIVE, ())
            pages.setdefault(page.name, page)
    return pages


def _sections(base: type[Section]) -> Iterator[type[Section]]:
    for section in base.__subclasses__():
        if section.__module__.startswith("npuc."):
            yield section
            yield from _sections(section)


def _pages(struct: type[msgspec.Struct], path: str) -> Iterator[ReportKeyPage]:
    told = documentation(struct)
    types = get_type_hints(struct)
    for field in struct.__struct_fields__:
        inner = _struct_in(types[field])
        keys = () if inner is None else inner.__struct_fields__
        meaning = _line(field_documentation(struct, field))
        yield ReportKeyPage(f"{path}{field}", _type_text(types[field]), meaning, told.summary, keys)
        if inner is not None:
            yield from _pages(inner, f"{path}{field}.")


def _line(text: str | None) -> str | None:
    return None if text is None else " ".join(text.split())


def _struct_in(hint: object) -> type[msgspec.Struct] | None:
    """The struct that a value of this type is or holds."""
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return hint
    return next((found for part in get_args(hint) if (found := _struct_in(part)) is not None), None)


_WORDS: Mapping[object, str] = {int: "integer", float: "number", str: "string", bool: "true or false", NoneType: "null"}


def _type_text(hint: Any) -> str:
    """A type in words: `integer or null`, `list of objects`."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint in _WORDS:
        return _WORDS[hint]
    if origin in (Union, UnionType):
        words = list(dict.fromkeys(map(_type_text, parts)))
        if "number" in words and "integer" in words:
            words.remove("integer")
        return " or ".join(words)
    if origin is Literal:
        return ", ".join(map(str, parts))
    if origin is list:
        return f"list of {_plural(_type_text(parts[0]))}"
    if origin is dict:
        text = _type_text(parts[1])
        return f"object of {_plural(text)} by name" if text in _PLAIN else "object by name"
    return "object" if _struct_in(hint) is not None else "any value"


_PLAIN = ("integer", "number", "string", "object")


def _plural(text: str) -> str:
    return f"{text}s" if text in _PLAIN else f"values ({text})"


def report_page(name: str) -> ReportKeyPage:
    """What is known of a key, by its path or by its end. Raises `UsageError` with those that may be meant."""
    known = {**report_keys(), **native_keys()}
    name = name.removeprefix("ops.") if name.startswith("ops.native.") else name
    found = [path for path in known if path == name] or [path for path in known if path.endswith(f".{name}")]
    if len(found) == 1:
        return known[found[0]]
    if found:
        raise UsageError(f"a report has several keys '{name}'", hint=f"keys: {_listed(found)}")
    raise UsageError(f"a report has no key '{name}'", hint=did_you_mean(name, list(known)))


def _listed(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - LONGEST} more" if len(paths) > LONGEST else ""
    return ", ".join(paths[:LONGEST]) + more


def field_rows(path: str) -> Iterator[tuple[str, str]]:
    """The keys right below a path, each with its meaning."""
    for name, page in report_keys().items():
        above, _, own = name.rpartition(".")
        if above == path:
            yield own, page.meaning or page.type
