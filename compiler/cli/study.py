"""`npuc study`: a published study, repeated."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from npuc.compiler.cli.groups import parse_settings
from npuc.compiler.cli.progress import progress
from npuc.compiler.cli.searching import check_area
from npuc.compiler.cli.shared import (
    Debug,
    Defines,
    Load,
    Quiet,
    Verb,
    aside,
    check_folder,
    check_target,
    make_console,
    parse_defines,
    real,
    whole,
    write_folder,
    write_result,
)
from npuc.compiler.cli.verbs.readers import CacheDir, NoCache
from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.core.files.outputs import write_file
from npuc.studies.base import STUDIES, Asked, DrawnOutcome, FolderOutcome, Option, Outcome, Plan, Study

Preset = Annotated[
    str | None,
    typer.Option(
        "--preset", metavar="NAME", help="Set of assumptions (npuc list studies names them, the default first)."
    ),
]
Networks = Annotated[
    list[str] | None,
    typer.Option(
        "--network", metavar="NAME|SOURCE", help="Network to use instead of the study's (igo: beside); repeatable."
    ),
]
Accelerators = Annotated[
    str | None,
    typer.Option("--hw", metavar="NAME|FILE", help="Accelerators to use instead of the study's: a preset or a file."),
]
Rewrites = Annotated[
    list[str] | None,
    typer.Option("--rewrite", metavar="NAME=PASSES", help="Rewrite to set beside the study's steps; repeatable."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a hardware key, or a constant (congestion)."),
]
Jobs = Annotated[
    int | None,
    typer.Option("-j", "--jobs", metavar="N", parser=whole(1), help="Number of worker processes (digamma, igo)."),
]
Area = Annotated[
    float | None,
    typer.Option("--area-mm2", metavar="A", parser=real(), help="Area of machines, mm2, instead of the study's."),
]
Evaluations = Annotated[
    int | None,
    typer.Option(
        "--evaluations",
        metavar="N",
        parser=whole(1),
        help="Designs that each search evaluates (digamma); mappings for each class and contraction (flexion).",
    ),
]
Resume = Annotated[
    str | None, typer.Option("--resume", metavar="FILE", help="Keep what was found in FILE, and go on from there.")
]
Bandwidth = Annotated[
    float | None,
    typer.Option(
        "--total-gb-per-s", metavar="B", parser=real(), help="GB/s of a device over all levels, instead of the study's."
    ),
]
Json = Annotated[str | None, typer.Option("--json", metavar="FILE|-", help="Write the rows as JSON.")]
Csv = Annotated[str | None, typer.Option("--csv", metavar="FILE|-", help="Write the rows as CSV.")]
Plot = Annotated[
    str | None,
    typer.Option("--plot", metavar="FILE|FOLDER", help="Draw figures: .png, .pdf or .svg; for thesis also a folder."),
]
Figures = Annotated[list[str] | None, typer.Option("--figure", metavar="5.1|…|5.6", help="Figure to draw; repeatable.")]


MOST_GB_PER_S = 1e7
"""As much bandwidth as a level of a machine has at most."""


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("study")(command)


def command(
    name: Annotated[
        str,
        typer.Argument(metavar="|".join(STUDIES.own), help="Study to repeat (npuc list studies)."),
    ],
    preset: Preset = None,
    network: Networks = None,
    hw: Accelerators = None,
    define: Defines = None,
    rewrite: Rewrites = None,
    load: Load = None,
    setting: Settings = None,
    jobs: Jobs = None,
    area_mm2: Area = None,
    evaluations: Evaluations = None,
    resume: Resume = None,
    total_gb_per_s: Bandwidth = None,
    json: Json = None,
    csv: Csv = None,
    plot: Plot = None,
    figure: Figures = None,
    quiet: Quiet = False,
    debug: Debug = False,
    cache_dir: CacheDir = None,
    no_cache: NoCache = False,
) -> None:
    """Repeat a published study and set its numbers beside ours: digamma, flexion, igo take minutes, others less."""
    with Verb(debug):
        study = STUDIES.get(name)
        if json == "-" and csv == "-":
            raise UsageError("--json - and --csv - both want standard output", hint="give one of them a file")
        for target in (json, csv, resume):
            check_target(target)
        if area_mm2 is not None:
            check_area(area_mm2)
        if total_gb_per_s is not None and not 0 < total_gb_per_s <= MOST_GB_PER_S:
            raise UsageError(f"--total-gb-per-s {total_gb_per_s:g}: expected more than 0, at most {MOST_GB_PER_S:,.0f}")
        if resume == "-":
            raise UsageError("--resume -: a record needs a file", hint="give it a name")
        chosen = _preset(study, preset)
        given = {
            "networks": network,
            "hardware": hw,
            "defines": define,
            "pipelines": rewrite,
            "load": load,
            "settings": setting,
            "jobs": jobs,
            "plot": plot,
            "figures": figure,
            "area_mm2": area_mm2,
            "evaluations": evaluations,
            "resume": resume,
            "total_gb_per_s": total_gb_per_s,
        }
        _require_taken(name, study, [option for option in SPELT if given[option]])
        pictures = _pictures(plot, folder=study.folder)
        settings = parse_settings(setting or [])
        asked = Asked(
            preset=chosen,
            networks=network or (),
            defines=parse_defines(define),
            settings=settings,
            figures=figure or (),
            hardware=hw,
            pipelines=rewrite or (),
            load=load or (),
            jobs=jobs or 1,
            draws=plot is not None,
            area_mm2=area_mm2,
            evaluations=evaluations,
            resume=resume,
            total_gb_per_s=total_gb_per_s,
        )
        with STUDIES.blamed(name):
            outcome = _run(name, study.plan(asked), quiet=quiet)
            _write(outcome, json, csv, pictures)


def _run(name: str, plan: Plan, *, quiet: bool) -> Outcome:
    if plan.notice is not None and not quiet:
        print(f"npuc: {plan.notice}", file=sys.stderr)
    with progress(f"study {name}", plan.points, bar=not quiet) as (advance, _):
        outcome = plan.run(lambda what, count: advance(count, what))
    if not quiet:
        for line in outcome.warnings:
            aside(f"warning: {line}")
    return outcome


def _preset(study: Study, preset: str | None) -> str:
    """The preset that was asked for, the first one by default."""
    chosen = preset or study.presets[0]
    if chosen not in study.presets:
        raise UsageError(f"--preset {chosen}: there is no such preset", hint=did_you_mean(chosen, study.presets))
    return chosen


SPELT: dict[Option, str] = {
    "networks": "--network",
    "hardware": "--hw",
    "defines": "-D",
    "pipelines": "--rewrite",
    "load": "--load",
    "settings": "--set",
    "jobs": "--jobs",
    "plot": "--plot",
    "figures": "--figure",
    "area_mm2": "--area-mm2",
    "evaluations": "--evaluations",
    "resume": "--resume",
    "total_gb_per_s": "--total-gb-per-s",
}


def _require_taken(name: str, study: Study, given: Sequence[Option]) -> None:
    """Raise `UsageError` for options that the study does not take."""
    unused: list[Option] = [option for option in given if option not in study.takes]
    if "plot" in unused or ("figures" in unused and "plot" not in study.takes):
        raise UsageError(f"the study {name} draws nothing", hint="--json and --csv write its rows")
    for option in unused:
        others = [other for other in STUDIES.own if option in STUDIES.get(other).takes]
        text = f"studies {', '.join(others[:-1])} and {others[-1]}" if len(others) > 1 else f"study {others[0]}"
        raise UsageError(f"{SPELT[option]} is an option of the {text}")


FOLDER_KINDS = ("png", "svg")
"""The file format of figures that go into a folder."""


@dataclass(frozen=True)
class Pictures:
    """Where figures go, a file or a folder, and as what."""

    target: str
    kinds: tuple[str, ...]
    in_folder: bool


def _pictures(plot: str | None, *, folder: bool) -> Pictures | None:
    """The pictures to make; checks that they can be written. A name without a suffix is that of a folder."""
    from npuc.compiler.core.drawing.figure import check_format

    if plot is None:
        return None
    if folder and (os.path.isdir(plot) or not os.path.splitext(plot)[1]):
        check_folder(plot)
        return Pictures(plot, tuple(check_format(f"figure.{kind}") for kind in FOLDER_KINDS), in_folder=True)
    check_target(plot)
    return Pictures(plot, (check_format(plot),), in_folder=False)


def _write(outcome: Outcome, json: str | None, csv: str | None, pictures: Pictures | None) -> None:
    """The rows and pictures in the forms that were asked for; the table where standard output is free."""
    if json is not None:
        write_result(json, outcome.json())
    if csv is not None:
        write_result(csv, outcome.csv())
    if pictures is not None:
        _draw(outcome, pictures)
    if "-" not in (json, csv):
        outcome.show(make_console())


def _draw(outcome: Outcome, pictures: Pictures) -> None:
    match outcome:
        case FolderOutcome() if pictures.in_folder:
            write_folder(pictures.target, outcome.draw_all(pictures.kinds))
        case DrawnOutcome() if not pictures.in_folder:
            write_file(pictures.target, outcome.draw(pictures.kinds[0]))
        case _:
            kind = FolderOutcome.__name__ if pictures.in_folder else DrawnOutcome.__name__
            raise TypeError(f"the study takes plot, but its outcome is no {kind}")
