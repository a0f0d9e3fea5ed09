"""The files of a study's outcome: rows, figures, tables, and a page for a browser."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from npuc.compiler.cli.plot.target import PictureTarget, check_sheet
from npuc.compiler.cli.shared import check_folder, check_target, make_console, write_folder, write_result
from npuc.compiler.cli.verbs.tables import TableTarget, on_stdout
from npuc.compiler.core.errors import UsageError
from npuc.studies.base import DrawnOutcome, FolderOutcome, Outcome, Study

if TYPE_CHECKING:
    from npuc.compiler.core.drawing.sheet import Sheet

FOLDER_KINDS = ("png", "svg")
"""The file format of figures that go into a folder."""


@dataclass(frozen=True)
class Pictures:
    """Where figures go, a file or a folder, and as what."""

    target: str
    kinds: tuple[str, ...]
    in_folder: bool
    sheet: Sheet | None


def pictures_at(plot: str | None, *, folder: bool, made_for: str | None) -> Pictures | None:
    """The pictures to make; checks that they can be written. A name without a suffix is that of a folder."""
    from npuc.compiler.core.drawing.figure import check_format

    sheet = check_sheet(plot, made_for)
    if plot is None:
        return None
    if folder and (os.path.isdir(plot) or not os.path.splitext(plot)[1]):
        check_folder(plot)
        if sheet is not None and sheet.panels:
            raise UsageError(f"--plot-as {made_for}: panels are of one picture", hint="--plot FILE.pdf --figure N")
        return Pictures(plot, tuple(check_format(f"figure.{kind}") for kind in FOLDER_KINDS), True, sheet)
    check_target(plot)
    return Pictures(plot, (check_format(plot),), False, sheet)


def write_outcome(
    name: str,
    outcome: Outcome,
    json: str | None,
    csv: str | None,
    pictures: Pictures | None,
    tables: TableTarget | None,
    html: str | None,
) -> None:
    """The rows and pictures in the forms that were asked for; the table where standard output is free."""
    if json is not None:
        write_result(json, outcome.json())
    if csv is not None:
        write_result(csv, outcome.csv())
    if pictures is not None:
        _draw(outcome, pictures)
    if tables is not None:
        tables.write(outcome.show)
    if html is not None:
        write_result(html, _page(name, outcome))
    if "-" not in (json, csv, on_stdout(tables)):
        outcome.show(make_console())


def can_draw(study: Study) -> bool:
    """Whether a page has the figures of a study: it draws some, and what draws them is installed."""
    return "plot" in study.takes and find_spec("matplotlib") is not None


def _page(name: str, outcome: Outcome) -> str:
    from npuc.compiler.cli.page.result import printed, study_html

    drawings: list[bytes] = []
    if find_spec("matplotlib") is not None:
        match outcome:
            case FolderOutcome():
                drawings = list(outcome.draw_all(("svg",)).values())
            case DrawnOutcome():
                drawings = [outcome.draw("svg")]
            case _:
                pass
    return study_html(name, printed(outcome.show), outcome.csv(), drawings)


def _draw(outcome: Outcome, pictures: Pictures) -> None:
    from npuc.compiler.core.drawing.sheet import made_for

    match outcome:
        case FolderOutcome() if pictures.in_folder:
            with made_for(pictures.sheet):
                files = outcome.draw_all(pictures.kinds)
            write_folder(pictures.target, files)
        case DrawnOutcome() if not pictures.in_folder:
            PictureTarget(pictures.target, pictures.kinds[0], None, pictures.sheet).draw(outcome.draw)
        case _:
            kind = FolderOutcome.__name__ if pictures.in_folder else DrawnOutcome.__name__
            raise TypeError(f"the study takes plot, but its outcome is no {kind}")
