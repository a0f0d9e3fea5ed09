"""Operators on sequences and optional values: whose length, or presence, is known while a file is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from npuc.frontends.onnx.calls import OnnxCall
from npuc.frontends.onnx.container.model import OnnxGraph
from npuc.frontends.onnx.running import Runner
from npuc.frontends.onnx.values import OnnxValue, ValueSequence, integers, scalar, truth

Results = Sequence[OnnxValue]
MOST = 1 << 16
"""The most values in a sequence."""


def _items(call: OnnxCall, index: int = 0) -> tuple[OnnxValue, ...]:
    value = call.input(index)
    if not isinstance(value, ValueSequence):
        raise call.error(f"input {index} is no sequence")
    return value.items


def _place(call: OnnxCall, count: int, end: int) -> int:
    """The place in a sequence that an input names, `end` where none is given."""
    place = call.int_at(1) if call.op != "SequenceInsert" else call.int_at(2)
    if place is None:
        return end
    if not -count <= place < max(count, end + 1):
        raise call.error(f"place {place} is outside of a sequence of {count}")
    return place + count if place < 0 else place


def _sequence(call: OnnxCall, items: Sequence[OnnxValue]) -> Results:
    if len(items) > MOST:
        raise call.error(f"makes a sequence of {len(items)} values, expected at most {MOST}")
    return [ValueSequence(tuple(items))]


def _construct(call: OnnxCall, _: Runner) -> Results:
    return _sequence(call, call.inputs)


def _empty(call: OnnxCall, _: Runner) -> Results:
    return _sequence(call, ())


def _insert(call: OnnxCall, _: Runner) -> Results:
    items = _items(call)
    at = _place(call, len(items), len(items))
    return _sequence(call, (*items[:at], call.tensor(1), *items[at:]))


def _erase(call: OnnxCall, _: Runner) -> Results:
    items = _items(call)
    at = _place(call, len(items), len(items) - 1)
    return _sequence(call, items[:at] + items[at + 1 :])


def _at(call: OnnxCall, _: Runner) -> Results:
    items = _items(call)
    return [items[_place(call, len(items), len(items) - 1)]] if items else _none(call)


def _none(call: OnnxCall) -> Results:
    raise call.error("takes a value of an empty sequence")


def _length(call: OnnxCall, _: Runner) -> Results:
    return [scalar(len(_items(call)))]


def _split(call: OnnxCall, runner: Runner) -> Results:
    x, axis = call.tensor(0), call.int("axis")
    if not -len(x.shape) <= axis < len(x.shape):
        raise call.error(f"axis {axis} is outside of a tensor of rank {len(x.shape)}")
    size, given = x.shape[axis], call.ints_at(1)
    single = given is None
    if given is None:
        sizes: tuple[int, ...] = (1,) * min(size, MOST + 1)
    elif len(call.tensor(1).shape) == 0:
        each = max(given[0], 1)
        sizes = (each,) * min(size // each, MOST + 1) + ((size % each,) if size % each else ())
    else:
        sizes = given
    if len(sizes) > MOST:
        raise call.error(f"makes more than {MOST} values")
    parts = runner.results(call, "Split", (x, integers(sizes)), {"axis": axis}, len(sizes)) if sizes else ()
    if single and not call.int("keepdims", 1):
        parts = [runner.result(call, "Squeeze", (part, integers((axis,))), {}) for part in parts]
    return _sequence(call, parts)


def _concat(call: OnnxCall, runner: Runner) -> Results:
    items, axis = _items(call), call.int("axis")
    if not items:
        raise call.error("joins an empty sequence")
    if not call.int("new_axis"):
        return [runner.result(call, "Concat", items, {"axis": axis})]
    apart = [runner.result(call, "Unsqueeze", (item, integers((axis,))), {}) for item in items]
    return [runner.result(call, "Concat", apart, {"axis": axis})]


def _map(call: OnnxCall, runner: Runner) -> Results:
    body: OnnxGraph = call.graph("body")
    items = _items(call)
    others = call.inputs[1:]
    columns: list[list[OnnxValue]] = [[] for _ in body.outputs]
    for number, item in enumerate(items):
        own = [value.items[number : number + 1] if isinstance(value, ValueSequence) else (value,) for value in others]
        if not all(own):
            raise call.error("maps sequences of different lengths")
        values = runner.body(call, body, (item, *(value[0] for value in own)), f"value {number} of the map")
        for column, value in zip(columns, values, strict=True):
            column.append(value)
    return [ValueSequence(tuple(column)) for column in columns]


def _optional(call: OnnxCall, _: Runner) -> Results:
    return [call.input(0)]


def _has_element(call: OnnxCall, _: Runner) -> Results:
    return [truth(call.has(0))]


def _get_element(call: OnnxCall, _: Runner) -> Results:
    if not call.has(0):
        raise call.error("takes the value of an empty optional")
    return [call.input(0)]


def _identity(call: OnnxCall, _: Runner) -> Results:
    return [call.input(0)]


def _size(call: OnnxCall, _: Runner) -> Results:
    return [scalar(prod(call.tensor(0).shape))]


SEQUENCES: dict[str, Callable[[OnnxCall, Runner], Results]] = {
    "Identity": _identity,
    "Size": _size,
    "SequenceConstruct": _construct,
    "SequenceEmpty": _empty,
    "SequenceInsert": _insert,
    "SequenceErase": _erase,
    "SequenceAt": _at,
    "SequenceLength": _length,
    "SplitToSequence": _split,
    "ConcatFromSequence": _concat,
    "SequenceMap": _map,
    "Optional": _optional,
    "OptionalHasElement": _has_element,
    "OptionalGetElement": _get_element,
}
"""What passes values on, by operator."""
