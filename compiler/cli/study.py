"""`npuc study`: a published study, repeated."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated

import typer

from npuc.compiler.cli.shared import (
    Debug,
    Defines,
    Quiet,
    Verb,
    check_folder,
    check_target,
    make_console,
    parse_defines,
    write_bytes,
    write_folder,
    write_result,
)
from npuc.compiler.core.errors import UsageError, did_you_mean


@dataclass(frozen=True)
class Asked:
    """The options; None or empty where they were not given."""

    preset: str | None
    json: str | None
    csv: str | None
    plot: str | None
    networks: list[str]
    defines: list[str]
    settings: list[str]
    figures: list[str]
    quiet: bool


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("study")(command)


def command(
    name: Annotated[
        str,
        typer.Argument(
            metavar="igo|thesis|hypar|crosscheck",
            help="The study: igo, interleaved gradient orders; thesis, the roofline; hypar, layers over accelerators; "
            "crosscheck, two of our backends.",
        ),
    ],
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            metavar="NAME",
            help="Assumptions: lru, paper, explicit; of thesis: thesis, retain, networks, default; of hypar: "
            "published, table2, physical; of crosscheck: all, os, ws, is.",
        ),
    ] = None,
    network: Annotated[
        list[str] | None,
        typer.Option("--network", metavar="NAME|SOURCE", help="A network in place of the study's; repeatable."),
    ] = None,
    define: Defines = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Replace a hardware key.")
    ] = None,
    json: Annotated[str | None, typer.Option("--json", metavar="FILE|-", help="Write the rows as JSON.")] = None,
    csv: Annotated[str | None, typer.Option("--csv", metavar="FILE|-", help="Write the rows as CSV.")] = None,
    plot: Annotated[
        str | None,
        typer.Option("--plot", metavar="FILE|FOLDER", help="Draw figures: .png, .pdf, .svg; of thesis also a folder."),
    ] = None,
    figure: Annotated[
        list[str] | None, typer.Option("--figure", metavar="5.1|…|5.6", help="A figure to draw; repeatable.")
    ] = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Repeat a published study: its numbers and ours side by side."""
    with Verb(debug):
        if name not in STUDIES:
            raise UsageError(f"there is no study '{name}'", hint=did_you_mean(name, list(STUDIES)))
        if json == "-" and csv == "-":
            raise UsageError("--json - and --csv - both want standard output", hint="give one of them a file")
        for target in (json, csv):
            check_target(target)
        STUDIES[name](Asked(preset, json, csv, plot, network or [], define or [], setting or [], figure or [], quiet))


def _preset(asked: Asked, known: Mapping[str, object]) -> str:
    """The preset that was asked for, the first one by default."""
    preset = asked.preset or next(iter(known))
    if preset not in known:
        raise UsageError(f"--preset {preset}: there is no such preset", hint=did_you_mean(preset, list(known)))
    return preset


def _only_of_thesis(asked: Asked) -> None:
    """Raise `UsageError` for options that the study has no use for."""
    for option, values in {"-D": asked.defines, "--set": asked.settings, "--figure": asked.figures}.items():
        if values:
            raise UsageError(f"{option} is an option of the study thesis")


def _igo(asked: Asked) -> None:
    """Interleaved gradient orders."""
    from npuc.compiler.core.figure import check_format
    from npuc.studies.igo.networks import MODELS
    from npuc.studies.igo.plot import draw
    from npuc.studies.igo.settings import SETTINGS, Setting
    from npuc.studies.igo.study import PRESETS, run_study
    from npuc.studies.igo.view import to_csv, to_json, to_text

    preset = _preset(asked, PRESETS)
    if asked.networks:
        raise UsageError("--network is an option of the studies thesis, hypar and crosscheck")
    _only_of_thesis(asked)
    check_target(asked.plot)
    kind = None if asked.plot is None else check_format(asked.plot)
    if not asked.quiet:
        text = f"npuc: preset {preset}, {len(SETTINGS)} settings of {len(MODELS)} networks; this takes minutes"
        print(text, file=sys.stderr)
    with _progress("study igo", len(SETTINGS) * len(MODELS), quiet=asked.quiet) as advance:

        def done(setting: Setting, model: str) -> None:
            advance(f"{setting.title}: {model}", 1)

        study = run_study(preset, SETTINGS, tuple(MODELS), done)
    _write(asked, lambda: to_json(study), lambda: to_csv(study))
    if asked.plot is not None and kind is not None:
        write_bytes(asked.plot, draw(study, kind))
    if "-" not in (asked.json, asked.csv):
        print(to_text(study), end="")


