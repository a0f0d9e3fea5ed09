"""
Running programs: a training step, or several, on given data, at any level of the IR and after any passes.

    run = run_source(text, inputs={"x": x, "y": y}, steps=10)
    run.losses, run.gradients["fc1.weight"], run.updated["fc1.weight"]

`describe_source` says what arguments a program takes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt
from typing_extensions import Unpack
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npuc.backends.base import DEFAULT, default_hardware, get_backend
from npuc.compiler.analysis.machine.facts import TARGET
from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.core.gc_pause import without_cycle_collection
from npuc.compiler.core.options import MAX_OPS, PRECISIONS, CompileOptions, HardwareLike
from npuc.compiler.core.verify import SourceTexts
from npuc.compiler.driver.passes import available_passes, preset, read_pipeline, run_pipeline, state_of
from npuc.compiler.driver.precision import check_tables, precision_passes
from npuc.compiler.driver.read import read_program
from npuc.compiler.driver.score import stamp_target
from npuc.compiler.interpreter.execute import Run, argument_type, execute, result_type, the_function
from npuc.compiler.interpreter.numbers import element_name
from npuc.dialects.train.signature import ArgumentKind, arguments_of, results_of
from npuc.frontends.mlir import make_context
from npuc.frontends.source import Source, open_source, text_source
from npuc.hardware import load_hardware

LEVELS = ("train", "npu", "tiles")
DTYPES = ("float32", "float64")


class RunOptions(TypedDict, total=False):
    """The keywords of `run_file` and `run_source`; what is left out has its default."""

    inputs: Mapping[str, npt.ArrayLike] | None
    defines: Mapping[str, Any] | None
    precision: str | None
    dtype: str | None
    steps: int
    seed: int
    inference: bool | None
    pipeline: str | None
    level: str | None
    opt_level: int | None
    hardware: HardwareLike | None
    overrides: Mapping[str, object] | None
    load: Sequence[str]
    max_ops: int


def run_source(
    text: str | bytes, format: str = "dsl", filename: str = "<string>", **options: Unpack[RunOptions]
) -> Run:
    """
    Execute the program that a text holds.

    `inputs` gives any argument by name; missing parameters are drawn from `seed`, states are 0, statistics at their
    defaults. `precision` sets the program's float types (as-written, f32, f16, bf16, mixed), by default those of
    `hardware` if one is named. `dtype="float64"` computes every float in float64. `pipeline` names the passes to run
    first, `level` (`train`, `npu`, `tiles`) how far to lower, `opt_level` whose passes do it, with the schedules for
    `hardware` and `overrides` of its keys; of these what is computed depends on `array.accumulator_bits` (32 without),
    and not with `dtype="float64"`. By default the training step runs as it is derived. Raises `UsageError` for an
    unknown name, a wrong shape or a missing input.
    """
    return run_program(text_source(text, format, filename), options)


def run_file(path: str | os.PathLike[str], **options: Unpack[RunOptions]) -> Run:
    """Execute the program in a file (`.dsl`, `.mlir`, `samples:NAME`); everything else as `run_source`."""
    return run_program(open_source(path), options)


def run_program(source: Source, options: RunOptions) -> Run:
    """Execute a program; `run_file` and `run_source` are the public functions around it."""
    dtype, steps = options.get("dtype"), options.get("steps", 1)
    if dtype is not None and dtype not in DTYPES:
        raise UsageError(f"unknown dtype '{dtype}'", hint=did_you_mean(str(dtype), DTYPES))
    if steps < 1:
        raise UsageError(f"steps is {steps}, expected at least 1")
    if options.get("seed", 0) < 0:
        raise UsageError(f"seed is {options.get('seed')}, expected at least 0")
    inputs = {name: np.asarray(value) for name, value in (options.get("inputs") or {}).items()}
    with without_cycle_collection():
        module = lowered_program(source, options)
        if options.get("inference"):
            for name in inputs.keys() - _names(module):
                if name in _names(lowered_program(source, {**options, "inference": False, "pipeline": None})):
                    del inputs[name]
    try:
        return execute(module, inputs, steps=steps, seed=options.get("seed", 0), double=dtype == "float64")
    except MemoryError as e:
        raise UsageError(f"out of memory: {e}", hint="make the network or its data smaller") from e


def _names(module: ModuleOp) -> set[str]:
    """The names of the arguments of a module's training function."""
    return {argument.name for argument in arguments_of(the_function(module))}


