"""`npuc plot`: draw the results in a file again, in another way, without running anything."""

from __future__ import annotations

from typing import Annotated

import typer

from npuc.compiler.cli.groups import expanded
from npuc.compiler.cli.plot.axes import PictureAxes
from npuc.compiler.cli.plot.target import picture_target
from npuc.compiler.cli.shared import Debug, Verb
from npuc.compiler.cli.verbs.readers import PlotAs
from npuc.compiler.core.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("plot")(expanded(command))


def command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="What a verb wrote by --json.")],
    output: Annotated[str, typer.Option("-o", "--output", metavar="FILE", help="The picture: .svg, .png or .pdf.")],
    axes: PictureAxes,
    view: Annotated[
        str | None,
        typer.Option("--view", metavar="layers|roofline|groups", help="Of a report, as npuc compile draws it."),
    ] = None,
    plot_as: PlotAs = None,
    debug: Debug = False,
) -> None:
    """
    Draw results in a file again: those of a sweep or a report also in another way. Two metrics make a Pareto front, two
    keys a heat map; a further key makes a panel for each of its values.
    """
    with Verb(debug):
        from npuc.compiler.cli.plot.documents import TABLES, draw_document, schema_of
        from npuc.compiler.explore.plot.draw import draw_table
        from npuc.compiler.explore.plot.table import read_reports, read_table
        from npuc.compiler.report.pictures.layers import VIEWS, draw_reports, view_named

        if view == "graph":
            hint = "npuc compile SOURCE --plot FILE --view graph draws it"
            raise UsageError("--view graph: the graph of a step needs its program", hint=hint)
        target = picture_target(output, view, VIEWS, made_for=plot_as, option="-o")
        assert target is not None, "-o is there"
        data, asked = _content(file), axes.asked()
        schema = schema_of(data, file)
        if schema not in TABLES:
            given = (*asked.given, *(() if view is None else ("--view",)))
            drawn = target.drawn(lambda kind: draw_document(data, file, kind))
            if given:
                message = f"{given[0]} is for sweeps and reports, and '{file}' is {schema}"
                raise UsageError(message, hint=f"leave out {given[0]}")
            target.write(drawn)
            return
        reports = read_reports(data, file)
        if view is not None and asked.given:
            raise UsageError(
                f"--view {view} and {next(iter(asked.given))} exclude each other", hint="leave out one of them"
            )
        if view is not None and reports is None:
            raise UsageError(f"--view {view} is for reports, and '{file}' is a sweep", hint="leave out --view")
        if reports is not None and not asked.given:
            target.draw(lambda kind: draw_reports(reports, view_named(view), kind))
        else:
            table = read_table(data, file)
            target.draw(lambda kind: draw_table(table, asked, kind))


def _content(path: str) -> bytes:
    """The content of a file. Raises `UsageError` where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except (OSError, ValueError) as e:
        reason = e.strerror if isinstance(e, OSError) and e.strerror else str(e)
        raise UsageError(f"cannot read '{path}': {reason}") from None
