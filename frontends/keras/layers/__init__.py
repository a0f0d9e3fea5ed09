"""The meanings of Keras's layers by their classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TypeAlias

from npuc.frontends.keras.layer import KerasLayer
from npuc.frontends.keras.values import KerasValue

Meaning: TypeAlias = Callable[[KerasLayer], "KerasValue | Sequence[KerasValue]"]
_MODULES = (
    *("activation", "attention", "convolution", "core", "merge", "noise", "normalization", "pooling", "recurrent"),
    *("reshaping", "resizing"),
)


def registry(into: dict[str, Meaning]) -> Callable[..., Callable[[Meaning], Meaning]]:
    """A decorator that adds a meaning to a module's own under the names of some classes."""

    def layer(*kinds: str) -> Callable[[Meaning], Meaning]:
        def add(meaning: Meaning) -> Meaning:
            into.update(dict.fromkeys(kinds, meaning))
            return meaning

        return add

    return layer


@cache
def meanings() -> Mapping[str, Meaning]:
    """All meanings by the classes of layers."""
    found: dict[str, Meaning] = {}
    for module in _MODULES:
        found.update(import_module(f"npuc.frontends.keras.layers.{module}").MEANINGS)
    return found


@cache
def operations() -> Mapping[str, Meaning]:
    """The meanings of `keras.ops` by their classes: what a model computes without layers."""
    return import_module("npuc.frontends.keras.layers.operations").MEANINGS


REASONS: Mapping[str, str] = {
    "Lambda": "it holds Python code, which is not executed",
    "SlicingOpLambda": "it holds a slice as Keras 2 writes it",
    "TFOpLambda": "it holds an operation of TensorFlow",
    "ConvLSTM1D": "it has convolutions over steps",
    "ConvLSTM2D": "it has convolutions over steps",
    "ConvLSTM3D": "it has convolutions over steps",
    "TextVectorization": "it works on texts",
    "StringLookup": "it works on texts",
    "Hashing": "it works on texts",
}
"""Why classes that are known are refused."""
