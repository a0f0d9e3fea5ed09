"""
The sizes that a model leaves free: the batch, by the name `batch`, and others by input and axis, `image.1`.

A batch that nobody gives is 32, as that of Keras's `fit`; other sizes must be given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from npuc.compiler.core.errors import Location, SourceError, UsageError, did_you_mean
from npuc.compiler.core.kinds import show
from npuc.frontends.dsl.defines import literal
from npuc.frontends.keras.config import MOST
from npuc.frontends.keras.model import KerasModel, KerasSpec

BATCH = "batch"
DEFAULT_BATCH = 32


def input_layers(model: KerasModel) -> list[KerasSpec]:
    """The inputs of a model, in its order. Raises `SourceError` for one that is none."""
    layers = {layer.name: layer for layer in model.layers}
    found: list[KerasSpec] = []
    for one in model.inputs:
        layer = layers.get(one.layer)
        if layer is None or not layer.is_input:
            raise SourceError(f"{model.filename}: found the input '{one.layer}', expected an InputLayer of that name")
        found.append(layer)
    return found


def written_shape(model: KerasModel, layer: KerasSpec) -> list[int | None]:
    """The shape of an input as the file has it, the batch first. Raises `SourceError`."""
    config = layer.config
    shape = config.get("batch_shape", config.get("batch_input_shape"))
    if shape is None and isinstance(config.get("shape"), list):
        shape = [None, *cast("list[Any]", config["shape"])]
    found = cast("list[object]", shape) if isinstance(shape, list) else []
    sizes = [one for one in found if one is None or (type(one) is int and 1 <= one <= MOST)]
    if not sizes or len(sizes) != len(found):
        at = Location(model.filename, layer.number, 1)
        message = f"input '{layer.name}': found the shape {show(shape)}, expected sizes, null for those that are free"
        raise SourceError(message, location=at, hint="give the model an Input(shape) before to_json()")
    return sizes


def free_names(model: KerasModel) -> tuple[str, ...]:
    """The names of the sizes that are free."""
    names: list[str] = []
    for layer in input_layers(model):
        for axis, size in enumerate(written_shape(model, layer)):
            if size is None:
                names.append(f"{layer.name}.{axis}" if axis else BATCH)
    return tuple(dict.fromkeys(names))


def sizes_of(model: KerasModel, defines: Mapping[str, Any]) -> dict[str, int]:
    """Sizes that are given. Raises `UsageError`."""
    known = free_names(model)
    found: dict[str, int] = {}
    for name, value in defines.items():
        if name not in known:
            hint = did_you_mean(name, known) if known else "all sizes of the model are fixed"
            raise UsageError(f"unknown network parameter '{name}'", hint=hint)
        size = literal(value)
        if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= MOST:
            raise UsageError(f"-D {name}: found {show(value)}, expected a size of at least 1")
        found[name] = size
    return found


def input_shape(model: KerasModel, layer: KerasSpec, sizes: Mapping[str, int]) -> list[int]:
    """The shape of an input. Raises `UsageError` for a size that nobody gives."""
    shape: list[int] = []
    for axis, size in enumerate(written_shape(model, layer)):
        name = f"{layer.name}.{axis}" if axis else BATCH
        given = size if size is not None else sizes.get(name, DEFAULT_BATCH if axis == 0 else None)
        if given is None:
            message = f"the size of axis {axis} of input '{layer.name}' is free in the file"
            raise UsageError(message, hint=f"give it: -D {name}=N")
        shape.append(given)
    return shape


class SizesOfKeras:
    """The free sizes of a model as parameters of a network."""

    def __init__(self, model: KerasModel):
        self._model = model
        self.names: tuple[str, ...] = free_names(model)
        self.texts: tuple[tuple[str, str], ...] = ()

    def check(self, defines: Mapping[str, Any]) -> None:
        """Raise `UsageError` for names and values that the model refuses."""
        sizes_of(self._model, defines)
