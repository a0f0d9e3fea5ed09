"""`npuc new`: a repository to start from."""

from __future__ import annotations

import re
from keyword import iskeyword
from pathlib import Path
from typing import Annotated

import typer

from npuc.compiler.cli.shared import Debug, Quiet, Verb, write_folder
from npuc.compiler.core.errors import UsageError, did_you_mean

KINDS = ("pass",)


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("new")(command)


def command(
    kind: Annotated[str, typer.Argument(metavar="|".join(KINDS), help="What to begin.")],
    name: Annotated[str, typer.Argument(help="Its name: lower-case words with dashes.")],
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="DIR", help="The folder to make (default: ./NAME).")
    ] = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Begin a repository: a pass made of a pattern, with its tests and its docs. Nothing is overwritten."""
    with Verb(debug):
        if kind not in KINDS:
            raise UsageError(f"npuc new makes no '{kind}'", hint=did_you_mean(kind, KINDS))
        check_name(name)
        folder = name if output is None else output
        _check_free(folder)
        from npuc.compiler.cli.new.template import filled

        files = filled(name)
        for place in sorted({str(Path(path).parent) for path in files}):
            own = {Path(path).name: text for path, text in files.items() if str(Path(path).parent) == place}
            write_folder(str(Path(folder) / place), {**own})
        if not quiet:
            print(f"{folder}: {', '.join(files)}")


def check_name(name: str) -> None:
    """Raise `UsageError` for what is no name of a pass, or is the name of one of npuc's."""
    from npuc.compiler.driver.passes import own_passes

    if re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name) is None:
        raise UsageError(f"found the name '{name}', expected lower-case words with dashes", hint="for example my-pass")
    module = name.replace("-", "_")
    if iskeyword(module) or module in ("npuc", "xdsl", "tests", "docs"):
        raise UsageError(f"'{name}' cannot be the name of a Python module", hint=f"for example {name}-pass")
    if name in own_passes():
        raise UsageError(f"the name '{name}' is taken by a pass of npuc", hint=f"for example my-{name}")


def _check_free(folder: str) -> None:
    """Raise `UsageError` for a folder that holds something, or cannot be made."""
    path = Path(folder)
    try:
        taken = path.exists() and (not path.is_dir() or any(path.iterdir()))
        fits = bool(folder) and path.absolute().parent.is_dir()
    except (OSError, ValueError) as e:
        raise UsageError(f"cannot make '{folder}': {e}") from e
    if taken:
        raise UsageError(f"'{folder}' exists, and nothing is overwritten", hint="name another folder with -o")
    if not fits:
        raise UsageError(f"cannot make '{folder}': its folder does not exist")
