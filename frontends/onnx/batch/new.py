"""The second walk over a model: what is written anew for another batch, and what is checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from npuc.compiler.core.errors import SourceError
from npuc.frontends.onnx.batch.exported import ExportedShapes, Shape, shape_of
from npuc.frontends.onnx.calls import OnnxCall
from npuc.frontends.onnx.container.element_types import Array
from npuc.frontends.onnx.values import Constant, Dynamic, OnnxValue, integers
from npuc.frontends.onnx.weights import OnnxWeight, weight_of

_BROADCASTS = frozenset(
    "Add Sub Mul Div Pow Mod And Or Xor Equal Less LessOrEqual Greater GreaterOrEqual Where Max Min Sum Mean MatMul"
    " PRelu Attention".split()
)
"""Operators of which an operand may have one row for all samples."""
_WHOLE = frozenset(("Concat", "GatherElements", "ScatterElements", "ScatterND", "LSTM", "GRU", "RNN"))
"""Operators whose operands all have the rows of all samples."""
_WHY = "can be made of a model that was exported for"
Repeat = Callable[[OnnxWeight, int, int], OnnxValue]


@dataclass
class NewBatch:
    """The second walk: `old` is the exported batch, `new` the one that is asked for."""

    old: int
    new: int
    exported: ExportedShapes
    _number: int = 0
    _shapes: dict[int, Shape] = field(default_factory=dict[int, Shape])
    _inner: dict[int, int] = field(default_factory=dict[int, int])
    _values: list[OnnxValue] = field(default_factory=list[OnnxValue])
    _rows: dict[str, OnnxWeight] = field(default_factory=dict[str, OnnxWeight])

    def input(self, value: Dynamic, shape: Shape) -> None:
        """Note an input of the model, and its shape in the export."""
        self._note(value, shape)

    def _note(self, value: OnnxValue, shape: Shape) -> None:
        self._shapes[id(value)] = shape
        self._values.append(value)  # so that no other value gets its identity

    def before(self, value: OnnxValue) -> Shape | None:
        """The shape of a value in the export."""
        return self._shapes.get(id(value), shape_of(value))

    def check_output(self, name: str, value: OnnxValue) -> None:
        """Raise `SourceError` for an output that has no row for each sample though it had one in the export."""
        before, now = self.before(value), shape_of(value)
        if self.old > 1 and before and now and before[0] == self.old and now[0] != self.new:
            filename = self.exported.model.filename
            raise self.explained(SourceError(f"{filename}: output '{name}' has the shape {list(now)}"))

    # what is written anew

    def rewritten(self, call: OnnxCall, repeat: Repeat) -> OnnxCall:
        """
        A call with what the exporter wrote for its batch written for the new one. Raises `SourceError`.

        `repeat` repeats a parameter along an axis in the program.
        """
        expected = self._expected(call)
        if call.op == "Reshape":
            return self._reshaped(call, expected)
        if call.op == "Expand":
            return self._expanded(call, expected)
        if call.op == "Resize":
            return self._resized(call)
        if call.op == "Gather":
            call = self._gathered(call)
        if all(self._changed(value) is None for value in call.inputs):
            return self._repeated(call, expected, repeat)
        return self._aligned(call, repeat) if call.op in _BROADCASTS | _WHOLE else call

    def _gathered(self, call: OnnxCall) -> OnnxCall:
        """Listed places of which those of a sample are those of the sample before it, moved on by a sample."""
        x, index = call.input(0), call.input(1)
        axis, before = self._changed(x), self.before(x)
        if axis is None or before is None or axis != call.int("axis") or not isinstance(index, Constant):
            return call
        array, each = index.array, before[axis] // self.old
        if array.ndim < 2 or len(array) != self.old or array.dtype.kind != "i":
            return call
        moved = array[:1] + each * np.arange(self.new).reshape([-1, *[1] * (array.ndim - 1)])
        if (array != moved[: self.old]).any() if self.new >= self.old else (moved != array[: self.new]).any():
            return call
        return call.changed(inputs=(x, Constant(moved.astype(array.dtype), index.type, index.name)))

    def _resized(self, call: OnnxCall) -> OnnxCall:
        """New sizes of all axes, of which one counts the samples."""
        axis, sizes = self._changed(call.input(0)), call.ints_at(3)
        if axis is None or not sizes or call.ints("axes") or len(sizes) <= axis or sizes[axis] % self.old:
            return call
        shape = list(sizes)
        shape[axis] = shape[axis] // self.old * self.new
        return call.changed(inputs=(*call.inputs[:3], integers(shape)))

    def _repeated(self, call: OnnxCall, expected: Shape | None, repeat: Repeat) -> OnnxCall:
        """Places that are listed for each sample of the exported batch, all of them equal, listed for the new one."""
        if not expected or expected[0] != self.old or self.old == 1:
            return call
        return call.changed(inputs=tuple(self._listed(value, repeat) for value in call.inputs))

    def _listed(self, value: OnnxValue, repeat: Repeat) -> OnnxValue:
        if not isinstance(value, Constant) or value.type.is_float or len(value.shape) < 2:
            return value
        return self._row(value, -len(value.shape), self.old, True, repeat)

    def _expected(self, call: OnnxCall) -> Shape | None:
        """The shape of the first result in the export. Raises `SourceError` where the walks differ."""
        calls = self.exported.calls
        made = calls[self._number] if self._number < len(calls) else None
        if made is None or (made.op, made.position) != (call.op, call.position):
            raise self._refused(call, "is not reached in the export")
        return made.shapes[0] if made.shapes else None

    def _refused(self, call: OnnxCall, message: str) -> SourceError:
        return self.explained(call.error(message))

    def explained(self, error: SourceError) -> SourceError:
        """An error of the second walk, which the first one did not have."""
        if _WHY in error.message:
            return error
        return SourceError(
            f"{error.message}: no batch of {self.new} {_WHY} {self.old}",
            location=error.location,
            hint="export it with the batch as a free size (dynamic_shapes of torch.onnx.export)",
            source_line=error.source_line,
        )

    def _changed(self, value: OnnxValue) -> int | None:
        """The axis of a value that is of the batch."""
        before, now = self.before(value), shape_of(value)
        if before is None or now is None or len(before) != len(now):
            return None
        return next((axis for axis, pair in enumerate(zip(before, now, strict=True)) if pair[0] != pair[1]), None)

    def _reshaped(self, call: OnnxCall, expected: Shape | None) -> OnnxCall:
        """The new shape has the samples where the old one had them, in the order of elements."""
        x = call.input(0)
        axis, before = self._changed(x), self.before(x)
        if axis is None or before is None or expected is None:
            return call
        inner = self._inner.get(id(x), before[axis] // self.old) * prod(before[axis + 1 :])
        found = self._place_of(expected, inner)
        if found is None:
            raise self._refused(call, f"takes the samples of {list(before)} apart in {list(expected)}")
        shape = list(expected)
        shape[found] = shape[found] // self.old * self.new
        return call.changed(inputs=(x, integers(shape)), attributes={**call.attributes, "allowzero": 1})

    def _place_of(self, shape: Shape, inner: int) -> int | None:
        """The axis of a shape that counts the samples, which are `inner` elements apart."""
        fits: list[int] = []
        for axis, size in enumerate(shape):
            behind = prod(shape[axis + 1 :])
            if behind and inner % behind == 0 and size * behind % (inner * self.old) == 0:
                fits.append(axis)
        whole = [axis for axis in fits if shape[axis] == self.old and prod(shape[axis + 1 :]) == inner]
        return (whole or fits or [None])[0]

    def _expanded(self, call: OnnxCall, expected: Shape | None) -> OnnxCall:
        """The first size of an Expand, where it is the exported batch and comes from no input."""
        x, wanted = call.input(0), call.ints_at(1) or ()
        if expected is None or not wanted or len(wanted) != len(expected):
            return call
        shape = list(wanted)
        axis = self._changed(x)
        if axis is not None:
            place = axis + len(shape) - len(shape_of(x) or ())
            if shape[place] == expected[place]:
                shape[place] = 1  # the size is that of the operand
        elif wanted[0] == self.old == expected[0]:
            shape[0] = self.new
        return call if tuple(shape) == wanted else call.changed(inputs=(x, integers(shape)))

    def _aligned(self, call: OnnxCall, repeat: Repeat) -> OnnxCall:
        """Operands that have a row for each sample of the exported batch, all of them equal, beside such of the new."""
        rank = max((len(shape_of(value) or ()) for value in call.inputs), default=0)
        places = {
            (axis - len(before), before[axis])
            for value in call.inputs
            if (axis := self._changed(value)) is not None and (before := self.before(value))
        }
        joined = call.int("axis") if call.op == "Concat" else None
        if call.op in ("LSTM", "GRU", "RNN"):
            places = {(-3 if call.int("layout") else -2, self.old)}
        if len(places) != 1:
            return call
        ((axis, size),) = places
        if (joined is not None and axis in (joined, joined - rank)) or (call.op == "MatMul" and axis > -3):
            return call
        whole = call.op not in _BROADCASTS
        return call.changed(inputs=tuple(self._row(value, axis, size, whole, repeat) for value in call.inputs))

    def _row(self, value: OnnxValue, axis: int, size: int, whole: bool, repeat: Repeat) -> OnnxValue:
        """A constant or parameter with an axis of the exported batch with one row, or with those of the new batch."""
        if not isinstance(value, Constant | OnnxWeight) or self._changed(value) is not None:
            return value
        if len(value.shape) < -axis or value.shape[axis] != size or (size == 1 and not whole):
            return value
        array = value.array if isinstance(value, Constant) else value.as_constant().array
        parts = np.split(array, self.old, axis)
        if not all((part == parts[0]).all() for part in parts):
            return self._counted(value, array, axis)
        alone = size == self.old and not whole
        if isinstance(value, Constant):
            rows = parts[0] if alone else np.concatenate([parts[0]] * self.new, axis)
            return Constant(rows, value.type, value.name)
        row = self._rows.setdefault(value.name, _first_row(value, parts[0]))
        return row if alone else repeat(row, len(value.shape) + axis, self.new)

    def _counted(self, value: Constant | OnnxWeight, array: Array, axis: int) -> OnnxValue:
        """The numbers of the samples, counted to the new batch; any other value as it is."""
        if not isinstance(value, Constant) or array.size != self.old or (array.ravel() != np.arange(self.old)).any():
            return value
        counted = np.arange(self.new).astype(array.dtype)
        return Constant(counted.reshape([self.new if size > 1 else 1 for size in array.shape]), value.type, value.name)

    # what is checked

    def made(self, call: OnnxCall, results: Sequence[OnnxValue]) -> None:
        """Check the results of a call against those in the export. Raises `SourceError`."""
        self._expected(call)
        made = self.exported.calls[self._number]
        self._number += 1
        for value, before in zip(results, made.shapes, strict=True):
            now = shape_of(value)
            if value is None or before is None or now is None:
                continue
            pairs = list(zip(before, now, strict=False))
            grown = [axis for axis, (old, new) in enumerate(pairs) if old != new]
            right = all(pairs[axis][0] * self.new == pairs[axis][1] * self.old for axis in grown)
            if len(before) != len(now) or len(grown) > 1 or not right:
                raise self._refused(call, f"makes {list(now)}, where the export has {list(before)}")
            self._note(value, before)
            if grown:
                self._note_inner(call, value, before, grown[0])

    def _note_inner(self, call: OnnxCall, value: OnnxValue, before: Shape, axis: int) -> None:
        """Note how many neighbours along its axis belong to one sample, where the batch is not outermost there."""
        if before[axis] == self.old:
            return
        x = call.input(0)
        source = self._changed(x)
        old = self.before(x)
        if call.op == "Reshape" and source is not None and old is not None:
            apart = self._inner.get(id(x), old[source] // self.old) * prod(old[source + 1 :])
            self._inner[id(value)] = apart // prod(before[axis + 1 :])
            return
        for operand in call.inputs:
            place, shape = self._changed(operand), self.before(operand)
            if place is not None and shape is not None and shape[place] == before[axis] and id(operand) in self._inner:
                self._inner[id(value)] = self._inner[id(operand)]
                return


Batches = ExportedShapes | NewBatch


def _first_row(weight: OnnxWeight, row: Array) -> OnnxWeight:
    """The parameter whose rows an exporter repeated."""
    return weight_of(weight.name, row.shape, weight.type, lambda: row, trained=weight.trained, uses=2)