def lowered_program(source: Source, options: RunOptions) -> ModuleOp:
    """The program after the passes that `pipeline`, `level` and `opt_level` ask for."""
    level, pipeline = options.get("level"), options.get("pipeline")
    if level is not None and level not in LEVELS:
        raise UsageError(f"unknown level '{level}'", hint=did_you_mean(level, LEVELS))
    lowest = "train" if options.get("opt_level") is None else "npu"
    sources = SourceTexts({source.filename: source.text})
    module = read_program(source, compile_options(options), sources)
    available = available_passes(options.get("load", ()))
    stamp_default_target(module, options.get("hardware"), options.get("overrides"), options.get("precision"))
    asked = [] if pipeline is None else read_pipeline(pipeline, available)
    asked = [*types_of_run(source, module, asked, options), *asked]
    if asked:
        run_pipeline(module, asked, make_context(), sources)
    if pipeline is None or level is not None:
        rest = passes_to(module, level or lowest, options)
        run_pipeline(module, read_pipeline(",".join(rest), available), make_context(), sources)
    return module


def types_of_run(
    source: Source, module: ModuleOp, passes: Sequence[ModulePass], options: RunOptions
) -> list[ModulePass]:
    """The pass that gives a program that is run its float types: those asked for, else those of a named machine."""
    asked, hardware = options.get("precision"), options.get("hardware")
    if asked is not None and asked not in PRECISIONS:
        raise UsageError(f"unknown precision '{asked}'", hint=did_you_mean(asked, PRECISIONS))
    overrides = options.get("overrides")
    named = None if hardware is None and not overrides else load_hardware(hardware or {}, overrides, asked)
    found = asked if named is None else named.get("precision", str)
    check_tables(source, found)
    return precision_passes(module, passes, found, options, [])


def stamp_default_target(
    module: ModuleOp,
    hardware: HardwareLike | None = None,
    overrides: Mapping[str, object] | None = None,
    precision: str | None = None,
) -> None:
    """
    Write a machine into a module, for passes that schedule and for the accumulators of a run.

    Without one that of the default backend, if the module names none. One that lacks facts for schedules is left out;
    raises `UsageError` if it says what its accumulators are.
    """
    if TARGET in module.attributes and hardware is None and not overrides:
        return
    model = get_backend(DEFAULT)
    machine = load_hardware(default_hardware(model) if hardware is None else hardware, overrides, precision)
    with nullcontext() if machine.written("array.accumulator_bits") else suppress(UsageError):
        stamp_target(module, machine, model.name)


def compile_options(options: RunOptions) -> CompileOptions:
    """What reading a program needs of the options of a run."""
    return {
        "defines": options.get("defines"),
        "inference": options.get("inference"),
        "max_ops": options.get("max_ops", MAX_OPS),
    }


def passes_to(module: ModuleOp, level: str, options: RunOptions) -> list[str]:
    """The passes that a program still needs to be at a level: those of `opt_level`."""
    state = state_of(module)
    training = not options.get("inference") and state.has_loss
    above = "train" if level == "train" else "npu"
    names = preset(state, above, training=training, opt_level=options.get("opt_level"))
    return names + ["lower-tiles"] * (level == "tiles")


def describe_source(
    text: str | bytes, format: str = "dsl", filename: str = "<string>", **options: Unpack[RunOptions]
) -> Description:
    """
    The arguments and outputs of the program that a text holds.

    `inputs`, `labels`, `params`, `states`, `stats` and `outputs`, each {name: {"shape": [...], "dtype": "f32"}}.
    """
    return describe_program(text_source(text, format, filename), options)


def describe_file(path: str | os.PathLike[str], **options: Unpack[RunOptions]) -> Description:
    """The arguments and outputs of the program in a file; everything else as `describe_source`."""
    return describe_program(open_source(path), options)


Description = dict[str, dict[str, dict[str, Any]]]

_GROUPS = {ArgumentKind.PARAM: "params", ArgumentKind.STATE: "states", ArgumentKind.STAT: "stats"}


def describe_program(source: Source, options: RunOptions) -> Description:
    """The arguments and outputs of a program after the passes that the options ask for."""
    func = the_function(lowered_program(source, options))
    found: Description = {name: {} for name in ("inputs", "labels", "params", "states", "stats", "outputs")}
    for argument in arguments_of(func):
        group = _GROUPS.get(argument.kind, "labels" if argument.labels else "inputs")
        type = argument_type(func, argument)
        found[group][argument.name] = {"shape": list(type.get_shape()), "dtype": element_name(type.element_type)}
    for result in results_of(func):
        if result.output is not None:
            type = result_type(func, result)
            found["outputs"][result.output] = {
                "shape": list(type.get_shape()),
                "dtype": element_name(type.element_type),
            }
    return found
