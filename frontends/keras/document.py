"""The JSON of a file: a model of Keras, or a message that says what it looks like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import msgspec

from npuc.compiler.core.errors import Location, SourceError
from npuc.frontends.keras.model import MODELS, KerasModel, ModelReader

_EXPECTED = "expected a model of Keras, as model.to_json() writes it"
_TFJS = ("modelTopology", "model_config")
"""Where TensorFlow.js and HDF5 files keep a model."""
_LOOKS: tuple[tuple[tuple[str, ...], str, str | None], ...] = (
    (("npuc", "totals"), "a report of npuc", "npuc plot draws it"),
    (("npuc", "points"), "the results of a sweep of npuc", "npuc plot draws it"),
    (("npuc",), "a result of npuc", "npuc plot draws results"),
    (("traceEvents",), "a timeline", None),
    (("weight_map",), "an index of weights", "the graph is in another file"),
    (("architectures",), "a configuration of a transformers model, which has no graph", "export it by torch.export"),
    (("model_type",), "a configuration of a transformers model, which has no graph", "export it by torch.export"),
    (("cells", "nbformat"), "a notebook", None),
    (("dependencies",), "a list of packages", None),
    (("nodes", "arg_nodes"), "a graph of MXNet", None),
    (("class_name", "config"), "a part of Keras that is no model", None),
)
"""Keys of other files, what such a file is, and a hint."""


def model_of(text: str, filename: str) -> KerasModel:
    """The model in a text. Raises `SourceError`."""
    document: object = _decoded(text, filename)
    for key in _TFJS:
        if isinstance(document, Mapping) and key in document:
            document = cast("Mapping[str, object]", document)[key]
    if isinstance(document, str) and document is not text:  # some files keep the JSON as a text
        document = _decoded(document, filename)
    if not isinstance(document, Mapping):
        raise SourceError(f"{filename}: found {_kind(document)}, {_EXPECTED}")
    keys = cast("Mapping[str, object]", document)
    if keys.get("class_name") not in MODELS or "config" not in keys:
        for marks, what, hint in _LOOKS:
            if all(mark in keys for mark in marks):
                raise SourceError(f"{filename}: found {what}, {_EXPECTED}", hint=hint)
        names = ", ".join(list(keys)[:5]) or "none"
        raise SourceError(f"{filename}: found an object with the keys {names}, {_EXPECTED}")
    return ModelReader(filename, _version(keys)).model(keys)


def _decoded(text: str, filename: str) -> object:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        at = Location(filename, 1, 1)
        raise SourceError(f"found no JSON: {error}; {_EXPECTED}", location=at) from None
    except RecursionError:
        raise SourceError(f"{filename}: found JSON that is nested too deep, {_EXPECTED}") from None


def _version(document: Mapping[str, object]) -> int:
    """The number of Keras that wrote a document: 2 or 3."""
    said = document.get("keras_version")
    if isinstance(said, str):
        return 2 if said[:1] in ("1", "2") else 3
    return 3 if "module" in document or "registered_name" in document else 2


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case list():
            return "a list"
        case str():
            return "a text"
        case bool():
            return "a truth value"
        case _:
            return "a number"
