"""An ONNX model from a file, which is mapped and not read as a whole, or from bytes."""

from __future__ import annotations

import os
from pathlib import Path

from npuc.compiler.core.errors import SourceError
from npuc.compiler.core.gc_pause import without_cycle_collection
from npuc.frontends.files import map_bytes
from npuc.frontends.onnx.container.decode import Decoder
from npuc.frontends.onnx.container.external import ExternalFiles
from npuc.frontends.onnx.container.model import OnnxModel
from npuc.frontends.onnx.container.wire import Buffer, WireFile

OPSETS = (7, 28)
"""The first and the last version of ONNX's own operators that are read."""


def load_model(path: str | os.PathLike[str]) -> OnnxModel:
    """
    The model in a file; external content lies in the file's folder.

    Raises `UsageError` for a file that cannot be read, `SourceError` for one that is no model of a known version.
    """
    name = os.fspath(path)
    return parse_model(map_bytes(name), name, str(Path(name).parent))


def parse_model(data: Buffer, filename: str, folder: str | None = None) -> OnnxModel:
    """The model that some bytes are. Raises `SourceError`."""
    if not len(data):
        raise SourceError(f"{filename}: the file is empty", hint="expected an ONNX model")
    if data[: len(_POINTER)] == _POINTER:
        raise SourceError(f"{filename}: found a pointer of Git LFS, expected the model", hint="git lfs pull")
    with without_cycle_collection():
        model = Decoder(WireFile(data, filename), ExternalFiles(filename, folder)).model()
    for opsets in (model.opsets, *(function.opsets for function in model.functions.values())):
        _check_version(filename, opsets.get(""))
    return model


def _check_version(filename: str, version: int | None) -> None:
    first, last = OPSETS
    if version is not None and not first <= version <= last:
        hint = "export the model with a newer opset" if version < first else "export the model with opset_version=23"
        raise SourceError(f"{filename}: found operators of opset {version}, expected {first} to {last}", hint=hint)


_POINTER = b"version https://git-lfs"
