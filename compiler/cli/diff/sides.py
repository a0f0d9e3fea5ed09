"""
One command line as two: what is given twice is A's and B's, what is given once holds for both.

    split(["net.dsl", "--hw", "edge", "--hw", "cloud", "-O1"], options, own)
    # ["net.dsl", "--hw", "edge", "-O1"], ["net.dsl", "--hw", "cloud", "-O1"]

Of options that take several values, as `-D NAME=VALUE`, those of one name are counted. An option whose value is empty
on one side is left out there, so that it may be compared with its default.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from npuc.compiler.core.errors import UsageError

KEYED = ("-D", "--set", "--density")
"""Options of several values whose values begin with a name: of one name there is one value."""
SINGLE = ("-b",)
"""Options of which other verbs take several values, and a side of a difference one."""
SOURCES = 2


class OptionLike(Protocol):
    """An option of a verb."""

    @property
    def opts(self) -> Sequence[str]: ...
    @property
    def secondary_opts(self) -> Sequence[str]: ...
    @property
    def is_flag(self) -> bool: ...
    @property
    def multiple(self) -> bool: ...


@dataclass
class _Given:
    """An option as it was given, with its value if it has one; its words are what stood on the command line."""

    option: OptionLike
    words: list[str]
    value: str | None = None


@dataclass
class _Read:
    sources: list[str] = field(default_factory=list[str])
    given: list[_Given | str] = field(default_factory=list["_Given | str"])


def split(arguments: Sequence[str], options: Iterable[OptionLike], own: Iterable[str]) -> tuple[list[str], list[str]]:
    """
    The command lines of A and B. Options named `own` are those of the comparison, which A gets alone.

    Raises `UsageError` for more than two sources, and for an option that is given more than twice.
    """
    options = list(options)
    read = _read(arguments, {name: one for one in options for name in (*one.opts, *one.secondary_opts)})
    if len(read.sources) > SOURCES:
        raise UsageError(f"expected one source or two, found {len(read.sources)}")
    mine = {*own}
    counted: dict[object, list[_Given]] = {}
    for one in read.given:
        if isinstance(one, _Given) and (key := _counted_by(one, mine)) is not None:
            counted.setdefault(key, []).append(one)
    for several in counted.values():
        if len(several) > SOURCES:
            raise UsageError(
                f"{_shown(several[0])} is given {len(several)} times, expected once, or twice: for A and for B"
            )
    sides: tuple[list[str], list[str]] = ([], [])
    for one in read.given:
        if isinstance(one, str):
            sides[0].append(one)
        elif {*one.option.opts} & mine:
            sides[0].extend(one.words)
        else:
            _put(one, counted.get(_counted_by(one, mine), ()), sides)
    for side, source in zip(sides, (read.sources[:1], read.sources[-1:]), strict=True):
        side += ["--", *source] if source and source[0].startswith("-") and source[0] != "-" else source
    return sides


def _put(one: _Given, alike: Sequence[_Given], sides: tuple[list[str], list[str]]) -> None:
    """Give an option to both sides, or to the one that it is for."""
    if len(alike) < SOURCES:
        for side in sides:
            side.extend(one.words)
    elif not _is_empty(one):
        sides[0 if one is alike[0] else 1].extend(one.words)


def _is_empty(one: _Given) -> bool:
    """Whether a value says that the option is left out: `--hw=`, `--set memory.spm_kib=`."""
    return one.value is not None and not (one.value.partition("=")[2] if _is_keyed(one) else one.value).strip()


def _is_keyed(one: _Given) -> bool:
    return bool({*one.option.opts} & {*KEYED})


def _counted_by(one: _Given, own: set[str]) -> object:
    """What an option is given once or twice of: itself, or a name in its value; None for one that adds up."""
    names = {*one.option.opts}
    if names & own:
        return None
    if _is_keyed(one):
        return min(names), (one.value or "").partition("=")[0].strip()
    if one.option.multiple and not names & {*SINGLE}:
        return None
    if one.option.is_flag and not one.option.secondary_opts:
        return None
    return min(names)


def _shown(one: _Given) -> str:
    name = max(one.option.opts, key=len)
    return f"{name} {(one.value or '').partition('=')[0].strip()}" if _is_keyed(one) else name


def _read(arguments: Sequence[str], known: dict[str, OptionLike]) -> _Read:
    """The sources and options of a command line; what is none is left as it is, for the parser to refuse."""
    read, rest = _Read(), iter(arguments)
    for word in rest:
        if word == "--":
            read.sources += rest
        elif word == "-" or not word.startswith("-"):
            read.sources.append(word)
        elif word.startswith("--"):
            name, equals, value = word.partition("=")
            read.given.append(_one(known.get(name), word, value if equals else None, rest))
        else:
            option = known.get(word[:2])
            if option is not None and option.is_flag and len(word) > 2:
                read.given += [_one(known.get(f"-{letter}"), f"-{letter}", None, rest) for letter in word[1:]]
            else:
                read.given.append(_one(option, word, word[2:].removeprefix("=") if len(word) > 2 else None, rest))
    return read


def _one(option: OptionLike | None, word: str, value: str | None, rest: Iterator[str]) -> _Given | str:
    if option is None:
        return word
    if option.is_flag or value is not None:
        return _Given(option, [word], value)
    following = next(rest, None)
    return _Given(option, [word] if following is None else [word, following], following)
