"""What a layer of the network language is: its signature, what it computes, what its arguments may be."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.layers import get_functions, get_losses
from npuc.compiler.layers.optimizer import OPTIMIZERS
from npuc.compiler.reference.docstrings import blocks_of, documentation
from npuc.frontends.dsl.binding import Formal, Required, kind_text, signature_of
from npuc.frontends.dsl.blocks import Described, described, library_block
from npuc.frontends.dsl.reference import optimizer_signature
from npuc.frontends.dsl.values import literal_text

LayerKind = Literal["layer", "loss", "block", "optimizer"]


@dataclass(frozen=True)
class ArgumentPage:
    """An argument: what it may be in words (None: anything), and its default as the language writes it (None: none)."""

    name: str
    takes: str | None
    default: str | None


@dataclass(frozen=True)
class LayerPage:
    """What a layer, a loss, a block of the library or an optimizer is; `text` are paragraphs."""

    name: str
    kind: LayerKind
    signature: str
    text: tuple[str, ...]
    arguments: tuple[ArgumentPage, ...]


def layer_names() -> tuple[str, ...]:
    """All names, as a program writes them."""
    blocks = (block.name for family in described().values() for block in family)
    return tuple(dict.fromkeys((*get_functions(), *blocks, *OPTIMIZERS)))


def layer_page(name: str) -> LayerPage:
    """What is known of the layer of a name. Raises `UsageError` with the nearest."""
    blocks = _blocks()
    if name in get_functions():
        return _function_page(name, get_functions()[name])
    if name in blocks:
        return _block_page(blocks[name])
    if name in OPTIMIZERS:
        return _optimizer_page(name)
    hint = did_you_mean(name, list(layer_names())) or "npuc list layers"
    raise UsageError(f"there is no layer '{name}'", hint=hint)


def _blocks() -> Mapping[str, Described]:
    return {block.name: block for family in described().values() for block in family}


def _function_page(name: str, function: Callable[..., Any]) -> LayerPage:
    signature = signature_of(function)
    kind = "loss" if name in get_losses() else "layer"
    text = blocks_of(inspect.getdoc(function) or "")
    return LayerPage(name, kind, signature.text, tuple(text), _arguments(signature.formals))


def _block_page(block: Described) -> LayerPage:
    routine = library_block(block.name)
    formals = () if routine is None else routine.signature.formals
    return LayerPage(block.name, "block", block.signature, (block.comment,), _arguments(formals))


def _optimizer_page(name: str) -> LayerPage:
    rule = OPTIMIZERS[name]
    told = documentation(rule.op)
    arguments = tuple(
        ArgumentPage(
            option,
            "a boolean" if rule.takes_flag(option) else "a number",
            None if default is None else literal_text(default),
        )
        for option, default in rule.defaults.items()
    )
    return LayerPage(name, "optimizer", optimizer_signature(name), (told.summary, *told.details), arguments)


def _arguments(formals: Sequence[Formal]) -> tuple[ArgumentPage, ...]:
    return tuple(
        ArgumentPage(
            one.name,
            None if one.kind in (None, inspect.Parameter.empty) else kind_text(one.kind),
            None if isinstance(one.default, Required) else one.default,
        )
        for one in formals
    )
