"""A call of an operator: a node whose inputs are values and whose attributes are resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn, TypeGuard, cast

import numpy as np

from npuc.compiler.core.errors import Location, SourceError
from npuc.frontends.onnx.container.model import AttributeValue, OnnxGraph, OnnxNode
from npuc.frontends.onnx.container.tensors import OnnxTensor
from npuc.frontends.onnx.values import Constant, Dynamic, OnnxValue, Stored, ValueSequence


@dataclass(frozen=True)
class Position:
    """
    Where a node stands: the file, the number of the node of the top graph, and the way from there.

    The way names the functions and bodies that are entered, as messages say it.
    """

    filename: str
    number: int
    way: tuple[str, ...] = ()

    @property
    def location(self) -> Location:
        """The place of the node of the top graph."""
        return Location(self.filename, self.number, 1)


@dataclass(frozen=True)
class OnnxCall:
    """
    A call as the newest operators define it.

    `node` is the node of the file that it comes from; `op` and `attributes` may be others. `outputs` names the results,
    "" where one is not wanted. `version` is the version of the operators of its domain that the file uses.
    """

    op: str
    domain: str
    inputs: tuple[OnnxValue, ...]
    attributes: Mapping[str, AttributeValue]
    outputs: tuple[str, ...]
    node: OnnxNode
    position: Position
    version: int = 0

    @property
    def full_op(self) -> str:
        """The operator with the domain that it is of, where it is not ONNX's own."""
        return f"{self.domain}.{self.op}" if self.domain else self.op

    def error(self, message: str, hint: str | None = None) -> SourceError:
        """An error at the node."""
        shown = f"{self.full_op}{f' ({self.node.name!r})' if self.node.name else ''}"
        steps = self.position.way[::-1]
        way = "".join(f", in {step}" for step in steps[:MOST_STEPS]) + (", …" if len(steps) > MOST_STEPS else "")
        return SourceError(
            f"{shown}{way}: {message}", location=self.position.location, hint=hint, source_line=str(self.node)
        )

    def changed(self, **changes: Any) -> OnnxCall:
        """The call with other fields."""
        return replace(self, **changes)

    # inputs

    def has(self, index: int) -> bool:
        """Whether an input is given."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def input(self, index: int) -> OnnxValue:
        """An input, None where it is left out."""
        return self.inputs[index] if index < len(self.inputs) else None

    def tensor(self, index: int) -> Constant | Dynamic:
        """An input that must be a tensor. Raises `SourceError`."""
        value = self.input(index)
        if value is None or isinstance(value, ValueSequence):
            found = "nothing" if value is None else "a sequence"
            raise self.error(f"input {index} is {found}, expected a tensor")
        return value

    def constant(self, index: int) -> Constant | None:
        """An input that must be known while the file is read, None where it is left out. Raises `SourceError`."""
        value = self.input(index)
        if isinstance(value, Stored):
            return value.as_constant()
        if value is None or isinstance(value, Constant):
            return value
        self._unknown(index)

    def _unknown(self, index: int) -> NoReturn:
        name = self.node.inputs[index] if index < len(self.node.inputs) else ""
        raise self.error(
            f"input {index}{f' ({name!r})' if name else ''} depends on data, expected a constant",
            hint="export the model with static shapes, or with other options",
        )

    def ints_at(self, index: int) -> tuple[int, ...] | None:
        """The integers of a constant input in row-major order, None where it is left out. Raises `SourceError`."""
        value = self.constant(index)
        if value is None:
            return None
        if value.type.held.kind not in "iub" or len(value.shape) > 1 or max(value.shape, default=1) > _MOST:
            raise self.error(f"input {index} is {value.type.name}{list(value.shape)}, expected a few integers")
        return tuple(int(i) for i in np.atleast_1d(value.array))

    def int_at(self, index: int) -> int | None:
        """The integer of a constant input of one element, None where it is left out. Raises `SourceError`."""
        found = self.ints_at(index)
        if found is None:
            return None
        if len(found) != 1:
            raise self.error(f"input {index} has {len(found)} elements, expected one")
        return found[0]

    # attributes

    def int(self, name: str, default: int = 0) -> int:
        """An attribute that is an integer. Raises `SourceError`."""
        return self._attribute(name, _is_int, "an integer", default)

    def float(self, name: str, default: float = 0.0) -> float:
        """An attribute that is a number. Raises `SourceError`."""
        return self._attribute(name, _is_float, "a number", default)

    def string(self, name: str, default: str = "") -> str:
        """An attribute that is a text. Raises `SourceError`."""
        return self._attribute(name, _is_bytes, "a text", default.encode()).decode(errors="replace")

    def ints(self, name: str) -> tuple[int, ...] | None:
        """An attribute that is integers, None where it is left out. Raises `SourceError`."""
        return self._attribute(name, _is_ints, "integers", None) if name in self.attributes else None

    def graph(self, name: str) -> OnnxGraph:
        """An attribute that must be there and be a graph. Raises `SourceError`."""
        found = self.attributes.get(name)
        if not isinstance(found, OnnxGraph):
            raise self.error(f"attribute '{name}' is {'missing' if found is None else 'no graph'}, expected a graph")
        return found

    def tensor_attribute(self, name: str) -> OnnxTensor | None:
        """An attribute that is a tensor, None where it is left out. Raises `SourceError`."""
        found = self.attributes.get(name)
        if found is not None and not isinstance(found, OnnxTensor):
            raise self.error(f"attribute '{name}' is no tensor")
        return found

    def _attribute(self, name: str, fits: Any, expected: str, default: Any) -> Any:
        found = self.attributes.get(name, default)
        if not fits(found):
            raise self.error(f"attribute '{name}' has the value {_shown(found)}, expected {expected}")
        return found


_MOST = 1 << 16
MOST_STEPS = 3
"""How many of the bodies and functions around a node a message names."""


def _is_int(value: object) -> TypeGuard[int]:
    return isinstance(value, int)


def _is_float(value: object) -> TypeGuard[float]:
    return isinstance(value, float)


def _is_bytes(value: object) -> TypeGuard[bytes]:
    return isinstance(value, bytes)


def _is_ints(value: object) -> TypeGuard[tuple[int, ...]]:
    if not isinstance(value, tuple):
        return value is None
    return all(isinstance(v, int) for v in cast("tuple[object, ...]", value))


def _shown(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)[:80]
