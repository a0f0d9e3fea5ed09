"""The options that several verbs take, in five groups: program, machine, optimisation, devices, output."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, cast

import typer

from npuc.compiler.cli.groups import Group
from npuc.compiler.cli.shared import Debug, Defines, Load, MaxOps, Quiet, real, whole
from npuc.compiler.cli.verbs import readers
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.options import (
    CHUNK_POLICIES,
    CONVENTIONS,
    FUSE_LAYERS,
    MAX_OPS,
    METHODS,
    PLAN_OBJECTIVES,
    PRECISIONS,
    QUANTIZE,
    RECOMPUTE,
    STRATEGIES,
    TABLE_PLACEMENTS,
    CompileKeywords,
)

Backends = Annotated[
    list[str] | None, typer.Option("-b", "--backend", metavar="NAME", help="Cost model (npuc list backends).")
]


@frozen
class Program(Group):
    """What is compiled: a source, its parameters, and how much of it."""

    title: ClassVar[str] = "Program"

    source: Annotated[
        str,
        typer.Argument(
            help="A .dsl, .mlir, .pt2, .onnx, .json, .cfg, .csv or .m file, samples:NAME, or - (.dsl from stdin)."
        ),
    ]
    define: Defines = None
    inference: readers.Inference = None
    loss: Annotated[
        list[str] | None,
        typer.Option("--loss", metavar="CALL|OUTPUT", help="Loss of an imported graph, like cross_entropy(axis=1)."),
    ] = None
    optimizer: Annotated[
        str | None,
        typer.Option("--optimizer", metavar="CALL", help="Optimizer of an imported graph, like adamw(lr=1e-4)."),
    ] = None
    freeze: Annotated[
        list[str] | None,
        typer.Option("--freeze", metavar="GLOB", help="Parameters of an imported graph that are not trained."),
    ] = None
    result: readers.Result = None
    opaque: readers.Opaque = False
    opaque_costs: readers.OpaqueCosts = None
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="GLOB|INDEX", help="Restrict the result to these layers.")
    ] = None
    max_ops: MaxOps = MAX_OPS


@frozen
class Machine(Group):
    """The hardware, the types that it computes in, and how products are mapped onto it."""

    title: ClassVar[str] = "Machine"

    hw: Annotated[
        str | None, typer.Option("--hw", metavar="NAME|FILE", help="Machine: a preset, or a .toml, .cfg or .m file.")
    ] = None
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override a hardware key.")
    ] = None
    precision: Annotated[
        str | None,
        typer.Option("--precision", metavar="|".join(PRECISIONS), help="Float types (default: the hardware's)."),
    ] = None
    mapping: Annotated[
        str | None,
        typer.Option(
            "--mapping",
            metavar="NAME|FILE.m",
            help="Mapping for -b maestro: a dataflow (npuc list mappings) or a file.",
        ),
    ] = None


@frozen
class Optimisation(Group):
    """Which passes run, and what they are for."""

    title: ClassVar[str] = "Optimisation"

    opt_level: Annotated[
        int | None, typer.Option("-O", metavar="LEVEL", parser=whole(), help="Optimisation level, 0 to 3 (default: 3).")
    ] = None
    objective: Annotated[
        str, typer.Option("--objective", metavar="NAME", help="What schedules minimise: time, traffic, energy or edp.")
    ] = "time"
    tolerance: Annotated[
        float | None,
        typer.Option(
            "--tolerance",
            metavar="F",
            parser=real(),
            help="How much more than the least a schedule may cost for less by the next measure (default: 0.005).",
        ),
    ] = None
    pipeline: Annotated[
        str | None, typer.Option("-p", "--pipeline", metavar="PASSES", help="Run these passes instead of those of -O.")
    ] = None
    recompute: Annotated[
        str | None,
        typer.Option(
            "--recompute",
            metavar=RECOMPUTE,
            help="Run activations again in the backward pass: all but checkpoints, or within a budget.",
        ),
    ] = None
    quantize: Annotated[
        str | None,
        typer.Option("--quantize", metavar=QUANTIZE, help="Convert operands of products to formats of few bits."),
    ] = None
    density: Annotated[
        list[str] | None,
        typer.Option(
            "--density",
            metavar="OPERANDS=DENSITY",
            help="Prune weights, or state densities: weights=0.1, 'fc*=2:4', 'gradients=0.5 csr'; repeatable.",
        ),
    ] = None
    fuse_layers: Annotated[
        str | None,
        typer.Option(
            "--fuse-layers",
            metavar=FUSE_LAYERS,
            help="Run groups of layers by micro-batches, as a mapper chooses them (npuc explain --pass fuse-layers).",
        ),
    ] = None
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            metavar="|".join(METHODS),
            help="A step of a training with predicted gradients: backward pass, or predictions.",
        ),
    ] = None
    load: Load = None
    before: Annotated[
        list[str] | None,
        typer.Option("--before", metavar="PASS=PASSES", help="Run these passes before a pass of -O; repeatable."),
    ] = None
    after: Annotated[
        list[str] | None,
        typer.Option("--after", metavar="PASS=PASSES", help="Run these passes after a pass of -O; repeatable."),
    ] = None
    print_after: Annotated[
        str | None, typer.Option("--print-after", metavar="PASS|all", help="Print the IR after a pass.")
    ] = None
    print_changed: Annotated[
        str | None,
        typer.Option("--print-changed", metavar="full|diff", help="Print the IR after each pass that changes it."),
    ] = None
    time_passes: Annotated[bool, typer.Option("--time-passes", help="Report how long each pass takes.")] = False
    statistics: Annotated[
        bool, typer.Option("--statistics", help="Report what each pass did: operations, rewrites of its patterns.")
    ] = False
    statistics_json: Annotated[
        str | None, typer.Option("--statistics-json", metavar="FILE|-", help="Write the same as JSON.")
    ] = None
    debug_only: Annotated[
        str | None,
        typer.Option("--debug-only", metavar="PASS[,PATTERN]", help="Show each rewrite of a pass, or of its pattern."),
    ] = None
    verify_each: Annotated[bool, typer.Option("--verify-each", help="Verify the IR after every pass.")] = False


@frozen
class Devices(Group):
    """How several devices share a step."""

    title: ClassVar[str] = "Devices"

    devices: Annotated[
        int | None,
        typer.Option(
            "--devices", metavar="N", parser=whole(1), help="Number of devices that share the step (default: 1)."
        ),
    ] = None
    mesh: Annotated[
        str | None,
        typer.Option("--mesh", metavar="AxB", help="Mesh shape, outermost level first (default: halves, 2x2x…)."),
    ] = None
    parallel: Annotated[
        str | None,
        typer.Option("--parallel", metavar="|".join(STRATEGIES), help="Parallelisation strategy (default: hypar)."),
    ] = None
    convention: Annotated[
        str | None,
        typer.Option(
            "--convention", metavar="|".join(CONVENTIONS), help="How a plan counts movement (default: table2)."
        ),
    ] = None
    plan_objective: Annotated[
        str | None,
        typer.Option(
            "--plan-objective",
            metavar="|".join(PLAN_OBJECTIVES),
            help="What a joint strategy minimises (default: bytes).",
        ),
    ] = None
    exact_plan: Annotated[
        bool,
        typer.Option("--exact-plan", help="Prove the plan by an integer program, which may take minutes. Needs HiGHS."),
    ] = False
    zero: Annotated[
        int | None,
        typer.Option(
            "--zero",
            metavar="[=0|1|2|3]",
            parser=whole(),
            help="Keep parts of what all devices have (ZeRO): 1 optimizer states, 2 gradients, too, 3 (bare --zero) "
            "parameters, too, 0 none.",
        ),
    ] = None
    tables: Annotated[
        str | None,
        typer.Option(
            "--tables",
            metavar="|".join(TABLE_PLACEMENTS),
            help="How embedding tables are shared (default: as the strategy has it).",
        ),
    ] = None
    collectives: Annotated[
        str | None,
        typer.Option(
            "--collectives",
            metavar="|".join(CHUNK_POLICIES),
            help="Order in which chunks cross the levels of the network (default: baseline).",
        ),
    ] = None
    chunks: Annotated[
        int | None,
        typer.Option(
            "--chunks",
            metavar="N",
            parser=whole(1),
            help="Chunks of each collective (default: 1, of themis-* 64, of exact 4).",
        ),
    ] = None
    bucket_mib: Annotated[
        Any,
        typer.Option(
            "--bucket-mib",
            metavar="N|best",
            parser=readers.bucket_size,
            help="Sum gradients in buckets of N MiB, beside the backward pass.",
        ),
    ] = None

    def keywords(self) -> CompileKeywords:
        """Those alone that were given: a switch that is not set says nothing."""
        return cast(
            "CompileKeywords", {name: value for name, value in super().keywords().items() if value is not False}
        )

    def shared(self, *, varied: bool = False) -> CompileKeywords:
        """
        `keywords`, if they say something.

        Raises `UsageError` for one that says nothing since there is one device, and for devices beside another mesh;
        `varied`: there are several numbers of devices.
        """
        given = self.keywords()
        plan = {name: value for name, value in given.items() if name not in ("devices", "mesh")}
        from npuc.compiler.driver.options import needs_devices

        if plan and self.devices in (None, 1) and self.mesh is None and not varied:
            raise needs_devices(*next(iter(plan.items())))
        if self.devices == 1 and self.mesh is not None:
            raise UsageError(f"--devices 1: --mesh {self.mesh} has several devices", hint="leave out --devices")
        return given


@frozen
class Output(Group):
    """Where results go, `-` being standard output, and what is told beside them."""

    title: ClassVar[str] = "Output"

    json: Annotated[str | None, typer.Option("--json", metavar="FILE|-", help="Write the report as JSON.")] = None
    csv: Annotated[str | None, typer.Option("--csv", metavar="FILE|-", help="Write the rows as CSV.")] = None
    plot: Annotated[str | None, typer.Option("--plot", metavar="FILE", help="Draw a picture.")] = None
    plot_as: readers.PlotAs = None
    table: readers.Table = None
    html: readers.Html = None
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE|-", help="Write the compiled program.")
    ] = None
    quiet: Quiet = False
    debug: Debug = False
    cache_dir: readers.CacheDir = None
    no_cache: readers.NoCache = False
