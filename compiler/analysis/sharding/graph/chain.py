"""
A chain of weighted layers, and the communication that each partition type causes.

Each level of the device tree splits every group of accelerators in halves. At each level a layer has one of three basic
partition types, which says along which dimension the two halves split it:

    type         splits              each half holds     partial sums of     communication within the layer
    I   (dp)     the batch           half of I and O     dW                  W
    II  (mp)     input channels      half of I and W     Y                   O
    III          output channels     half of W and O     dX                  I

I, W and O are the elements of a layer's input, weights and output (as handed to the next layer) for the whole batch; a
gradient has as many elements as its tensor. At a boundary each half reads the parts of the consumer's input, and of its
gradient, that it lacks. Amounts are the elements that one half reads from the other. Sources: Song et al., "HyPar",
HPCA 2019, Table 2; Song et al., "AccPar", HPCA 2020.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Literal

from npuc.compiler.core.options import Convention

LayerKind = Literal["conv", "fc"]
BasicType = Literal["I", "II", "III"]
BASIC_TYPES: tuple[BasicType, ...] = ("I", "II", "III")
Amount = Fraction


@dataclass(frozen=True)
class Layer:
    """A weighted layer: its name, its kind, and the elements of its input, weights and output for the whole batch."""

    name: str
    kind: LayerKind
    input: int
    weight: int
    output: int


@dataclass(frozen=True)
class LayerSizes:
    """The elements of a layer's tensors that a group of accelerators holds."""

    input: Amount
    weight: Amount
    output: Amount

    @staticmethod
    def of(layer: Layer) -> LayerSizes:
        """The whole tensors."""
        return LayerSizes(Amount(layer.input), Amount(layer.weight), Amount(layer.output))

    def split(self, kind: BasicType) -> LayerSizes:
        """The elements that one half of the group holds."""
        return LayerSizes(
            self.input / (1 if kind == "III" else 2),
            self.weight / (1 if kind == "I" else 2),
            self.output / (1 if kind == "II" else 2),
        )

    def within(self, kind: BasicType) -> Amount:
        """The elements that a layer of that type communicates by itself."""
        return {"I": self.weight, "II": self.output, "III": self.input}[kind]


FREE: dict[Convention, frozenset[tuple[BasicType, BasicType]]] = {
    "table2": frozenset({("I", "I"), ("II", "III"), ("III", "II")}),
    # all but from batch to channels and from channels to batch
    "published": frozenset(product(BASIC_TYPES, BASIC_TYPES)) - {("I", "II"), ("III", "I")},
}
"""
The boundaries that cause no communication by the papers' conventions. Under `physical` the cost of a boundary depends
on the levels above (`chain_terms`).
"""


def between(before: BasicType, after: BasicType, entering: Amount, convention: Convention) -> Amount:
    """The elements that a boundary between two types moves; `entering` is the size of the consumer's input."""
    return Amount(0) if (before, after) in FREE[convention] else entering / 2
