"""
Running programs: a training step, or several, or any function, on given data, at any level of the IR and after any
passes.

    run = run_source(text, inputs={"x": x, "y": y}, steps=10)
    run.losses, run.gradients["fc1.weight"], run.updated["fc1.weight"]

`describe_source` says what arguments a program takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt
from typing_extensions import Unpack
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npuc.backends.base import DEFAULT
from npuc.backends.registry import get_backend
from npuc.compiler.analysis.machine.facts import TARGET
from npuc.compiler.core.arguments import keywords_of
from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.core.foreign import Foreign, summary
from npuc.compiler.core.gc_pause import without_cycle_collection
from npuc.compiler.core.options import DEFAULT_TOLERANCE, PRECISIONS, HardwareLike, Options
from npuc.compiler.driver.levels.canonical import canonical_passes
from npuc.compiler.driver.levels.placement import placed
from npuc.compiler.driver.levels.preset import preset, state_of
from npuc.compiler.driver.machine import stamp_target
from npuc.compiler.driver.options import check_passes, check_tolerance_given, fields_of
from npuc.compiler.driver.passes import available_passes, passes_by_hand, read_pipeline, run_pipeline
from npuc.compiler.driver.precision import check_tables, precision_passes
from npuc.compiler.driver.read import read_program, texts_of
from npuc.compiler.interpreter.execute import Run, argument_type, execute, result_type, the_function
from npuc.compiler.interpreter.numbers import element_name
from npuc.dialects.train.signature import ArgumentKind, arguments_of, results_of
from npuc.frontends.mlir import make_context
from npuc.frontends.source import Source, SourceLike, open_source, text_source
from npuc.hardware import load_hardware

LEVELS = ("train", "npu", "tiles")
DTYPES = ("float32", "float64")
NOTHING_ASKED = Options()


class RunKeywords(TypedDict, total=False):
    """The keywords of `run_file` and `run_source`; what is left out has the default of `RunOptions`."""

    inputs: Mapping[str, npt.ArrayLike] | None
    defines: Mapping[str, Any] | None
    precision: str | None
    dtype: str | None
    steps: int
    seed: int
    inference: bool | None
    loss: str | Sequence[str] | None
    optimizer: str | None
    freeze: str | Sequence[str] | None
    result: str | Sequence[str] | None
    pipeline: str | None
    level: str | None
    opt_level: int | None
    tolerance: float
    hardware: HardwareLike | None
    overrides: Mapping[str, object] | None
    load: Sequence[str]
    before: Sequence[str]
    after: Sequence[str]
    max_ops: int


@dataclass(frozen=True, kw_only=True)
class RunOptions(Options):
    """What was asked of a run: the options of a compilation that a run has, and its own."""

    inputs: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict[str, npt.NDArray[Any]])
    dtype: str | None = None
    steps: int = 1
    seed: int = 0
    level: str | None = None


def run_options(keywords: RunKeywords) -> RunOptions:
    """The options that the keywords of a run mean. Raises `TypeError`, and `UsageError` for a choice that is none."""
    keywords = keywords_of(keywords, RunKeywords)
    fields = fields_of(keywords)
    inputs = keywords.get("inputs") or {}
    fields["inputs"] = {name: _array(name, value) for name, value in inputs.items()}
    options = RunOptions(**fields)
    check_tolerance_given(options.tolerance)
    check_passes(options, leveled=options.level is not None)
    for name, value, known in (
        ("dtype", options.dtype, DTYPES),
        ("level", options.level, LEVELS),
        ("precision", options.precision, PRECISIONS),
    ):
        if value is not None and value not in known:
            raise UsageError(f"unknown {name} '{value}'", hint=did_you_mean(str(value), known))
    if options.steps < 1:
        raise UsageError(f"steps is {options.steps}, expected at least 1")
    if options.seed < 0:
        raise UsageError(f"seed is {options.seed}, expected at least 0")
    return options


def is_lowered(options: RunOptions) -> bool:
    """Whether more passes run than those that derive the step and set its types."""
    return options.names_passes or options.opt_level is not None or options.level in ("npu", "tiles")


def check_tolerance_used(options: RunOptions, *, scheduled: bool) -> None:
    """Raise `UsageError` for a tolerance where no pass but those of -p chooses schedules."""
    only_asked = options.pipeline is not None and options.level is None
    if options.tolerance != DEFAULT_TOLERANCE and (only_asked or not scheduled):
        why = "the passes of -p have their own" if only_asked else "nothing is scheduled"
        raise UsageError(f"--tolerance {options.tolerance} does not apply: {why}", hint="leave out --tolerance")


def _array(name: str, value: npt.ArrayLike) -> npt.NDArray[Any]:
    """A value of `inputs` as an array. Raises `UsageError` for what is none, such as rows of unequal lengths."""
    with Foreign(lambda e: UsageError(f"input '{name}' is no array of numbers: {summary(e)}")):
        return np.asarray(value)


def run_source(
    text: str | bytes, format: str = "dsl", filename: str = "<string>", **keywords: Unpack[RunKeywords]
) -> Run:
    """
    Execute the program that a text holds.

    `inputs` gives any argument by name; missing parameters are drawn from `seed`, states are 0, statistics at their
    defaults. `precision` sets the program's float types (as-written, f32, f16, bf16, mixed), by default those of
    `hardware` if one is named. `dtype="float64"` computes every float in float64. `pipeline` names the passes to run
    first, `level` (`train`, `npu`, `tiles`) how far to lower, `opt_level` whose passes do it, `before` and `after` what
    runs there besides (`schedule=own-pass`), with the schedules for
    `hardware` and `overrides` of its keys, up to `tolerance` from the best; of these keys what is computed depends on
    `array.accumulator_bits` (32 without), and not with `dtype="float64"`. By default the training step runs as it is
    derived. Of a function in IR that is no training step the arguments are `arg0`, `arg1`, … and the outputs `result0`,
    …, unless `npuc.name` names them. Raises `UsageError` for an unknown name, a wrong shape or a missing input.
    """
    return run_program(text_source(text, format, filename), keywords)


def run_file(path: SourceLike, **keywords: Unpack[RunKeywords]) -> Run:
    """Execute the program in a file (`.dsl`, `.mlir`, `samples:NAME`); everything else as `run_source`."""
    return run_program(open_source(path), keywords)


def run_program(source: Source, keywords: RunKeywords) -> Run:
    """Execute a program; `run_file` and `run_source` are the public functions around it."""
    options = run_options(keywords)
    check_tolerance_used(options, scheduled=is_lowered(options) and options.level != "train")
    inputs = dict(options.inputs)
    with without_cycle_collection():
        values: dict[str, Callable[[], npt.NDArray[Any]]] = {}
        unneeded: set[str] = set()
        module = lowered_source(source, options, values, unneeded)
        inputs = {name: value for name, value in inputs.items() if name not in unneeded}
        if options.inference:
            for name in inputs.keys() - _names(module):
                if name in _names(lowered_source(source, replace(options, inference=False, pipeline=None))):
                    del inputs[name]
    inputs |= {name: values[name]() for name in _names(module) & values.keys() - inputs.keys()}
    try:
        with texts_of(source).quoted():
            return execute(module, inputs, steps=options.steps, seed=options.seed, double=options.dtype == "float64")
    except MemoryError as e:
        raise UsageError(f"out of memory: {e}", hint="make the network or its data smaller") from e


def _names(module: ModuleOp) -> set[str]:
    """The names of the arguments of a module's function."""
    return {argument.name for argument in arguments_of(the_function(module))}


