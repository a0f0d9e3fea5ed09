"""`npuc fmt`: format network files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from npuc.compiler.cli.shared import Debug, Quiet, Verb, report_error
from npuc.compiler.core.errors import NpucError, UsageError
from npuc.compiler.core.files.outputs import write_file
from npuc.compiler.core.files.texts import decoded

SUFFIX = ".dsl"


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("fmt")(command)


def command(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE", help="Files, folders with .dsl files, or - for standard input.")
    ],
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; list the files that would change, exit 1.")
    ] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Write nothing; print the changes as a diff.")] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Format network files. A file with errors stays as it is."""
    with Verb(debug):
        status, changed = 0, 0
        found = list(_targets(files))
        for path in found:
            try:
                changed += _format(path, check, diff, quiet)
            except NpucError as error:
                status = max(status, report_error(error))
        if not found and not quiet:
            print("npuc: no .dsl files there", file=sys.stderr)
        raise typer.Exit(status or int(check and changed > 0))


@dataclass(frozen=True)
class _Text:
    """A file's name in messages, what it holds, and the same in the one layout."""

    shown: str
    old: str
    new: str


def _targets(paths: Sequence[str]) -> Iterator[str]:
    """The files that paths name, folders walked in order, each once."""
    seen: set[str] = set()
    for path in paths:
        inside = sorted(map(os.path.normpath, _walk(path))) if os.path.isdir(path) else [path]
        for file in inside:
            known = file if file == "-" or "\0" in file else os.path.realpath(file)
            if known not in seen:
                seen.add(known)
                yield file


def _walk(folder: str) -> Iterator[str]:
    """The .dsl files under a folder; folders that are hidden are left out."""
    for home, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (os.path.join(home, name) for name in names if name.endswith(SUFFIX))


def _read(path: str) -> _Text:
    from npuc.frontends import SAMPLES, read_bytes
    from npuc.frontends.dsl.format import format_source

    if path != "-" and (path.startswith(SAMPLES) or not path.endswith(SUFFIX)):
        raise UsageError(f"cannot format '{path}'", hint=f"only files that end in {SUFFIX} have a layout")
    shown = "<stdin>" if path == "-" else path
    data = read_bytes(path)
    text = decoded(data, shown)
    # A byte order mark is no part of the text, but goes as well.
    return _Text(shown, text if path == "-" else data.decode(), format_source(text, shown))


def _format(path: str, check: bool, diff: bool, quiet: bool) -> bool:
    """Format one file; whether its layout was another one."""
    text = _read(path)
    changes = text.new != text.old
    if diff and changes:
        sys.stdout.writelines(_difference(text))
    if check and changes and not diff:
        print(text.shown)
    if check or diff:
        return changes
    if path == "-":
        sys.stdout.write(text.new)
    elif changes:
        if not os.path.isfile(path):
            raise UsageError(f"cannot format '{path}' in place: it is no regular file", hint="npuc fmt - < FILE")
        write_file(path, text.new.encode(), now=True)
        if not quiet:
            print(f"npuc: formatted {path}", file=sys.stderr)
    return changes


def _difference(text: _Text) -> Iterator[str]:
    """A unified diff; lines that do not end say so."""
    from difflib import unified_diff

    for line in unified_diff(_lines(text.old), _lines(text.new), text.shown, f"{text.shown} (formatted)"):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    """The lines of a text with their ends, split at line feeds only."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1].removesuffix("\n")
    return lines if lines[-1] else lines[:-1]
