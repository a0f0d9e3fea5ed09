"""An ONNX model as a program."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from npuc.compiler.core.errors import SourceError, SourceErrors, UsageError
from npuc.frontends.base import Program, Request, Source
from npuc.frontends.dsl.syntax import Definition, Name
from npuc.frontends.onnx.assumed import Assumed, names_of
from npuc.frontends.onnx.batch.exported import ExportedShapes
from npuc.frontends.onnx.batch.new import Batches, NewBatch
from npuc.frontends.onnx.container.load import parse_model
from npuc.frontends.onnx.container.model import OnnxModel
from npuc.frontends.onnx.emitter import ScriptEmitter, check_known
from npuc.frontends.onnx.fold.limits import Limits
from npuc.frontends.onnx.names import plain
from npuc.frontends.onnx.opaque import OpaqueNodes
from npuc.frontends.onnx.sizes import BATCH, Shapes, batched_shapes, free_sizes, takes_batch
from npuc.frontends.onnx.values import OnnxValue
from npuc.frontends.onnx.walk import Walk
from npuc.frontends.script.distinct import checked_nodes
from npuc.frontends.script.freeze import Frozen
from npuc.frontends.script.opaque.calls import OpaqueOperators
from npuc.frontends.script.script import Script
from npuc.frontends.script.text import network_text
from npuc.frontends.script.text.sizes import FreeSize, parameter_names
from npuc.frontends.script.training import Wanted, complete


def model_of(source: Source) -> OnnxModel:
    """The model that a source is. Raises `SourceError`."""
    folder = os.path.dirname(source.filename) or "."
    return parse_model(source.data, source.filename, folder if os.path.isfile(source.filename) else None)


@dataclass(frozen=True)
class SizesOfModel:
    """The sizes that a model leaves free, as parameters of a network."""

    model: OnnxModel

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        batch = (BATCH,) if takes_batch(self.model) else ()
        return (*free_sizes(self.model), *batch, *names_of(self.model))

    @property
    def texts(self) -> tuple[tuple[str, str], ...]:
        """None: the file is no text."""
        return ()

    def check(self, defines: Mapping[str, Any]) -> None:
        """Raise `UsageError` for names and values that the model refuses."""
        sizes, _ = _separated(self.model, defines)
        batched_shapes(self.model, sizes)


def read_model(model: OnnxModel, request: Request) -> Program:
    """The program of a model. Raises `SourceError`s with the numbers of nodes, `UsageError` for a wrong request."""
    if not request.opaque:
        check_known(model)
    script, emitter, assumed, remarks = _network(model, request)
    module = script.finish()
    checked = checked_nodes(module)
    unchecked = tuple(said for number, said in assumed.said.values() if number not in checked)
    said = [f"{said}, which depends on data" for _, said in assumed.said.values()]

    def text() -> str:
        """The network as text."""
        script.frozen.check()
        return network_text(script.definition, {}, _sizes_of_text(model, request))

    warnings = (*remarks, *_rewritten(model), *said)
    return Program(module, warnings, emitter.values, script.unneeded(module), unchecked, text)


def _network(model: OnnxModel, request: Request) -> tuple[Script, ScriptEmitter, Assumed, list[str]]:
    """A model as a script, with the training step that is asked for and remarks on it."""
    sizes, of_data = _separated(model, request.defines)
    exported, shapes = batched_shapes(model, sizes)
    assumed, frozen = Assumed(of_data), Frozen(request.freeze)
    operators = OpaqueOperators(request.opaque_costs) if request.opaque else None
    batches = None if shapes == exported else _new_batch(model, request, exported, shapes, Assumed(of_data))
    opaque = None if operators is None else OpaqueNodes(model, operators, sizes, rebatched=batches is not None)
    script = _script(model, request, frozen)
    try:
        emitter, named = _written(model, script, request, shapes, assumed, batches, exported, opaque)
    except SourceError as error:
        raise error if batches is None else batches.explained(error) from None
    remarks = complete(script, named, Wanted(request.results, request.losses, request.optimizer))
    frozen.check()
    assumed.check()
    assert all(map(script.builder.has, emitter.values)), "a weight of the file became no parameter"
    return script, emitter, assumed, [*remarks, *(() if operators is None else operators.remarks())]


def _sizes_of_text(model: OnnxModel, request: Request) -> list[FreeSize]:
    """The sizes that may be parameters of the network's text: those that the model leaves free, and a fixed batch."""
    given, _ = _separated(model, request.defines)
    free = free_sizes(model)
    now = {name: _given(name, places, given) for name, places in free.items()}
    named = parameter_names({name: places[0][1] for name, places in free.items()})
    if takes_batch(model):
        _, shapes = batched_shapes(model, given)
        now[BATCH] = next(shape[0] for shape in shapes.values() if shape)
        named[BATCH] = BATCH

    def at(name: str, value: int) -> Definition | None:
        """The network with another size; None where that is none."""
        try:
            return _network(model, replace(request, defines={**request.defines, name: value}))[0].definition
        except (SourceError, SourceErrors):
            return None

    return [FreeSize(named[name], size, (2 * size, 3 * size), partial(at, name)) for name, size in now.items()]


