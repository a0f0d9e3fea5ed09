"""The calls of a model in order, models in models included, as statements of a script."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush
from typing import cast

from npuc.compiler.core.errors import Location, SourceError, SourceErrors
from npuc.frontends.dsl.syntax import Name
from npuc.frontends.keras.layer import KerasLayer, SharedWeights
from npuc.frontends.keras.layers import meanings, operations
from npuc.frontends.keras.model import KerasCall, KerasModel, KerasSpec, ModelReader, TensorRef
from npuc.frontends.keras.names import plain
from npuc.frontends.keras.sizes import input_layers, input_shape
from npuc.frontends.keras.values import KerasValue
from npuc.frontends.script.script import Script
from npuc.frontends.script.weights import Refused

_INPUTS = {
    **{"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int32": "i32", "int64": "i64"},
    **{"int8": "i8", "bool": "bool", "uint8": "i32", "int16": "i32", "uint16": "i32"},
}
_Place = tuple[str, int]


class KerasWalk:
    """Writes a model into a script; `remarks` are what its layers say to the user, with the names of layers."""

    def __init__(self, script: Script, model: KerasModel, sizes: Mapping[str, int]):
        self.script = script
        self.model = model
        self.remarks: dict[str, list[str]] = defaultdict(list)
        self._sizes = sizes
        self._weights = SharedWeights()

    def run(self) -> dict[str, KerasValue]:
        """The outputs by the names of their layers."""
        inputs: list[KerasValue] = []
        for layer in input_layers(self.model):
            with self.script.node(layer.number):
                inputs.append(KerasValue(self._input(layer)))
        results = self._model(self.model, "", inputs, shared=False, trainable=True)
        found: dict[str, KerasValue] = {}
        for reference, value in zip(self.model.outputs, results, strict=True):
            name = plain(reference.layer)
            own = next(n for n in (name, *(f"{name}_{k}" for k in range(2, len(results) + 2))) if n not in found)
            found[own] = value
        return found

    def _input(self, layer: KerasSpec) -> Name:
        said = dtype_of(layer.config.get("dtype")) or "float32"
        if said not in _INPUTS:
            raise self._error(layer, layer.name, f"found a tensor of {said}, which has no counterpart")
        return self.script.input(plain(layer.name), _INPUTS[said], input_shape(self.model, layer, self._sizes))

    # models

    def _model(
        self, model: KerasModel, path: str, arguments: Sequence[KerasValue], *, shared: bool, trainable: bool
    ) -> list[KerasValue]:
        """The results of a model that is called with some values."""
        layers = {layer.name: layer for layer in model.layers}
        if len(arguments) != len(model.inputs):
            raise Refused(f"found {len(arguments)} tensors for a model of {len(model.inputs)} inputs")
        made: dict[_Place, list[KerasValue]] = {}
        for reference, value in zip(model.inputs, arguments, strict=True):
            made[reference.layer, 0] = [value]
        for name, number in self._order(model, layers, made):
            layer = layers[name]
            own = f"{path}.{plain(name)}" if path else plain(name)
            made[name, number] = self._call(
                *(layer, own, layer.calls[number], made),
                shared=shared or len(layer.calls) > 1,
                trainable=trainable and model.trainable,
            )
        return [self._result(made, reference, model) for reference in model.outputs]

    def _result(self, made: Mapping[_Place, list[KerasValue]], reference: TensorRef, model: KerasModel) -> KerasValue:
        values = made.get((reference.layer, reference.call), [])
        if reference.result >= len(values):
            raise SourceError(
                f"{model.filename}: output '{reference.layer}' of '{model.name}' is made by no call, or by one that "
                "waits for itself"
            )
        return values[reference.result]

    def _order(
        self, model: KerasModel, layers: Mapping[str, KerasSpec], known: Mapping[_Place, object]
    ) -> list[_Place]:
        """The calls that outputs depend on, each behind those that it reads, else in the order of the file."""
        needed = self._needed(model, layers, known)
        waiting: dict[_Place, int] = {}
        readers: dict[_Place, list[_Place]] = defaultdict(list)
        for place in needed:
            reads = {(r.layer, r.call) for r in layers[place[0]].calls[place[1]].tensors} - known.keys()
            waiting[place] = len(reads)
            for one in reads:
                readers[one].append(place)
        at = {layer.name: number for number, layer in enumerate(model.layers)}
        ready = [(at[name], number, name) for (name, number), count in waiting.items() if not count]
        heapify(ready)
        order: list[_Place] = []
        while ready:
            _, number, name = heappop(ready)
            order.append((name, number))
            for reader in readers[name, number]:
                waiting[reader] -= 1
                if not waiting[reader]:
                    heappush(ready, (at[reader[0]], reader[1], reader[0]))
        if len(order) < len(needed):
            stuck = next(place for place in waiting if waiting[place])
            raise self._error(layers[stuck[0]], stuck[0], "waits for its own result: its calls are a circle")
        return order

    def _needed(
        self, model: KerasModel, layers: Mapping[str, KerasSpec], known: Mapping[_Place, object]
    ) -> list[_Place]:
        """The calls that outputs depend on. Raises `SourceError` for one that does not exist."""
        found: dict[_Place, None] = {}
        stack = [(reference, None) for reference in model.outputs]
        while stack:
            reference, reader = stack.pop()
            place = (reference.layer, reference.call)
            if place in known or place in found:
                continue
            layer = layers.get(reference.layer)
            if layer is None or reference.call >= len(layer.calls):
                what = f"call {reference.call} of '{reference.layer}'" if layer else f"the layer '{reference.layer}'"
                if reader is None:
                    raise SourceError(f"{model.filename}: found no {what}, which '{model.name}' has as an output")
                raise self._error(reader, reader.name, f"reads {what}, which does not exist")
            found[place] = None
            stack += [(one, layer) for one in layer.calls[reference.call].tensors]
        return list(found)

    # calls

    def _call(
        self,
        layer: KerasSpec,
        path: str,
        call: KerasCall,
        made: Mapping[_Place, list[KerasValue]],
        *,
        shared: bool,
        trainable: bool,
    ) -> list[KerasValue]:
        """The results of a call. Raises `SourceError` with the layer."""
        with self.script.node(layer.number):
            try:
                args = [_resolved(value, made) for value in call.args]
                kwargs = {name: _resolved(value, made) for name, value in call.kwargs.items()}
                return self._meaning(layer, path, args, kwargs, shared=shared, trainable=trainable)
            except Refused as refusal:
                raise self._error(layer, path, refusal.message, refusal.hint) from None
            except SourceErrors as errors:
                raise self._error(layer, path, errors.errors[0].message, errors.errors[0].hint) from None
            except SourceError as error:
                if error.message.startswith(("layer '", "found more than")):
                    raise
                raise self._error(layer, path, error.message, None) from None

    def _meaning(
        self,
        layer: KerasSpec,
        path: str,
        args: Sequence[object],
        kwargs: Mapping[str, object],
        *,
        shared: bool,
        trainable: bool,
    ) -> list[KerasValue]:
        if layer.model is not None:
            values = [value for one in (*args, *kwargs.values()) for value in _flat(one)]
            return self._model(layer.model, path, values, shared=shared, trainable=trainable)
        known = operations() if is_operation(layer) else meanings()
        context = KerasLayer(
            *(self.script, layer, path, args, kwargs, self._weights),
            shared=shared,
            trainable=trainable,
            version=self.model.version,
            runner=self._inner,
        )
        result = known[layer.kind](context)
        self._remark(context, layer, path)
        return [result] if isinstance(result, KerasValue) else list(result)

    def _inner(self, c: KerasLayer, document: object, part: str, value: KerasValue) -> KerasValue:
        """The result of a layer inside another one."""
        spec = inner_spec(c, document)
        path = f"{c.layer}.{plain(spec.name) if spec.model else part}"
        results = self._meaning(spec, path, [value], {}, shared=c.shared, trainable=c.trainable)
        if len(results) != 1:
            raise Refused(f"found {len(results)} results of '{spec.name}', expected one")
        return results[0]

    def _remark(self, context: KerasLayer, layer: KerasSpec, path: str) -> None:
        for message in context.remarks:
            self.remarks[message].append(path)
        if is_operation(layer):
            return
        if self.script.training and context.options.has_regularizer():
            self.remarks["its regularizer adds nothing to the loss"].append(path)
        for name in context.options.unread():
            self.remarks[f"its option {name} has no effect"].append(path)
        policy = dtype_of(layer.config.get("dtype"))
        if policy not in (None, "float32") and layer.kind not in ("InputLayer", "Embedding"):
            self.remarks[f"its type {policy} is f32 here; --precision chooses"].append(path)

    def _error(self, layer: KerasSpec, path: str, message: str, hint: str | None = None) -> SourceError:
        at = Location(self.model.filename, layer.number, 1)
        return SourceError(f"layer '{path}' ({layer.kind}): {message}", location=at, hint=hint)


def is_operation(layer: KerasSpec) -> bool:
    """Whether it is an operation of `keras.ops` and no layer."""
    return ".ops" in layer.module


def inner_spec(c: KerasLayer, document: object) -> KerasSpec:
    """The layer that an option of another one describes. Raises `Refused`, `SourceError`."""
    if not isinstance(document, Mapping):
        raise Refused("layer: found no layer, expected one")
    spec = ModelReader("", c.version).layer(cast("Mapping[str, object]", document))
    return replace(spec, number=c.spec.number)


def dtype_of(said: object) -> str | None:
    """The name of a type, or of a policy of Keras 2 or 3."""
    if isinstance(said, Mapping):
        config = cast("Mapping[str, object]", said).get("config")
        said = cast("Mapping[str, object]", config).get("name") if isinstance(config, Mapping) else None
    return said if isinstance(said, str) else None


def _resolved(value: object, made: Mapping[_Place, list[KerasValue]]) -> object:
    """An argument with values for tensors."""
    if isinstance(value, TensorRef):
        values = made[value.layer, value.call]
        if value.result >= len(values):
            raise Refused(f"reads result {value.result} of '{value.layer}', which has {len(values)}")
        return values[value.result]
    if isinstance(value, list):
        return [_resolved(one, made) for one in cast("list[object]", value)]
    return value


def _flat(value: object) -> list[KerasValue]:
    if isinstance(value, KerasValue):
        return [value]
    if isinstance(value, list):
        return [one for each in cast("list[object]", value) for one in _flat(each)]
    return []
