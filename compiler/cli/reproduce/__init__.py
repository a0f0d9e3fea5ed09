"""`npuc reproduce`: a study as a folder that others can check and make again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated

import typer

from npuc.compiler.cli.shared import Debug, Quiet, Verb, aside, check_folder, write_folder
from npuc.compiler.cli.study.options import Jobs, Preset
from npuc.compiler.cli.study.outputs import can_draw
from npuc.compiler.cli.study.running import run_plan
from npuc.compiler.cli.study.taken import chosen_preset, require_taken
from npuc.compiler.cli.verbs.readers import CacheDir, NoCache
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.files.outputs import make_folder
from npuc.studies.base import STUDIES, Asked, Outcome, Plan

ALL = "all"
"""The word for every study that is installed."""

Name = Annotated[
    str, typer.Argument(metavar="|".join((*STUDIES.own, ALL)), help="Study to repeat (npuc list studies), or all.")
]
Folder = Annotated[str, typer.Argument(metavar="FOLDER", help="Folder to write, new or empty; all: with one for each.")]
Force = Annotated[
    bool, typer.Option("--force", help="Write into a folder that has files: those of the same names are replaced.")
]


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("reproduce")(command)


def command(
    name: Name,
    folder: Folder,
    preset: Preset = None,
    jobs: Jobs = None,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,
    cache_dir: CacheDir = None,
    no_cache: NoCache = False,
) -> None:
    """Write a study as a folder: text, rows, figures, a README, and the commands that make these again."""
    with Verb(debug):
        names = STUDIES.names() if name == ALL else (name,)
        if name == ALL and preset is not None:
            raise UsageError("--preset is of one study", hint=f"npuc reproduce STUDY FOLDER --preset {preset}")
        asked = {one: _asked(one, preset, jobs, alone=name != ALL) for one in names}
        check_empty(folder, force=force)
        planned = [(one, _planned(one, asked[one])) for one in names]
        if not quiet and any("plot" in STUDIES.get(one).takes and not asked[one].draws for one in names):
            aside('warning: matplotlib is not installed, and figures are left out: pip install "npuc[plot]"')
        make_folder(folder)
        for one, plan in planned:
            outcome = _outcome(one, plan, quiet=quiet)
            _write(os.path.join(folder, one) if name == ALL else folder, one, asked[one], outcome)


def check_empty(folder: str, *, force: bool) -> None:
    """
    Raise `UsageError` when the files of a study cannot go to a folder, before work is done for them: it cannot be one,
    or has files, unless `force` says that these may be replaced.
    """
    check_folder(folder)
    try:
        if force or not os.path.isdir(folder) or not os.listdir(folder):
            return
    except OSError as e:
        raise UsageError(f"cannot read '{folder}': {e.strerror}") from e
    raise UsageError(f"'{folder}' has files already", hint="name a new folder, or replace files by --force")


def _asked(name: str, preset: str | None, jobs: int | None, *, alone: bool) -> Asked:
    """The request of a study; of `all`, processes are for those that take them."""
    study = STUDIES.get(name)
    if alone and jobs is not None:
        require_taken(name, study, ["jobs"])
    return Asked(
        preset=chosen_preset(study, preset),
        defines={},
        settings={},
        jobs=jobs or 1 if "jobs" in study.takes else 1,
        draws=can_draw(study),
    )


def _planned(name: str, asked: Asked) -> Plan:
    with STUDIES.blamed(name):
        return STUDIES.get(name).plan(asked)


def _outcome(name: str, plan: Plan, *, quiet: bool) -> Outcome:
    with STUDIES.blamed(name):
        return run_plan(name, plan, quiet=quiet)


def _write(folder: str, name: str, asked: Asked, outcome: Outcome) -> None:
    """All files of a study, those of each of its folders."""
    from npuc.compiler.cli.reproduce.commands import Reproduced
    from npuc.compiler.cli.reproduce.files import study_files

    with STUDIES.blamed(name):
        study = STUDIES.get(name)
        made = Reproduced(name, STUDIES.about(name), study, asked)
        files = study_files(made, outcome)
    for inner in _folders(files):
        write_folder(
            os.path.join(folder, inner) if inner else folder,
            {os.path.basename(path): data for path, data in files.items() if os.path.dirname(path) == inner},
        )


def _folders(files: Sequence[str] | dict[str, bytes]) -> list[str]:
    """The folders of files, the outer one first."""
    return sorted({os.path.dirname(path) for path in files})
