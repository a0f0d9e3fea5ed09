"""
The files of a study that is handed on: the same bytes whenever the same npuc makes them with the same libraries.

    study.txt           the text, as wide as it needs to be
    rows.json, rows.csv the rows
    deviations.csv      every published number with ours, where the study has such
    figure.svg, .pdf    the figure of a study that draws one
    figures/            the figures of a study that draws several
    commands.sh         the commands that make text, rows and figures again
    environment.json    versions, and a digest of npuc's own files
    README.md           all of it in words
"""

from __future__ import annotations

import io

from npuc.compiler.cli.reproduce.commands import FIGURES, KINDS, Reproduced, script
from npuc.compiler.cli.reproduce.deviations import deviations_csv, deviations_of
from npuc.compiler.cli.reproduce.environment import environment, environment_json
from npuc.compiler.cli.reproduce.readme import readme
from npuc.compiler.cli.shared import UNLIMITED
from npuc.compiler.cli.study.outputs import FOLDER_KINDS
from npuc.studies.base import DrawnOutcome, FolderOutcome, Outcome


def study_files(made: Reproduced, outcome: Outcome) -> dict[str, bytes]:
    """The files of a study by their path in its folder."""
    text, rows = shown(outcome), outcome.json()
    deviations = deviations_of(rows)
    found = {"study.txt": text.encode(), "rows.json": rows.encode(), "rows.csv": outcome.csv().encode()}
    if deviations:
        found["deviations.csv"] = deviations_csv(deviations).encode()
    found |= _figures(made, outcome)
    versions = environment(drawn=made.draws)
    found["commands.sh"] = script(made).encode()
    found["environment.json"] = environment_json(versions).encode()
    found["README.md"] = readme(made, text, deviations, versions, sorted(found), outcome.warnings).encode()
    return found


def shown(outcome: Outcome) -> str:
    """What `npuc study NAME > FILE` writes: no colours, and tables as wide as they need to be."""
    from rich.console import Console

    text = io.StringIO()
    outcome.show(Console(file=text, highlight=False, width=UNLIMITED, color_system=None, force_terminal=False))
    return text.getvalue()


def _figures(made: Reproduced, outcome: Outcome) -> dict[str, bytes]:
    """The figures by their path. Raises `TypeError` for a study that takes `plot` and draws nothing."""
    if not made.draws:
        return {}
    if not isinstance(outcome, DrawnOutcome):
        raise TypeError(f"the study takes plot, but its outcome is no {DrawnOutcome.__name__}")
    found = {f"figure.{kind}": outcome.draw(kind) for kind in KINDS}
    if isinstance(outcome, FolderOutcome):
        found |= {f"{FIGURES}/{name}": data for name, data in outcome.draw_all(FOLDER_KINDS).items()}
    return found
