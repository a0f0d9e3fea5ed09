"""Readers of the values of options that are of more than one kind, and options that need none of the groups."""

from __future__ import annotations

from typing import Annotated

import typer

from npuc.compiler.core.cache import folder
from npuc.compiler.core.numbers import real_of
from npuc.compiler.core.options import BEST_BUCKETS


def bucket_size(text: str | float) -> float | str:
    """A reader of the size of buckets: MiB, or the word for the best ones."""
    value = text if isinstance(text, int | float) or text == BEST_BUCKETS else real_of(text)
    if value is None:
        raise typer.BadParameter(f"found '{text}', expected a number of MiB, or {BEST_BUCKETS}")
    return value


def folder_name(text: str) -> str:
    """A reader of the name of a folder."""
    if not text or "\0" in text:
        raise typer.BadParameter("found no name, expected that of a folder")
    return text


Table = Annotated[
    str | None,
    typer.Option(
        "--table", metavar="FILE|latex|markdown", help="Write the tables: .tex, .md, or to standard output by name."
    ),
]
Html = Annotated[str | None, typer.Option("--html", metavar="FILE", help="Write a page for a browser.")]
PlotAs = Annotated[
    str | None,
    typer.Option(
        "--plot-as",
        metavar="column|page|slide|WxH[mm],…",
        help="Size of pictures, for papers without title; also: title, bare, panels (a file each).",
    ),
]
# `npuc.compiler.core.cache.folder` reads both from the command line, since a result that is kept needs no parser.
CacheDir = Annotated[
    str | None,
    typer.Option(folder.OPTION, metavar="DIR", parser=folder_name, help="Keep results there (npuc cache says where)."),
]
NoCache = Annotated[bool, typer.Option(folder.SWITCH, help="Neither use results that are kept, nor keep any.")]

Inference = Annotated[bool | None, typer.Option("--inference/--training", help="Compile only the forward pass.")]
Opaque = Annotated[bool, typer.Option("--opaque", help="Price operators of an imported graph without a meaning here.")]
OpaqueCosts = Annotated[
    str | None, typer.Option("--opaque-costs", metavar="FILE.toml", help="Formulas of the work of such operators.")
]
Result = Annotated[
    list[str] | None, typer.Option("--result", metavar="NAME", help="Outputs to keep of an imported graph.")
]
