"""A `.pt2` file as an exported program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec

from npuc.compiler.core.errors import SourceError
from npuc.frontends.torch.archive import Archive, ArchiveBytes
from npuc.frontends.torch.arguments_json import unreadable
from npuc.frontends.torch.convert import program_of
from npuc.frontends.torch.program import ExportedProgram
from npuc.frontends.torch.schema.program import MAJOR, HeadJson, ProgramJson
from npuc.frontends.torch.weights import NO_VALUES, weights_of

if TYPE_CHECKING:
    from npuc.compiler.layers.base import Array

MAX_JSON = 256 << 20
"""The most bytes of the JSON of a program."""


def load(data: ArchiveBytes, filename: str, values: Mapping[str, Callable[[], Array]] = NO_VALUES) -> ExportedProgram:
    """The program in the bytes of a file; `values` are those that the file lacks. Raises `SourceError`s."""
    archive = Archive(data, filename)
    models = archive.names("models/", ".json")
    if not models:
        hint = "expected a file that torch.export.save of PyTorch 2.13 or later wrote"
        raise archive.error("found no exported program in the archive", hint)
    if len(models) > 1:
        raise archive.error(f"found the models {', '.join(models)}, expected one", "save each model in its own file")
    text = archive.read(f"models/{models[0]}.json", MAX_JSON)
    try:
        head = msgspec.json.decode(text, type=HeadJson)
        if head.schema_version.major != MAJOR:
            raise _other_version(filename, head)
        json = msgspec.json.decode(text, type=ProgramJson)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise unreadable(archive, error) from None
    return program_of(archive, models[0], json, weights_of(archive, values))


def _other_version(filename: str, head: HeadJson) -> SourceError:
    found = head.schema_version
    written = f", written by PyTorch {head.torch_version}" if head.torch_version else ""
    message = f"{filename}: found schema {found.major}.{found.minor}{written}, expected {MAJOR}"
    return SourceError(message, hint="export the model again with PyTorch 2.13 to 2.15")
