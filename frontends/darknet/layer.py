"""One section of a file as the meanings of sections see it: its options, its input, and the layers above."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npuc.frontends.darknet.activations import activated
from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.script.writer import CallWriter, Operand

if TYPE_CHECKING:
    from npuc.compiler.core.errors import SourceError
    from npuc.frontends.darknet.cfg import Section
    from npuc.frontends.script.script import Script


@dataclass(frozen=True)
class DarknetValue:
    """What a section makes: a value; `is_head` where it is an output as it is, which no other section reads."""

    value: Name
    is_head: bool = False
    logits: Name | None = None
    """What it is the softmax of, over the last axis."""


class DarknetLayer(CallWriter):
    """
    What the meaning of a section is written with.

    `x` is the value of the section above, [batch, channels, height, width], [batch, features], or, of a sequence,
    [batch, steps, features]. `above` is what each layer made, from layer 0.
    """

    def __init__(self, script: Script, section: Section, layer: str, x: Name, above: Sequence[DarknetValue]):
        super().__init__(script, layer)
        self.section = section
        self.x = x
        self._above = above

    # errors

    def error(self, message: str, hint: str | None = None) -> SourceError:
        """An error at the section."""
        return self.section.error(message, hint)

    # values

    def at(self, option: str, number: int) -> Name:
        """The value of an earlier layer, by its number, or counted back from this one. Raises `SourceError`."""
        own = self.section.number
        place = number + own if number < 0 else number
        if not 0 <= place < own:
            known = "there is none" if own == 0 else f"0 to {own - 1}, or -1 to {-own}"
            raise self.section.wrong(option, f"found layer {number}, expected one above this layer, {own}: {known}")
        made = self._above[place]
        if made.is_head:
            raise self.section.wrong(option, f"layer {place} is an output, whose values are read by no other layer")
        return made.value

    def image(self, value: Name | None = None) -> Name:
        """A value as images; a vector has height and width of 1. Raises `SourceError` for a sequence."""
        x = self.x if value is None else value
        shape = self.shape(x)
        if len(shape) == 4:
            return x
        if len(shape) != 2:
            raise self.error(f"found a sequence of vectors, {list(shape)}, expected images")
        return self.let("reshape", x, [*shape, 1, 1])

    def vectors(self) -> Name:
        """The input as vectors, or a sequence of them."""
        return self.let("flatten", self.x) if len(self.shape(self.x)) == 4 else self.x

    # calls

    def activate(self, value: Name | Call, default: str) -> Name:
        """A value after the section's activation."""
        function = self.section.word_of("activation", default)
        before = value if isinstance(value, Name) else self._named(value, alone=function == "linear")
        result = activated(self, function, before)
        return result if isinstance(result, Name) else self._named(result)

    def _named(self, call: Call, *, alone: bool = False) -> Name:
        return self.script.assign(self.layer if alone else f"{self.layer}.{call.function}", call)

    def result(self, function: str, *arguments: Operand, **named: Operand) -> Name:
        """A call that is all that the section does; its layer has the section's name."""
        return self.script.assign(self.layer, self.call(function, *arguments, **named))
