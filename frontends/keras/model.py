"""
Layers, their calls and models of models, from the JSON of Keras 2 and 3.

Keras 2 writes a call as lists, `["conv1", 0, 0, {}]` for each tensor: layer, number of its call, number of the result.
Keras 3 writes arguments with objects `__keras_tensor__` for tensors.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, cast

from npuc.compiler.core.errors import Location, SourceError

MODELS = ("Functional", "Model", "Sequential")
MAX_LAYERS = 10_000
MAX_NESTING = 16
"""How deep models may lie in models, and arguments in arguments."""
Json: TypeAlias = "Mapping[str, Json] | Sequence[Json] | str | int | float | bool | None"


@dataclass(frozen=True)
class TensorRef:
    """A result of a call of a layer."""

    layer: str
    call: int
    result: int


@dataclass(frozen=True)
class KerasCall:
    """The arguments of a call: values, lists and `TensorRef`s."""

    args: tuple[object, ...]
    kwargs: Mapping[str, object]

    @property
    def tensors(self) -> Iterator[TensorRef]:
        """The tensors among the arguments."""
        yield from _tensors([*self.args, *self.kwargs.values()])


@dataclass(frozen=True)
class KerasSpec:
    """A layer: its class, its options, its calls; `model` where it is a model itself. `number` counts from 1."""

    name: str
    kind: str
    config: Mapping[str, Json]
    calls: tuple[KerasCall, ...]
    number: int
    module: str = ""
    model: KerasModel | None = None

    @property
    def is_input(self) -> bool:
        """Whether it is an input of its model."""
        return self.kind == "InputLayer"


@dataclass(frozen=True)
class KerasModel:
    """A model: its layers in the order of the file, its inputs, and its outputs."""

    name: str
    filename: str
    layers: tuple[KerasSpec, ...]
    inputs: tuple[TensorRef, ...]
    outputs: tuple[TensorRef, ...]
    trainable: bool
    version: int
    compiled: Mapping[str, Json] = field(default_factory=dict[str, "Json"])


def fields(value: object) -> Mapping[str, Json]:
    """The fields of an object of JSON; none of another value."""
    return cast("Mapping[str, Json]", value) if isinstance(value, Mapping) else {}


def items(value: object) -> list[Json] | None:
    """The elements of a list of JSON; None for another value."""
    return cast("list[Json]", value) if isinstance(value, list) else None


def _tensors(values: Sequence[object]) -> Iterator[TensorRef]:
    for value in values:
        if isinstance(value, TensorRef):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors(cast("Sequence[object]", value))
        elif isinstance(value, Mapping):
            yield from _tensors(list(cast("Mapping[str, object]", value).values()))


class ModelReader:
    """Reads models of one file; counts their layers."""

    def __init__(self, filename: str, version: int):
        self.filename = filename
        self.version = version
        self.count = 0
        self.depth = 0

    def error(self, message: str, number: int | None = None, hint: str | None = None) -> SourceError:
        """An error in the file, at a layer where there is one."""
        at = None if number is None else Location(self.filename, number, 1)
        return SourceError(message if at is not None else f"{self.filename}: {message}", location=at, hint=hint)

    def model(self, document: Mapping[str, object]) -> KerasModel:
        """The model of a document. Raises `SourceError` for what contradicts itself."""
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise self.error(f"found models nested deeper than {MAX_NESTING}, expected at most as many")
        config = document["config"]
        if document["class_name"] == "Sequential":
            found = self._sequential(config)
        else:
            found = self._functional(config)
        self.depth -= 1
        compiled = document.get("compile_config")
        if isinstance(compiled, Mapping) and compiled:
            found = replace(found, compiled=compiled)
        return found

    # the two kinds of models

    def _functional(self, config: object) -> KerasModel:
        known = fields(config)
        listed = items(known.get("layers"))
        if listed is None:
            raise self.error("found a model without layers, expected config.layers")
        layers = [self.layer(one) for one in listed]
        self._check(layers)
        name = self._model_name(known)
        ends = [tuple(self._ends(known.get(key), f"{key} of '{name}'")) for key in ("input_layers", "output_layers")]
        trainable = known.get("trainable") is not False
        return KerasModel(name, self.filename, tuple(layers), ends[0], ends[1], trainable, self.version)

    def _sequential(self, config: object) -> KerasModel:
        """A chain of layers; without an input it gets one of the shape that the file tells."""
        known = fields(config)
        listed = items(config) or items(known.get("layers"))
        if not listed:
            raise self.error("found a sequential model without layers, expected config.layers")
        layers = [self.layer(one) for one in listed]
        if not layers[0].is_input:
            shape = layers[0].config.get("batch_input_shape", known.get("build_input_shape"))
            own: Mapping[str, Json] = {"batch_shape": shape, "dtype": layers[0].config.get("dtype")}
            taken = {layer.name for layer in layers}
            name = next(n for n in ("input", *(f"input_{k}" for k in range(1, len(layers) + 2))) if n not in taken)
            layers.insert(0, KerasSpec(name, "InputLayer", own, (), layers[0].number))
        self._check(layers)
        chained = [layers[0]]
        for before, layer in itertools.pairwise(layers):
            call = KerasCall((TensorRef(before.name, 0, 0),), {})
            chained.append(replace(layer, calls=(call,)))
        first, last = (TensorRef(chained[at].name, 0, 0) for at in (0, -1))
        trainable = known.get("trainable") is not False
        name = self._model_name(known)
        return KerasModel(name, self.filename, tuple(chained), (first,), (last,), trainable, self.version)

    def _model_name(self, config: Mapping[str, Json]) -> str:
        name = config.get("name")
        return name if isinstance(name, str) and name else "model"

    def _check(self, layers: Sequence[KerasSpec]) -> None:
        taken: set[str] = set()
        for layer in layers:
            if layer.name in taken:
                raise self.error(f"found two layers called '{layer.name}', expected a name for each", layer.number)
            taken.add(layer.name)

    # layers

    def layer(self, document: object) -> KerasSpec:
        """A layer of a document. Raises `SourceError`."""
        self.count += 1
        number = self.count
        if number > MAX_LAYERS:
            raise self.error(f"found more than {MAX_LAYERS:,} layers, expected at most as many")
        known = fields(document)
        kind, config = known.get("class_name"), fields(known.get("config"))
        if not isinstance(kind, str):
            raise self.error("found a layer without class_name and config", number)
        model = None
        if kind in MODELS:
            model = self.model(cast("Mapping[str, object]", {"config": None, **known}))
        name = known.get("name") or config.get("name") or f"{kind.lower()}_{number}"
        if not isinstance(name, str):
            raise self.error("found a name of a layer that is no text", number)
        calls = self._calls(known.get("inbound_nodes"), name, number)
        module = known.get("module")
        return KerasSpec(name, kind, config, calls, number, module if isinstance(module, str) else "", model)

    def _calls(self, nodes: Json, name: str, number: int) -> tuple[KerasCall, ...]:
        if nodes is None:
            return ()
        if not isinstance(nodes, list):
            raise self.error(f"layer '{name}': found inbound_nodes that are no list", number)
        try:
            return tuple(self._call_3(one) if isinstance(one, Mapping) else self._call_2(one) for one in nodes)
        except (ValueError, TypeError, LookupError):
            raise self.error(f"layer '{name}': found inbound_nodes that Keras does not write", number) from None

    def _call_3(self, node: Mapping[str, Json]) -> KerasCall:
        args, kwargs = node["args"], node["kwargs"]
        if not isinstance(args, list) or not isinstance(kwargs, Mapping):
            raise TypeError
        read = {key: self._argument(value, 0) for key, value in kwargs.items()}
        return KerasCall(tuple(self._argument(value, 0) for value in args), read)

    def _argument(self, value: object, depth: int) -> object:
        if depth > MAX_NESTING:
            raise ValueError
        if isinstance(value, Mapping):
            known = cast("Mapping[str, object]", value)
            if known.get("class_name") == "__keras_tensor__":
                config = cast("Mapping[str, object]", known["config"])
                return self._reference(config["keras_history"])
            return {key: self._argument(one, depth + 1) for key, one in known.items()}
        if isinstance(value, list):
            return [self._argument(one, depth + 1) for one in cast("list[object]", value)]
        return value

    def _call_2(self, node: Json) -> KerasCall:
        """A list of tensors, each with keywords; one tensor is the argument itself."""
        if isinstance(node, list) and len(node) in (3, 4) and isinstance(node[0], str):
            node = [node]
        if not isinstance(node, list) or not node:
            raise TypeError
        tensors: list[TensorRef] = []
        kwargs: dict[str, object] = {}
        for one in node:
            if not isinstance(one, list):
                raise TypeError
            tensors.append(self._reference(one[:3]))
            if len(one) > 3 and isinstance(one[3], Mapping):
                kwargs |= {key: self._keyword_2(value, 0) for key, value in one[3].items()}
        return KerasCall((tensors[0] if len(tensors) == 1 else tensors,), kwargs)

    def _keyword_2(self, value: Json, depth: int) -> object:
        """A keyword of Keras 2: a list of name and two numbers is a tensor."""
        if depth > MAX_NESTING:
            raise ValueError
        if isinstance(value, list):
            is_tensor = len(value) in (3, 4) and isinstance(value[0], str)
            if is_tensor and all(type(number) is int for number in value[1:3]):
                return self._reference(value[:3])
            return [self._keyword_2(one, depth + 1) for one in value]
        return value

    def _reference(self, value: object) -> TensorRef:
        layer, call, result = cast("Sequence[object]", value)
        if not isinstance(layer, str) or type(call) is not int or type(result) is not int or min(call, result) < 0:
            raise ValueError
        return TensorRef(layer, call, result)

    def _ends(self, value: Json, what: str) -> Iterator[TensorRef]:
        """The tensors of `input_layers` or `output_layers`: one, a list, or a dictionary."""
        try:
            if isinstance(value, list) and len(value) == 3 and isinstance(value[0], str):
                yield self._reference(value)
                return
            listed = list(value.values()) if isinstance(value, Mapping) else value
            if not isinstance(listed, list) or not listed:
                raise TypeError
            for one in listed:
                yield self._reference(one)
        except (ValueError, TypeError):
            raise self.error(f"found {what} that Keras does not write, expected names and numbers") from None
