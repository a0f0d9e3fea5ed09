"""One call of a graph as operators see it: its arguments, what it may write, the types that PyTorch recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.torch.values import FLOATS, Refused, Tensor, Weight, element_of

if TYPE_CHECKING:
    from npuc.frontends.script.script import Script, Term
    from npuc.frontends.torch.program import TensorType


class Context:
    """
    What the meaning of an operator is written with.

    `layer` is the name of the layer that the call makes; what is built beside its result is named `layer.function`.
    `results` are the types that PyTorch recorded of the call's results, with all sizes.
    """

    def __init__(self, script: Script, layer: str, results: Sequence[TensorType], sizes: Sequence[tuple[int, ...]]):
        self.script = script
        self.layer = layer
        self._results = results
        self._sizes = sizes

    # what is written

    def let(self, function: str, *arguments: Term | Weight, **named: Term | Weight) -> Name:
        """Write a call beside the result; its value."""
        return self.script.assign(f"{self.layer}.{function}", self.call(function, *arguments, **named))

    def call(self, function: str, *arguments: Term | Weight, **named: Term | Weight) -> Call:
        """A call that is the result, as an expression."""
        given = [self._term(value) for value in arguments]
        return self.script.call(function, *given, **{name: self._term(value) for name, value in named.items()})

    def _term(self, value: Term | Weight) -> Term:
        if isinstance(value, Weight):
            return self.variable(value)
        if isinstance(value, list | tuple):
            return [self._term(item) for item in value]
        return value

    def variable(self, value: Tensor) -> Name:
        """A tensor as a variable of the script; a weight that has none yet gets one of its name."""
        if isinstance(value, Name):
            return value
        if value.variable is None:
            if value.element not in FLOATS:
                raise Refused(f"'{value.name}' is a constant of {value.element}", "only floats are read so far")
            call = self.script.call("param", list(value.shape), value.element)
            frozen = Call(call.at, call.function, call.arguments, frozen=not value.trained)
            value.variable = self.script.assign(value.name, frozen)
        return value.variable

    def owner(self, **weights: Tensor | None) -> str | None:
        """
        The module that owns the weights of a call, by the names that a layer gives its own; None where one is shared.

        Weights that are missing count as owned.
        """
        paths: set[str] = set()
        for suffix, weight in weights.items():
            if weight is None:
                continue
            if not isinstance(weight, Weight) or weight.variable is not None or weight.uses > 1:
                return None
            if weight.suffix != suffix or not weight.owner:
                return None
            paths.add(weight.owner)
        if len(paths) != 1:
            return None
        (path,) = paths
        self.layer = path
        return path

    # what is known

    def shape(self, value: Tensor) -> tuple[int, ...]:
        """The shape of a tensor."""
        return value.shape if isinstance(value, Weight) else self.script.shape(value)

    def element(self, value: Tensor) -> str:
        """The element type of a tensor, as the language writes it."""
        return value.element if isinstance(value, Weight) else self.script.element(value)

    def result_shape(self, number: int = 0) -> tuple[int, ...]:
        """The shape of a result."""
        return self._sizes[number]

    def result_element(self, number: int = 0) -> str:
        """The element type of a result, as the language writes it."""
        return element_of(self._results[number].dtype)

    @property
    def result_count(self) -> int:
        """The number of results."""
        return len(self._sizes)

    def axis(self, axis: int, value: Tensor) -> int:
        """An axis of a tensor, counted from the first."""
        return axis % max(1, len(self.shape(value)))

    def cast(self, value: Tensor, element: str) -> Tensor:
        """A tensor in an element type, as it is where it has it."""
        return value if self.element(value) == element else self.let("cast", value, to=element)

    def operand(self, value: Tensor | float, element: str) -> Tensor | int | float | bool:
        """An operand of arithmetic in an element type."""
        return value if isinstance(value, int | float | bool) else self.cast(value, element)
