"""`npuc import`: the network of a PyTorch, ONNX, Keras or darknet file as text."""

from __future__ import annotations

import sys
from typing import Annotated, cast

import typer

from npuc.compiler.cli.groups import Takes, collected, expanded
from npuc.compiler.cli.options import Program
from npuc.compiler.cli.progress import stages, warnings_shown
from npuc.compiler.cli.shared import Debug, Quiet, Verb, check_target
from npuc.compiler.core.files.outputs import write_file


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("import")(expanded(command))


def command(
    program: Annotated[Program, Takes(without=("only",), help={"source": "A .pt2, .onnx, .mlir, .json or .cfg file."})],
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE|-", help="Where the text goes; - is standard output.")
    ] = "-",
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write the network of a PyTorch, ONNX, Keras or darknet file in the network language, modules as blocks."""
    with Verb(debug):
        from npuc.compiler.core.options import Options
        from npuc.compiler.driver.import_text import ImportKeywords, import_program
        from npuc.compiler.driver.options import fields_of
        from npuc.frontends.source import open_source

        check_target(output)
        keywords = cast("ImportKeywords", collected(program, known=ImportKeywords.__annotations__))
        with stages(quiet=quiet), warnings_shown(quiet=quiet):
            text = import_program(open_source(program.source), Options(**fields_of(keywords)))
        if output == "-":
            sys.stdout.write(text)
            return
        write_file(output, text.encode())
        if not quiet:
            print(f"npuc: wrote {output}, {len(text.splitlines())} lines", file=sys.stderr)
