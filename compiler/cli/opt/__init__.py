"""`npuc opt`: xDSL's opt tool with npuc's dialects and passes."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from npuc.compiler.cli.shared import Verb
from npuc.compiler.cli.verbs.spelling import present


def register(app: typer.Typer) -> None:
    """Add the verb; every argument goes to xDSL's tool."""
    passed_on = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": list[str]()}
    app.command("opt", context_settings=passed_on, add_help_option=False)(command)


def command(context: typer.Context) -> None:
    """Apply passes to a program and print its IR: npuc opt SOURCE -p PASSES. See npuc opt --help."""
    arguments, load = split_load(present(context.args, "opt"))
    with Verb(debug="--debug" in arguments):
        if {"-h", "--help"} & {*arguments} and "--all" not in arguments and not load:
            from npuc.compiler.cli.opt.described import help_text

            print(help_text())
            return
        from npuc.compiler.cli.opt.run import run_tool

        run_tool(arguments, load)


def split_load(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The arguments without `--load FILE` (or `--load=FILE`), and those files."""
    rest: list[str] = []
    load: list[str] = []
    pending = iter(arguments)
    for argument in pending:
        if argument == "--load":
            load.append(next(pending, ""))
        elif argument.startswith("--load="):
            load.append(argument.removeprefix("--load="))
        else:
            rest.append(argument)
    return rest, load
