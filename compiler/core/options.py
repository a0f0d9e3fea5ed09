"""The choices of a compilation, under the names that the public functions give them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypedDict, get_args

MAX_OPS = 200_000
"""The most operations that a network may have, unless a caller says otherwise."""
LEVELS = (0, 1, 2, 3)
"""The levels of -O."""
DEFAULT_LEVEL = 3
UNLIMITED = "unlimited"
"""The value of a hardware key that sets a limit, where there is none."""
OBJECTIVES = ("time", "latency", "traffic", "energy", "edp")
"""What schedules may minimise; `latency` is another name of `time`."""
Strategy = Literal["dp", "mp", "owt", "hypar", "joint", "accpar", "accpar-joint"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
"""How a step may be shared among devices; `hypar` where several are asked for and nothing else is said."""
Convention = Literal["table2", "published", "physical"]
CONVENTIONS: tuple[Convention, ...] = get_args(Convention)
"""
What movement between devices such a strategy minimises: `table2` charges boundaries as HyPar's Table 2 prints it,
`published` as its figures come out (only I > II), `physical` what a lowered program moves.
"""
PlanObjective = Literal["bytes", "time", "memory"]
PLAN_OBJECTIVES: tuple[PlanObjective, ...] = get_args(PlanObjective)
"""What a joint strategy minimises: movement, the time of a step, or what a device keeps in memory."""
Precision = Literal["as-written", "f32", "f16", "bf16", "mixed"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
"""The float types that a program may be given (pass `set-precision`); `as-written` leaves them as they are."""
MAX_DEVICES = 1 << 12
"""The most devices that a program may be for."""
MemoryKind = Literal["weights", "gradients", "optimizer", "activations", "buffers"]
MEMORY_KINDS: tuple[MemoryKind, ...] = get_args(MemoryKind)
"""What the memory of a step is made of."""
HardwareLike = str | os.PathLike[str] | Mapping[str, object]
Only = str | int | Sequence[str] | None
"""The layers to keep: a pattern or a number, or several patterns; None: all."""
Say = Callable[[str], None]


class CompileOptions(TypedDict, total=False):
    """The keywords of `compile_file` and `compile_source`; what is left out has the command line's default."""

    hardware: HardwareLike | None
    overrides: Mapping[str, object] | None
    defines: Mapping[str, Any] | None
    precision: str | None
    opt_level: int | None
    pipeline: str | None
    inference: bool | None
    only: Only
    objective: str
    mapping: str | os.PathLike[str] | None
    devices: int
    mesh: str | None
    parallel: str | None
    convention: str
    plan_objective: str
    exact_plan: bool
    zero: bool
    load: Sequence[str]
    max_ops: int
    verify_each: bool
    print_after: str | None


def mesh_sizes(text: str) -> tuple[int, ...]:
    """The levels of a mesh of devices, `4x3`: into how many parts each splits a group. Raises `ValueError`."""
    parts = text.lower().split("x")
    if not all(part.isdecimal() and 2 <= int(part) <= MAX_DEVICES for part in parts):
        raise ValueError(f"found '{text}', expected sizes of levels, 2 or more each, outermost first, as 4x3")
    return tuple(map(int, parts))
