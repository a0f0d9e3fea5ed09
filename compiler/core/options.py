"""
The options of a compilation: their choices, the keywords of the public functions, and `Options` with every default.

`npuc.compiler.driver.options` makes `Options` of keywords, once, at the border; behind it nobody asks for defaults.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypedDict, get_args

from npuc.compiler.core.numbers import integer_of

MAX_OPS = 200_000
"""The most operations that a network may have, unless a caller says otherwise."""
LEVELS = (0, 1, 2, 3)
"""The levels of -O."""
DEFAULT_LEVEL = 3
UNLIMITED = "unlimited"
"""The value of a hardware key that sets a limit, where there is none."""
OBJECTIVES = ("time", "latency", "traffic", "energy", "edp")
"""What schedules may minimise; `latency` is another name of `time`."""
ALIASES = {"latency": "time"}
DEFAULT_TOLERANCE = 0.005
"""The share by which a schedule may cost more than the least by the objective, to cost less by the next measure."""
Strategy = Literal["dp", "mp", "owt", "hypar", "joint", "accpar", "accpar-joint"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
"""How a step may be shared among devices."""
DEFAULT_STRATEGY: Strategy = "hypar"
Convention = Literal["table2", "published", "physical"]
CONVENTIONS: tuple[Convention, ...] = get_args(Convention)
"""
What movement between devices such a strategy minimises: `table2` charges boundaries as HyPar's Table 2 prints it,
`published` as its figures come out (only I > II), `physical` what a lowered program moves.
"""
PlanObjective = Literal["bytes", "time", "memory"]
PLAN_OBJECTIVES: tuple[PlanObjective, ...] = get_args(PlanObjective)
"""What a joint strategy minimises: movement, the time of a step, or what a device keeps in memory."""
ChunkPolicy = Literal["baseline", "themis-fifo", "themis-scf", "exact"]
CHUNK_POLICIES: tuple[ChunkPolicy, ...] = get_args(ChunkPolicy)
"""In which orders the chunks of a collective cross the levels of a network (pass `schedule-collectives`)."""
DEFAULT_CHUNKS: Mapping[ChunkPolicy, int] = {"baseline": 1, "themis-fifo": 64, "themis-scf": 64, "exact": 4}
"""The chunks of a collective by each policy, where nobody says: of Themis's those that its authors use."""
DEFAULT_BUCKET_MIB = 25
"""The MiB of gradients that are summed together, where buckets are asked for without a size: that of PyTorch's."""
BEST_BUCKETS: Final = "best"
"""The word for the buckets of the shortest step, in place of a size."""
Precision = Literal["as-written", "f32", "f16", "bf16", "mixed"]
SHOWN_CHANGES = ("full", "diff")
"""How the program is shown after a pass that changed it."""
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
"""The float types that a program may be given (pass `set-precision`); `as-written` leaves them as they are."""
ZERO_STAGES = (0, 1, 2, 3)
"""
What of parameters that all devices have each keeps a part of (ZeRO): nothing; the optimizer's states; gradients, too;
the parameters themselves, too.
"""
Method = Literal["bp", "gp", "gp-ideal"]
METHODS: tuple[Method, ...] = get_args(Method)
"""
The steps of a training with predicted gradients: `bp` by the backward pass, in which a predictor learns; `gp` by its
predictions; `gp-ideal` by gradients that cost nothing.
"""
RECOMPUTE = "none|full|reversible|every=K|optimal=GIB"
"""How activations may be run again in the backward pass in place of being stored."""
QUANTIZE = "none|bfp-low|bfp-mid|bfp-high|fast[=STEPS]|fp8|int8|FORMAT"
"""
The number formats that operands of products may have (pass `quantize`); a format is `bfp<4, 16, 3>` or f8e4m3. Several
are separated by semicolons, each after the operands that it is of: `weights:int8; activations:fp8`.
"""
QUANTIZED = ("none", "bfp-low", "bfp-mid", "bfp-high", "fast", "fp8", "int8", "f8e4m3", "f8e5m2")
"""Those of them that have a name."""
FUSE_LAYERS = "off|MAPPER[=KIB]"
"""What chooses groups of layers (pass `fuse-layers`), and the SPM that a group may use."""
NO_GROUPS = "off"
"""The word for no groups of layers."""
MAX_DEVICES = 1 << 12
"""The most devices that a program may be for."""
MemoryKind = Literal["weights", "gradients", "optimizer", "activations", "buffers"]
MEMORY_KINDS: tuple[MemoryKind, ...] = get_args(MemoryKind)
"""What the memory of a step is made of."""
HardwareLike = str | os.PathLike[str] | Mapping[str, object]
Densities = str | Sequence[str] | Mapping[str, object] | None
"""
Densities of operands of products: of weights, activations, gradients, or of what a glob of layers and parameters names,
by key, or as texts such as `weights=0.1 csr`.
"""
Only = str | int | Sequence[str] | None
"""The layers to keep: a pattern or a number, or several patterns; None: all."""
BACKENDS = str | list[str] | tuple[str, ...] | None
"""The backends that score a program: one, several, or None for the default one."""
Say = Callable[[str], None]


def objective_named(text: str) -> str:
    """The objective that a text names, by its own name."""
    return ALIASES.get(text, text)


def check_tolerance(value: object) -> None:
    """Raise `ValueError` for what is no tolerance: a number from 0 to below 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        raise ValueError(f"found tolerance {value}, expected a fraction from 0 to below 1")


def names_three_types(strategy: str) -> bool:
    """Whether a strategy's choices are the types I, II and III; those of the others are `dp` and `mp`."""
    return strategy in ("accpar", "accpar-joint")


def is_joint(strategy: str) -> bool:
    """Whether a strategy chooses the types of all mesh levels together."""
    return strategy in ("joint", "accpar-joint")


