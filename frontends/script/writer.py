"""What the meanings of operators write a call of a graph with, and what they know of its tensors."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from npuc.compiler.layers.arguments import ELEMENT_TYPES
from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.script.weights import FLOATS, Empty, Refused, Tensor, Uniform, Weight

if TYPE_CHECKING:
    from npuc.compiler.layers.base import Array
    from npuc.frontends.script.script import Script, Term

Operand: TypeAlias = "Term | Tensor | Sequence[Operand]"
"""What an argument of a call may be: what the script takes, and weights."""

NO_STATISTICS: Mapping[str, Tensor | None] = {}


class CallWriter:
    """
    What the meaning of an operator is written with.

    `layer` is the name of the layer that the call makes; what is built beside its result is named `layer.function`.
    `spelt_out` are families of patterns that are not looked for.
    """

    spelt_out: Collection[str] = ()

    def __init__(self, script: Script, layer: str):
        self.script = script
        self.layer = layer
        self._frozen = False
        """Whether the next call makes parameters that are not trained."""

    # what is written

    def let(self, function: str, *arguments: Operand, **named: Operand) -> Name:
        """Write a call beside the result; its value."""
        return self.script.assign(f"{self.layer}.{function}", self.call(function, *arguments, **named))

    def call(self, function: str, *arguments: Operand, **named: Operand) -> Call:
        """A call that is the result, as an expression."""
        given = [self._term(value) for value in arguments]
        call = self.script.call(function, *given, **{name: self._term(value) for name, value in named.items()})
        frozen, self._frozen = self._frozen, False
        return replace(call, frozen=True) if frozen else call

    def _term(self, value: Operand) -> Term:
        if isinstance(value, Name | int | float | str):
            return value
        if isinstance(value, Weight | Empty | Uniform):
            return self.variable(value)
        if isinstance(value, Sequence) and not isinstance(value, str):
            return [self._term(item) for item in value]
        return value

    def variable(self, value: Tensor) -> Name:
        """A tensor as a variable of the script; a weight that has none yet gets one of its name."""
        if isinstance(value, Name):
            return value
        if isinstance(value, Empty):
            raise Refused(f"found a tensor of shape {list(value.shape)}, expected elements")
        if isinstance(value, Uniform):
            raise Refused("found random numbers", "only those that become a mask, as of stochastic depth, are read")
        if value.variable is None:
            value.variable = self._made(value)
            self.script.weights[value.variable.text] = value
        return value.variable

    def _made(self, value: Weight) -> Name:
        """
        A weight that stands alone: a parameter, or a constant of listed numbers.

        Integers that are too many to list, or unknown, are an input of the constant's name.
        """
        if value.element in FLOATS:
            call = self.script.call("param", list(value.shape), value.element)
            frozen = Call(call.at, call.function, call.arguments, frozen=not value.trained)
            return self.script.assign(value.name, frozen)
        if value.element not in ELEMENT_TYPES:
            raise Refused(f"'{value.name}' is a tensor of {value.element}, expected one of {', '.join(ELEMENT_TYPES)}")
        if value.read is None or prod(value.shape) > MAX_LISTED:
            return self.script.input(value.name, value.element, value.shape)
        return self.script.assign(value.name, self.listed(value.read(), value.element))

    def listed(self, values: Array, element: str) -> Call:
        """A constant tensor of known values. Raises `Refused` for too many."""
        number = float if element in FLOATS else int
        named = {} if element == "f32" else {"dtype": element}
        if values.size and (values == values.flat[0]).all():
            return self.script.call("full", list(values.shape), number(values.flat[0]), **named)
        if values.size > MAX_LISTED:
            raise Refused(f"found a constant of {values.size:,} values, expected at most {MAX_LISTED:,}")
        listed = [number(value) for value in values.ravel().tolist()]
        return self.script.call("tensor", listed, shape=list(values.shape), **named)

    def adopt(self, statistics: Mapping[str, Tensor | None] = NO_STATISTICS, **weights: Tensor | None) -> bool:
        """
        Name the call's layer after the module that owns its weights, so that the next call makes them as its own.

        `weights` are those of the call by the names that a layer gives its own; missing ones may be any module's. False
        where one is shared, has another name, or is another module's, or where only some are trained: then nothing
        changes. `statistics` are values that the layer keeps besides.
        """
        paths: set[str] = set()
        trained: set[bool] = set()
        for suffix, weight in (*weights.items(), *statistics.items()):
            if weight is None:
                continue
            if not isinstance(weight, Weight) or weight.variable is not None or weight.uses > 1:
                return False
            if weight.suffix != suffix or not weight.owner:
                return False
            paths.add(weight.owner)
            if suffix in weights:
                trained.add(weight.trained)
        if len(paths) != 1 or len(trained) > 1:
            return False
        (self.layer,) = paths
        self._frozen = trained == {False}
        return True

    # what is known

    def shape(self, value: Tensor | float) -> tuple[int, ...]:
        """The shape of a tensor; a number has no axes."""
        if isinstance(value, int | float):
            return ()
        return self.script.shape(value) if isinstance(value, Name) else value.shape

    def element(self, value: Tensor) -> str:
        """The element type of a tensor, as the language writes it."""
        return self.script.element(value) if isinstance(value, Name) else value.element

    def numbers(self, value: Tensor) -> Array | None:
        """The values of a tensor that depends on no input; None for others."""
        return self.script.numbers(value) if isinstance(value, Name) else None

    def known(self, value: Tensor) -> Array | None:
        """The values of a tensor that depends on no input and no trained parameter; None for others."""
        if isinstance(value, Weight):
            return None if value.trained or value.read is None else value.read()
        return self.script.known(value) if isinstance(value, Name) else None

    def axis(self, axis: int, value: Tensor) -> int:
        """An axis of a tensor, counted from the first."""
        return axis % max(1, len(self.shape(value)))

    def cast(self, value: Tensor, element: str) -> Tensor:
        """A tensor in an element type, as it is where it has it."""
        return value if self.element(value) == element else self.let("cast", value, to=element)

    def operand(self, value: Tensor | float, element: str) -> Tensor | int | float | bool:
        """An operand of arithmetic in an element type."""
        return value if isinstance(value, int | float | bool) else self.cast(value, element)


MAX_LISTED = 4096
"""The most values of a constant that the script lists."""
