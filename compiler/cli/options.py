"""The options that several verbs take, in five groups: program, machine, optimisation, devices, output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, cast

import typer

from npuc.compiler.cli.groups import Group
from npuc.compiler.cli.shared import Debug, Defines, Load, MaxOps, Quiet
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import CONVENTIONS, MAX_OPS, PLAN_OBJECTIVES, PRECISIONS, STRATEGIES, CompileKeywords

UNSHOWN = ("print_after", "print_changed", "time_passes", "verify_each")
"""Options on single passes, which verbs with no single program do not take."""
Backends = Annotated[list[str] | None, typer.Option("-b", "--backend", metavar="NAME", help="Cost model.")]


@dataclass(frozen=True)
class Program(Group):
    """What is compiled: a source, its parameters, and how much of it."""

    source: Annotated[
        str, typer.Argument(help="A .dsl, .mlir or .csv file, samples:NAME, or - for a .dsl on standard input.")
    ]
    define: Defines = None
    inference: Annotated[bool | None, typer.Option("--inference/--training", help="The forward pass only.")] = None
    only: Annotated[list[str] | None, typer.Option("--only", metavar="GLOB|INDEX", help="Layers to keep.")] = None
    max_ops: MaxOps = MAX_OPS


@dataclass(frozen=True)
class Machine(Group):
    """The hardware, the types that it computes in, and how products are mapped onto it."""

    hw: Annotated[str | None, typer.Option("--hw", metavar="NAME|FILE", help="Preset, .toml, .cfg or .m file.")] = None
    setting: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Replace a hardware key.")] = (
        None
    )
    precision: Annotated[
        str | None, typer.Option("--precision", metavar="|".join(PRECISIONS), help="Float types (the hardware's).")
    ] = None
    mapping: Annotated[
        str | None,
        typer.Option("--mapping", metavar="NAME|FILE.m", help="Dataflow (npuc list mappings), for -b maestro."),
    ] = None


@dataclass(frozen=True)
class Optimisation(Group):
    """Which passes run, and what they are for."""

    opt_level: Annotated[
        int | None, typer.Option("-O", metavar="LEVEL", help="Optimisation level: 0 to 3 (default).")
    ] = None
    objective: Annotated[
        str, typer.Option("--objective", metavar="NAME", help="What is minimised: time, traffic, energy, edp.")
    ] = "time"
    pipeline: Annotated[
        str | None, typer.Option("-p", "--pipeline", metavar="PASSES", help="Passes instead of -O's.")
    ] = None
    load: Load = None
    print_after: Annotated[str | None, typer.Option("--print-after", metavar="PASS|all", help="Show the IR.")] = None
    print_changed: Annotated[
        str | None, typer.Option("--print-changed", metavar="full|diff", help="Show the IR that passes change.")
    ] = None
    time_passes: Annotated[bool, typer.Option("--time-passes", help="Say how long each pass took.")] = False
    verify_each: Annotated[bool, typer.Option("--verify-each", help="Verify after every pass.")] = False


@dataclass(frozen=True)
class Devices(Group):
    """How several devices share a step."""

    devices: Annotated[
        int | None, typer.Option("--devices", metavar="N", min=1, help="Devices that share the step (1).")
    ] = None
    mesh: Annotated[
        str | None,
        typer.Option("--mesh", metavar="AxB", help="Their levels, outermost first, where these are no halves."),
    ] = None
    parallel: Annotated[
        str | None, typer.Option("--parallel", metavar="|".join(STRATEGIES), help="How they share it (hypar).")
    ] = None
    convention: Annotated[
        str | None,
        typer.Option(
            "--convention", metavar="|".join(CONVENTIONS), help="What movement counts in that choice (table2)."
        ),
    ] = None
    plan_objective: Annotated[
        str | None,
        typer.Option(
            "--plan-objective",
            metavar="|".join(PLAN_OBJECTIVES),
            help="What a joint strategy minimises between devices (bytes).",
        ),
    ] = None
    exact_plan: Annotated[
        bool,
        typer.Option("--exact-plan", help="Have an integer program prove a plan, which may take minutes. Needs HiGHS."),
    ] = False
    zero: Annotated[bool, typer.Option("--zero", help="Keep parameters and optimizer states in parts (ZeRO).")] = False

    def keywords(self) -> CompileKeywords:
        """Those alone that were given: a switch that is not set says nothing."""
        return cast(
            "CompileKeywords", {name: value for name, value in super().keywords().items() if value is not False}
        )

    def shared(self, *, passes: bool, varied: bool = False) -> CompileKeywords:
        """
        `keywords`, if they say something.

        Raises `UsageError` for one that says nothing since there is one device, and for devices beside another mesh;
        `passes`: -p says all passes, `varied`: there are several numbers of devices.
        """
        given = self.keywords()
        plan = {name: value for name, value in given.items() if name not in ("devices", "mesh")}
        from npuc.compiler.driver.options import needs_devices

        if plan and self.devices in (None, 1) and self.mesh is None and not varied:
            raise needs_devices(*next(iter(plan.items())), passes=passes)
        if self.devices == 1 and self.mesh is not None:
            raise UsageError(f"--devices 1: a mesh of {self.mesh} has several", hint="leave out --devices")
        return given


@dataclass(frozen=True)
class Output(Group):
    """Where results go, `-` being standard output, and what is told beside them."""

    json: Annotated[str | None, typer.Option("--json", metavar="FILE|-", help="Write the report as JSON.")] = None
    csv: Annotated[str | None, typer.Option("--csv", metavar="FILE|-", help="Write the rows as CSV.")] = None
    plot: Annotated[str | None, typer.Option("--plot", metavar="FILE", help="Draw a picture.")] = None
    output: Annotated[str | None, typer.Option("-o", "--output", metavar="FILE|-", help="Write the program.")] = None
    quiet: Quiet = False
    debug: Debug = False
