"""`npuc machine`: a machine as each backend sees it, with the source of each number."""

from __future__ import annotations

from typing import Annotated

import typer

from npuc.compiler.cli.groups import Takes, collected, expanded
from npuc.compiler.cli.options import Machine, Output
from npuc.compiler.cli.plot.target import picture_target
from npuc.compiler.cli.shared import Verb, check_target, make_console, write_result


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("machine")(expanded(command))


def command(
    name: Annotated[str, typer.Argument(metavar="NAME|FILE", help="A preset, or a .toml, .cfg or .m file.")],
    machine: Annotated[Machine, Takes(without=("hw", "mapping"))],
    output: Annotated[
        Output,
        Takes(
            without=("csv", "html", "table", "output", "quiet", "cache_dir", "no_cache"),
            help={"json": "Write the same as JSON.", "plot": "Draw its rooflines (.svg, .png, .pdf)."},
        ),
    ],
) -> None:
    """Show a machine as each backend sees it. Says its peak, ridge point, bandwidth, and the source of each number."""
    with Verb(output.debug):
        drawn = picture_target(output.plot, made_for=output.plot_as)
        check_target(output.json)
        from npuc.compiler.reference.machine import machine_page

        given = collected(machine)
        page = machine_page(name, given.get("overrides"), given.get("precision"))
        if output.json is not None:
            from npuc.compiler.report.as_json import to_json

            write_result(output.json, to_json(page))
        if drawn is not None:
            from npuc.compiler.reference.machine_picture import draw_rooflines

            drawn.draw(lambda kind: draw_rooflines(page, kind))
        if output.json != "-":
            from npuc.compiler.reference.machine_text import print_machine

            print_machine(page, make_console())
