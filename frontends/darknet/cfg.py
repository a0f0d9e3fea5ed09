"""
The sections and options of a `.cfg` file: `[convolutional]`, and below it lines `filters=32`.

As darknet reads them (`read_cfg` of its parser.c): blanks count nowhere, a line that begins with `#`, `;` or nothing is
a comment, and of an option that a section has twice the first one counts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from npuc.compiler.core.errors import SourceError, did_you_mean
from npuc.frontends.source_text import Place, SourceText

MOST = 2**31 - 1
"""darknet's integers have 32 bits."""
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_REAL = re.compile(r"[+-]?([0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40})([eE][+-]?[0-9]{1,4})?")


@dataclass(frozen=True)
class Option:
    """The text of an option, and its place."""

    text: str
    at: Place


@dataclass
class Section:
    """
    A section: its word, its place, and its options.

    `number` counts the layers from 0, as routes do; [net] has -1. Options that are read are marked, so that the others
    can be named.
    """

    word: str
    number: int
    at: Place
    source: SourceText
    options: dict[str, Option] = field(default_factory=dict[str, Option])
    read: set[str] = field(default_factory=set[str])

    def error(self, message: str, hint: str | None = None) -> SourceError:
        """An error at the section."""
        return self.source.error(self.at, f"[{self.word}]: {message}", hint)

    def wrong(self, name: str, message: str, hint: str | None = None) -> SourceError:
        """An error at one of its options; at the section where it has no such option."""
        option = self.options.get(name)
        at = self.at if option is None else option.at
        return self.source.error(at, f"[{self.word}] {name}: {message}", hint)

    def has(self, *names: str) -> bool:
        """Whether one of some options is there."""
        return any(name in self.options for name in names)

    def word_of(self, name: str, default: str) -> str:
        """An option that is a word."""
        self.read.add(name)
        option = self.options.get(name)
        return default if option is None else option.text

    def integer(self, name: str, default: int, least: int = 0, most: int = MOST) -> int:
        """An option that is a whole number. Raises `SourceError`."""
        option = self.options.get(name)
        self.read.add(name)
        return default if option is None else self._integer(name, option.text, least, most)

    def flag(self, name: str, default: bool = False) -> bool:
        """An option that is 0, or another number for yes."""
        return self.integer(name, int(default), -MOST) != 0

    def integers(self, name: str, least: int = -MOST) -> list[int]:
        """An option that lists whole numbers; none where it is not there."""
        option = self.options.get(name)
        self.read.add(name)
        if option is None:
            return []
        return [self._integer(name, text, least, MOST) for text in option.text.rstrip(",").split(",")]

    def real(self, name: str, default: float) -> float:
        """An option that is a real number."""
        option = self.options.get(name)
        self.read.add(name)
        if option is None:
            return default
        value = float(option.text) if _REAL.fullmatch(option.text) else math.inf
        if not math.isfinite(value):
            raise self.wrong(name, f"found '{option.text}', expected a number")
        return value

    def _integer(self, name: str, text: str, least: int, most: int) -> int:
        value = int(text) if _INTEGER.fullmatch(text) else None
        if value is None:
            raise self.wrong(name, f"found '{text}', expected a whole number")
        if not least <= value <= most:
            bounds = f"at least {least}" if most == MOST and value < least else f"{least} to {most}"
            raise self.wrong(name, f"found {value}, expected {bounds}")
        return value

    def refuse(self, *names: str) -> None:
        """Raise an error for an option that is switched on and has no counterpart."""
        for name in names:
            if name in self.options and self.word_of(name, "0") not in ("0", "0.", "0.0", "none"):
                raise self.wrong(name, "has no counterpart in the language", f"leave out {name}")

    def unread(self) -> Sequence[str]:
        """The options that nothing has read."""
        return [name for name in self.options if name not in self.read]


@dataclass(frozen=True)
class CfgFile:
    """A file: [net], the layers below it, and what is odd in it."""

    net: Section
    layers: tuple[Section, ...]
    remarks: tuple[str, ...]


def parse_cfg(text: str, filename: str, most: int) -> CfgFile:
    """The sections of a file. Raises `SourceError` for what is none, and for more than `most` sections."""
    source = SourceText(text, filename)
    sections: list[Section] = []
    remarks: list[str] = []
    for number, line in enumerate(source.lines, 1):
        plain = "".join(line.split())
        at = Place(number, len(line) - len(line.lstrip()) + 1)
        if not plain or plain[0] in "#;\0":
            continue
        if plain[0] == "[":
            if len(sections) > most:
                raise source.error(at, f"found more than {most:,} layers, expected at most as many")
            word = plain[1:].partition("]")[0].lower()
            if not plain.endswith("]") and "]" not in plain:
                raise source.error(at, f"found '{_short(plain)}', expected a section in brackets, as [convolutional]")
            sections.append(Section(word, len(sections) - 1, at, source))
            continue
        name, equals, value = plain.partition("=")
        if not equals or not name:
            message = f"found '{_short(plain)}', expected [section], option=value or a comment"
            raise source.error(at, message, _looks_like(text))
        if not sections:
            raise source.error(at, f"found '{_short(plain)}', expected [net] first", _looks_like(text))
        if name in sections[-1].options:
            remarks.append(f"{source.location(at)}: '{name}' is there twice; the first one counts, as in darknet")
            continue
        sections[-1].options[name] = Option(value, at)
    return _checked(source, sections, remarks)


def _checked(source: SourceText, sections: Sequence[Section], remarks: Sequence[str]) -> CfgFile:
    top = Place(1, 1)
    if not sections:
        raise source.error(top, "found no section, expected [net] and layers", _looks_like(source.text))
    net, *layers = sections
    if net.word not in ("net", "network"):
        hint = _looks_like(source.text) or did_you_mean(net.word, ["net"])
        raise source.error(net.at, f"found [{_short(net.word)}], expected [net] first", hint)
    if not layers:
        raise source.error(net.at, "found [net] alone, expected layers below it")
    return CfgFile(net, tuple(layers), tuple(remarks))


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}…"


def _looks_like(text: str) -> str | None:
    """A hint for a file of another kind with the same suffix."""
    if re.search(r"^\s*(ArrayHeight|SystolicArrayHeight|IfmapSramSz\w*)\s*[:=]", text, re.MULTILINE | re.IGNORECASE):
        return "this is a hardware file of SCALE-Sim, for --hw"
    return None
