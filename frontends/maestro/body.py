"""
The body of a layer as it is written: its type, strides, dimensions and directives with their places.

    Dimensions { K: Tile, C: 3 }      ->    K 8, C 3                  (Constant Tile 8)
    TemporalMap(Sz(R), 1) Y;          ->    Map("Y", Sz("R"), 1)

Only mistakes within a single word are found here; `check.py` compares the parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from npuc.compiler.core.errors import did_you_mean, nearest
from npuc.dialects.mapping import KINDS, Cluster, Directive, Extent, KindName, Map, Sz
from npuc.frontends.maestro.numbers import in_range, integer, is_number
from npuc.frontends.maestro.outline import PARTS, Block
from npuc.frontends.maestro.words import Reader, Word
from npuc.frontends.source_text import Diagnostics, SourceText

_KINDS: dict[str, KindName] = {kind: kind for kind in KINDS}
_MAPS = ("SpatialMap", "TemporalMap")
_DIRECTIVES = (*_MAPS, "Cluster")
MOST_DIRECTIVES = 100
"""How many directives a layer may have: four levels with each dimension map far fewer."""
_MOST_COMPARED = 100
"""The number of Constants with which a misspelled one is compared, as comparing takes time."""


@dataclass(frozen=True)
class Written:
    """
    A directive and where it stands: its first word, the words of its numbers, its dimension (none of a Cluster).

    The word of `Sz(R)` is `R`.
    """

    directive: Directive
    at: Word
    size: Word
    offset: Word
    dim: Word


@dataclass
class Body:
    """The content of a layer as written. `parts` are the first words of its parts, by name."""

    kind: KindName | None = None
    strides: list[tuple[Word, int]] = field(default_factory=list[tuple[Word, int]])
    dims: list[tuple[Word, int]] = field(default_factory=list[tuple[Word, int]])
    directives: list[Written] = field(default_factory=list[Written])
    parts: dict[str, Word] = field(default_factory=dict[str, Word])


def read_body(source: SourceText, block: Block, diagnostics: Diagnostics) -> Body:
    """
    The body of a layer; wrong numbers are noted in `diagnostics`.

    Raises `SourceError` at the first word after which the rest cannot be understood.
    """
    return _BodyReader(Reader(source, block.words), block.constants, diagnostics).read()


@dataclass
class _BodyReader:
    """Reads the words of one layer."""

    reader: Reader
    constants: Mapping[str, int]
    diagnostics: Diagnostics
    body: Body = field(default_factory=Body)

    def read(self) -> Body:
        """All parts to the closing brace."""
        while True:
            word = self.reader.take()
            if word.text == "}":
                return self.body
            self._begin(word)
            match word.text:
                case "Type":
                    self._type()
                case "Stride":
                    self._strides()
                case "Dimensions":
                    self._dimensions()
                case _:
                    self._dataflow()

    def _begin(self, word: Word) -> None:
        """Note the first word of a part. Raises `SourceError` for any other word."""
        if word.text not in PARTS:
            raise self.reader.wrong(word, f"{', '.join(PARTS)} or '}}'", did_you_mean(word.text, PARTS))
        first = self.body.parts.setdefault(word.text, word)
        if first is not word:
            message = f"{word.text} is there twice, first in line {first.at.line}"
            self.diagnostics.add(self.reader.source.error(word.at, message))
        if word.text == "Stride" and "Dimensions" in self.body.parts:
            hint = "MAESTRO sets strides when it reads the Dimensions"
            self.diagnostics.add(self.reader.source.error(word.at, "found Stride, expected it before Dimensions", hint))

    def _type(self) -> None:
        word = self.reader.take()
        kind = _KINDS.get(word.text)
        if kind is None:
            expected = f"a type: {', '.join(KINDS[:-1])} or {KINDS[-1]}"
            raise self.reader.wrong(word, expected, _nearest_hint(word, KINDS))
        self.body.kind = kind

    def _strides(self) -> None:
        self.reader.open("Stride")
        while (name := self.reader.take()).text != "}":
            if name.text not in ("X", "Y"):
                raise self.reader.wrong(name, "X, Y or '}'", "only rows and columns have strides: { X: 2, Y: 2 }")
            word = self.reader.take()
            hint = "Constants may stand for sizes, not for strides" if word.text in self.constants else None
            value = integer(self.reader, word, "a stride", 1, self.diagnostics, hint)
            self.body.strides.append((name, value))

    def _dimensions(self) -> None:
        self.reader.open("Dimensions")
        while (name := self.reader.take()).text != "}":
            if name.text == "{" or is_number(name):
                raise self.reader.wrong(name, "a dimension or '}'", "a dimension has one size: K: 64")
            self.body.dims.append((name, self._number(self.reader.take(), "a size")))

    def _dataflow(self) -> None:
        self.reader.open("Dataflow")
        while (word := self.reader.take()).text != "}":
            if word.text not in _DIRECTIVES:
                raise self.reader.wrong(word, f"{', '.join(_DIRECTIVES)} or '}}'", did_you_mean(word.text, _DIRECTIVES))
            if len(self.body.directives) == MOST_DIRECTIVES:
                raise self.reader.wrong(word, f"at most {MOST_DIRECTIVES} directives")
            self.body.directives.append(self._cluster(word) if word.text == "Cluster" else self._map(word))

    def _map(self, at: Word) -> Written:
        size_word, size = self._extent("a size")
        offset_word, offset = self._extent("an offset")
        dim = self.reader.take()
        if dim.text in ("", "{", "}", *PARTS, *_DIRECTIVES) or is_number(dim):
            raise self.reader.wrong(dim, "the dimension of the map", f"for example {at.text}(1, 1) K;")
        found = Map(dim.text, size, offset, spatial=at.text == "SpatialMap")
        return Written(found, at, size_word, offset_word, dim)

    def _cluster(self, at: Word) -> Written:
        size_word, size = self._extent("a size")
        form = self.reader.take()
        if form.text not in ("P", "L"):
            raise self.reader.wrong(form, "P or L", "for example Cluster(64, P);")
        return Written(Cluster(size), at, size_word, size_word, form)

    def _extent(self, what: str) -> tuple[Word, Extent]:
        """A size or offset: `Sz(R)`, a number or a Constant."""
        word = self.reader.take()
        if word.text != "Sz":
            return word, self._number(word, what)
        dim = self.reader.take()
        if "Dimensions" not in self.body.parts:
            hint = "Dimensions stand before the Dataflow"
            self.diagnostics.add(self.reader.source.error(word.at, "found Sz before there are Dimensions", hint))
        return dim, Sz(dim.text)

    def _number(self, word: Word, what: str) -> int:
        """A number of at least 1, or the Constant of that name."""
        if word.text in self.constants:
            value = self.constants[word.text]
            if value < 1 or word.negative:
                self.diagnostics.add(self.reader.wrong(word, f"{what} of at least 1", f"{word.text} is {value}"))
            return max(value, 1)
        if is_number(word) and in_range(word, 1) is not None:
            return int(word.text)
        hint = (
            _nearest_hint(word, list(self.constants)[:_MOST_COMPARED])
            or f"a name needs a line before: Constant {word.text} 8;"
        )
        hint = hint if word.text.isidentifier() else None
        return integer(self.reader, word, f"a Constant, or {what}", 1, self.diagnostics, hint)


def _nearest_hint(word: Word, known: tuple[str, ...] | list[str]) -> str | None:
    match = nearest(word.text[:100], known)
    return f"did you mean '{match}'?" if match else None
