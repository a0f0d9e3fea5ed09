"""The options of `npuc study`, those of the program and the machine in its own words."""

from __future__ import annotations

from typing import Annotated

import typer

from npuc.compiler.cli.shared import real, whole

Preset = Annotated[
    str | None,
    typer.Option(
        "--preset", metavar="NAME", help="Set of assumptions (npuc list studies names them, the default first)."
    ),
]
Networks = Annotated[
    list[str] | None,
    typer.Option(
        "--network", metavar="NAME|SOURCE", help="Network to use instead of the study's (igo: beside); repeatable."
    ),
]
Accelerators = Annotated[
    str | None,
    typer.Option("--hw", metavar="NAME|FILE", help="Accelerators to use instead of the study's: a preset or a file."),
]
Rewrites = Annotated[
    list[str] | None,
    typer.Option("--rewrite", metavar="NAME=PASSES", help="Rewrite to set beside the study's steps; repeatable."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a hardware key, or a constant (congestion)."),
]
Jobs = Annotated[
    int | None,
    typer.Option("-j", "--jobs", metavar="N", parser=whole(1), help="Number of worker processes (digamma, igo)."),
]
Area = Annotated[
    float | None,
    typer.Option("--area-mm2", metavar="A", parser=real(), help="Area of machines, mm2, instead of the study's."),
]
Evaluations = Annotated[
    int | None,
    typer.Option(
        "--evaluations",
        metavar="N",
        parser=whole(1),
        help="Designs that each search evaluates (digamma); mappings for each class and contraction (flexion).",
    ),
]
Resume = Annotated[
    str | None, typer.Option("--resume", metavar="FILE", help="Keep what was found in FILE, and go on from there.")
]
Bandwidth = Annotated[
    float | None,
    typer.Option(
        "--total-gb-per-s", metavar="B", parser=real(), help="GB/s of a device over all levels, instead of the study's."
    ),
]
Json = Annotated[str | None, typer.Option("--json", metavar="FILE|-", help="Write the rows as JSON.")]
Csv = Annotated[str | None, typer.Option("--csv", metavar="FILE|-", help="Write the rows as CSV.")]
Plot = Annotated[
    str | None,
    typer.Option("--plot", metavar="FILE|FOLDER", help="Draw figures: .png, .pdf or .svg; for thesis also a folder."),
]
Figures = Annotated[list[str] | None, typer.Option("--figure", metavar="5.1|…|5.6", help="Figure to draw; repeatable.")]
