"""Best-effort source location of a key in the text of a TOML file, for carets in messages only."""

import re


def _pattern(path: str) -> re.Pattern[str]:
    """A dotted key as it may be written: blanks around dots, quotes around parts."""
    parts = [rf"[\"']?{re.escape(part)}[\"']?" for part in path.split(".")]
    dotted = r"\s*\.\s*".join(parts)
    return re.compile(rf"(?<![\w.\-\"'])({dotted})(?![\w\-\"'])\s*(?==)")


def find_key(text: str, path: str) -> tuple[int, int] | None:
    """
    Line and column (from 1) of the key `path`: dotted, below its `[table]` header, or inside `table = { … }`.

    A header `[path]` itself counts too. None when it is not found.
    """
    table, _, leaf = path.partition(".")
    whole, own, inside = _pattern(path), _pattern(leaf or table), _pattern(table)
    header = ""
    for number, line in enumerate(text.split("\n"), 1):
        opened = re.match(r"\s*\[+\s*([^\]]*?)\s*\]", line)
        if opened:
            header = re.sub(r"[\s\"']", "", opened.group(1))
            if header == path:
                return number, opened.start(1) + 1
            continue
        found = None
        if header == table and leaf:
            found = own.match(line.lstrip()) and own.search(line)
        elif header == "":
            found = whole.match(line.lstrip()) and whole.search(line)
            start = None if found or not leaf else inside.match(line.lstrip()) and inside.search(line)
            if start:
                found = own.search(line, start.end())
        if found:
            return number, found.start(1) + 1
    return None


def find_in_entry(text: str, path: str, number: int, key: str | None) -> tuple[int, int] | None:
    """
    Line and column (from 1) of an entry of the list of tables `path`, by its number from 0, or of a key of it.

    The list is written with `[[path]]` headers or as `path = [{ … }, …]`. None when it is not found.
    """
    lines = text.split("\n")
    heads = [n for n, line in enumerate(lines) if re.match(rf"\s*\[\[\s*{re.escape(path)}\s*\]\]", line)]
    if heads:
        if number >= len(heads):
            return None
        first = heads[number]
        for at in range(first + 1, len(lines)):
            if re.match(r"\s*\[", lines[at]):
                break
            found = key and _pattern(key).match(lines[at].lstrip()) and _pattern(key).search(lines[at])
            if found:
                return at + 1, found.start(1) + 1
        return first + 1, lines[first].index("[") + 1
    place = find_key(text, path)
    if place is None:
        return None
    start = sum(len(line) + 1 for line in lines[: place[0] - 1]) + place[1] - 1
    bare = re.sub(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|#[^\n]*", lambda one: "s" * len(one.group()), text)
    entries = [found.start() for found in re.finditer(r"\{", bare[start:])]
    if number >= len(entries):
        return None
    begin = start + entries[number]
    inner = _pattern(key).search(text, begin, bare.find("}", begin) + 1) if key else None
    at = inner.start(1) if inner else begin
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
