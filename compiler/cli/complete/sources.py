"""Sources on a command line: which there are, and the parameters and layers of one, read without xDSL."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from npuc.compiler.cli.complete.known import words
from npuc.compiler.cli.complete.shells import Candidate

SUFFIXES = (".dsl", ".mlir", ".pt2", ".onnx", ".mlirbc", ".jaxexport", ".json", ".cfg", ".csv", ".m")
SAMPLES = "samples:"
_HEAD = re.compile(r"^\s*network\s+\w+\s*\(([^)]*)\)", re.MULTILINE)
_LAYER = {
    ".mlir": re.compile(r'\blayer = "([^"]+)"'),
    ".m": re.compile(r"^\s*Layer\s+(\S+?)\s*\{", re.MULTILINE),
}
_MOST = 1 << 22
"""The most bytes of a file that are looked at."""


def sources(word: str) -> list[Candidate]:
    """Samples and files, and folders on the way to such."""
    found = files(word, SUFFIXES)
    names = (f"{SAMPLES}{name}" for name in words()["layers"])
    shown = [name for name in names if name.startswith(word)] if word.startswith(SAMPLES[: len(word)]) else []
    return [*found, *map(Candidate, shown)]


def files(word: str, suffixes: Sequence[str]) -> list[Candidate]:
    """Files with one of the suffixes, and folders, that begin with a word."""
    folder, _, begin = word.rpartition("/")
    head = f"{folder}/" if "/" in word else ""
    try:
        entries = sorted(os.scandir(os.path.expanduser(head) or "."), key=lambda entry: entry.name)
    except OSError:
        return []
    found: list[Candidate] = []
    for entry in entries:
        if not entry.name.startswith(begin) or (entry.name.startswith(".") and not begin):
            continue
        if entry.is_dir():
            found.append(Candidate(f"{head}{entry.name}/"))
        elif entry.name.endswith(tuple(suffixes)):
            found.append(Candidate(f"{head}{entry.name}"))
    return found


def parameters_of(source: str) -> Mapping[str, str]:
    """The parameters of a network with their defaults; none of a source that has none, or that cannot be read."""
    if source.startswith(SAMPLES):
        return words()["parameters"].get(source.removeprefix(SAMPLES), {})
    return parameters_in(_text_of(source)) if source.endswith(".dsl") else {}


def parameters_in(text: str) -> dict[str, str]:
    """The parameters of the network in a text, with their defaults."""
    head = _HEAD.search(text)
    if head is None:
        return {}
    both = (part.partition("=") for part in head.group(1).split(","))
    return {name.strip(): value.strip() for name, equals, value in both if equals}


def layers_of(source: str) -> list[str]:
    """The layers of a source as far as its text names them; in a network of blocks and loops some are patterns."""
    if source.startswith(SAMPLES):
        return list(words()["layers"].get(source.removeprefix(SAMPLES), ()))
    suffix = Path(source).suffix
    text = _text_of(source)
    if suffix in _LAYER:
        return list(dict.fromkeys(_LAYER[suffix].findall(text)))
    if suffix == ".csv":
        return list(dict.fromkeys(_rows(text)))
    return list(dict.fromkeys(_assigned(text))) if suffix == ".dsl" else []


def _text_of(source: str) -> str:
    try:
        with open(source, "rb") as file:
            return file.read(_MOST).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


def _rows(text: str) -> Iterator[str]:
    """The layers of a table: the cells up to the column `layer`, else the first."""
    lines = [line.split(",") for line in text.splitlines() if line.strip()]
    if not lines:
        return
    header = [cell.strip() for cell in lines[0]]
    last = header.index("layer") if "layer" in header else 0
    for cells in lines[1:]:
        yield "/".join(re.sub(r"[^\w\-+./]", "_", cell.strip()) for cell in cells[: last + 1])


def _assigned(text: str) -> Iterator[str]:
    """The names that a network's own statements give to calls; of a name that is made in a loop a pattern."""
    network = re.search(r"^\s*network\b[^{]*\{", text, re.MULTILINE)
    if network is None:
        return
    blocks = {*re.findall(r"^\s*block\s+(\w+)", text, re.MULTILINE)}
    loops: list[int] = []
    depth = 1
    for line in text[network.end() :].splitlines():
        code = line.partition("#")[0]
        statement = re.match(r"\s*(?:for\b[^{]*\{|if\b[^{]*\{)?\s*(\w+)\s*=\s*(\w+)\(", code)
        if re.match(r"\s*for\b", code):
            loops.append(depth)
        if statement is not None:
            name, function = statement.groups()
            inside = f"{name}.*" if function in blocks else name
            yield f"*.{inside}" if loops else inside
        depth += code.count("{") - code.count("}")
        while loops and depth <= loops[-1]:
            loops.pop()
        if depth <= 0:
            return
