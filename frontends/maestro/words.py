"""
The words of a mapping file with their places.

    Layer conv1 { // first        ->    Layer  conv1  {

Blanks and `, - > ( ) : ;` only separate words, so a brace is one where it stands between separators; a word that begins
with `//` ends its line. That is how MAESTRO (github.com/maestro-project/maestro) cuts its files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from npuc.compiler.core.errors import SourceError
from npuc.frontends.source_text import Place, SourceText

SEPARATORS = " \t,->():;"
_WORD = re.compile(f"[^{re.escape(SEPARATORS)}]+")
_LONGEST_SHOWN = 40


class Word(NamedTuple):
    """A word and where it begins; `negative` where a minus that separates nothing stands before it."""

    text: str
    at: Place
    negative: bool = False

    def __str__(self) -> str:
        """The word as a message names it."""
        if not self.text:
            return "the end of the file"
        text = f"{'-' * self.negative}{self.text}"
        text = "".join(c if c.isprintable() else "\ufffd" for c in text[: _LONGEST_SHOWN + 1])
        return f"'{text}'" if len(text) <= _LONGEST_SHOWN else f"'{text[:_LONGEST_SHOWN]}…'"


def words_of(source: SourceText) -> list[Word]:
    """The words of a file; the last is an empty one at its end."""
    words: list[Word] = []
    for number, line in enumerate(source.lines, 1):
        for found in _WORD.finditer(line):
            text, start = found.group(), found.start()
            if text.startswith("//"):
                break
            minus = line[start - 1 : start] == "-" and line[max(start - 2, 0) : start - 1] in ("", *SEPARATORS)
            words.append(Word(text, Place(number, start + 1), minus))
    end = Place(words[-1].at.line, words[-1].at.col + len(words[-1].text)) if words else Place(1, 1)
    return [*words, Word("", end)]


def is_glued(word: Word) -> bool:
    """Whether a brace stands in a word without the separators that make it one."""
    return len(word.text) > 1 and ("{" in word.text or "}" in word.text)


@dataclass
class Reader:
    """Walks over words, which end with an empty one or a closing brace."""

    source: SourceText
    words: list[Word]
    position: int = 0

    @property
    def next(self) -> Word:
        """The word to come."""
        return self.words[self.position]

    def take(self) -> Word:
        """The next word; the last one again at the end."""
        word = self.words[self.position]
        self.position = min(self.position + 1, len(self.words) - 1)
        return word

    def wrong(self, word: Word, expected: str, hint: str | None = None) -> SourceError:
        """The error that a word is not what was expected."""
        if is_glued(word):
            hint = "a brace stands between blanks: { K: 4 }"
        return self.source.error(word.at, f"found {word}, expected {expected}", hint)

    def name(self, what: str) -> Word:
        """A word that names something. Raises `SourceError` for a word with a brace in it."""
        word = self.take()
        if "{" in word.text or "}" in word.text:
            raise self.wrong(word, what)
        return word

    def open(self, what: str) -> Word:
        """The brace that opens a block. Raises `SourceError` where there is none."""
        word = self.take()
        if word.text == "{":
            return word
        raise self.wrong(word, f"'{{' after {what}")
