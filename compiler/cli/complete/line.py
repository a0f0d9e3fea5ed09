"""From a command line that is being typed to what may stand for its last word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from typer.core import TyperArgument, TyperOption

from npuc.compiler.cli.complete.shells import Candidate
from npuc.compiler.cli.complete.values import ARGUMENTS, VALUES, Asked, choices_in
from npuc.compiler.cli.opt.described import opt_command

if TYPE_CHECKING:
    from typer.core import TyperGroup


class VerbShape(Protocol):
    """A verb as completion sees it."""

    @property
    def params(self) -> Sequence[object]:
        """Its options and arguments."""
        ...


@dataclass(frozen=True)
class OptionShape:
    """An option as completion sees it: its names, whether a value follows, what the value may be, what it means."""

    names: tuple[str, ...]
    valued: bool
    metavar: str | None
    help: str


@dataclass
class _Read:
    """What the words before the last one are."""

    source: str = ""
    arguments: int = 0
    pending: OptionShape | None = None
    given: set[str] = field(default_factory=set[str])


def candidates(words: Sequence[str], word: str, verbs: TyperGroup) -> list[Candidate]:
    """What may stand for `word` behind the words, which begin with a verb."""
    if not words:
        shown = [Candidate(name, _first(verb.help)) for name, verb in verbs.commands.items() if not verb.hidden]
        own = [Candidate(max(p.opts, key=len)) for p in verbs.params if isinstance(p, TyperOption) and not p.hidden]
        return _beginning([*shown, *(own if word.startswith("-") else [])], word)
    verb = opt_command() if words[0] == "opt" else verbs.commands.get(words[0])
    if verb is None:
        return []
    options = _options_of(verb)
    read = _read(words[1:], options)
    name, equals, value = word.partition("=")
    known = {spelt: option for option in options for spelt in option.names}
    if read.pending is not None:
        return _beginning(_values(read.pending, Asked(word, read.source)), word)
    if word.startswith("--") and equals and name in known:
        found = _beginning(_values(known[name], Asked(value, read.source)), value)
        return [Candidate(f"{name}={one.value}", one.help) for one in found]
    if word.startswith("-"):
        shown = [Candidate(max(o.names, key=len), o.help) for o in options if not {*o.names} & read.given]
        return _beginning(shown, word)
    return _beginning(_arguments(verb, Asked(word, read.source), read.arguments), word)


def _options_of(verb: VerbShape) -> list[OptionShape]:
    return [
        OptionShape((*one.opts, *one.secondary_opts), not one.is_flag, one.metavar, one.help or "")
        for one in verb.params
        if isinstance(one, TyperOption) and not one.hidden
    ]


def _read(words: Sequence[str], options: Sequence[OptionShape]) -> _Read:
    """What words are: options with their values, and arguments, of which the first is the source."""
    known = {name: option for option in options for name in option.names}
    read = _Read()
    for word in words:
        if read.pending is not None:
            read.pending = None
            continue
        name, equals, _ = word.partition("=")
        option = known.get(name)
        if option is not None:
            read.given |= {*option.names} if not option.valued else set()
            follows = option.valued and not equals and not (option.metavar or "").startswith("[")
            read.pending = option if follows else None
        elif not word.startswith("-") or word == "-":
            read.source = read.source or word
            read.arguments += 1
    return read


def _values(option: OptionShape, asked: Asked) -> list[Candidate]:
    """What may be the value of an option."""
    long = max(option.names, key=len)
    if choices := choices_in(option.metavar):
        return [Candidate(one) for one in choices]
    completer = VALUES.get(long)
    return [] if completer is None else list(completer(asked))


def _arguments(verb: VerbShape, asked: Asked, place: int) -> list[Candidate]:
    """What may be the argument of a verb at a place."""
    found = [one for one in verb.params if isinstance(one, TyperArgument)]
    if not found:
        return []
    argument = found[min(place, len(found) - 1)]
    if place >= len(found) and argument.nargs != -1:
        return []
    if choices := choices_in(argument.metavar):
        return [Candidate(one) for one in choices]
    completer = ARGUMENTS.get(str(argument.name))
    return [] if completer is None else list(completer(asked))


def _beginning(found: Sequence[Candidate], word: str) -> list[Candidate]:
    """The candidates that go on from a word, each once."""
    return list({one.value: one for one in found if one.value.startswith(word)}.values())


def _first(text: str | None) -> str:
    """The first sentence of a help."""
    return (text or "").partition("\n")[0].split(". ")[0]
