"""A model of Keras as a program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

from npuc.compiler.core.builder import function_name
from npuc.compiler.core.errors import Location, SourceError, SourceErrors, UsageError
from npuc.frontends.base import Program, Request, Source
from npuc.frontends.keras.document import model_of
from npuc.frontends.keras.layers import REASONS, meanings, operations
from npuc.frontends.keras.model import KerasModel, KerasSpec, ModelReader
from npuc.frontends.keras.names import plain
from npuc.frontends.keras.sizes import DEFAULT_BATCH, free_names, sizes_of
from npuc.frontends.keras.training import outputs_and_wishes
from npuc.frontends.keras.walk import KerasWalk, is_operation
from npuc.frontends.script.freeze import Frozen
from npuc.frontends.script.script import Script
from npuc.frontends.script.training import complete

if TYPE_CHECKING:
    from npuc.frontends.dsl.syntax import Definition
    from npuc.frontends.script.text.sizes import FreeSize

_FIRST = 8
"""Of so many layers names are listed."""


def read_keras(source: Source, request: Request) -> Program:
    """The program of a file, with the step that is asked for. Raises `SourceError`s with layers, `UsageError`."""
    model = model_of(source.text, source.filename)
    check_known(model)
    script, remarks = _network(model, request)
    module = script.finish()

    def text() -> str:
        """The network as text."""
        from npuc.frontends.script.text import network_text

        script.frozen.check()
        return network_text(script.definition, {}, _free_sizes(model, request))

    return Program(module, tuple(remarks), {}, script.unneeded(module), (), text)


def check_known(model: KerasModel) -> None:
    """Raise an error that names all layers without a meaning."""
    unknown: dict[str, list[str]] = {}
    first = 0
    for path, layer in _layers(model, ""):
        known = operations() if is_operation(layer) else meanings()
        if layer.kind not in known and not layer.is_input and layer.model is None:
            unknown.setdefault(layer.kind, []).append(path)
            first = first or layer.number
    if not unknown:
        return
    said: list[str] = []
    for kind, paths in unknown.items():
        more = f" and {len(paths) - _FIRST} more" if len(paths) > _FIRST else ""
        reason = f", {REASONS[kind]}" if kind in REASONS else ""
        said.append(f"{kind}: {', '.join(paths[:_FIRST])}{more}{reason}")
    count = sum(map(len, unknown.values()))
    what = "a layer that has no counterpart" if count == 1 else f"{count} layers that have no counterpart"
    hint = "write them with layers of Keras; Python code in a file is not executed"
    raise SourceError(f"found {what}: {'; '.join(said)}", location=Location(model.filename, first, 1), hint=hint)


def _layers(model: KerasModel, path: str) -> Iterator[tuple[str, KerasSpec]]:
    """All layers with their paths, those in models and in other layers included."""
    for layer in model.layers:
        own = f"{path}.{plain(layer.name)}" if path else plain(layer.name)
        yield own, layer
        if layer.model is not None:
            yield from _layers(layer.model, own)
        yield from _inside(model, layer, own, 0)


def _inside(model: KerasModel, layer: KerasSpec, path: str, depth: int) -> Iterator[tuple[str, KerasSpec]]:
    """The layers that the options of a layer hold."""
    if layer.kind not in ("TimeDistributed", "Bidirectional") or depth > 4:
        return
    for name in ("layer", "backward_layer"):
        document = layer.config.get(name)
        if isinstance(document, Mapping):
            spec = ModelReader(model.filename, model.version).layer(cast("Mapping[str, object]", document))
            inner = replace(spec, number=layer.number)
            own = f"{path}.{plain(inner.name)}"
            yield own, inner
            if inner.model is not None:
                yield from _layers(inner.model, own)
            yield from _inside(model, inner, own, depth + 1)


def _network(model: KerasModel, request: Request) -> tuple[Script, list[str]]:
    """A model as a script, with the training step that is asked for and remarks on it."""
    sizes, frozen = sizes_of(model, request.defines), Frozen(request.freeze)
    training, most = not request.inference, request.max_ops
    name = function_name(plain(model.name), "network")
    script = Script(name, model.filename, training=training, max_ops=most, is_frozen=frozen.matches)
    walk = KerasWalk(script, model, sizes)
    outputs = walk.run()
    named, wanted, remarks = outputs_and_wishes(script, model, outputs, request)
    remarks += complete(script, named, wanted)
    frozen.check()
    return script, [*remarks, *_said(walk.remarks)]


def _said(remarks: Mapping[str, list[str]]) -> Iterator[str]:
    for message, paths in remarks.items():
        names = list(dict.fromkeys(paths))
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        yield f"layer{'s' if len(names) > 1 else ''} {', '.join(names[:3])}{more}: {message}"


def _free_sizes(model: KerasModel, request: Request) -> list[FreeSize]:
    """The sizes that may be parameters of the network's text."""
    from npuc.frontends.script.text.sizes import FreeSize, parameter_names

    given, names = sizes_of(model, request.defines), free_names(model)
    now = {name: given.get(name, DEFAULT_BATCH) for name in names}
    axes = {name: int(name.rpartition(".")[2]) if "." in name else 0 for name in names}

    def at(name: str, value: int) -> Definition | None:
        """The network with another size; None where that is none."""
        try:
            return _network(model, replace(request, defines={**request.defines, name: value}))[0].definition
        except (SourceError, SourceErrors, UsageError):
            return None

    named = parameter_names(axes)
    return [FreeSize(named[name], size, (2 * size, 3 * size), partial(at, name)) for name, size in now.items()]
