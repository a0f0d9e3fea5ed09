"""What each shell hands over, and in which form it takes candidates."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from npuc.compiler.core.frozen import frozen

VARIABLE = "_NPUC_COMPLETE"
SHELLS = ("bash", "zsh", "fish")
_QUOTES = ("'", '"')
_BREAKS = ":="
"""Characters at which bash begins another word."""


@frozen
class Candidate:
    """What may stand for the word that is being typed, and what it means."""

    value: str
    help: str = ""


@frozen
class Typed:
    """A command line that is being typed in a shell: the words before the last, behind the program's name, and that."""

    shell: str
    words: tuple[str, ...]
    word: str
    quoted: bool = False
    """Whether the last word has an opening quote, so that bash takes it for one word."""


def typed_in(environment: Mapping[str, str]) -> Typed | None:
    """What is being typed, by the variables that a shell's script sets; None where none asks."""
    shell = environment.get(VARIABLE, "").removeprefix("complete_")
    if not environment.get(VARIABLE, "").startswith("complete_") or shell not in SHELLS:
        return None
    if shell == "bash":
        text, place = environment.get("COMP_WORDS", ""), environment.get("COMP_CWORD", "0")
        split = text.split("\n") if "\n" in text else text.split(" ")
        number = int(place) if place.isdecimal() else len(split)
        words = _joined([*split[: number + 1], *([""] if number >= len(split) else [])])
    else:
        text = environment.get("_TYPER_COMPLETE_ARGS", "")
        words = [*_split(text), *([""] if text.endswith(" ") or not text else [])]
    first, *rest = words or [""]
    *before, word = rest or [first]
    return Typed(shell, tuple(_plain(one) for one in before), _plain(word), word[:1] in _QUOTES)


def _split(text: str) -> list[str]:
    """The words of a text, of which the last may have an open quote."""
    for end in ("", "'", '"'):
        try:
            return shlex.split(text + end)
        except ValueError:
            continue
    return text.split()


def _joined(words: Sequence[str]) -> list[str]:
    """Words of bash, which splits `samples:mlp` and `array.rows=8` in three: put together again."""
    found: list[str] = []
    glue = False
    for word in words:
        breaks = bool(word) and all(letter in _BREAKS for letter in word)
        if found and len(found) > 1 and (glue or breaks):
            found[-1] += word
        else:
            found.append(word)
        glue = breaks
    return found


def _plain(word: str) -> str:
    """A word without the quotes around it, of which the last may be missing."""
    return word[1:].removesuffix(word[0]) if word[:1] in _QUOTES else word


def answer(typed: Typed, candidates: Sequence[Candidate], environment: Mapping[str, str]) -> tuple[str, int]:
    """What a shell reads on standard output, and the exit status."""
    if typed.shell == "bash":
        start = 0 if typed.quoted else max(typed.word.rfind(letter) for letter in _BREAKS) + 1
        return "\n".join(one.value[start:] for one in candidates), 0
    if typed.shell == "zsh":
        if not candidates:
            return "_files", 0
        shown = [f'"{_for_zsh(one.value)}"' + (f':"{_for_zsh(one.help)}"' if one.help else "") for one in candidates]
        return "_arguments '*: :((" + "\n".join(shown) + "))'", 0
    if environment.get("_TYPER_COMPLETE_FISH_ACTION") == "is-args":
        return "", 0 if candidates else 1
    return "\n".join(one.value + (f"\t{' '.join(one.help.split())}" if one.help else "") for one in candidates), 0


def _for_zsh(text: str) -> str:
    """A text between double quotes in the words that zsh evaluates, where a colon ends a value."""
    quoted = text.replace('"', '""').replace("'", "''").replace("$", "\\$").replace("`", "\\`")
    return re.sub(r":", r"\\\\:", " ".join(quoted.split()))
