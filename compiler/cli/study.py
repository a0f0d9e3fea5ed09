"""`npuc study`: a published study, repeated."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from npuc.compiler.cli.shared import Debug, Quiet, Verb, check_target, write_bytes, write_result
from npuc.compiler.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from npuc.compiler.study.igo.study import Study

STUDIES = ("igo",)


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("study")(command)


def command(
    name: Annotated[str, typer.Argument(metavar="igo", help="The study: igo, interleaved gradient orders.")],
    preset: Annotated[str, typer.Option("--preset", metavar="NAME", help="Assumptions: lru, paper, explicit.")] = "lru",
    json: Annotated[str | None, typer.Option("--json", metavar="FILE|-", help="Write the rows as JSON.")] = None,
    csv: Annotated[str | None, typer.Option("--csv", metavar="FILE|-", help="Write the rows as CSV.")] = None,
    plot: Annotated[
        str | None, typer.Option("--plot", metavar="FILE", help="Draw the figure: .png, .pdf, .svg.")
    ] = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Repeat a published study: its numbers and ours side by side."""
    with Verb(debug):
        from npuc.compiler.figure import check_format
        from npuc.compiler.study.igo.plot import draw
        from npuc.compiler.study.igo.study import PRESETS
        from npuc.compiler.study.igo.view import to_csv, to_json, to_text

        if name not in STUDIES:
            raise UsageError(f"there is no study '{name}'", hint=did_you_mean(name, STUDIES))
        if preset not in PRESETS:
            raise UsageError(f"--preset {preset}: there is no such preset", hint=did_you_mean(preset, list(PRESETS)))
        if json == "-" and csv == "-":
            raise UsageError("--json - and --csv - both want standard output", hint="give one of them a file")
        for target in (json, csv, plot):
            check_target(target)
        kind = None if plot is None else check_format(plot)
        study = _run(preset, quiet=quiet)
        for target, text in ((json, to_json), (csv, to_csv)):
            if target is not None:
                write_result(target, text(study))
        if plot is not None and kind is not None:
            write_bytes(plot, draw(study, kind))
        if "-" not in (json, csv):
            print(to_text(study), end="")


def _run(preset: str, *, quiet: bool) -> Study:
    """The study, with its progress on standard error where that is a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    from npuc.compiler.study.igo.networks import MODELS
    from npuc.compiler.study.igo.settings import SETTINGS, Setting
    from npuc.compiler.study.igo.study import run_study

    if not quiet:
        print(
            f"npuc: preset {preset}, {len(SETTINGS)} settings of {len(MODELS)} networks; this takes minutes",
            file=sys.stderr,
        )
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=quiet or not console.is_terminal) as progress:
        task = progress.add_task("study igo", total=len(SETTINGS) * len(MODELS))

        def advance(setting: Setting, model: str) -> None:
            progress.update(task, advance=1, description=f"{setting.title}: {model}")

        return run_study(preset, SETTINGS, tuple(MODELS), advance)
