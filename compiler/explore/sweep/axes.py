"""
The axes of a sweep: keys with their values, checked before the first point.

A key is an option (`OPTIONS`), a hardware key as `--set` takes it, or a parameter of the network as `-D` takes it; a
name that is several of these is the first.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Literal

from npuc.backends.registry import get_backend
from npuc.compiler.analysis.mapping.named.templates import template_named
from npuc.compiler.core.arguments import plain
from npuc.compiler.core.errors import UsageError, did_you_mean, nearest
from npuc.compiler.core.kinds import Rows, Text, WrongValue
from npuc.compiler.core.numbers import BLANKS
from npuc.compiler.core.options import LEVELS, OBJECTIVES, PRECISIONS, CompileKeywords, check_tolerance
from npuc.compiler.driver.mapping_file import is_mapping_file
from npuc.compiler.driver.options import PLAN_OPTIONS, needs_devices
from npuc.compiler.explore.sweep.devices import FLAGS, check_shared, devices_of
from npuc.compiler.explore.sweep.values import MOST_POINTS, read_values, too_many
from npuc.frontends.source import Source
from npuc.hardware import load_hardware, parse_setting
from npuc.hardware.schema import KEYS, key_named

if TYPE_CHECKING:
    from npuc.frontends.base import Parameters

Vary = Mapping[str, str | Iterable[object]]
"""The values of each key: a text as on the command line (`1024:8192:1024`), or the values themselves."""
Place = Literal["option", "hardware", "define"]

OPTIONS = {
    "backend": "backend",
    "hw": "hardware",
    "hardware": "hardware",
    "O": "opt_level",
    "opt_level": "opt_level",
    "objective": "objective",
    "tolerance": "tolerance",
    "mapping": "mapping",
    "precision": "precision",
    "recompute": "recompute",
    **{name: name for name in FLAGS},
}
"""The options that may be varied: their names, each with its keyword."""
WORDS = ("backend", "hardware", "precision", "objective", "recompute", "parallel", "convention", "plan_objective")
"""Those whose values are words."""


@dataclass(frozen=True)
class Axis:
    """
    One varied key and its values, in order.

    `key` is its name as it was given, `target` the keyword, dotted key or parameter that it means.
    """

    key: str
    place: Place
    target: str
    values: tuple[Any, ...]

    @property
    def of_machine(self) -> bool:
        """Whether only the machine changes along it."""
        return self.place == "hardware" or self.target == "hardware"

    @property
    def is_numeric(self) -> bool:
        """Whether all values are numbers."""
        return all(isinstance(v, int | float) and not isinstance(v, bool) for v in self.values)


@dataclass(frozen=True)
class Grid:
    """
    The points of a sweep: the cross product of its axes, of which the last varies fastest.

    `devices` share the step at every point, unless that is varied.
    """

    axes: tuple[Axis, ...]
    devices: int = 1

    @property
    def count(self) -> int:
        """How many points there are."""
        return prod(len(axis.values) for axis in self.axes)

    @property
    def is_shared(self) -> bool:
        """Whether points have several devices."""
        return self.devices > 1 or any(axis.target == "devices" for axis in self.axes)

    def devices_of(self, index: int) -> int:
        """The number of devices that share the step at a point."""
        key = next((axis.key for axis in self.axes if axis.target == "devices"), None)
        return self.devices if key is None else self.values(index)[key]

    @property
    def run(self) -> int:
        """The length of runs of consecutive points that differ in the machine alone."""
        length = 1
        for axis in reversed(self.axes):
            if not axis.of_machine:
                break
            length *= len(axis.values)
        return length

    def values(self, index: int) -> dict[str, Any]:
        """The values of a point by key."""
        chosen: dict[str, Any] = {}
        for axis in reversed(self.axes):
            index, place = divmod(index, len(axis.values))
            chosen[axis.key] = axis.values[place]
        return {axis.key: chosen[axis.key] for axis in self.axes}


def read_vary(items: Sequence[str]) -> dict[str, str]:
    """`KEY=VALUES` items as a dictionary. Raises `UsageError` for another form and for a key given twice."""
    result: dict[str, str] = {}
    for item in items:
        key, equals, text = (part.strip(BLANKS) for part in item.partition("="))
        if not equals or not key or not text:
            raise UsageError(
                f"--vary {item}: expected KEY=A,B,C or KEY=LO:HI:STEP", hint="for example --vary array.rows=32,64,128"
            )
        if key in result:
            raise UsageError(f"--vary {key}: the key is varied twice", hint=f"--vary {key}={result[key]},{text}")
        result[key] = text
    return result


def make_grid(source: Source, vary: Vary, options: CompileKeywords, backends: Sequence[str]) -> Grid:
    """
    The points that `vary` means for a source, given the other options.

    Raises `UsageError` for an unknown key (with the nearest known), a key that is set besides, values that the key
    does not take, and too many points; `SourceError` for a network that does not parse.
    """
    if not vary:
        raise UsageError("there is nothing to vary", hint="for example --vary memory.spm_kib=1024:8192:1024")
    parameters = read_parameters(source)
    names = parameters.names if parameters is not None else ()
    axes: list[Axis] = []
    for key, given in vary.items():
        place, target = _meaning(key, names, source)
        same = next((axis for axis in axes if axis.target == target and axis.place == place), None)
        if same is not None:
            raise UsageError(f"--vary {key}: the key is varied twice, also as {same.key}")
        axes.append(Axis(key, place, target, _values(key, place, target, given)))
    if (count := prod(len(axis.values) for axis in axes)) > MOST_POINTS:
        raise too_many(count)
    for axis in axes:
        _check_unset(axis, options, backends)
    _check_options(axes, options)
    if parameters is not None:
        _check_defines(axes, options, parameters)
    return Grid(tuple(axes), devices_of(options))


def read_parameters(source: Source) -> Parameters | None:
    """The parameters of a network; None for a source that has none. Raises `SourceError`s."""
    return source.frontend.parameters(source)


def _meaning(key: str, names: Sequence[str], source: Source) -> tuple[Place, str]:
    if key in OPTIONS:
        return "option", OPTIONS[key]
    known = key_named(key)
    if known is not None:
        if isinstance(known.kind, Rows):
            raise UsageError(f"--vary {key}: a list of tables cannot be varied", hint="--vary hw=A.toml,B.toml")
        return "hardware", key
    if key in names:
        return "define", key
    close = nearest(key, [*OPTIONS, *KEYS, *names]) or next((k for k in KEYS if k.endswith(f".{key}")), None)
    own = f"parameters of the network ({', '.join(names)})" if names else "parameters of a network (.dsl)"
    known = f"known: hardware keys as --set takes them, {own}, {', '.join(OPTIONS)}"
    what = "hardware key" if "." in key else "key"
    if "." not in key and not source.frontend.parametric and close is None:
        known = f"a .{source.format} source has no parameters; {known}"
    raise UsageError(f"--vary {key}: unknown {what} '{key}'", hint=f"did you mean '{close}'?" if close else known)


def _values(key: str, place: Place, target: str, given: str | Iterable[object]) -> tuple[Any, ...]:
    """The values of a key, each of the kind that it takes."""
    if isinstance(given, str):
        kind = KEYS[target].kind if place == "hardware" else None
        words = isinstance(kind, Text) or target in WORDS
        values = [_literal(key, place, value) for value in read_values(key, given, words=words)]
    else:
        values = [plain(value) for value in given]
    if not values:
        raise UsageError(f"--vary {key}: there are no values")
    for value in values:
        _check_value(key, place, target, value)
    return tuple(values)


def _literal(key: str, place: Place, value: float | str) -> object:
    """A value of the command line: of a hardware key as `--set` reads it, else as `-D` does."""
    if not isinstance(value, str) or OPTIONS.get(key) == "recompute":  # of which none is a word
        return value
    if place == "hardware":
        return parse_setting(f"{key}={value}")[1]
    from npuc.frontends.dsl.defines import literal

    return literal(value)


def _is_option_value(value: object) -> bool:
    """Whether a value is of a type that some option takes."""
    return isinstance(value, str | int | float | os.PathLike | Mapping | None)


def _check_value(key: str, place: Place, target: str, value: object) -> None:
    """Raise `UsageError` for a value that a hardware key or an option does not take."""
    if place == "hardware":
        try:
            KEYS[target].kind.read(value)
        except WrongValue as e:
            raise UsageError(f"--vary {key}: {e}", hint=f"{key} is: {KEYS[target].meaning}") from None
    elif place == "option" and not _is_option_value(value):
        raise UsageError(f"--vary {key}: found a value of type {type(value).__name__}, expected a word or a number")
    elif target == "opt_level" and (isinstance(value, bool) or not isinstance(value, int) or value not in LEVELS):
        raise UsageError(f"--vary {key}: unknown optimisation level {value}", hint="known: 0, 1, 2, 3")
    elif target == "precision" and value not in PRECISIONS:
        raise UsageError(f"--vary {key}: unknown precision '{value}'", hint=did_you_mean(str(value), PRECISIONS))
    elif target == "objective" and value not in OBJECTIVES:
        raise UsageError(f"--vary {key}: unknown objective '{value}'", hint=did_you_mean(str(value), OBJECTIVES))
    elif target == "tolerance":
        try:
            check_tolerance(value)
        except ValueError as e:
            raise UsageError(f"--vary {key}: {e}") from None
    elif target == "backend":
        get_backend(str(value))
    elif target == "mapping" and not is_mapping_file(str(value)):
        template_named(str(value))
    elif target in ("recompute", *FLAGS):
        try:
            check_shared(target, value)
        except UsageError as e:
            raise UsageError(f"--vary {key}: {e.message}", hint=e.hint) from None
    elif target == "hardware" and not isinstance(value, str | os.PathLike):
        raise UsageError(f"--vary {key}: found {value}, expected the name of a preset or a file")


def _check_unset(axis: Axis, options: CompileKeywords, backends: Sequence[str]) -> None:
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
            flags = {"hardware": "--hw", "opt_level": "-O"}
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


def _check_options(axes: Sequence[Axis], options: CompileKeywords) -> None:
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


def _check_defines(axes: Sequence[Axis], options: CompileKeywords, parameters: Parameters) -> None:
    """Raise `UsageError` for values that a parameter of the network does not take."""
    varied = [axis for axis in axes if axis.place == "define"]
    first = {**(options.get("defines") or {}), **{axis.target: axis.values[0] for axis in varied}}
    for axis in varied:
        for value in axis.values:
            try:
                parameters.check({**first, axis.target: value})
            except UsageError as e:
                raise UsageError(f"--vary {axis.key}: {e.message}", hint=e.hint) from e
