"""`npuc cache`: where results are kept on disk, how much there is, and how often it was of use."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from npuc.compiler.cli.shared import Debug, Verb, check_target, make_console, write_result
from npuc.compiler.cli.verbs.readers import CacheDir
from npuc.compiler.core.cache.folder import FOLDER, MIB, OFF, OPTION, Place, place
from npuc.compiler.core.errors import UsageError

if TYPE_CHECKING:
    from npuc.compiler.core.cache.store import Store, Tally

MEANINGS = {
    "results": "what whole commands wrote",
    "inputs": "names of the files that commands read",
    "schedules": "what searches for schedules found",
}
"""The kinds of rows."""


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("cache")(command)


def command(
    cache_dir: CacheDir = None,
    clear: Annotated[bool, typer.Option("--clear", help="Remove all results.")] = False,
    json: Annotated[str | None, typer.Option("--json", metavar="FILE|-", help="Write the same as JSON.")] = None,
    debug: Debug = False,
) -> None:
    """Show the results that are kept on disk. Says where they are, how many, and how often one was found."""
    with Verb(debug):
        check_target(json)
        from npuc.compiler.core.cache.store import Store

        found = place([] if cache_dir is None else [OPTION, cache_dir], os.environ)
        if found.complaint is not None:
            raise UsageError(found.complaint)
        store = None if found.folder is None else Store(found.folder, found.bound, b"")
        if clear and store is not None and not store.clear():
            raise UsageError(f"cannot clear {store.path}: {store.problem}")
        tallies = {} if store is None else store.tally()
        if store is not None and store.problem is not None:
            raise UsageError(f"cannot read {store.path}: {store.problem}")
        if json is not None:
            from json import dumps

            write_result(json, dumps(_document(found, store, tallies), indent=2, ensure_ascii=False) + "\n")
        if json != "-":
            _print(found, store, tallies)


def _size(store: Store | None) -> int:
    """The bytes that the file takes."""
    try:
        return 0 if store is None else os.path.getsize(store.path)
    except OSError:
        return 0


def _document(found: Place, store: Store | None, tallies: dict[str, Tally]) -> dict[str, object]:
    return {
        "folder": found.folder,
        "file_bytes": _size(store),
        "bound_bytes": found.bound,
        "kinds": {
            kind: {"rows": one.rows, "bytes": one.size, "hits": one.hits, "misses": one.misses}
            for kind, one in tallies.items()
        },
    }


def _print(found: Place, store: Store | None, tallies: dict[str, Tally]) -> None:
    from rich.table import Table

    console = make_console()
    if store is None:
        reason = f"{OFF} is set" if os.environ.get(OFF) else f"there is no home folder, and no {FOLDER}"
        console.print(f"nothing is kept: {reason}", markup=False)
        return
    console.print(f"folder  {found.folder}", markup=False, soft_wrap=True)
    console.print(f"size    {_size(store) / MIB:,.1f} MiB of at most {found.bound / MIB:,.0f} MiB", markup=False)
    if not tallies:
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("kind")
    for name in ("rows", "MiB", "found", "not found"):
        table.add_column(name, justify="right")
    table.add_column("what")
    for kind, one in tallies.items():
        counts = ("", "") if kind == "inputs" else (f"{one.hits:,}", f"{one.misses:,}")
        table.add_row(kind, f"{one.rows:,}", f"{one.size / MIB:,.2f}", *counts, MEANINGS.get(kind, ""))
    console.print(table)