def _given(name: str, places: Sequence[tuple[str, int]], given: Mapping[str, int]) -> int:
    """The size that was given by its name or one of its places."""
    return next(given[key] for key in (name, *(f"{one}.{axis}" for one, axis in places)) if key in given)


def _script(model: OnnxModel, request: Request, frozen: Frozen) -> Script:
    name = plain(model.graph.name) if model.graph.name else "network"
    training, most = not request.inference, request.max_ops
    return Script(name, model.filename, training=training, max_ops=most, is_frozen=frozen.matches)


def _new_batch(model: OnnxModel, request: Request, exported: Shapes, shapes: Shapes, assumed: Assumed) -> NewBatch:
    """How the model is written for another batch: what its values are in the export, by a walk for that."""
    known = ExportedShapes(model)
    sizes, _ = _separated(model, request.defines)
    opaque = OpaqueNodes(model, OpaqueOperators(request.opaque_costs), sizes) if request.opaque else None
    _written(model, _script(model, request, Frozen(())), request, exported, assumed, known, exported, opaque)
    old, new = next((exported[name][0], shapes[name][0]) for name in shapes if shapes[name] != exported[name])
    return NewBatch(old, new, known)


def _written(
    model: OnnxModel,
    script: Script,
    request: Request,
    shapes: Shapes,
    assumed: Assumed,
    batches: Batches | None,
    exported: Shapes,
    opaque: OpaqueNodes | None = None,
) -> tuple[ScriptEmitter, dict[str, Name]]:
    """Write a model for inputs of some shapes into a script; its outputs by name."""
    emitter = ScriptEmitter(model, script, assumed, batches, opaque)
    inputs: dict[str, OnnxValue] = {}
    for value in model.graph.free_inputs:
        assert value.type is not None
        assert value.type.element is not None
        element = value.type.element.language
        if not element:
            raise script.error(
                f"input '{value.name}' is a tensor of {value.type.element.name}, which has no counterpart"
            )
        made = emitter.variable(script.input(plain(value.name), element, shapes[value.name]))
        inputs[value.name] = made
        if isinstance(batches, NewBatch):
            batches.input(made, exported[value.name])
    outputs = Walk(model, emitter, Limits(nodes=request.max_ops)).run(inputs)
    if isinstance(batches, NewBatch):
        for name, value in outputs.items():
            batches.check_output(name, value)
    return emitter, {plain(name): emitter.output(name, value) for name, value in outputs.items()}


def _rewritten(model: OnnxModel) -> list[str]:
    """Remarks on parameters that the exporter computed, so that they are not those of the network."""
    made = {op: 0 for op in _MADE}
    for node in model.graph.nodes:
        for name in node.inputs:
            if name in model.graph.initializers and name.startswith(f"onnx::{node.op}_") and node.op in made:
                made[node.op] += 1
                break
    return [_MADE[op].format(count) for op, count in made.items() if count]


_MADE = {
    "Conv": "{} convolutions have weights that the exporter made, as where it folds batch norms into them; "
    "torch.onnx.export(..., training=TrainingMode.TRAINING, do_constant_folding=False) keeps the norms",
    "MatMul": "{} products have weights that the exporter transposed; torch.onnx.export(..., do_constant_folding=False)"
    " keeps them",
}
"""What is said where nodes of an operator have parameters that the exporter made."""


def _separated(model: OnnxModel, defines: Mapping[str, Any]) -> tuple[dict[str, int], dict[str, int]]:
    """Sizes of inputs, and those of nodes whose results depend on data. Raises `UsageError`."""
    sizes, nodes, free = _sizes(defines), names_of(model), free_sizes(model)
    return (
        {name: size for name, size in sizes.items() if name in free or name not in nodes},
        {name: size for name, size in sizes.items() if name not in free and name in nodes},
    )


def _sizes(defines: Mapping[str, Any]) -> dict[str, int]:
    """Sizes by name, as whole numbers. Raises `UsageError`."""
    sizes: dict[str, int] = {}
    for name, value in defines.items():
        number = int(value) if isinstance(value, str) and value.strip().isdigit() else value
        if not isinstance(number, int) or isinstance(number, bool):
            raise UsageError(f"-D {name}={value}: expected a whole number")
        sizes[name] = number
    return sizes