def lowered_source(
    source: Source,
    options: RunOptions,
    values: dict[str, Callable[[], npt.NDArray[Any]]] | None = None,
    unneeded: set[str] | None = None,
) -> ModuleOp:
    """
    The program of a source after the passes that `pipeline`, `level` and `opt_level` ask for.

    It is lowered to be executed, at any level; `lower_program` lowers to what a backend scores. `values` gets the
    values that the source has for arguments, `unneeded` the names of inputs that it does without.
    """
    pipeline, lowest = options.pipeline, "train" if options.opt_level is None else "npu"
    sources = texts_of(source)
    module = read_program(source, options, sources, values=values, unneeded=unneeded)
    available, told_of = available_passes(options.load), passes_by_hand(options)
    stamp_default_target(module, options)
    asked = [] if pipeline is None else read_pipeline(pipeline, available)
    first = canonical_passes(module, options, options.level or lowest)
    asked = [*first, *types_of_run(source, module, asked, options), *asked]
    if asked:
        run_pipeline(module, asked, make_context(), sources, told_of=told_of)
    if pipeline is None or options.level is not None:
        rest = read_pipeline(",".join(passes_to(module, options.level or lowest, options)), available)
        run_pipeline(module, rest, make_context(), sources, told_of=told_of)
    return module


