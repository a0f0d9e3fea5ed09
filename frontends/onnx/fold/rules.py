"""Which function computes an operator on constants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from npuc.frontends.onnx.calls import OnnxCall
from npuc.frontends.onnx.container.element_types import Array, ElementType
from npuc.frontends.onnx.container.tensors import MAX_RANK
from npuc.frontends.onnx.fold.limits import Limits
from npuc.frontends.onnx.values import Constant


@dataclass(frozen=True)
class Folded:
    """An operator under computation: the call, its constants, and how much may be computed."""

    call: OnnxCall
    limits: Limits

    def array(self, index: int) -> Array:
        """The elements of an input. Raises `SourceError` where it is left out."""
        value = self.call.constant(index)
        if value is None:
            raise self.call.error(f"input {index} is left out, expected a tensor")
        return value.array

    @property
    def arrays(self) -> list[Array]:
        """The elements of all inputs that are given."""
        return [value.array for value in self.call.inputs if isinstance(value, Constant)]

    @property
    def type(self) -> ElementType:
        """The element type of the first input."""
        return self.call.tensor(0).type

    def sizes(self, index: int) -> tuple[int, ...]:
        """A shape that an input gives, with what stands for sizes that are not said. Raises `SourceError`."""
        found = self.call.ints_at(index) or ()
        self.check_rank(len(found))
        return found

    def check_rank(self, rank: int) -> None:
        """Raise `SourceError` for more axes than a tensor may have."""
        if rank > MAX_RANK:
            raise self.call.error(f"makes a tensor of {rank} axes, expected at most {MAX_RANK}")

    def axis(self, rank: int, default: int = 0, name: str = "axis") -> int:
        """An axis that an attribute names, counted from 0. Raises `SourceError`."""
        return self.checked_axis(self.call.int(name, default), rank)

    def checked_axis(self, axis: int, rank: int) -> int:
        """An axis, counted from 0. Raises `SourceError`."""
        if not -rank <= axis < rank:
            raise self.call.error(f"axis {axis} is outside of a tensor of rank {rank}")
        return axis % rank

    def axes(self, rank: int, index: int) -> tuple[int, ...] | None:
        """Axes that an input names, counted from 0, None where it is left out. Raises `SourceError`."""
        found = self.call.ints_at(index)
        if found is None:
            return None
        checked = tuple(self.checked_axis(axis, rank) for axis in found)
        if len(set(checked)) < len(checked):
            raise self.call.error(f"axes {list(found)} name one twice")
        return checked


Rule = Callable[[Folded], Sequence[Constant]]


@dataclass
class RuleBook:
    """The functions by the names of ONNX's own operators."""

    rules: dict[str, Rule] = field(default_factory=dict[str, Rule])

    def rule(self, *ops: str) -> Callable[[Rule], Rule]:
        """Enter a function for some operators."""

        def enter(function: Rule) -> Rule:
            self.rules.update(dict.fromkeys(ops, function))
            return function

        return enter
