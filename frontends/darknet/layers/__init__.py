"""The meanings of darknet's sections, by their words in brackets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import TypeAlias

from npuc.frontends.darknet.layer import DarknetLayer, DarknetValue

Meaning: TypeAlias = Callable[[DarknetLayer], DarknetValue]
_MODULES = ("convolution", "dense", "heads", "joins", "moves", "pooling", "recurrent")


def registry(into: dict[str, Meaning]) -> Callable[..., Callable[[Meaning], Meaning]]:
    """A decorator that adds a meaning to a module's own under some words."""

    def section(*words: str) -> Callable[[Meaning], Meaning]:
        def add(meaning: Meaning) -> Meaning:
            into.update(dict.fromkeys(words, meaning))
            return meaning

        return add

    return section


@cache
def meanings() -> Mapping[str, Meaning]:
    """All meanings by the words of sections; words of one meaning follow each other, the usual one first."""
    found: dict[str, Meaning] = {}
    for module in _MODULES:
        found.update(import_module(f"npuc.frontends.darknet.layers.{module}").MEANINGS)
    return found


REFUSED: Mapping[str, str] = {
    "local": "its weights are another for each place",
    "crnn": "recurrent convolutions have no counterpart",
    "conv_lstm": "recurrent convolutions have no counterpart",
    "history": "it keeps images from step to step",
    "iseg": "its masks depend on data",
    "contrastive": "its loss depends on the labels of boxes",
    "implicit": "it has no input",
}
"""Sections that are known and refused, and why."""
