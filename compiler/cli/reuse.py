"""`npuc reuse`: the traffic that data reuse saves, and the cache capacity that it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from npuc.compiler.cli.groups import Takes, collected, expanded
from npuc.compiler.cli.options import Machine, Output, Program
from npuc.compiler.cli.plot.target import picture_target
from npuc.compiler.cli.shared import Verb, aside, check_target, make_console, write_result
from npuc.compiler.core.errors import UsageError

if TYPE_CHECKING:
    from npuc.compiler.core.options import CompileKeywords
    from npuc.compiler.report.reuse import ReuseReport


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("reuse")(expanded(command))


def command(
    program: Annotated[Program, Takes(without=("only",))],
    machine: Annotated[Machine, Takes(without=("mapping",))],
    output: Annotated[
        Output,
        Takes(
            without=("html", "table", "output", "cache_dir", "no_cache"),
            help={"csv": "Write the scopes as CSV.", "plot": "Draw traffic by cache capacity: .svg, .png or .pdf."},
        ),
    ],
) -> None:
    """Report the traffic that each scope of data reuse saves. Names the cache that captures it; model: roofline."""
    json, csv = output.json, output.csv
    with Verb(output.debug):
        if json == "-" and csv == "-":
            raise UsageError("--json - and --csv - both want standard output", hint="give one of them a file")
        for target in (json, csv):
            check_target(target)
        drawn = picture_target(output.plot, made_for=output.plot_as)
        report = _report(program.source, collected(machine, program), quiet=output.quiet)
        from npuc.compiler.report.as_json import to_json
        from npuc.compiler.report.reuse import to_csv
        from npuc.compiler.report.text.reuse import print_reuse

        for target, text in ((json, to_json), (csv, to_csv)):
            if target is not None:
                write_result(target, text(report))
        if drawn is not None:
            from npuc.compiler.report.pictures.reuse import draw_reuse

            drawn.draw(lambda kind: draw_reuse(report, kind))
        if "-" not in (json, csv):
            print_reuse(report, make_console())


def _report(source: str, options: CompileKeywords, *, quiet: bool) -> ReuseReport:
    """Read the source as compiling does, and say what reuse saves in it."""
    from msgspec.structs import replace

    from npuc.backends.registry import get_backend
    from npuc.backends.roofline.backend import BACKEND
    from npuc.backends.roofline.reuse import reuse_report
    from npuc.compiler.driver.compile import lowered_module
    from npuc.compiler.driver.options import options_of
    from npuc.compiler.driver.score import network_name, version
    from npuc.compiler.driver.unread import unread_warnings
    from npuc.frontends.source import open_source

    def say(text: str) -> None:
        if not quiet:
            aside(text)

    program = open_source(source)
    warnings: list[str] = []
    model = get_backend(BACKEND.name)
    module, machine = lowered_module(program, model, options, say, warnings)
    report = reuse_report(module, machine)
    warnings += unread_warnings(options_of(options).overrides, [(model, machine)])
    for warning in warnings:
        say(f"warning: {warning}")
    return replace(
        report,
        npuc=version(),
        source=program.shown,
        network=network_name(module),
        defines=dict(options_of(options).defines),
        warnings=warnings,
    )
