"""
Write what the pages' examples print today into the pages: `python -m tests.docs.renew [PAGE…]`, all
pages where none is named.

Every block is executed as the tests do it. Where the output is not what the page shows, the shown lines are aligned
with the printed ones: `…` stays where it stood, a line that has changed is replaced by the printed line that is most
like it, lines that are new between two that follow each other come in, lines that are gone go. Look at the difference
afterwards: prose beside an example is not renewed.
"""

import contextlib
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from importlib import invalidate_caches
from pathlib import Path
from unittest import mock

from npuc.compiler.core.errors import NpucError
from tests.docs.pages import FOLDER, NAMES, ROOT, Block, Command, blocks_of, commands_of, give_files, matches
from tests.docs.shell import Shell

ANY = "…"
LONGEST = 120
NEW, GONE = 0.6, 0.6
"""What a line costs that comes in or goes, where one that is quite different costs 1."""


@lru_cache(maxsize=1 << 16)
def unlikeness(shown: str, printed: str) -> float:
    """How different two lines are, from 0 to 1; numbers count little."""
    if matches(shown, printed):
        return 0.0
    parts = (re.sub(r"[\d.,]+", "0", re.sub(r" +", " ", line)) for line in (shown.rstrip(ANY), printed))
    a, b = parts
    if ANY in shown:
        b = b[: len(a) + 8]
    other = shown.split()[:2] != printed.split()[:2]
    return 1.0 + 0.2 * other - 0.9 * SequenceMatcher(None, a, b, autojunk=False).ratio()


def aligned(shown: Sequence[str], printed: Sequence[str]) -> list[str]:
    """The lines to show in place of `shown` for the `printed` ones."""
    rows, columns = len(shown), len(printed)
    cost = [[float("inf")] * (columns + 1) for _ in range(rows + 1)]
    step: list[list[str]] = [[""] * (columns + 1) for _ in range(rows + 1)]
    cost[0][0] = 0.0
    for i in range(rows + 1):
        for j in range(columns + 1):
            for name, before, price in _ways(shown, printed, i, j):
                total = cost[before[0]][before[1]] + price
                if total < cost[i][j]:
                    cost[i][j], step[i][j] = total, name
    lines: list[str] = []
    i, j = rows, columns
    while i or j:
        match step[i][j]:
            case "same":
                lines.append(renewed(shown[i - 1], printed[j - 1]))
                i, j = i - 1, j - 1
            case "new":
                lines.append(printed[j - 1].rstrip())
                j -= 1
            case "skip":
                j -= 1
            case "any":
                lines.append(shown[i - 1])
                i -= 1
            case _:
                i -= 1
    return lines[::-1]


def _ways(shown: Sequence[str], printed: Sequence[str], i: int, j: int) -> Iterable[tuple[str, tuple[int, int], float]]:
    """The last steps of an alignment of the first i shown and j printed lines: name, what is before, cost."""
    is_any = i > 0 and shown[i - 1].strip() == ANY
    if is_any:
        yield "any", (i - 1, j), 0.0
        if j:
            yield "skip", (i, j - 1), 0.0
        return
    if i and j:
        yield "same", (i - 1, j - 1), unlikeness(shown[i - 1], printed[j - 1])
    if j:
        yield "new", (i, j - 1), NEW
    if i:
        yield "gone", (i - 1, j), GONE


def renewed(shown: str, printed: str) -> str:
    """One line for another: with `…` where the shown line has it, as far as the rest can be found again."""
    if matches(shown, printed):
        return shown
    printed = printed.rstrip()
    if ANY not in shown:
        return printed
    parts = [re.sub(r"[\d.,]*\d", r"[\\d.,]*\\d", re.escape(part).replace("\\.", ".")) for part in shown.split(ANY)]
    found = re.fullmatch(".*?".join(f"({part})" for part in parts), printed)
    if found is not None:
        return ANY.join(found.groups())
    head = shown.split(ANY)[0]
    return printed if len(printed) <= len(head) else printed[: len(head)].rstrip() + (" …" if head[-1:] == " " else ANY)


def short(line: str) -> str:
    """A line of output as a page may show it, at most 120 characters, cut between words; a command stays whole."""
    return (
        line if len(line) <= LONGEST or line.startswith("$ ") else line[: line.rindex(" ", 0, LONGEST - 1)] + " " + ANY
    )


def renewed_block(block: Block, shell: Shell) -> str:
    """The text of a block with what it prints now, which is executed."""
    if block.language == "console" and not block.name:
        lines: list[str] = []
        for command in commands_of(block):
            lines += [f"$ {command.shown}", *_shown(command, shell.command(command))]
        return "".join(line + "\n" for line in lines)
    if block.language == "text" and not block.name:
        if shell.printed is None or matches(block.text, shell.printed):
            return block.text
        return "".join(line + "\n" for line in aligned(block.text.splitlines(), shell.printed.rstrip().splitlines()))
    shell.run(block)
    return block.text


def _shown(command: Command, printed: str) -> list[str]:
    shown = list(command.output)
    return shown if matches("\n".join(shown), printed) else aligned(shown, printed.rstrip().splitlines())


def renew(path: Path, columns: str) -> bool:
    """Renew a page for terminals so many columns wide; whether anything has changed."""
    text = path.read_text(encoding="utf-8")
    result, rest, is_readme = "", text, path.parent == ROOT
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(sys, "path", [folder, *sys.path]))
        stack.enter_context(mock.patch.dict(os.environ, COLUMNS=columns))
        invalidate_caches()
        shell = Shell(Path(folder))
        give_files(path.stem, Path(folder))
        for block in blocks_of(text):
            if block.language == "sh":
                continue
            fence = f"```{block.language}{' ' * bool(block.name)}{block.name}\n"
            before, _, rest = rest.partition(fence + block.text)
            lines = renewed_block(block, shell).splitlines()
            result += before + fence + "".join((line if is_readme else short(line)) + "\n" for line in lines)
        for name in [n for n, m in sys.modules.items() if str(getattr(m, "__file__", "")).startswith(folder)]:
            del sys.modules[name]
    result += rest
    if result != text:
        path.write_text(result, encoding="utf-8")
    return result != text


def main() -> None:
    """Renew the pages that are named, or the README and all pages."""
    failed: list[str] = []
    for name in sys.argv[1:] or ["README", *NAMES]:
        path, columns = (ROOT / "README.md", "100") if name == "README" else (FOLDER / f"{name}.md", "120")
        try:
            print(name, "renewed" if renew(path, columns) else "as before", flush=True)
        except (AssertionError, NpucError) as error:  # the other pages are renewed all the same
            print(name, "fails:", error, flush=True)
            failed.append(name)
    if failed:
        sys.exit(f"not renewed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
