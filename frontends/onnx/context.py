"""One call as the meaning of its operator sees it: operands as terms of the language, and what is written with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from npuc.compiler.core.errors import SourceError, either
from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.onnx.assumed import Assumed
from npuc.frontends.onnx.calls import OnnxCall
from npuc.frontends.onnx.container.element_types import BY_NAME, Array, ElementType
from npuc.frontends.onnx.names import layer_of, module_of, plain
from npuc.frontends.onnx.readers import Readers
from npuc.frontends.onnx.values import Constant
from npuc.frontends.onnx.weights import OnnxWeight, Read, Variable, weight_of
from npuc.frontends.script.context import CallContext
from npuc.frontends.script.weights import FLOATS, Tensor

if TYPE_CHECKING:
    from npuc.frontends.script.script import Script, Term

TYPES = {type.language: type for type in BY_NAME.values() if type.language}
STATISTICS = ("running_mean", "running_var")
"""What a layer owns that is not trained."""
MOST_LISTED = 4096
"""The most elements of a constant that is written as numbers; a larger one is a parameter that is not trained."""


class OnnxContext(CallContext):
    """
    What the meaning of an operator is written with.

    `layer` is the name of the layer that the call makes; what is built beside its result is named `layer.function`.
    `values` gets how parameters that the script makes are read from the file, `assumed` has the sizes that depend on
    data.
    """

    def __init__(
        self, script: Script, call: OnnxCall, values: dict[str, Read], readers: Readers, assumed: Assumed | None = None
    ):
        super().__init__(script, layer_of(call))
        self.onnx = call
        self.values = values
        self.assumed = assumed or Assumed({})
        self._readers = readers

    # operands

    def x(self, index: int = 0) -> Name:
        """An operand that must be a tensor, as a variable."""
        return self.variable(self.tensor(index))

    def tensor(self, index: int) -> Constant | Variable | OnnxWeight:
        """An operand that must be a tensor. Raises `SourceError`."""
        value = self.onnx.tensor(index)
        assert isinstance(value, Constant | Variable | OnnxWeight)
        return value

    def check_rank(self, index: int, expected: int | tuple[int, ...]) -> None:
        """Raise `SourceError` for an operand of another rank than expected; one that is left out has none."""
        ranks = (expected,) if isinstance(expected, int) else expected
        if self.onnx.has(index) and (rank := len(self.tensor(index).shape)) not in ranks:
            raise self.error(f"operand {index} has rank {rank}, expected {either([str(one) for one in ranks])}")

    def sizes(self, value: Name, rank: int) -> tuple[int, ...]:
        """The sizes of a variable of that rank. Raises `SourceError` for another one."""
        shape = self.shape(value)
        if len(shape) != rank:
            raise self.error(f"found a tensor of rank {len(shape)}, expected {rank}")
        return shape

    def optional(self, index: int) -> Name | None:
        """An operand as a variable; None where it is left out."""
        return self.x(index) if self.onnx.has(index) else None

    def number(self, index: int) -> float | None:
        """The number that a constant operand of one element is; None for others."""
        value = self.onnx.input(index)
        return number_of(value) if isinstance(value, Constant) else None

    def term(self, index: int, rank: int | None = None) -> Name | int | float | bool:
        """An operand of arithmetic: a number where it is one that takes the shape of the other."""
        value = self.tensor(index)
        if isinstance(value, Constant) and (rank is None or len(value.shape) <= rank):
            found = number_of(value)
            if found is not None:
                return found
        return self.variable(value)

    def operands(self) -> list[Name | int | float | bool]:
        """Both operands of arithmetic, of which at most one is a number."""
        ranks = [len(self.tensor(index).shape) for index in range(2)]
        first = self.term(0, ranks[1]) if not isinstance(self.onnx.input(1), Constant) else self.x(0)
        return [first, self.term(1, ranks[0])]

    def variable(self, value: Tensor | Constant | Variable) -> Name:
        """A tensor as a variable of the script; a parameter or constant that has none yet gets one."""
        if isinstance(value, Variable):
            return value.name
        if isinstance(value, Constant):
            return self._constant(value)
        if isinstance(value, OnnxWeight) and value.variable is None:
            if value.owned:
                raise self.error(f"'{value.name}' is used by several nodes in a way that is not read")
            self.language(value.type)
            name = super().variable(value)
            assert value.read is not None
            self.values[name.text] = value.read
        return super().variable(value)

    def _constant(self, value: Constant) -> Name:
        """A constant as a variable: one value everywhere, a list of numbers, or a parameter that is not trained."""
        element, name = self.language(value.type), plain(value.name) if value.name else f"{self.layer}.constant"
        named = {} if element == "f32" else {"dtype": element}
        finite = value.type.held.kind != "f" or bool(np.all(np.isfinite(value.array)))
        if 0 in value.shape:
            raise self.error(f"found a tensor of shape {list(value.shape)}, which has no elements")
        if finite and (value.is_uniform or bool(np.all(value.array == value.array.flat[0]))):
            first = value.array.flat[0].item()
            number = int(first) if isinstance(first, bool) else first
            return self.script.let(self.script.unused(name), "full", list(value.shape), number, **named)
        if finite and value.array.size <= MOST_LISTED:
            numbers = value.array.ravel().tolist()
            return self.script.let(self.script.unused(name), "tensor", numbers, list(value.shape), **named)
        return self.variable(weight_of(name, value.shape, value.type, lambda: value.array, trained=False))

    def weight(self, index: int) -> OnnxWeight | None:
        """
        An operand that a layer may own: a parameter, or a constant of real numbers; None for others.

        What a constant of real numbers feeds as a weight is trained, as where a file fills weights by an operator.
        """
        value = self.onnx.input(index)
        if isinstance(value, Constant) and value.type.language in FLOATS and value.name:
            if not self._readers.is_parameter(value.name):
                return None
            return weight_of(value.name, value.shape, value.type, lambda: value.array, trained=True)
        return value if isinstance(value, OnnxWeight) else None

    def own(self, **weights: OnnxWeight | None) -> bool:
        """
        Let the layer of the call make weights, by the names that it gives its own; False where one is shared.

        The layer takes the name of the module that the weights are of, where they tell it. Vectors of one number that
        several nodes share are taken apart: exporters keep equal ones once, as the scales of norms that nobody has
        trained.
        """
        given = {name: weight for name, weight in weights.items() if weight is not None}
        found = {name: _apart(weight) for name, weight in given.items()}
        if not self._may_own(found.values()) or any(not w.trained and n not in STATISTICS for n, w in found.items()):
            return False
        named = [w.name.removesuffix(f".{n}") for n, w in given.items() if w.name.endswith(f".{n}") and w.uses == 1]
        self.layer = plain(named[0]) if len(set(named)) == 1 else module_of(self.onnx) or self.layer
        self.layer = self.script.unused(self.layer)
        for name, weight in found.items():
            weight.owned = True
            assert weight.read is not None
            self.values[f"{self.layer}.{name}"] = weight.read
        return True

    def own_parts(self, parts: Mapping[str, tuple[OnnxWeight, Callable[[Array], Array]]]) -> bool:
        """
        Let the layer of the call make weights in a layout of its own; False where one of the file's is shared.

        `parts` says by the names that the layer gives them which weight of the file each is a part of, and which.
        """
        if not self._may_own([weight for weight, _ in parts.values()]):
            return False
        self.layer = self.script.unused(module_of(self.onnx) or self.layer)
        for name, (weight, part) in parts.items():
            weight.owned = True
            assert weight.read is not None
            self.values[f"{self.layer}.{name}"] = _part_of(weight.read, part)
        return True

    def _may_own(self, weights: Iterable[OnnxWeight]) -> bool:
        """Whether no other node takes these weights, and the call is made once."""
        if self.onnx.position.way:
            return False
        return not any(weight.variable is not None or weight.owned or weight.uses > 1 for weight in weights)

    def added_bias(self, width: int) -> OnnxWeight | None:
        """The vector that the only reader of the result adds to it, if there is one: it is a part of the layer then."""
        return None if self.onnx.position.way else self._readers.take_bias(self.onnx.outputs[0], width)

    # what is written

    def several(self, names: Sequence[str], function: str, *arguments: Term, **named: Term) -> list[Name]:
        """Write a call that gives several values; a name for each."""
        return self.script.several([f"{self.layer}.{name}" for name in names], function, *arguments, **named)

    def held(self, value: Name | Call) -> Name:
        """An expression as a variable beside the result."""
        return value if isinstance(value, Name) else self.script.assign(f"{self.layer}.{value.function}", value)

    def settled(self, value: Name | Call) -> Name:
        """A call that may own weights as the variable of its layer; what follows has the name of the node."""
        if isinstance(value, Call):
            value = self.script.assign(self.layer, value)
            self.layer = layer_of(self.onnx)
        return value

    # what is known

    def language(self, type: ElementType) -> str:
        """An element type as the language writes it. Raises `SourceError` where it has none."""
        if not type.language:
            known = ", ".join(type.name for type in TYPES.values())
            raise self.error(f"found a tensor of {type.name}, expected one of {known}")
        return type.language

    def axis_of(self, value: Name, default: int = 0, name: str = "axis") -> int:
        """An axis that an attribute names, counted from 0. Raises `SourceError`."""
        return self.checked_axis(value, self.onnx.int(name, default))

    def checked_axis(self, value: Name, axis: int) -> int:
        """An axis of a variable, counted from 0. Raises `SourceError`."""
        rank = len(self.shape(value))
        if not -rank <= axis < rank:
            raise self.error(f"axis {axis} is outside of a tensor of rank {rank}")
        return axis % rank

    def cast(self, value: Tensor, element: str) -> Name:
        """A tensor in an element type, as it is where it has it."""
        return self.variable(super().cast(value, element))

    def error(self, message: str, hint: str | None = None) -> SourceError:
        """An error at the node."""
        return self.onnx.error(message, hint)

    def only(self, index: int) -> None:
        """Refuse a call whose results from one on are wanted."""
        for name in self.onnx.outputs[index:]:
            if name:
                raise self.error(f"output '{name}' is wanted, which has no counterpart")


def number_of(value: Constant) -> float | None:
    """The number that a constant of one element is."""
    array: Array = value.array
    if array.size != 1 or array.dtype.kind not in "iufb" or not np.isfinite(array).all():
        return None
    return array.reshape(()).item()


def short(values: Sequence[int]) -> int | list[int]:
    """One number where all are equal."""
    return values[0] if len(set(values)) == 1 else list(values)


def _part_of(read: Read, part: Callable[[Array], Array]) -> Read:
    return lambda: part(read())


def _apart(weight: OnnxWeight) -> OnnxWeight:
    """A weight, or a copy of it where it is a vector of one number that several nodes share."""
    if weight.uses > 1 and len(weight.shape) == 1:
        assert weight.read is not None
        array = weight.read()
        if bool(np.all(array == array[0])):
            return weight_of(weight.name, weight.shape, weight.type, weight.read, trained=weight.trained)
    return weight
