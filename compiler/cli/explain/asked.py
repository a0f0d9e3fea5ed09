"""What `npuc explain` is asked for beside what other verbs have: of a layer, and of a network."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Annotated, ClassVar, get_args

import typer

from npuc.compiler.cli.groups import Group
from npuc.compiler.cli.shared import whole
from npuc.compiler.core.errors import UsageError, did_you_mean


@dataclass(frozen=True)
class OfLayer(Group):
    """What is about one layer."""

    title: ClassVar[str] = "Of a layer"

    phase: Annotated[
        str | None, typer.Option("--phase", metavar="forward|dx|dw|dxdw|update", help="Explain only this phase.")
    ] = None
    svg: Annotated[
        str | None, typer.Option("--svg", metavar="FILE|-", hidden=True, help="The former name of --plot.")
    ] = None
    view: Annotated[
        str | None,
        typer.Option(
            "--view", metavar="time|array", help="What --plot draws of a layer: its time, or the array as it fills."
        ),
    ] = None

    def check_phase(self) -> None:
        """Raise `UsageError` for a phase that there is not."""
        if self.phase is None:
            return
        from npuc.compiler.report.rows import Phase

        known = get_args(Phase)
        if self.phase not in known:
            raise UsageError(f"--phase {self.phase}: there is no such phase", hint=did_you_mean(self.phase, known))


@dataclass(frozen=True)
class OfNetwork(Group):
    """What is about all layers of a network."""

    title: ClassVar[str] = "Of a network"

    collective: Annotated[
        str | None,
        typer.Option(
            "--collective", metavar="NAME", help="Of several devices, explain the collective of this layer or glob."
        ),
    ] = None
    top: Annotated[
        int | None,
        typer.Option("--top", metavar="N", parser=whole(1), help="Explain so many layers (default: 5)."),
    ] = None
    changes: Annotated[
        int | None,
        typer.Option("--changes", metavar="N", parser=whole(0), help="Try at most so many changes (default: 8)."),
    ] = None
    jobs: Annotated[
        int | None,
        typer.Option(
            "-j", "--jobs", metavar="N", parser=whole(1), help="Processes that try changes (default: one a core)."
        ),
    ] = None

    def processes(self, count: int) -> int:
        """How many processes share so many changes."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return max(1, min(cores if self.jobs is None else self.jobs, count))
