"""
The axes of a sweep: keys with their values, checked before the first point.

A key is an option (`OPTIONS`), a hardware key as `--set` takes it, or a parameter of the network as `-D` takes it; a
name that is several of these is the first.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from npuc.backends.registry import get_backend
from npuc.compiler.analysis.mapping.named.templates import template_named
from npuc.compiler.core.arguments import plain
from npuc.compiler.core.errors import UsageError, did_you_mean, nearest
from npuc.compiler.core.kinds import Rows, Text, WrongValue
from npuc.compiler.core.numbers import BLANKS
from npuc.compiler.core.options import LEVELS, OBJECTIVES, PRECISIONS, CompileKeywords, check_tolerance
from npuc.compiler.driver.mapping_file import is_mapping_file
from npuc.compiler.explore.sweep.checks import check_defines, check_shared_options, check_unset
from npuc.compiler.explore.sweep.devices import FLAGS, check_shared, devices_of
from npuc.compiler.explore.sweep.grid import Axis, Grid, Place
from npuc.compiler.explore.sweep.pipelines import check_pipelines, read_pipelines
from npuc.compiler.explore.sweep.values import MOST_POINTS, read_values, too_many
from npuc.frontends.source import Source
from npuc.hardware import parse_setting
from npuc.hardware.schema import KEYS, key_named

if TYPE_CHECKING:
    from npuc.frontends.base import Parameters

Vary = Mapping[str, str | Iterable[object]]
"""The values of each key: a text as on the command line (`1024:8192:1024`), or the values themselves."""

OPTIONS = {
    "backend": "backend",
    "hw": "hardware",
    "hardware": "hardware",
    "O": "opt_level",
    "opt_level": "opt_level",
    "pipeline": "pipeline",
    "objective": "objective",
    "tolerance": "tolerance",
    "mapping": "mapping",
    "precision": "precision",
    "recompute": "recompute",
    "quantize": "quantize",
    "density": "density",
    "fuse_layers": "fuse_layers",
    **{name: name for name in FLAGS},
}
"""The options that may be varied: their names, each with its keyword."""
WORDS = (
    "backend",
    "hardware",
    "precision",
    "objective",
    "recompute",
    "quantize",
    "density",
    "fuse_layers",
    "parallel",
    "convention",
    "plan_objective",
    "collectives",
)
"""Those whose values are words."""


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
            between = "; " if key == "pipeline" else ","
            hint = f"--vary {key}={result[key]}{between}{text}"
            raise UsageError(f"--vary {key}: the key is varied twice", hint=f'"{hint}"' if ";" in hint else hint)
        result[key] = text
    return result


def make_grid(
    source: Source, vary: Vary, options: CompileKeywords, backends: Sequence[str], most: int = MOST_POINTS
) -> Grid:
    """
    The points that `vary` means for a source, given the other options; `most` is how many there may be.

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
        axes.append(_axis(key, place, target, given))
    if (count := prod(len(axis.values) for axis in axes)) > most:
        raise too_many(count, most)
    for axis in axes:
        check_unset(axis, axes, options, backends)
        if axis.pipelines:
            check_pipelines(axis.key, axis.pipelines, options_at_first(options, vary))
    check_shared_options(axes, options)
    if parameters is not None:
        check_defines(axes, options, parameters)
    return Grid(tuple(axes), devices_of(options), may_assume(source, options))


def read_parameters(source: Source) -> Parameters | None:
    """The parameters of a network; None for a source that has none. Raises `SourceError`s."""
    return source.frontend.parameters(source)


def may_assume(source: Source, options: CompileKeywords) -> bool:
    """Whether the program may have operators whose cost alone is known: asked for, or written in its text."""
    return bool(options.get("opaque")) or (not source.frontend.binary and "opaque" in source.text)


def _meaning(key: str, names: Sequence[str], source: Source) -> tuple[Place, str]:
    if key in OPTIONS:
        return "option", OPTIONS[key]
    known = key_named(key)
    if known is not None:
        if isinstance(known.kind, Rows) and not known.kind.files:
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


def options_at_first(options: CompileKeywords, vary: Vary) -> CompileKeywords:
    """The options that all points have, of two devices where their number is varied."""
    return {**options, "devices": 2} if "devices" in vary and options.get("mesh") is None else options


def _axis(key: str, place: Place, target: str, given: str | Iterable[object]) -> Axis:
    """A varied key with its values."""
    if target != "pipeline":
        return Axis(key, place, target, _values(key, place, target, given))
    found = read_pipelines(key, given)
    return Axis(key, place, target, tuple(one.name for one in found), found)


def _values(key: str, place: Place, target: str, given: str | Iterable[object]) -> tuple[Any, ...]:
    """The values of a key, each of the kind that it takes."""
    if isinstance(given, str):
        kind = KEYS[target].kind if place == "hardware" else None
        words = isinstance(kind, Text | Rows) or target in WORDS
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
    if not isinstance(value, str) or OPTIONS.get(key) in (
        "recompute",
        "quantize",
        "density",
        "fuse_layers",
    ):  # of which none is a word
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
        if isinstance(KEYS[target].kind, Rows) and not isinstance(value, str):
            raise UsageError(f"--vary {key}: a list of tables cannot be varied", hint=f"--vary {key}=A.yml,B.yml")
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
    elif target in ("recompute", "quantize", "density", "fuse_layers", *FLAGS):
        try:
            check_shared(target, value)
        except UsageError as e:
            raise UsageError(f"--vary {key}: {e.message}", hint=e.hint) from None
    elif target == "hardware" and not isinstance(value, str | os.PathLike):
        raise UsageError(f"--vary {key}: found {value}, expected the name of a preset or a file")
