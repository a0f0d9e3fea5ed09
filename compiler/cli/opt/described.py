"""
The options of `npuc opt` as those of the other verbs are described: for its help and for completion.

The tool is xDSL's, which reads them by a parser of its own and takes half a second to load.
"""

from __future__ import annotations

import textwrap
from functools import cache
from typing import Annotated, cast

import typer
from typer.core import TyperCommand
from typer.main import get_command

from npuc.compiler.cli.complete.known import words
from npuc.compiler.cli.groups import Takes, expanded
from npuc.compiler.cli.opt.arguments import EMITTED, SOURCE
from npuc.compiler.cli.options import Devices, Machine, Optimisation, Output, Program
from npuc.compiler.cli.shared import terminal_width
from npuc.compiler.cli.verbs.absent import without
from npuc.compiler.cli.verbs.command import VerbCommand


def described(
    program: Annotated[
        Program,
        Takes(
            default={"source": ""},
            help={"source": SOURCE},
        ),
    ],
    machine: Annotated[Machine, Takes(without=without("opt", Machine))],
    optimisation: Annotated[Optimisation, Takes(without=without("opt", Optimisation))],
    devices: Devices,
    output: Annotated[Output, Takes(without=without("opt", Output))],
    frontend: Annotated[
        str | None, typer.Option("-f", "--frontend", metavar="NAME", help="Format of the input (npuc list frontends).")
    ] = None,
    emit: Annotated[str, typer.Option("--emit", metavar=EMITTED, help="IR, the graph, or MLIR for others.")] = "mlir",
    depth: Annotated[
        str | None, typer.Option("--depth", metavar="auto|ops|layers|N", help="What --emit dot and svg draw as one.")
    ] = None,
    print_op_generic: Annotated[
        bool, typer.Option("--print-op-generic", help="Print the generic form of operations.")
    ] = False,
    print_debuginfo: Annotated[
        bool, typer.Option("--print-debuginfo", help="Print places in the source, too.")
    ] = False,
    print_between_passes: Annotated[
        bool, typer.Option("--print-between-passes", help="Print the IR after each pass of -p on standard output.")
    ] = False,
    split_input_file: Annotated[
        bool, typer.Option("--split-input-file", help="Take the parts between // ----- one by one.")
    ] = False,
    all: Annotated[
        bool, typer.Option("--all", help="Show in this help the options and passes of xDSL, too, which all work.")
    ] = False,
) -> None:
    """Apply passes to a program and print its IR: xDSL's opt tool with npuc's dialects, passes and sources."""


@cache
def opt_command() -> TyperCommand:
    """The verb with all options that npuc describes."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command("opt", cls=VerbCommand, context_settings={"help_option_names": ["-h", "--help"]})(expanded(described))
    return cast("TyperCommand", get_command(app))


def help_text() -> str:
    """What `npuc opt --help` prints."""
    command = opt_command()
    with command.make_context("npuc opt", [], resilient_parsing=True) as context:
        text = command.get_help(context)
    listed = f"{', '.join(words()['passes'])}. npuc explain --pass NAME explains one, npuc list passes lists all."
    width = min(terminal_width(), 80)
    return f"{text}\n\nPasses:\n{textwrap.indent(textwrap.fill(listed, width - 2, break_on_hyphens=False), '  ')}"