def types_of_run(source: Source, module: ModuleOp, passes: Sequence[ModulePass], options: Options) -> list[ModulePass]:
    """The pass that gives a program that is run its float types: those asked for, else those of a named machine."""
    asked, named = options.precision, None
    if options.hardware is not None or options.overrides:
        named = load_hardware(options.hardware or {}, options.overrides, asked)
    found = asked if named is None else named.get("precision", str)
    check_tables(source, found)
    return precision_passes(module, passes, found, asked, [])


def stamp_default_target(module: ModuleOp, options: Options = NOTHING_ASKED) -> None:
    """
    Write the machine of the options into a module, for passes that schedule and for the accumulators of a run.

    Without one that of the default backend, if the module names none. One that lacks facts for schedules is left out;
    raises `UsageError` if it says what its accumulators are.
    """
    if TARGET in module.attributes and options.hardware is None and not options.overrides:
        return
    model = get_backend(DEFAULT)
    hardware = model.default_hardware if options.hardware is None else options.hardware
    machine = load_hardware(hardware, options.overrides, options.precision)
    with nullcontext() if machine.written("array.accumulator_bits") else suppress(UsageError):
        stamp_target(module, machine, model.name)


def passes_to(module: ModuleOp, level: str, options: Options) -> list[str]:
    """The passes that take a program to a level: those of `opt_level` that it still needs, and those placed there."""
    state = state_of(module)
    training = not options.inference and state.has_loss
    above = "train" if level == "train" else "npu"
    names = preset(state, above, training=training, opt_level=options.opt_level, tolerance=options.tolerance)
    return placed([*names, "lower-tiles"] if level == "tiles" else names, options)


def describe_source(
    text: str | bytes, format: str = "dsl", filename: str = "<string>", **keywords: Unpack[RunKeywords]
) -> Description:
    """
    The arguments and outputs of the program that a text holds.

    `inputs`, `labels`, `params`, `states`, `stats` and `outputs`, each {name: {"shape": [...], "dtype": "f32"}}.
    """
    return describe_program(text_source(text, format, filename), keywords)


def describe_file(path: SourceLike, **keywords: Unpack[RunKeywords]) -> Description:
    """The arguments and outputs of the program in a file; everything else as `describe_source`."""
    return describe_program(open_source(path), keywords)


Description = dict[str, dict[str, dict[str, Any]]]

_GROUPS = {ArgumentKind.PARAM: "params", ArgumentKind.STATE: "states", ArgumentKind.STAT: "stats"}


def describe_program(source: Source, keywords: RunKeywords) -> Description:
    """The arguments and outputs of a program after the passes that the options ask for."""
    func = the_function(lowered_source(source, run_options(keywords)))
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
