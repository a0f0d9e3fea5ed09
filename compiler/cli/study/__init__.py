"""`npuc study`: a published study, repeated."""

from __future__ import annotations

from typing import Annotated

import typer

from npuc.compiler.cli.groups import parse_settings
from npuc.compiler.cli.searching import check_area
from npuc.compiler.cli.shared import Debug, Defines, Load, Quiet, Verb, check_target, parse_defines
from npuc.compiler.cli.study.options import (
    Accelerators,
    Area,
    Bandwidth,
    Csv,
    Evaluations,
    Figures,
    Jobs,
    Json,
    Networks,
    Plot,
    Preset,
    Resume,
    Rewrites,
    Settings,
)
from npuc.compiler.cli.study.outputs import can_draw, pictures_at, write_outcome
from npuc.compiler.cli.study.running import run_plan
from npuc.compiler.cli.study.taken import SPELT, chosen_preset, require_taken
from npuc.compiler.cli.verbs.readers import CacheDir, Html, NoCache, PlotAs, Table
from npuc.compiler.cli.verbs.results import check_one_on_stdout
from npuc.compiler.cli.verbs.tables import on_stdout, table_target
from npuc.compiler.core.errors import UsageError
from npuc.studies.base import STUDIES, Asked

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
    plot_as: PlotAs = None,
    table: Table = None,
    html: Html = None,
    figure: Figures = None,
    quiet: Quiet = False,
    debug: Debug = False,
    cache_dir: CacheDir = None,
    no_cache: NoCache = False,
) -> None:
    """Repeat a published study and set its numbers beside ours: digamma, flexion, igo take minutes, others less."""
    with Verb(debug):
        study = STUDIES.get(name)
        tables = table_target(table)
        check_one_on_stdout(json=json, csv=csv, table=on_stdout(tables))
        for target in (json, csv, resume, html):
            check_target(target)
        if area_mm2 is not None:
            check_area(area_mm2)
        if total_gb_per_s is not None and not 0 < total_gb_per_s <= MOST_GB_PER_S:
            raise UsageError(f"--total-gb-per-s {total_gb_per_s:g}: expected more than 0, at most {MOST_GB_PER_S:,.0f}")
        if resume == "-":
            raise UsageError("--resume -: a record needs a file", hint="give it a name")
        chosen = chosen_preset(study, preset)
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
        require_taken(name, study, [option for option in SPELT if given[option]])
        pictures = pictures_at(plot, folder=study.folder, made_for=plot_as)
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
            draws=plot is not None or (html is not None and can_draw(study)),
            area_mm2=area_mm2,
            evaluations=evaluations,
            resume=resume,
            total_gb_per_s=total_gb_per_s,
        )
        with STUDIES.blamed(name):
            outcome = run_plan(name, study.plan(asked), quiet=quiet)
            write_outcome(name, outcome, json, csv, pictures, tables, html)
