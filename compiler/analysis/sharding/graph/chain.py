"""
A chain of weighted layers and what splitting them moves between accelerators.

A level of the tree halves every group of accelerators; each layer has a type at each level, which says along what the
halves cut it:

    type          cuts          halves of    each half makes                    moved within the layer
    I   (dp)      the batch     I, O         a part of dW's sum                 W
    II  (mp)      input         I, W         a part of Y's sum                  O
    III           output        W, O         a part of dX's sum                 I

I, W, O are the elements of a layer's input, weights and output (what is handed to the next layer) of the whole batch;
the error of a tensor has as many as the tensor. At a boundary each half reads what it lacks of the consumer's input
and its error. Amounts are what one half reads from the other. Sources: Song et al., "HyPar", HPCA 2019, Table 2; Song
et al., "AccPar", HPCA 2020.
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
    """A weighted layer: its name, its kind, and the elements of its input, weights and output, whole batch."""

    name: str
    kind: LayerKind
    input: int
    weight: int
    output: int


@dataclass(frozen=True)
class LayerSizes:
    """What is left of a layer's tensors in a group of accelerators."""

    input: Amount
    weight: Amount
    output: Amount

    @staticmethod
    def of(layer: Layer) -> LayerSizes:
        """The whole tensors."""
        return LayerSizes(Amount(layer.input), Amount(layer.weight), Amount(layer.output))

    def split(self, kind: BasicType) -> LayerSizes:
        """What one half has of them."""
        return LayerSizes(
            self.input / (1 if kind == "III" else 2),
            self.weight / (1 if kind == "I" else 2),
            self.output / (1 if kind == "II" else 2),
        )

    def within(self, kind: BasicType) -> Amount:
        """What a layer of that type moves by itself."""
        return {"I": self.weight, "II": self.output, "III": self.input}[kind]


FREE: dict[Convention, frozenset[tuple[BasicType, BasicType]]] = {
    "table2": frozenset({("I", "I"), ("II", "III"), ("III", "II")}),
    # all but batch to channels, and channels to batch
    "published": frozenset(product(BASIC_TYPES, BASIC_TYPES)) - {("I", "II"), ("III", "I")},
}
"""
The boundaries at which each half has what it needs, by the papers. Under `physical` what a boundary moves depends on
the levels above (`chain_terms`).
"""


def between(before: BasicType, after: BasicType, entering: Amount, convention: Convention) -> Amount:
    """What a boundary between two types moves, `entering` the consumer's input."""
    return Amount(0) if (before, after) in FREE[convention] else entering / 2
