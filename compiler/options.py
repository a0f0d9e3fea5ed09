"""The choices of a compilation, under the names that the public functions give them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

MAX_OPS = 200_000
"""The most operations that a network may have, unless a caller says otherwise."""
LEVELS = (0, 1, 2, 3)
"""The levels of -O."""
DEFAULT_LEVEL = 3
OBJECTIVES = ("time", "latency", "traffic", "energy", "edp")
"""What schedules may minimise; `latency` is another name of `time`."""
HardwareLike = str | os.PathLike[str] | Mapping[str, object]
Only = str | int | Sequence[str] | None
"""The layers to keep: a pattern or a number, or several patterns; None: all."""
Say = Callable[[str], None]


class CompileOptions(TypedDict, total=False):
    """The keywords of `compile_file` and `compile_source`; what is left out has the command line's default."""

    hardware: HardwareLike | None
    overrides: Mapping[str, object] | None
    defines: Mapping[str, Any] | None
    opt_level: int | None
    pipeline: str | None
    inference: bool | None
    only: Only
    objective: str
    mapping: str | os.PathLike[str] | None
    devices: int
    parallel: str | None
    convention: str
    load: Sequence[str]
    max_ops: int
    verify_each: bool
    print_after: str | None
