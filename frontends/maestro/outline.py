"""
The outline of a mapping file: its Constants and networks, and the words of each layer.

    Constant Tile 8;          constants known to the layer: Tile = 8
    Network net {             network `net`
      Layer a { … }           layer `a`: the words up to its closing brace, not looked at yet
    }

Wrong braces concern one layer alone if the next layer can be found; other mistakes concern the whole file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from npuc.compiler.core.errors import SourceError, did_you_mean
from npuc.frontends.maestro.numbers import integer
from npuc.frontends.maestro.words import Reader, Word, is_glued, words_of
from npuc.frontends.source_text import Diagnostics, SourceText

PARTS = ("Type", "Stride", "Dimensions", "Dataflow")
"""The parts of the body of a layer."""
_HARDWARE = ("accelerator", "num_pes", "numpes", "noc_", "l1_", "l2_", "l1size", "l2size", "offchip_bw")
_FILE = ("Constant", "Network")


@dataclass(frozen=True)
class Block:
    """A layer: its name, its words to the closing brace, the Constants before it, what is wrong with its braces."""

    name: Word
    words: list[Word]
    constants: Mapping[str, int]
    mistake: SourceError | None = None


@dataclass
class Outline:
    """The content of a file."""

    constants: dict[str, int] = field(default_factory=dict[str, int])
    networks: list[str] = field(default_factory=list[str])
    blocks: list[Block] = field(default_factory=list[Block])


def outline(source: SourceText) -> Outline:
    """The outline of a file. Raises `SourceError`s for mistakes that concern the whole file."""
    reader = Reader(source, words_of(source))
    diagnostics = Diagnostics()
    found = Outline()
    closed: Word | None = None
    while reader.next.text:
        word = reader.take()
        if word.text == "Constant":
            _constant(reader, found, diagnostics)
        elif word.text == "Network":
            closed = _network(reader, found)
        else:
            raise reader.wrong(word, "Constant or Network", _file_hint(word, closed))
    diagnostics.raise_if_any()
    if not found.blocks:
        hint = "Network net { Layer conv1 { … } }"
        raise reader.wrong(reader.next, "a Layer in a Network", hint)
    return found


def _file_hint(word: Word, closed: Word | None) -> str:
    if word.text in ("Layer", "}") and closed is not None:
        return f"the '}}' of line {closed.at.line} closes the Network"
    if word.text == "Layer":
        return "layers stand in the braces of a Network"
    if word.text.lower().startswith(_HARDWARE):
        return "hardware has a file of its own, given by --hw"
    if word.text.startswith("#"):
        return "comments begin with //"
    return did_you_mean(word.text, _FILE)


def _constant(reader: Reader, found: Outline, diagnostics: Diagnostics) -> None:
    name = reader.take()
    if name.text in ("", "{", "}"):
        raise reader.wrong(name, "the name of the Constant")
    word = reader.take()
    value = integer(reader, word, "a number", 0, diagnostics, "Constant Tile 8;")
    found.constants[name.text] = value


def _network(reader: Reader, found: Outline) -> Word:
    """Read a network; its closing brace."""
    name = ""
    while reader.next.text not in ("{", ""):
        if reader.next.text in ("}", "Layer", "Network"):
            break
        name = reader.name("the name of the Network").text
    opening = reader.open("the name of the Network")
    found.networks.append(name)
    constants = dict(found.constants)
    while True:
        word = reader.take()
        if word.text == "}":
            return word
        if word.text == "Layer":
            found.blocks.append(_layer(reader, constants))
        elif word.text in ("", "Network"):
            raise reader.wrong(word, "Layer or '}'", f"the '{{' of line {opening.at.line} is not closed")
        else:
            raise reader.wrong(word, "Layer or '}'", did_you_mean(word.text, ("Layer",)))


def _layer(reader: Reader, constants: Mapping[str, int]) -> Block:
    """The words of one layer."""
    name: Word | None = None
    while reader.next.text not in ("{", "}", ""):
        if name is not None and reader.next.text in PARTS:
            break
        name = reader.name("the name of the Layer")
    if name is None:
        raise reader.wrong(reader.next, "the name of the Layer")
    opening = reader.open("the name of the Layer")
    start, depth = reader.position, 1
    mistakes: list[SourceError] = []
    while depth > 0:
        word = reader.next
        if word.text in ("Layer", "Network", ""):
            mistakes.append(reader.wrong(word, "'}'", f"the '{{' of line {opening.at.line} is not closed"))
            break
        depth += _deeper(reader, depth, mistakes)
    if depth < 0 or (depth > 0 and not reader.next.text):
        raise mistakes[0]
    return Block(name, reader.words[start : reader.position], constants, mistakes[0] if mistakes else None)


def _deeper(reader: Reader, depth: int, mistakes: list[SourceError]) -> int:
    """How much deeper in braces the next word of a layer leads; one that is missing or hidden in a word counts."""
    word = reader.take()
    if is_glued(word):
        mistakes.append(reader.wrong(word, "words and braces apart"))
    if depth == 1 and word.text in PARTS[1:] and reader.next.text != "{":
        mistakes.append(reader.wrong(reader.next, f"'{{' after {word.text}"))
        if not is_glued(reader.next):
            return 1
    return word.text.count("{") - word.text.count("}")
