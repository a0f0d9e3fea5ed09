"""One operation of a list as its meaning sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from xdsl.ir import SSAValue

from npuc.dialects.tensors import Tensor, tensor_of
from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.jax.values import FlatOp, Known
from npuc.frontends.jax.views import TensorView, Value, Views, checked, constant, whole
from npuc.frontends.script.context import CallContext

if TYPE_CHECKING:
    from npuc.compiler.core.builder import GraphBuilder
    from npuc.frontends.jax.program import HloType
    from npuc.frontends.script.direct import DirectScript

Number: TypeAlias = int | float | bool


class HloContext(CallContext):
    """What the meaning of an operation of StableHLO is written with: its operands as views, its attributes."""

    def __init__(self, script: DirectScript, layer: str, flat: FlatOp, views: Views, is_step: bool):
        super().__init__(script, layer)
        self._direct = script
        self.flat, self.views, self.is_step = flat, views, is_step
        if is_step:  # the derivative that JAX made reads what is between
            self.spelt_out = ("normalisations",)

    @property
    def ints(self) -> dict[str, list[int]]:
        """The attributes that are integers."""
        return self.flat.op.ints

    def argument(self, number: int) -> Value:
        """An operand."""
        return self.views.of(self, self.flat.operands[number])

    @property
    def given(self) -> list[Value]:
        """The operands."""
        return [self.argument(number) for number in range(len(self.flat.operands))]

    def view(self, number: int) -> TensorView:
        """An operand as a view; numbers of the program become a constant."""
        found = self.argument(number)
        return constant(self, found) if isinstance(found, Known) else found

    def plain(self, number: int) -> Name:
        """An operand as a variable with its elements in order."""
        return self.views.plain(self, self.argument(number))

    @property
    def type(self) -> HloType:
        """The type of the first result."""
        return self.flat.results[0].type

    def result(self, value: Call | Name) -> TensorView:
        """The result that a call gives as it is."""
        name = value if isinstance(value, Name) else self.script.assign(self.layer, value)
        return whole(name, self.type.shape, checked(self.type.element))

    def built(self, make: Callable[[GraphBuilder], SSAValue]) -> Name:
        """A value of an operation that the language has no function for."""
        return self._direct.build(self.layer, make)

    def tensor(self, name: Name) -> SSAValue:
        """The value of a variable, for operations that the language has no function for."""
        value = self.script.value(name)
        assert isinstance(value, SSAValue)
        return value

    def result_type(self, shape: Sequence[int], like: Name) -> Tensor:
        """A tensor type of the elements of a variable."""
        return tensor_of(self.script.type(like).element_type, shape)

    def named(self, value: Call | Name) -> Name:
        """A call as a variable of the operation's layer."""
        return value if isinstance(value, Name) else self.script.assign(self.layer, value)


Meaning: TypeAlias = Callable[[HloContext], "Value | Sequence[Value]"]


def brief(**windows: Sequence[int]) -> dict[str, int | Sequence[int]]:
    """Arguments of a window as one writes them: one number where all are equal, none where it is the default."""
    defaults = {"padding": 0, "dilation": 1, "groups": 1}
    found: dict[str, int | Sequence[int]] = {}
    for name, numbers in windows.items():
        same = numbers[0] if len(set(numbers)) == 1 else None
        if same is None or defaults.get(name) != same:
            found[name] = numbers if same is None else same
    return found


def registry(meanings: dict[str, Meaning]) -> Callable[..., Callable[[Meaning], Meaning]]:
    """A decorator that gives operations, by name, their meaning."""

    def of(*kinds: str) -> Callable[[Meaning], Meaning]:
        def add(meaning: Meaning) -> Meaning:
            meanings.update(dict.fromkeys(kinds, meaning))
            return meaning

        return add

    return of