def _thesis(asked: Asked) -> None:
    """The roofline study."""
    from npuc.hardware import parse_setting
    from npuc.studies.thesis.figures import draw, figure_points, figures_of
    from npuc.studies.thesis.settings import PRESETS
    from npuc.studies.thesis.study import plan_study, run_study
    from npuc.studies.thesis.view import print_study, to_csv, to_json

    preset = _preset(asked, PRESETS)
    overrides = dict(parse_setting(item) for item in asked.settings)
    if asked.figures and asked.plot is None:
        raise UsageError("--figure chooses what --plot draws, and there is none", hint="--plot FILE")
    plan = plan_study(preset, asked.networks, parse_defines(asked.defines), overrides)
    numbers, kinds = [] if asked.plot is None else figures_of(asked.figures, plan.networks), _kinds(asked.plot)
    points = figure_points(numbers, plan.networks)
    with _progress("study thesis", len(plan.points) + len(points), quiet=asked.quiet) as advance:
        study = run_study(plan, points, advance)
    if not asked.quiet:
        for line in study.warnings:
            print(f"npuc: warning: {line}", file=sys.stderr)
    _write(asked, lambda: to_json(study), lambda: to_csv(study))
    if asked.plot is not None and _is_folder(asked.plot):
        write_folder(asked.plot, {f"figure-{n}.{kind}": draw(study, [n], kind) for n in numbers for kind in kinds})
    elif asked.plot is not None:
        write_bytes(asked.plot, draw(study, numbers, kinds[0]))
    if "-" not in (asked.json, asked.csv):
        print_study(study, make_console())


def _hypar(asked: Asked) -> None:
    """Layers over accelerators."""
    from npuc.compiler.core.figure import check_format
    from npuc.studies.hypar.plot import draw
    from npuc.studies.hypar.settings import PRESETS
    from npuc.studies.hypar.study import plan_study, run_study
    from npuc.studies.hypar.view import print_study, to_csv, to_json

    preset = _preset(asked, {name: name for name in PRESETS})
    _only_of_thesis(asked)
    check_target(asked.plot)
    kind = None if asked.plot is None else check_format(asked.plot)
    plan = plan_study(next(known for known in PRESETS if known == preset), asked.networks)
    with _progress("study hypar", plan.count, quiet=asked.quiet) as advance:
        study = run_study(plan, advance)
    _write(asked, lambda: to_json(study), lambda: to_csv(study))
    if asked.plot is not None and kind is not None:
        write_bytes(asked.plot, draw(study, kind))
    if "-" not in (asked.json, asked.csv):
        print_study(study, make_console())


def _crosscheck(asked: Asked) -> None:
    """The backends cycle and maestro."""
    from npuc.hardware import parse_setting
    from npuc.studies.crosscheck.study import DATAFLOWS, NETWORK, PRESETS, run_crosscheck
    from npuc.studies.crosscheck.view import print_crosscheck, to_csv, to_json

    dataflows = PRESETS[_preset(asked, PRESETS)]
    if asked.plot is not None or asked.figures:
        raise UsageError("the study crosscheck draws nothing", hint="--json and --csv have its rows")
    if len(asked.networks) > 1:
        raise UsageError("the study crosscheck takes one network", hint="run it again for another")
    overrides = dict(parse_setting(item) for item in asked.settings)
    with _progress("study crosscheck", len(DATAFLOWS), quiet=asked.quiet) as advance:
        study = run_crosscheck(
            asked.networks[0] if asked.networks else NETWORK,
            overrides=overrides,
            defines=parse_defines(asked.defines),
            dataflows=dataflows,
            done=advance,
        )
    _write(asked, lambda: to_json(study), lambda: to_csv(study))
    if "-" not in (asked.json, asked.csv):
        print_crosscheck(study, make_console())


FOLDER_KINDS = ("png", "svg")
"""What figures that go into a folder are drawn as."""


def _is_folder(path: str) -> bool:
    """Whether a name is that of a folder: of one that exists, or without a suffix."""
    return os.path.isdir(path) or not os.path.splitext(path)[1]


def _kinds(plot: str | None) -> tuple[str, ...]:
    """The kinds of picture to make, none without a target; checks that it can be written."""
    from npuc.compiler.core.figure import check_format

    if plot is None:
        return ()
    if _is_folder(plot):
        check_folder(plot)
        return tuple(check_format(f"figure.{kind}") for kind in FOLDER_KINDS)
    check_target(plot)
    return (check_format(plot),)


def _write(asked: Asked, json: Callable[[], str], csv: Callable[[], str]) -> None:
    """The rows in the forms that were asked for."""
    for target, text in ((asked.json, json), (asked.csv, csv)):
        if target is not None:
            write_result(target, text())


@contextmanager
def _progress(title: str, total: int, *, quiet: bool) -> Generator[Callable[[str, int], None]]:
    """A bar on standard error where that is a terminal; it is told what is done, and how many of `total`."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=quiet or not console.is_terminal) as progress:
        task = progress.add_task(title, total=total)

        def advance(description: str, count: int) -> None:
            progress.update(task, advance=count, description=description)

        yield advance


STUDIES: Mapping[str, Callable[[Asked], None]] = {
    "igo": _igo,
    "thesis": _thesis,
    "hypar": _hypar,
    "crosscheck": _crosscheck,
}
