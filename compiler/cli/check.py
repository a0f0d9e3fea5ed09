"""`npuc check`: compare what a program computes before and after every pass."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from npuc.compiler.cli.shared import (
    Debug,
    Defines,
    Inference,
    Load,
    MaxOps,
    OptLevel,
    Pipeline,
    Precision,
    Quiet,
    Setting,
    Source,
    Verb,
    parse_defines,
)
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import DEFAULT_LEVEL, MAX_OPS, Only

if TYPE_CHECKING:
    from npuc.compiler.driver.run import RunKeywords


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("check")(command)


def command(
    source: Source,
    define: Defines = None,
    hw: Annotated[
        str | None,
        typer.Option("--hw", metavar="NAME|FILE", help="Machine that passes schedule for; floats are all float64."),
    ] = None,
    setting: Setting = None,
    precision: Precision = None,
    opt_level: OptLevel = None,
    pipeline: Pipeline = None,
    inference: Inference = None,
    limit: Annotated[
        float, typer.Option("--limit", metavar="MACS", min=1, max=1e30, help="Most MACs that one run may take.")
    ] = 2e10,
    seed: Annotated[int, typer.Option("--seed", metavar="S", min=0, help="Seed of the random data.")] = 0,
    load: Load = None,
    max_ops: MaxOps = MAX_OPS,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Run the program before and after every pass on random data and compare the results."""
    with Verb(debug):
        if limit != limit:
            raise UsageError("--limit nan: expected a number")
        from npuc.hardware import parse_setting

        options: RunKeywords = {
            "defines": parse_defines(define),
            "precision": precision,
            "opt_level": opt_level,
            "pipeline": pipeline,
            "hardware": hw,
            "overrides": dict(parse_setting(item) for item in setting or []),
            "inference": inference,
            "seed": seed,
            "load": load or [],
            "max_ops": max_ops,
        }
        compare_passes(source, options, limit=int(limit), out=True, quiet=quiet)


def compare_passes(source: str, options: RunKeywords, *, only: Only = None, limit: int, out: bool, quiet: bool) -> None:
    """
    Check every pass, a line each: on standard output if that is the result (`out`), else as messages.

    Raises `CheckError` for the first pass that changes the program.
    """
    from npuc.compiler.driver.check import PassCheck, check_program
    from npuc.frontends.source import open_source

    def show(outcome: PassCheck) -> None:
        if out or not quiet:
            text = f"{outcome.step}: {outcome.comparison}"
            print(text if out else f"npuc: check: {text}", file=sys.stdout if out else sys.stderr)

    checked = check_program(open_source(source), options, only=only, limit=limit, progress=show)
    if out:
        level = options.get("opt_level")
        named = "" if options.get("pipeline") is not None else f" (-O{DEFAULT_LEVEL if level is None else level})"
        print(f"{len(checked)} passes checked{named}, the program computes the same after each")
