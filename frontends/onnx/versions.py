"""
Calls of older operators as calls of the newest ones: opset 7 and later.

What changed between the versions: attributes became inputs (axes, sizes, bounds), defaults changed (softmax), one
operator replaced another (Upsample, Scatter). The rest of the reader knows the newest form only.
Source: the changelog of the operators, https://github.com/onnx/onnx/blob/main/docs/Changelog.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TypeAlias

import numpy as np

from npuc.frontends.onnx.calls import OnnxCall
from npuc.frontends.onnx.container.element_types import FLOAT
from npuc.frontends.onnx.container.model import AttributeValue
from npuc.frontends.onnx.values import Constant, OnnxValue, integers, scalar

Run: TypeAlias = "Callable[[str, Sequence[OnnxValue], Mapping[str, AttributeValue]], OnnxValue]"
"""Evaluates a call of one of ONNX's newest operators and gives its first result."""
Newer: TypeAlias = "OnnxCall | tuple[OnnxValue, ...]"
"""A call in a newer form, or its results."""
_Rule = Callable[[OnnxCall, Run], Newer]

_NEVER = (1 << 31) + 1
"""Beyond every version: the way of an operator that another one has replaced for good."""
_RULES: dict[str, list[tuple[int, _Rule]]] = {}
"""By operator, in the order of versions: the version that changed it, and the way from before to there."""


def newest(call: OnnxCall, run: Run) -> Newer:
    """A call of ONNX's own operators in its newest form. Raises `SourceError` where there is none."""
    current: Newer = call
    for since, rule in _RULES.get(call.op, ()):
        if call.version < since:
            current = rule(current, run)
            if not isinstance(current, OnnxCall):
                return current
            if current.op != call.op:
                return newest(current, run)
    return current


def _until(since: int, *ops: str) -> Callable[[_Rule], _Rule]:
    """Enter the way to the form of a version; of one operator in ascending order."""

    def enter(rule: _Rule) -> _Rule:
        for op in ops:
            _RULES.setdefault(op, []).append((since, rule))
        return rule

    return enter


def _moved(call: OnnxCall, inputs: Mapping[int, OnnxValue], gone: Sequence[str]) -> OnnxCall:
    """A call whose attributes became inputs at some places."""
    found = list(call.inputs)
    for index, value in inputs.items():
        found += [None] * (index + 1 - len(found))
        found[index] = value
    kept = {name: value for name, value in call.attributes.items() if name not in gone}
    return call.changed(inputs=tuple(found), attributes=kept)


def _ints(call: OnnxCall, name: str) -> Constant | None:
    found = call.ints(name)
    return None if found is None else integers(found)


def _number(call: OnnxCall, name: str) -> Constant | None:
    """A real attribute as a scalar of the type of the first input."""
    if name not in call.attributes:
        return None
    type = call.tensor(0).type
    return Constant(np.array(call.float(name), type.held), type)


@_until(13, "ReduceSum", "Squeeze", "Unsqueeze")
@_until(18, "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin")
@_until(18, "ReduceProd", "ReduceSumSquare")
def _axes(call: OnnxCall, _: Run) -> Newer:
    return _moved(call, {1: _ints(call, "axes")}, ["axes"])


@_until(11, "Clip")
def _clip(call: OnnxCall, _: Run) -> Newer:
    return _moved(call, {1: _number(call, "min"), 2: _number(call, "max")}, ["min", "max"])


@_until(12, "Dropout")
def _dropout(call: OnnxCall, _: Run) -> Newer:
    ratio = Constant(np.array(call.float("ratio", 0.5), np.float32), FLOAT)
    return _moved(call, {1: ratio}, ["ratio"])


@_until(11, "Pad")
def _pad(call: OnnxCall, _: Run) -> Newer:
    return _moved(call, {1: _ints(call, "pads"), 2: _number(call, "value")}, ["pads", "value"])


@_until(10, "Slice")
def _slice(call: OnnxCall, _: Run) -> Newer:
    names = ("starts", "ends", "axes")
    return _moved(call, {index: _ints(call, name) for index, name in enumerate(names, 1)}, names)


@_until(13, "Split")
def _split(call: OnnxCall, _: Run) -> Newer:
    return _moved(call, {1: _ints(call, "split")}, ["split"])


@_until(18, "Split")
def _parts(call: OnnxCall, _: Run) -> Newer:
    if call.has(1):
        return call
    return call.changed(attributes={**call.attributes, "num_outputs": len(call.outputs)})


