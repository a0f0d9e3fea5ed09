"""What `npuc diff` is asked for: of each side what is compiled or read, and of both what is compared."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import typer

from npuc.compiler.cli.groups import Group, collected
from npuc.compiler.cli.options import Devices, Machine, Optimisation, Output, Program
from npuc.compiler.cli.shared import real, whole
from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.core.numbers import real_of
from npuc.compiler.core.options import CompileKeywords

METRICS = ("time", "cycles", "traffic", "energy", "memory", "macs")
"""What a step may have too much more of."""


@dataclass(frozen=True)
class Comparing(Group):
    """What is shown of a difference, and what of it is a failure."""

    title: ClassVar[str] = "Difference"

    top: Annotated[
        int | None,
        typer.Option("--top", metavar="N", parser=whole(0), help="Show so many lines of layers (default: 10)."),
    ] = None
    fail_slower: Annotated[
        float | None,
        typer.Option(
            "--fail-slower",
            metavar="PERCENT",
            parser=real(0),
            help="Exit with 1 where B takes more than PERCENT longer than A.",
        ),
    ] = None
    fail_more: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-more",
            metavar="METRIC=PERCENT",
            help=f"The same of {', '.join(METRICS[:-1])} or {METRICS[-1]}; repeatable.",
        ),
    ] = None

    def limits(self) -> dict[str, Fraction]:
        """By metric the percentage that B may be above A. Raises `UsageError` for what is none."""
        found = {} if self.fail_slower is None else {"time": Fraction(str(self.fail_slower))}
        for text in self.fail_more or []:
            name, equals, number = text.partition("=")
            value = real_of(number.strip()) if equals else None
            if name not in METRICS:
                raise UsageError(f"--fail-more {text}: unknown metric '{name}'", hint=did_you_mean(name, METRICS))
            if value is None or not 0 <= value < float("inf"):
                hint = "for example --fail-more traffic=5"
                raise UsageError(f"--fail-more {text}: expected METRIC=PERCENT, from 0", hint=hint)
            if name in found:
                raise UsageError(f"--fail-more {text}: {name} has a limit already", hint="give one")
            found[name] = Fraction(str(value))
        return found


@dataclass(frozen=True)
class AskedSide:
    """
    One side of a comparison: a report, or a source with the options that it is compiled by. Its `output` and
    `comparing` count on the first side.
    """

    program: Program
    machine: Machine
    optimisation: Optimisation
    devices: Devices
    output: Output
    comparing: Comparing
    backend: list[str] | None

    @property
    def source(self) -> str:
        """The path of the report or source."""
        return self.program.source

    def given(self) -> list[str]:
        """The options of a compilation that are given, as they are spelt."""
        groups = self.program, self.machine, self.optimisation, self.devices
        return [name for group in groups for name in group.given()]

    def keywords(self) -> CompileKeywords:
        """The keywords of the compilation."""
        return {**collected(self.machine, self.program, self.optimisation), **self.devices.shared()}

    def same_as(self, other: AskedSide) -> bool:
        """Whether both sides ask for the same."""
        names = "program", "machine", "optimisation", "devices", "backend"
        return all(getattr(self, name) == getattr(other, name) for name in names)
