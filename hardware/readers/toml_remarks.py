"""The remarks of a TOML file: what its comments say of a key, and its head of the whole."""

from __future__ import annotations

import re

from npuc.hardware.readers.toml_places import find_in_entry, find_key

_STRING = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'")


def head_of(text: str) -> str:
    """The comment that a file begins with; empty without one."""
    lines: list[str] = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# ").rstrip())
    return " ".join(lines)


def remark_of(text: str, path: str) -> str | None:
    """
    What a file says of a key: behind it on its line and in comments that continue there, else in the comment above.

    None where it says nothing, or does not have the key.
    """
    place = find_key(text, path)
    return None if place is None else _remark_at(text, place)


def remark_of_entry(text: str, path: str, number: int, key: str) -> str | None:
    """What a file says of a key of an entry of a list of tables, by its number from 0, or of the entry's first line."""
    place = find_in_entry(text, path, number, key)
    return None if place is None else _remark_at(text, place) or remark_of_entry_head(text, path, number)


def remark_of_entry_head(text: str, path: str, number: int) -> str | None:
    """What a file says of an entry of a list of tables: beside its name, or its first line."""
    for key in ("name", None):
        place = find_in_entry(text, path, number, key)
        found = None if place is None else _remark_at(text, place)
        if found:
            return found
    return None


def _remark_at(text: str, place: tuple[int, int]) -> str | None:
    lines = text.splitlines()
    number = place[0] - 1
    found = _comment(lines[number])
    if found is None:
        above: list[str] = []
        while number > 0 and (line := lines[number - 1]).startswith("#"):
            above.insert(0, line.lstrip("# ").rstrip())
            number -= 1
        return " ".join(above) or None if number > 0 else None
    told = [found]
    for line in lines[number + 1 :]:
        if not re.match(r"\s+#", line):
            break
        told.append(line.strip().lstrip("# "))
    return " ".join(told)


def _comment(line: str) -> str | None:
    """What stands behind the values of a line."""
    bare = _STRING.sub(lambda found: "s" * len(found.group()), line)
    at = bare.find("#")
    return line[at:].lstrip("# ").strip() or None if at >= 0 else None