@_until(10, "TopK")
def _top_k(call: OnnxCall, _: Run) -> Newer:
    return _moved(call, {1: integers((call.int("k"),))}, ["k"])


@_until(20, "DFT")
def _dft(call: OnnxCall, _: Run) -> Newer:
    return _moved(call, {2: scalar(call.int("axis", 1))}, ["axis"])


@_until(20, "GridSample")
def _grid_sample(call: OnnxCall, _: Run) -> Newer:
    names = {"bilinear": b"linear", "bicubic": b"cubic", "nearest": b"nearest"}
    mode = call.string("mode", "bilinear")
    return call.changed(attributes={**call.attributes, "mode": names.get(mode, mode.encode())})


@_until(16, "RoiAlign")
def _roi_align(call: OnnxCall, _: Run) -> Newer:
    return call.changed(attributes={**call.attributes, "coordinate_transformation_mode": b"output_half_pixel"})


@_until(_NEVER, "CastLike")
def _cast_like(call: OnnxCall, _: Run) -> Newer:
    """The type of the second operand is known, whatever its elements."""
    return call.changed(op="Cast", inputs=call.inputs[:1], attributes={"to": call.tensor(1).type.code})


@_until(11, "Scatter")
def _scatter(call: OnnxCall, _: Run) -> Newer:
    return call.changed(op="ScatterElements")


@_until(10, "Upsample")
def _upsample(call: OnnxCall, _: Run) -> Newer:
    if call.version < 9:
        scales = call.attributes.get("scales")
        if not isinstance(scales, tuple):
            raise call.error("attribute 'scales' is missing")
        call = _moved(call, {1: Constant(np.array(scales, np.float32), FLOAT)}, ["scales"])
    return call.changed(op="Resize")


@_until(11, "Resize")
def _resize(call: OnnxCall, _: Run) -> Newer:
    """Opset 10 has no modes of coordinates: x / scale, rounded down where it enlarges and up where it reduces."""
    scales = call.constant(1)
    smaller = scales is not None and bool(np.any(scales.array < 1))
    modes = {"coordinate_transformation_mode": b"asymmetric", "nearest_mode": b"ceil" if smaller else b"floor"}
    inputs = (call.input(0), None, scales)
    return call.changed(inputs=inputs, attributes={**call.attributes, **modes})


@_until(9, "BatchNormalization")
def _spatial(call: OnnxCall, _: Run) -> Newer:
    if call.int("spatial", 1) != 1:
        raise call.error("normalises each activation (spatial=0), expected each channel")
    return _moved(call, {}, ["spatial"])


@_until(14, "BatchNormalization")
def _batch_norm(call: OnnxCall, _: Run) -> Newer:
    """Before opset 14 it is in training mode where the node has statistics as results, wanted or not."""
    training = any(call.node.outputs[1:])
    return call.changed(attributes={**call.attributes, "training_mode": int(training)})


@_until(13, "Softmax", "LogSoftmax", "Hardmax")
def _softmax(call: OnnxCall, run: Run) -> Newer:
    """Before opset 13 the axes from `axis` on are one."""
    x = call.tensor(0)
    rank, axis = len(x.shape), call.int("axis", 1)
    if not -rank <= axis <= rank:
        raise call.error(f"axis {axis} is outside of a tensor of rank {rank}")
    axis = axis + rank if axis < 0 else axis
    if axis < rank and prod(x.shape[axis + 1 :]) == 1:
        return call.changed(attributes={"axis": axis})
    flat = run("Flatten", (x,), {"axis": axis})
    result = run(call.op, (flat,), {"axis": -1})
    return (run("Reshape", (result, integers(x.shape)), {"allowzero": 1}),)


@_until(21, "GroupNormalization")
def _group_norm(call: OnnxCall, run: Run) -> Newer:
    """Before opset 21 a scale and a shift are those of a group, then of a channel."""
    x, groups = call.tensor(0), call.int("num_groups", 1)
    channels = x.shape[1] if len(x.shape) > 1 else 0
    if groups < 1 or not channels or channels % groups:
        raise call.error(f"found {groups} groups of {channels} channels")

    def spread(index: int) -> OnnxValue:
        column = run("Unsqueeze", (call.tensor(index), integers((1,))), {})
        wide = run("Expand", (column, integers((groups, channels // groups))), {})
        return run("Reshape", (wide, integers((channels,))), {})

    return call.changed(inputs=(x, spread(1), spread(2))) if channels > groups else call


@_until(9, "Scan")
def _scan(call: OnnxCall, _: Run) -> Newer:
    raise call.error("has a batch axis, as in opset 8", hint="export the model with opset 9 or later")
