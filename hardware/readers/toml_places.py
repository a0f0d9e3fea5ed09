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


def toml_error(message: str, text: str) -> tuple[str, int, int]:
    """The message of Python's reader without its position, and that position."""
    found = re.search(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$", message)
    if found is None:
        return message, 1, 1
    message = message[: found.start()]
    if message == "Cannot overwrite a value":
        message = "this key has a value already"
    if found.group(1) is None:
        lines = text.removesuffix("\n").split("\n")
        return f"{message} at the end of the file", len(lines), len(lines[-1]) + 1
    return message, int(found.group(1)), int(found.group(2))