def is_level_by_level(strategy: str) -> bool:
    """Whether a strategy chooses the types of one mesh level after the other, the outermost first."""
    return strategy in ("hypar", "accpar")


def is_fixed(strategy: str) -> bool:
    """Whether a strategy gives each kind of layer one type, so that nothing is searched."""
    return strategy in ("dp", "mp", "owt")


def uses_mp(strategy: str) -> bool:
    """Whether a strategy may give layers the type `mp`, which splits the input's or the output's channels."""
    return strategy != "dp" and not names_three_types(strategy)


TABLE_PLACEMENTS = ("rows", "whole")
"""How devices share an embedding table, if not as a strategy has it."""


class ProgramKeywords(TypedDict, total=False):
    """The keywords that compilations and runs have in common; what is left out has the default of `Options`."""

    hardware: HardwareLike | None
    overrides: Mapping[str, object] | None
    defines: Mapping[str, Any] | None
    precision: str | None
    opt_level: int | None
    pipeline: str | None
    inference: bool | None
    loss: str | Sequence[str] | None
    optimizer: str | None
    freeze: str | Sequence[str] | None
    result: str | Sequence[str] | None
    opaque: bool
    opaque_costs: str | os.PathLike[str] | None
    objective: str
    tolerance: float
    devices: int
    mesh: str | None
    parallel: str | None
    convention: str
    plan_objective: str
    exact_plan: bool
    zero: bool | int
    tables: str | None
    collectives: str
    chunks: int | None
    bucket_mib: float | Literal["best"] | None
    recompute: str | None
    quantize: str | None
    density: Densities
    fuse_layers: str | None
    method: str | None
    load: Sequence[str]
    before: Sequence[str]
    after: Sequence[str]
    max_ops: int
    verify_each: bool
    print_after: str | None
    print_changed: str | None
    time_passes: bool


class CompileKeywords(ProgramKeywords, total=False):
    """The keywords of `compile_file` and `compile_source`; what is left out has the default of `Options`."""

    only: Only
    mapping: str | os.PathLike[str] | None


@dataclass(frozen=True, kw_only=True)
class Options:
    """
    What was asked for, each option in one form: `devices` counts those of `mesh`, `objective` has no other name.

    `hardware` is a preset's name, a path or a mapping (None: the backend's default), `overrides` are keys of it.
    `opt_level` None is the default level, `pipeline` replaces its passes, `before` and `after` add some at one of them
    (`schedule=own-pass`). `inference` None leaves it to the program. `loss`, `optimizer`, `freeze` and `result` make a
    training step of a graph that has none; `opaque` prices operators of it that have no meaning, by npuc's formulas and
    those of the file `opaque_costs`. `zero` is one of `ZERO_STAGES`, `tables` of `TABLE_PLACEMENTS`, `recompute`
    a text as in `RECOMPUTE`, `quantize` one as in `QUANTIZE`, `density` as in `Densities`, `fuse_layers` one as in
    `FUSE_LAYERS`, `method` one of `METHODS`.
    `collectives` is one of `CHUNK_POLICIES`, `chunks` None the number of `DEFAULT_CHUNKS`.
    `bucket_mib` None sums each gradient alone, before other work goes on; `best` are the buckets of the shortest step.
    """

    hardware: HardwareLike | None = None
    overrides: Mapping[str, object] = field(default_factory=dict[str, object])
    defines: Mapping[str, Any] = field(default_factory=dict[str, Any])
    precision: str | None = None
    opt_level: int | None = None
    pipeline: str | None = None
    inference: bool | None = None
    loss: tuple[str, ...] = ()
    optimizer: str | None = None
    freeze: tuple[str, ...] = ()
    result: tuple[str, ...] = ()
    opaque: bool = False
    opaque_costs: str | None = None
    only: Only = None
    objective: str = OBJECTIVES[0]
    tolerance: float = DEFAULT_TOLERANCE
    mapping: str | None = None
    devices: int = 1
    mesh: str | None = None
    parallel: str | None = None
    convention: str = CONVENTIONS[0]
    plan_objective: str = PLAN_OBJECTIVES[0]
    exact_plan: bool = False
    zero: int = 0
    tables: str | None = None
    collectives: str = CHUNK_POLICIES[0]
    chunks: int | None = None
    bucket_mib: float | Literal["best"] | None = None
    recompute: str | None = None
    quantize: str | None = None
    density: Densities = None
    fuse_layers: str | None = None
    method: str | None = None
    load: Sequence[str] = ()
    before: Sequence[str] = ()
    after: Sequence[str] = ()
    max_ops: int = MAX_OPS
    verify_each: bool = False
    print_after: str | None = None
    print_changed: str | None = None
    time_passes: bool = False

    @property
    def names_passes(self) -> bool:
        """Whether the caller names passes, which may be anybody's."""
        return self.pipeline is not None or bool(self.before or self.after)

    @property
    def strategy(self) -> str:
        """How several devices share the step."""
        return self.parallel or DEFAULT_STRATEGY


def zero_stage(value: bool | int | None) -> int:
    """The stage of ZeRO that a keyword means: True is the last one."""
    return ZERO_STAGES[-1] if value is True else int(value or 0)


def mesh_sizes(text: str) -> tuple[int, ...]:
    """The levels of a mesh of devices, `4x3`: into how many parts each splits a group. Raises `ValueError`."""
    sizes = [integer_of(part) for part in text.lower().split("x")]
    if not all(size is not None and 2 <= size <= MAX_DEVICES for size in sizes):
        raise ValueError(f"found '{text}', expected sizes of levels, 2 or more each, outermost first, as 4x3")
    return tuple(size for size in sizes if size is not None)
