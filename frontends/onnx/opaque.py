"""Nodes of operators without a meaning as calls that are priced: shapes from the file, or by the axes of formulas."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.onnx.container.model import OnnxModel, OnnxType, ValueInfo
from npuc.frontends.onnx.values import ValueSequence
from npuc.frontends.script.opaque.calls import OpaqueOperators
from npuc.frontends.script.opaque.counts import Number, Shape
from npuc.frontends.script.weights import FLOATS

if TYPE_CHECKING:
    from npuc.frontends.onnx.context import OnnxContext
    from npuc.frontends.script.opaque.entries import Entry

_HINT = 'outputs = ["…"] in --opaque-costs FILE.toml names their axes, and so does a model with inferred shapes'


class OpaqueNodes:
    """
    The nodes of a model whose operators have no meaning.

    `sizes` are those of free sizes by name. `rebatched`: the model is read for another batch than that of its export,
    so that the shapes in the file are not those of the program.
    """

    def __init__(
        self, model: OnnxModel, operators: OpaqueOperators, sizes: Mapping[str, int], *, rebatched: bool = False
    ):
        self.operators = operators
        self._model = model
        self._sizes = sizes
        self._rebatched = rebatched

    @cached_property
    def _described(self) -> Mapping[str, ValueInfo]:
        return self._model.graph.described()

    def results(self, c: OnnxContext, why: str | None = None) -> list[Name | None]:
        """
        The results of a node, None where one is not wanted. Raises `SourceError`, `UsageError`.

        `why` is the reason for which the meaning of its operator is refused here; None where it has none.
        """
        call = c.onnx
        wanted = [number for number, name in enumerate(call.outputs) if name]
        if not wanted:
            return []  # nothing reads it
        if why is not None:
            self.operators.refused(call.full_op, why)
        operands = [self._operand(c, index) for index in range(len(call.inputs))]
        while operands and operands[-1] is None:
            operands.pop()
        entry = self.operators.entry(call.full_op)
        inputs = [None if one is None else c.shape(one) for one in operands]
        shapes = self._shapes(c, entry, inputs, wanted)
        dtypes = [self._element(c, number, operands) for number in wanted]
        made: Call = self.operators.call(
            c, call.position.number, (call.full_op,), operands, shapes, dtypes, self._attributes(c)
        )
        names = [c.layer if number == 0 else f"{c.layer}.{number}" for number in wanted]
        found = [c.script.assign(names[0], made)] if len(names) == 1 else c.script.unpacked(names, made)
        by_number = dict(zip(wanted, found, strict=True))
        return [by_number.get(number) for number in range(len(call.outputs))]

    def _operand(self, c: OnnxContext, index: int) -> Name | None:
        value = c.onnx.input(index)
        if isinstance(value, ValueSequence):
            raise c.error(f"input {index} is a sequence, expected a tensor")
        return None if value is None else c.x(index)

    def _shapes(
        self, c: OnnxContext, entry: Entry | None, inputs: list[Shape | None], wanted: list[int]
    ) -> list[Shape]:
        """The shapes of the wanted results: those in the file, else those that the entry names."""
        said = [self._said(c, number) for number in range(len(c.onnx.outputs))]
        found: list[Shape] = []
        for number in wanted:
            shape = self.operators.shape(entry, number, inputs, said) or said[number]
            if shape is None:
                if self._rebatched:
                    raise c.error("the file has its shapes for the batch of the export alone", _HINT)
                raise c.error(f"the file does not say the shape of its output '{c.onnx.outputs[number]}'", _HINT)
            if 0 in shape:
                raise c.error(f"found an output of shape {list(shape)}, which has no elements")
            found.append(shape)
        return found

    def _type(self, c: OnnxContext, number: int) -> OnnxType | None:
        """What the file says of the type of a result; nothing inside of functions and bodies."""
        if c.onnx.position.way or number >= len(c.onnx.node.outputs):
            return None
        value = self._described.get(c.onnx.node.outputs[number])
        return None if value is None else value.type

    def _said(self, c: OnnxContext, number: int) -> Shape | None:
        found = self._type(c, number)
        if self._rebatched or found is None or found.sizes is None:
            return None
        sizes = [size if isinstance(size, int) else self._sizes.get(size) for size in found.sizes]
        known = tuple(size for size in sizes if size is not None)
        return known if len(known) == len(sizes) else None

    def _element(self, c: OnnxContext, number: int, operands: list[Name | None]) -> str:
        """The element type of a result: that in the file, else that of the first operand of real numbers."""
        found = self._type(c, number)
        if found is not None and found.element is not None:
            return c.language(found.element)
        elements = [c.element(one) for one in operands if one is not None]
        return next((one for one in elements if one in FLOATS), "f32")

    def _attributes(self, c: OnnxContext) -> dict[str, Number]:
        """The attributes that are numbers; those of lists have the place behind their name."""
        found: dict[str, Number] = {}
        for name, value in c.onnx.attributes.items():
            items = list(value) if isinstance(value, tuple) else [value]
            for place, item in enumerate(items[:64]):
                if isinstance(item, int | float) and isfinite(item):
                    key = f"{name}{place}" if isinstance(value, tuple) else name
                    found[key] = item if isinstance(item, int) else Fraction(item)
        return found
