"""Branches on constants, and loops whose length is constant, which are unrolled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn

import numpy as np

from npuc.frontends.onnx.calls import OnnxCall
from npuc.frontends.onnx.container.model import OnnxGraph
from npuc.frontends.onnx.running import Runner
from npuc.frontends.onnx.values import Constant, OnnxValue, integers, scalar, truth

Results = Sequence[OnnxValue]


def _if(call: OnnxCall, runner: Runner) -> Results:
    condition = _condition(call, call.input(0), "its condition")
    branch = "then_branch" if condition else "else_branch"
    return runner.body(call, call.graph(branch), (), branch)


def _condition(call: OnnxCall, value: OnnxValue, title: str) -> bool:
    """A condition that is known. Raises `SourceError`."""
    if not isinstance(value, Constant):
        _depends(call, title)
    if value.type.name != "bool" or np.prod(value.shape) != 1:
        raise call.error(f"{title} is {value.type.name}{list(value.shape)}, expected one bool")
    return bool(value.array.reshape(()))


def _depends(call: OnnxCall, title: str) -> NoReturn:
    raise call.error(f"{title} depends on data, expected a constant", hint="export the model for fixed shapes")


def _loop(call: OnnxCall, runner: Runner) -> Results:
    """A loop of a number of trips, or for as long as its body says so, where that is constant."""
    body, trips = call.graph("body"), call.int_at(0)
    going = _condition(call, call.input(1), "its condition") if call.has(1) else True
    carried: tuple[OnnxValue, ...] = call.inputs[2:]
    scanned = _columns(call, body, len(carried) + 2, len(carried) + 1)
    trip = 0
    while going and (trips is None or trip < trips):
        inputs = (scalar(trip), truth(True), *carried)
        condition, *values = runner.body(call, body, inputs, f"iteration {trip} of the body")
        if call.has(1):  # else the body's condition means nothing
            going = _condition(call, condition, "the condition of its body")
        carried = tuple(values[: len(carried)])
        for column, value in zip(scanned, values[len(carried) :], strict=True):
            column.append(value)
        trip += 1
    return (*carried, *_joined(call, runner, body, scanned, [0] * len(scanned), len(carried) + 1))


def _columns(call: OnnxCall, body: OnnxGraph, inputs: int, outputs: int) -> list[list[OnnxValue]]:
    """A list for each result of a body beside the first ones. Raises `SourceError` where it does not fit the call."""
    if len(body.inputs) != inputs or len(body.outputs) < outputs:
        found = f"{len(body.inputs)} inputs and {len(body.outputs)} outputs"
        raise call.error(f"its body has {found}, expected {inputs} and at least {outputs}")
    return [[] for _ in body.outputs[outputs:]]


def _joined(
    call: OnnxCall,
    runner: Runner,
    body: OnnxGraph,
    columns: Sequence[Sequence[OnnxValue]],
    axes: Sequence[int],
    first: int,
) -> Results:
    """The values of each column along a new axis; a column without any is empty."""
    joined: list[OnnxValue] = []
    for column, axis, output in zip(columns, axes, body.outputs[first:], strict=True):
        if column:
            apart = [runner.result(call, "Unsqueeze", (value, integers((axis,))), {}) for value in column]
            joined.append(runner.result(call, "Concat", apart, {"axis": axis}))
            continue
        type = output.type
        if type is None or type.shape is None or type.element is None:
            raise call.error(f"runs no iteration, and the shape of '{output.name}' is not known")
        joined.append(Constant(np.zeros((0, *type.shape), type.element.held), type.element))
    return joined


def _scan(call: OnnxCall, runner: Runner) -> Results:
    """States passed on from step to step, and the parts of inputs along an axis, one in each step."""
    body, scans = call.graph("body"), call.int("num_scan_inputs")
    if not 1 <= scans <= len(call.inputs):
        raise call.error(f"found {scans} inputs to scan, expected 1 to {len(call.inputs)}")
    states: tuple[OnnxValue, ...] = call.inputs[: len(call.inputs) - scans]
    parts = [call.tensor(index) for index in range(len(states), len(call.inputs))]
    columns = _columns(call, body, len(call.inputs), len(states))
    axes = _numbers(call, "scan_input_axes", scans)
    results = _numbers(call, "scan_output_axes", len(columns))
    backwards = [d == 1 for d in _numbers(call, "scan_input_directions", scans)]
    reverse = [d == 1 for d in _numbers(call, "scan_output_directions", len(columns))]
    if any(not -len(part.shape) <= axis < len(part.shape) for part, axis in zip(parts, axes, strict=True)):
        raise call.error("an axis is outside of its input")
    lengths = {part.shape[axis] for part, axis in zip(parts, axes, strict=True)}
    if len(lengths) != 1:
        raise call.error(f"scans axes of sizes {sorted(lengths)}, expected one size")
    (length,) = lengths
    for step in range(length):
        places = [length - 1 - step if back else step for back in backwards]
        taken = [
            runner.result(call, "Gather", (part, scalar(place)), {"axis": axis})
            for part, place, axis in zip(parts, places, axes, strict=True)
        ]
        values = runner.body(call, body, (*states, *taken), f"step {step} of the body")
        states = values[: len(states)]
        for column, value in zip(columns, values[len(states) :], strict=True):
            column.append(value)
    ordered = [column[::-1] if back else column for column, back in zip(columns, reverse, strict=True)]
    return (*states, *_joined(call, runner, body, ordered, results, len(states)))


def _numbers(call: OnnxCall, name: str, count: int) -> tuple[int, ...]:
    """A number for each of some inputs or outputs, by default 0."""
    found = call.ints(name) or (0,) * count
    if len(found) != count:
        raise call.error(f"attribute '{name}' has {len(found)} numbers, expected {count}")
    return found


CONTROL: dict[str, Callable[[OnnxCall, Runner], Results]] = {"If": _if, "Loop": _loop, "Scan": _scan}
"""What runs a body, by operator."""
