"""Keys of a hardware description that depend on each other: which exclude each other, and which need one another."""

from __future__ import annotations

from collections.abc import Mapping

from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.kinds import Value

PRECISION, WIDTH = "precision", "memory.element_bytes"
"""The key of float types and that of the bytes of every float; only one of them determines a float's size."""
AS_WRITTEN = "as-written"


class Contradiction(Exception):
    """Keys that exclude each other, or that need one another; `path` is the key that an error shows."""

    def __init__(self, path: str, message: str, hint: str):
        super().__init__(message)
        self.path, self.message, self.hint = path, message, hint


def with_one_width(
    values: dict[str, Value], own: Mapping[str, Value], asked: str | None, whose: str | None
) -> dict[str, Value]:
    """
    What a description says, without what overrides (`own`) and a precision that is `asked` for take the place of.

    `whose` is the file that a user wrote it in, None for a preset. Raises `UsageError` and `Contradiction` for types
    and a width of all floats that are both written.
    """
    said = asked if asked is not None else own.get(PRECISION)
    is_type = said is not None and (asked is not None or said != AS_WRITTEN)
    if is_type:
        option = f"--precision {asked}" if asked is not None else f"{PRECISION} = '{said}'"
        writes = "--set" if WIDTH in own else whose if WIDTH in values else None
        if writes is not None:
            raise UsageError(
                f"{option} contradicts {WIDTH}, set by {writes}, which counts all floats at one width",
                hint=f"leave out {WIDTH}, or {option}",
            )
        return {key: value for key, value in values.items() if key != WIDTH}
    if WIDTH in own and PRECISION not in own:
        return {key: value for key, value in values.items() if key != PRECISION}
    if said is None and WIDTH in values and values.get(PRECISION, AS_WRITTEN) != AS_WRITTEN:
        raise Contradiction(
            PRECISION,
            f"{PRECISION} = '{values[PRECISION]}' contradicts {WIDTH}, which counts all floats at one width",
            f"leave out one of them, or say {PRECISION} = '{AS_WRITTEN}'",
        )
    return dict(values)


def check_together(values: Mapping[str, Value]) -> None:
    """Check the keys that depend on each other. Raises `Contradiction`."""
    if "array.overlap" in values:
        if values.get("array.dataflow") != "ws":
            hint = "--set array.dataflow=ws, or leave array.overlap out"
            raise Contradiction("array.overlap", "array.overlap applies only to array.dataflow = 'ws'", hint)
        if values.get("array.fill") == "per-fold":
            hint = "leave array.fill out: array.overlap determines fill and drain"
            raise Contradiction("array.fill", "array.overlap contradicts array.fill = 'per-fold'", hint)
        if values.get("cycle.compat") == "scalesim3":
            hint = "--set cycle.compat=none, or leave array.overlap out"
            raise Contradiction("array.overlap", "cycle.compat = 'scalesim3' does not model array.overlap", hint)
    elif "array.tile_m" in values:
        hint = "--set array.overlap=base"
        raise Contradiction("array.tile_m", "array.tile_m applies only with array.overlap", hint)
    if values.get("array.transpose") == "explicit" and values.get("array.dataflow") != "in-place":
        hint = "--set array.dataflow=in-place, or leave array.transpose out"
        message = "array.transpose = 'explicit' applies only to array.dataflow = 'in-place'"
        raise Contradiction("array.transpose", message, hint)
    if values.get("array.dataflow") == "rs" and values.get("memory.policy") == "lru":
        hint = "--set memory.policy=explicit, or another array.dataflow"
        raise Contradiction("memory.policy", "memory.policy = 'lru' does not know array.dataflow = 'rs'", hint)
    if values.get("scalesim.bandwidth_mode") == "USER":
        for key in ("scalesim.ifmap_bw", "scalesim.filter_bw", "scalesim.ofmap_bw"):
            if key not in values:
                message = f"scalesim.bandwidth_mode = 'USER' needs {key}"
                raise Contradiction("scalesim.bandwidth_mode", message, f"--set {key}=VALUE")
