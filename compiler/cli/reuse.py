"""`npuc reuse`: what reuse of data saves, and the cache that it takes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from npuc.compiler.cli.shared import (
    Debug,
    Defines,
    Inference,
    MaxOps,
    Precision,
    Quiet,
    Source,
    Verb,
    check_target,
    make_console,
    parse_defines,
    write_result,
)
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import MAX_OPS

if TYPE_CHECKING:
    from npuc.compiler.core.options import CompileKeywords
    from npuc.compiler.report.reuse import ReuseReport


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("reuse")(command)


def command(
    source: Source,
    hw: Annotated[str | None, typer.Option("--hw", metavar="NAME|FILE", help="Preset, .toml, .cfg or .m file.")] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Replace a hardware key.")
    ] = None,
    define: Defines = None,
    precision: Precision = None,
    inference: Inference = None,
    json: Annotated[str | None, typer.Option("--json", metavar="FILE|-", help="Write the report as JSON.")] = None,
    csv: Annotated[str | None, typer.Option("--csv", metavar="FILE|-", help="Write the scopes as CSV.")] = None,
    max_ops: MaxOps = MAX_OPS,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Say how many bytes each scope of data reuse saves, and which cache captures it, by the model of roofline."""
    with Verb(debug):
        from npuc.hardware import parse_setting

        if json == "-" and csv == "-":
            raise UsageError("--json - and --csv - both want standard output", hint="give one of them a file")
        for target in (json, csv):
            check_target(target)
        options: CompileKeywords = {
            "hardware": hw,
            "overrides": dict(parse_setting(item) for item in setting or []),
            "defines": parse_defines(define),
            "precision": precision,
            "inference": inference,
            "max_ops": max_ops,
        }
        report = _report(source, options, quiet=quiet)
        from npuc.compiler.report.as_json import to_json
        from npuc.compiler.report.reuse import to_csv
        from npuc.compiler.report.text.reuse import print_reuse

        for target, text in ((json, to_json), (csv, to_csv)):
            if target is not None:
                write_result(target, text(report))
        if "-" not in (json, csv):
            print_reuse(report, make_console())


def _report(source: str, options: CompileKeywords, *, quiet: bool) -> ReuseReport:
    """Read the source as compiling does, and say what reuse saves in it."""
    from msgspec.structs import replace

    from npuc.backends.registry import get_backend
    from npuc.backends.roofline.backend import BACKEND
    from npuc.backends.roofline.reuse import reuse_report
    from npuc.compiler.driver.compile import lowered_module
    from npuc.compiler.driver.score import network_name, version
    from npuc.frontends.source import open_source

    def say(text: str) -> None:
        if not quiet:
            print(f"npuc: {text}", file=sys.stderr)

    program = open_source(source)
    warnings: list[str] = []
    module, machine = lowered_module(program, get_backend(BACKEND.name), options, say, warnings)
    for warning in warnings:
        say(f"warning: {warning}")
    return replace(
        reuse_report(module, machine),
        npuc=version(),
        source=program.shown,
        network=network_name(module),
        defines=dict(options.get("defines") or {}),
        warnings=warnings,
    )
