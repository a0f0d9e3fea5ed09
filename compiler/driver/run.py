"""
Running programs: a training step, or several, or any function, on given data, at any level of the IR and after any
passes.

    run = run_source(text, inputs={"x": x, "y": y}, steps=10)
    run.losses, run.gradients["fc1.weight"], run.updated["fc1.weight"]

`describe_source` says what arguments a program takes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import Unpack
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.gc_pause import without_cycle_collection
from npuc.compiler.core.options import Say
from npuc.compiler.core.stages import remark
from npuc.compiler.driver.read import texts_of
from npuc.compiler.driver.running.data import Batch, Data, inputs_of, made_data
from npuc.compiler.driver.running.dataset import Dataset, dataset
from npuc.compiler.driver.running.held_out import held_out_accuracy
from npuc.compiler.driver.running.lower import lowered_source
from npuc.compiler.driver.running.options import RunKeywords, RunOptions, check_goals_used, is_lowered, run_options
from npuc.compiler.driver.watch.watcher import Watcher
from npuc.compiler.interpreter.execute import Run, argument_type, execute, result_type, the_function
from npuc.compiler.interpreter.noted import Density
from npuc.compiler.interpreter.numbers import element_name
from npuc.dialects.provenance import layer_of, role_of
from npuc.dialects.train.signature import ArgumentKind, arguments_of, results_of
from npuc.frontends.layout import ArgumentLayout
from npuc.frontends.source import Source, SourceLike, open_source, text_source


def run_source(
    text: str | bytes, format: str = "dsl", filename: str = "<string>", **keywords: Unpack[RunKeywords]
) -> Run:
    """
    Execute the program that a text holds.

    `inputs` gives any argument by name; missing parameters are drawn from `seed`, states are 0, statistics at their
    defaults. Where no input and no label is given, `seed` makes one batch for all `steps` that the network can learn;
    `dataset="digits"` trains on the digits of scikit-learn. `precision` sets the program's float types (as-written,
    f32, f16, bf16, mixed), by default those of `hardware` if one is named. `dtype="float64"` computes every float in
    float64. `pipeline` names the passes to run first, `level` (`train`, `npu`, `tiles`) how far to lower, `opt_level`
    whose passes do it, `before` and `after` what runs there besides (`schedule=own-pass`), with the schedules for
    `hardware` and `overrides` of its keys, up to `tolerance` from the best; of these keys what is computed depends on
    `array.accumulator_bits` (32 without), and not with `dtype="float64"`. By default the training step runs as it is
    derived; with `devices` above 1 those of the plan run in lockstep. Of a function in IR that is no training step the
    arguments are `arg0`, `arg1`, … and the outputs `result0`, …, unless `npuc.name` names them. Raises `UsageError` for
    an unknown name, a wrong shape, or an input that is missing beside others.
    """
    return run_program(text_source(text, format, filename), keywords)


def run_file(path: SourceLike, **keywords: Unpack[RunKeywords]) -> Run:
    """Execute the program in a file (`.dsl`, `.mlir`, `samples:NAME`); everything else as `run_source`."""
    return run_program(open_source(path), keywords)


def run_program(
    source: Source, keywords: RunKeywords, say: Say | None = None, *, watchers: tuple[Watcher, ...] = ()
) -> Run:
    """
    Execute a program; `run_file` and `run_source` are the public functions around it.

    `say` gets the lines that are for people and no result, `watchers` look at the program around each pass.
    """
    options = run_options(keywords)
    check_goals_used(options, scheduled=is_lowered(options) and options.level != "train")
    inputs = dict(options.inputs)
    data: list[Data] = []

    def choose(program: ModuleOp) -> None:
        """The data set that is asked for, or data that are made where there are inputs and none of them is given."""
        names = {one.name for one in inputs_of(program)}
        if options.dataset is not None:
            for name in names & inputs.keys():
                raise UsageError(f"--dataset {options.dataset} has data for input '{name}', which is given, too")
            data.append(dataset(options.dataset, program, options.seed))
        elif names and names.isdisjoint(inputs):
            data.append(made_data(program, options.seed))

    with without_cycle_collection():
        values: dict[str, Callable[[], npt.NDArray[Any]]] = {}
        unneeded: set[str] = set()
        layouts: dict[str, ArgumentLayout] = {}
        module = lowered_source(source, options, values, unneeded, layouts, read=choose, say=say, watchers=watchers)
        inputs = {name: value for name, value in inputs.items() if name not in unneeded}
        if options.inference:
            for name in inputs.keys() - _names(module):
                if name in _names(lowered_source(source, _whole_step(options))):
                    del inputs[name]
    names = _names(module)
    inputs = {name: layouts[name].stored(name, np.asarray(x)) if name in layouts else x for name, x in inputs.items()}
    inputs |= {name: values[name]() for name in names & values.keys() - inputs.keys()}

    def feed(step: int) -> Batch:
        return {name: value for one in data for name, value in one.batch(step).items() if name in names}

    double = options.dtype == "float64"
    try:
        with texts_of(source).quoted():
            run = execute(module, inputs, steps=options.steps, seed=options.seed, double=double, feed=feed)
            _tell_wrong_densities(run)
            for one in data:
                run.data = one.said
                if isinstance(one, Dataset):
                    run.held_out = held_out_accuracy(source, options, run, one)
        for found in (run.params, run.gradients, run.updated):
            found.update({name: layouts[name].given(value) for name, value in found.items() if name in layouts})
        return run
    except MemoryError as e:
        raise UsageError(f"out of memory: {e}", hint="make the network or its data smaller") from e


def _tell_wrong_densities(run: Run) -> None:
    """Say where more was there, in the step that had most, than the density of a sparse operand states."""
    worst: dict[Operation, Density] = {}
    for step in run.densities:
        for op, one in step.items():
            if one.is_above and (op not in worst or one.kept > worst[op].kept):
                worst[op] = one
    if worst:
        op, one = next(iter(worst.items()))
        more = f", and of {len(worst) - 1:,} more" if len(worst) > 1 else ""
        remark(
            f"the density of an operand of '{layer_of(op)}' ({role_of(op).value}) is {one.kept / one.size:.3g} where "
            f"{one.stated / one.size:.3g} is stated{more}: its costs are too low"
        )


def _whole_step(options: RunOptions) -> RunOptions:
    """The options of the whole training step, whose passes nobody watches."""
    options = replace(options, inference=False, pipeline=None)
    return replace(options, print_after=None, print_changed=None, time_passes=False)


def _names(module: ModuleOp) -> set[str]:
    """The names of the arguments of a module's function."""
    return {argument.name for argument in arguments_of(the_function(module))}


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
    layouts: dict[str, ArgumentLayout] = {}
    func = the_function(lowered_source(source, run_options(keywords), layouts=layouts))
    found: Description = {name: {} for name in ("inputs", "labels", "params", "states", "stats", "outputs")}
    for argument in arguments_of(func):
        group = _GROUPS.get(argument.kind, "labels" if argument.labels else "inputs")
        type, layout = argument_type(func, argument), layouts.get(argument.name)
        shape = list(type.get_shape() if layout is None else layout.shape)
        found[group][argument.name] = {"shape": shape, "dtype": element_name(type.element_type)}
    for result in results_of(func):
        if result.output is not None:
            type = result_type(func, result)
            found["outputs"][result.output] = {
                "shape": list(type.get_shape()),
                "dtype": element_name(type.element_type),
            }
    return found
