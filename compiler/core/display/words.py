"""Results as text: in one line, or in a few; what others named is cut, and harmless on any terminal."""

from __future__ import annotations

from itertools import islice

from npuc.compiler.core.display.shown import Shown

LONGEST_NAME = 48
"""The most characters of a name."""
LONGEST_LINE = 300
"""The most characters of the one line."""
LONGEST_FACT = 400
MOST_FACTS = 12
"""Facts below the line."""


def cut(text: str, most: int = LONGEST_NAME) -> str:
    """
    A text of at most `most` characters: of a longer one its beginning and its end.

    Characters that are not printed, such as those that reverse the order of others, are escapes.
    """
    if len(text) > most:
        text = _printed(text[:most], most)[: most - most // 3 - 1] + "…" + _printed(text[-most:], most)[-(most // 3) :]
    else:
        text = _printed(text, most)
    return text if len(text) <= most else text[: most - 1] + "…"


def _printed(text: str, most: int) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[:most])


def counted(count: int, things: str) -> str:
    """`1 point`, `1,200 points`; things are in the plural."""
    return f"{count:,} {things.removesuffix('s') if count == 1 else things}"


def one_line(shown: Shown) -> str:
    """`<Report of net on igo-large: 45 µs; 12 rows>`."""
    head = cut(f"{shown.kind} {shown.title}".rstrip(), LONGEST_LINE // 2)
    rest = cut(shown.summary, LONGEST_LINE // 2 - 4)
    return f"<{head}: {rest}>" if rest else f"<{head}>"


def lines(shown: Shown) -> str:
    """The line without its brackets, and a line for each fact."""
    head = one_line(shown).removeprefix("<").removesuffix(">")
    given = shown.facts[:MOST_FACTS]
    if not given and shown.table is not None and len(shown.table.headings) == 2:
        given = [(row[0], row[1]) for row in islice(shown.table.rows, 2 * MOST_FACTS)]
    facts = [(cut(name, LONGEST_NAME // 2), cut(text, LONGEST_FACT)) for name, text in given]
    width = max((len(name) for name, _ in facts), default=0)
    return "\n".join([head, *(f"  {name:{width}}  {text}".rstrip() for name, text in facts)])
