"""
What the words of npuc's reports and pages mean: docs/glossary.md, which `terms.json` here holds as data.

The page is the source; `pytest --update-golden` writes the data anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

import msgspec

from npuc.compiler.core.errors import UsageError, nearest

DATA = "terms.json"
_UNIT = re.compile(
    r"[ ,]+([%sJ]|[nµm]s|[nµm]J|[KMGT]?iB|B|bytes|[kMGTP]|([kMGTP] )?(cycles|MACs' worth|cycle x MAC|MACs)|[kMGTP]?/s)$"
)
OVER_BEST = " over best"
"""What the heads of ratios end with, behind the quantity."""
_NUMBER = re.compile(r"\d(?:[\d,.]*\d)?")


class Term(msgspec.Struct, frozen=True, kw_only=True):
    """
    A word and its meaning.

    `where` says which output has it, None for a word that means the same everywhere.
    """

    term: str
    where: str | None
    meaning: str

    @property
    def names(self) -> list[str]:
        """All forms by which it is found: `scratchpad (SPM)` as it is written, `scratchpad` and `SPM`."""
        plain = re.sub(r" \([^)]*\)", "", self.term)
        inside = re.findall(r"\((\w+)\)", self.term)
        return list(dict.fromkeys((self.term, plain, *plain.split(", "), *inside)))


def read_glossary(page: str) -> list[Term]:
    """The words of the page's tables, in its order: two columns, or three with `where` between."""
    found: list[Term] = []
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) in (2, 3) and cells[0] not in ("term", "word") and not cells[0].startswith("---"):
            where = cells[1] if len(cells) == 3 else None
            found.append(Term(term=cells[0], where=where, meaning=cells[-1]))
    return found


@cache
def all_terms() -> tuple[Term, ...]:
    """All words, in alphabetical order; one that means several things stands there for each."""
    data = (files("npuc.compiler.reference") / DATA).read_bytes()
    return tuple(sorted(msgspec.json.decode(data, type=list[Term]), key=lambda term: term.term.lower()))


def terms_named(word: str) -> list[Term]:
    """
    What a word means, a meaning each; units behind the word, and which number it has, do not count.

    Raises `UsageError` for an unknown one, with the nearest or with all.
    """
    exact = [term for term in all_terms() if word in term.names]
    found = exact or _like(word)
    if found:
        return found
    known = sorted({name for term in all_terms() for name in term.names}, key=str.lower)
    inside = (name for name in known if word.lower() in re.split(r"\W+", name.lower()))
    near = next(inside, None) or nearest(word, known)
    hint = f"did you mean '{near}'?" if near else f"known: {'; '.join(dict.fromkeys(t.term for t in all_terms()))}"
    raise UsageError(f"the glossary has no word '{word}'", hint=hint)


def _like(word: str) -> list[Term]:
    for form in _forms(word):
        found = [term for term in all_terms() if form in map(_key, term.names)]
        if found:
            return found
    return []


def _forms(word: str) -> Iterator[str]:
    """The word as it is compared, then without units behind it, one after the other, then in the singular."""
    text = re.sub(r"(?<=H\d) [\d,-]+$", "", " ".join(word.split()))
    while True:
        yield _key(text)
        shorter = _UNIT.sub("", text)
        if shorter == text:
            break
        text = shorter
    if text.endswith("s"):
        yield _key(text[:-1])
    if text.endswith(OVER_BEST):
        yield OVER_BEST.strip()


def _key(name: str) -> str:
    return _NUMBER.sub("n", name.lower().replace("`", ""))


def term_text(found: Sequence[Term], width: int) -> str:
    """The meanings of a word, in lines of at most `width` characters."""
    from npuc.compiler.reference.text import NARROWEST, prose

    lines: list[str] = []
    for term in found:
        lines.append(plain(term.term + (f" ({term.where})" if term.where else "")))
        lines += prose([plain(term.meaning)], max(width, NARROWEST))
    return "\n".join(lines) + "\n"


def terms_text(width: int) -> str:
    """All words with their meanings, in two columns."""
    from npuc.compiler.reference.text import NARROWEST, rows

    heads = [plain(term.term + (f" ({term.where})" if term.where else "")) for term in all_terms()]
    entries = list(zip(heads, (plain(term.meaning) for term in all_terms()), strict=True))
    return "\n".join(rows(entries, max(width, NARROWEST))) + "\n"


def plain(text: str) -> str:
    """A text of the page as a terminal shows it."""
    return text.replace("`", "")
