"""`npuc diff`: what got faster or slower between two steps, and why."""

from __future__ import annotations

from typing import Annotated

import typer

from npuc.compiler.cli.diff.asked import AskedSide, Comparing
from npuc.compiler.cli.diff.verb import TwoSided
from npuc.compiler.cli.groups import Takes, expanded
from npuc.compiler.cli.options import Backends, Devices, Machine, Optimisation, Output, Program
from npuc.compiler.cli.verbs.absent import without

VERB = "diff"


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(VERB, cls=TwoSided)(expanded(command))


def command(
    program: Annotated[
        Program, Takes(help={"source": "A: a report that npuc compile wrote by --json, or a source as it takes one."})
    ],
    comparing: Comparing,
    machine: Machine,
    optimisation: Annotated[Optimisation, Takes(without=without(VERB, Optimisation))],
    devices: Devices,
    output: Annotated[
        Output,
        Takes(
            without=without(VERB, Output),
            help={"json": "Write the difference as JSON.", "csv": "Write a row per layer and phase."},
        ),
    ],
    other: Annotated[str | None, typer.Argument(metavar="[SOURCE_B]", help="B; A's again, if it is left out.")] = None,
    backend: Backends = None,
) -> AskedSide:
    """
    Compare two steps, layer by layer: what got faster or slower, and why. An option of compile that is given once holds
    for both sides; given twice, the first value is A's and the second B's, and an empty value leaves it out. So are
    -D and --set, by the name that is set.
    """
    del other  # the command line is split before it is read
    return AskedSide(program, machine, optimisation, devices, output, comparing, backend)
