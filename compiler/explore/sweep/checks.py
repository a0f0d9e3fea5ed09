"""What the axes of a sweep are checked for beside the other options, before the first point."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.driver.mapping_file import is_mapping_file
from npuc.compiler.driver.options import PLAN_OPTIONS, needs_devices
from npuc.compiler.explore.sweep.devices import FLAGS, devices_of
from npuc.compiler.explore.sweep.grid import Axis
from npuc.hardware import load_hardware

if TYPE_CHECKING:
    from npuc.frontends.base import Parameters

LEVELS_TOO = '--vary "pipeline=-O0; -O3; …"'


def check_unset(axis: Axis, axes: Sequence[Axis], options: CompileKeywords, backends: Sequence[str]) -> None:
    """Raise `UsageError` where an option also sets a varied key."""
    match axis.place:
        case "hardware":
            said = f"--set {axis.target}" if axis.target in (options.get("overrides") or {}) else None
            named = options.get("mapping")
            if axis.target == "maestro.mapping" and named is not None and not is_mapping_file(os.fspath(named)):
                said = "--mapping"
        case "define":
            said = f"-D {axis.target}" if axis.target in (options.get("defines") or {}) else None
        case "option" if axis.target == "backend":
            said = "-b" if backends else None
        case "option":
            flags = {"hardware": "--hw", "opt_level": "-O", "pipeline": "-p"}
            flag = {**flags, **FLAGS}.get(axis.target, f"--{axis.target}")
            said = flag if options.get(axis.target) is not None else None
            if axis.target == "precision" and "precision" in (options.get("overrides") or {}):
                said = "--set precision"
            if axis.target == "devices" and options.get("mesh") is not None:
                said = "--mesh"
    if said is not None:
        raise UsageError(f"--vary {axis.key}: {said} says what it is", hint=f"leave out {said}")
    if axis.target == "opt_level" and options.get("pipeline") is not None:
        raise UsageError(f"--vary {axis.key}: -p replaces the passes of -O", hint="leave out -p")
    if axis.target == "pipeline":
        level = options.get("opt_level")
        given = None if level is None else f"-O{level}"
        given = next((f"--vary {other.key}" for other in axes if other.target == "opt_level"), given)
        if given is not None:
            hint = f"leave out {given}; levels of -O are pipelines, too: {LEVELS_TOO}"
            raise UsageError(f"--vary {axis.key}: pipelines replace the passes of {given}", hint=hint)


def check_shared_options(axes: Sequence[Axis], options: CompileKeywords) -> None:
    """Raise `UsageError` for a machine that cannot be read, and for options of several devices without several."""
    counts = next((axis.values for axis in axes if axis.target == "devices"), (devices_of(options),))
    several = max(counts) > 1
    for name, default in () if several else PLAN_OPTIONS.items():
        value = options.get(name, default)
        if value != default:
            raise needs_devices(name, value)
    for axis in () if several else axes:
        if axis.target in FLAGS and axis.target != "devices":
            raise UsageError(f"--vary {axis.key}: there is one device", hint="--devices 16, or --vary devices=1,2,4,8")
    machines = next((axis.values for axis in axes if axis.target == "hardware"), (options.get("hardware"),))
    first = {axis.target: axis.values[0] for axis in axes if axis.place == "hardware"}
    precisions = next((axis.values for axis in axes if axis.target == "precision"), (options.get("precision"),))
    for machine in machines:
        if machine is not None:
            load_hardware(machine, {**(options.get("overrides") or {}), **first}, precisions[0])


def check_defines(axes: Sequence[Axis], options: CompileKeywords, parameters: Parameters) -> None:
    """Raise `UsageError` for values that a parameter of the network does not take."""
    varied = [axis for axis in axes if axis.place == "define"]
    first = {**(options.get("defines") or {}), **{axis.target: axis.values[0] for axis in varied}}
    for axis in varied:
        for value in axis.values:
            try:
                parameters.check({**first, axis.target: value})
            except UsageError as e:
                raise UsageError(f"--vary {axis.key}: {e.message}", hint=e.hint) from e
