"""The sizes that a model leaves free: by name, or by input and axis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from npuc.compiler.core.errors import SourceError, UsageError, did_you_mean
from npuc.dialects.tensors import MAX_ELEMENTS
from npuc.frontends.onnx.container.model import OnnxModel, ValueInfo

Shapes: TypeAlias = "dict[str, tuple[int, ...]]"


def free_sizes(model: OnnxModel) -> dict[str, tuple[tuple[str, int], ...]]:
    """The free sizes by name, each with the inputs and axes that have it; one without a name is `INPUT.AXIS`."""
    found: dict[str, list[tuple[str, int]]] = {}
    for value in model.graph.free_inputs:
        sizes = value.type.sizes if value.type is not None and value.type.sizes is not None else ()
        for axis, size in enumerate(sizes):
            if isinstance(size, str):
                found.setdefault(size or f"{value.name}.{axis}", []).append((value.name, axis))
    return {name: tuple(places) for name, places in found.items()}


BATCH = "batch"
"""The size that stands for the first axis of all inputs, unless the model has one of this name."""


def takes_batch(model: OnnxModel) -> bool:
    """Whether `batch` stands for the first axes of the inputs."""
    return BATCH not in free_sizes(model) and any(_first(value) is not None for value in model.graph.free_inputs)


def _first(value: ValueInfo) -> int | str | None:
    """The first size of an input, None for one without axes."""
    sizes = value.type.sizes if value.type is not None else None
    return sizes[0] if sizes else None


def exported_batch(model: OnnxModel) -> int | None:
    """The batch that a model was exported for, as its first input has it; None where it is free."""
    first = next((size for value in model.graph.free_inputs if (size := _first(value)) is not None), None)
    return first if isinstance(first, int) else None


def batched_shapes(model: OnnxModel, given: Mapping[str, int]) -> tuple[Shapes, Shapes]:
    """
    The shapes of the inputs in the export, and those that are asked for, in which `batch` may be another one.

    Raises as `input_shapes`.
    """
    if BATCH not in given or not takes_batch(model):
        shapes = input_shapes(model, given)
        return shapes, shapes
    batch, old = given[BATCH], exported_batch(model)
    others = {name: size for name, size in given.items() if name != BATCH}
    for value in model.graph.free_inputs:
        first = _first(value)
        if isinstance(first, str) and not {first, f"{value.name}.0"} & others.keys():
            others[first or f"{value.name}.0"] = batch
    exported = input_shapes(model, others)
    fixed = {value.name for value in model.graph.free_inputs if old is not None and _first(value) == old}
    if not 1 <= batch <= MAX_ELEMENTS:
        raise UsageError(f"-D {BATCH}={batch}: found {batch}, expected a size from 1")
    return exported, {name: (batch, *shape[1:]) if name in fixed else shape for name, shape in exported.items()}


def input_shapes(model: OnnxModel, given: Mapping[str, int]) -> Shapes:
    """
    The shapes of the inputs of a model, for sizes by name or by `INPUT.AXIS`.

    Raises `UsageError` for names that it has not and for sizes that are missing, `SourceError` for inputs that are no
    tensors of a known rank.
    """
    free = free_sizes(model)
    by_place = {f"{name}.{axis}": size for size, places in free.items() for name, axis in places}
    chosen: dict[str, int] = {}
    for name, size in given.items():
        key = name if name in free else by_place.get(name)
        if key is None:
            raise UsageError(f"-D {name}: the model has no such size", hint=did_you_mean(name, [*free, *by_place]))
        if not 1 <= size <= MAX_ELEMENTS or chosen.get(key, size) != size:
            raise UsageError(f"-D {name}={size}: found {size}, expected one size from 1")
        chosen[key] = size
    missing = [name for name in free if name not in chosen]
    if missing:
        example = " ".join(f"-D {name}=8" for name in missing)
        raise UsageError(f"{model.filename}: sizes of inputs are free: {', '.join(missing)}", hint=example)
    return {value.name: _shape(model, value, chosen) for value in model.graph.free_inputs}


def _shape(model: OnnxModel, value: ValueInfo, chosen: Mapping[str, int]) -> tuple[int, ...]:
    type = value.type
    if type is None or type.kind != "tensor" or type.sizes is None:
        found = "a value of unknown type" if type is None else f"a {type.kind}"
        raise SourceError(f"{model.filename}: input '{value.name}' is {found}, expected a tensor of known rank")
    pairs = enumerate(type.sizes)
    return tuple(chosen[s or f"{value.name}.{axis}"] if isinstance(s, str) else s for axis, s in pairs)
