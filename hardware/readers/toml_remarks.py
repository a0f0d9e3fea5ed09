"""The remarks of a TOML file: what its comments say of a key, and its head of the whole."""

from __future__ import annotations

import re

from npuc.hardware.readers.toml_places import find_key

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
    if place is None:
        return None
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
