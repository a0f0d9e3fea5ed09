"""One call of a layer as the meanings of layers see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from msgspec.structs import replace

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.keras.config import Options
from npuc.frontends.keras.values import KerasValue, place_of, to_first, to_last
from npuc.frontends.script.moves import transposed
from npuc.frontends.script.weights import Refused
from npuc.frontends.script.writer import CallWriter, Operand

if TYPE_CHECKING:
    from collections.abc import Callable

    from npuc.frontends.keras.model import Json, KerasSpec
    from npuc.frontends.script.script import Script


Runner: TypeAlias = "Callable[[KerasLayer, object, str, KerasValue], KerasValue]"


class SharedWeights:
    """The weights of layers that are called more than once, by their names."""

    def __init__(self) -> None:
        self.made: dict[str, Name] = {}


class KerasLayer(CallWriter):
    """
    What the meaning of a layer is written with: `args` and `kwargs` are those of the call, tensors `KerasValue`s.

    A layer that is called once makes its weights as its own; of one that is `shared` they stand alone.
    """

    def __init__(
        self,
        script: Script,
        spec: KerasSpec,
        path: str,
        args: Sequence[object],
        kwargs: Mapping[str, object],
        weights: SharedWeights,
        *,
        shared: bool = False,
        trainable: bool = True,
        version: int = 3,
        runner: Runner | None = None,
    ):
        super().__init__(script, path)
        self.spec = spec
        self.options = Options(spec.config)
        self.args = args
        self.kwargs = kwargs
        self.weights = weights
        self.shared = shared
        self.trainable = trainable and spec.config.get("trainable") is not False
        self.version = version
        self.remarks: list[str] = []
        self._runner = runner

    def run(self, layer: object, part: str, value: KerasValue) -> KerasValue:
        """The result of a layer that the layer's options hold, as the file describes it."""
        assert self._runner is not None
        return self._runner(self, layer, part, value)

    def inner(self, spec: KerasSpec, path: str, *args: object) -> KerasLayer:
        """What a layer inside of this one is written with."""
        none: dict[str, object] = {}
        made = KerasLayer(
            *(self.script, spec, path, args, none, self.weights),
            shared=self.shared,
            trainable=self.trainable,
            version=self.version,
            runner=self._runner,
        )
        made.remarks = self.remarks
        return made

    # arguments

    @property
    def x(self) -> KerasValue:
        """The only tensor of the call."""
        given = self.args[0] if self.args else next(iter(self.kwargs.values()), None)
        listed = cast("list[object]", given) if isinstance(given, list) else [given]
        found = listed[0] if len(listed) == 1 else None
        if not isinstance(found, KerasValue):
            raise Refused("found another number of tensors, expected one")
        return found

    def operands(self, least: int = 2) -> list[KerasValue]:
        """The tensors of a call that takes a list of them."""
        found = self.args[0] if len(self.args) == 1 else list(self.args)
        listed = cast("list[object]", found) if isinstance(found, list) else [found]
        values = [one for one in listed if isinstance(one, KerasValue)]
        if len(values) != len(listed) or len(values) < least:
            raise Refused(f"found {len(values)} tensors among {len(listed)} arguments, expected at least {least}")
        return values

    # what is known

    def shape_of(self, value: KerasValue) -> tuple[int, ...]:
        """A tensor's shape in Keras's order."""
        shape = self.shape(value.name)
        return tuple(shape[axis] for axis in to_last(len(shape))) if value.first else shape

    def axis_of(self, axis: Json, value: KerasValue) -> int:
        """An axis in Keras's order, counted from the first."""
        rank = len(self.shape(value.name))
        if isinstance(axis, list) and len(axis) == 1:
            axis = axis[0]
        if type(axis) is not int or not -rank <= axis < rank:
            raise Refused(f"axis: found {axis}, expected an axis of a tensor of rank {rank}")
        return axis % rank

    def place(self, axis: int, value: KerasValue) -> int:
        """Where an axis of Keras's order stands in the program."""
        return place_of(axis, len(self.shape(value.name))) if value.first else axis

    # orders of axes

    def first(self, value: KerasValue) -> Name:
        """A tensor with its last axis second."""
        rank = len(self.shape(value.name))
        if value.first or rank < 3:
            return value.name
        return self._moved(transposed(self, value.name, to_first(rank)))

    def last(self, value: KerasValue) -> Name:
        """A tensor in Keras's order; where the axes between are single, no element moves."""
        if not value.first:
            return value.name
        batch, channels, *sizes = self.shape(value.name)
        if set(sizes) == {1}:
            return self.let("reshape", value.name, [batch, *sizes, channels])
        return self._moved(transposed(self, value.name, to_last(len(sizes) + 2)))

    def _moved(self, value: Name | Call) -> Name:
        return value if isinstance(value, Name) else self.script.assign(f"{self.layer}.transpose", value)

    @property
    def channels_last(self) -> bool:
        """Whether images have their channels last."""
        return self.options.word("data_format", "channels_last", ("channels_last", "channels_first")) == "channels_last"

    def image(self, value: KerasValue, axes: int) -> Name:
        """An image of some axes besides batch and channels, as the language has it."""
        rank = len(self.shape(value.name))
        if rank != axes + 2:
            raise Refused(f"found a tensor of rank {rank}, expected rank {axes + 2}")
        return self.first(value) if self.channels_last else self.last(value)

    def of_image(self, name: Name) -> KerasValue:
        """A value that is an image as the language has it."""
        return KerasValue(name, first=self.channels_last and len(self.shape(name)) > 2)

    def aligned(self, values: Sequence[KerasValue]) -> tuple[list[Name], bool]:
        """Tensors in one order of axes, and whether their channels are first: so where one has it so."""
        ranks = {len(self.shape(value.name)) for value in values}
        if len(ranks) == 1 and any(value.first for value in values):
            return [self.first(value) for value in values], True
        return [self.last(value) for value in values], False

    # calls

    def main(self, function: str, *arguments: Operand, **named: Operand) -> Name:
        """The call that makes the layer's weights: its layer has the layer's name."""
        return self.main_part("", function, *arguments, **named)

    def main_part(self, part: str, function: str, *arguments: Operand, **named: Operand) -> Name:
        """The call that makes the weights of a part of the layer."""
        self._frozen = not self.trainable
        call = self.call(function, *arguments, **named)
        return self.script.assign(f"{self.layer}.{part}" if part else self.layer, call)

    def done(self, function: str, *arguments: Operand, **named: Operand) -> Name:
        """A call without weights that is the result."""
        return self.script.assign(self.layer, self.call(function, *arguments, **named))

    def weight(self, suffix: str, shape: Sequence[int], fill: float | None = None, *, trained: bool = True) -> Name:
        """A weight that stands alone; of a shared layer the one of its first call."""
        name = f"{self.layer}.{suffix}"
        if name not in self.weights.made:
            named = {} if fill is None else {"fill": fill}
            call = self.script.call("param", list(shape), **named)
            frozen = replace(call, frozen=not (trained and self.trainable))
            self.weights.made[name] = self.script.assign(name, frozen)
        return self.weights.made[name]

    def refuse_shared(self) -> None:
        """Raise an error for a layer with weights that is called more than once and cannot be."""
        if self.shared:
            raise Refused("is called more than once, which has no counterpart for layers of this class")

    def remark(self, message: str) -> None:
        """Say something of the layer to the user."""
        self.remarks.append(message)
