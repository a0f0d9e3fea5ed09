"""The values of parameters, buffers and constants: raw bytes in the archive, read when a run asks for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from npuc.compiler.core.errors import SourceError
from npuc.frontends.torch.schema.program import PayloadJson, PayloadsJson
from npuc.frontends.torch.schema.values import SizeJson, TensorJson

if TYPE_CHECKING:
    from npuc.compiler.layers.base import Array
    from npuc.frontends.torch.archive import Archive

NO_VALUES: Mapping[str, Callable[[], Array]] = {}
MAX_CONFIG = 64 << 20
"""The most bytes of a list of values."""
DTYPES: Mapping[int, str] = {
    1: "uint8",
    2: "int8",
    3: "int16",
    4: "int32",
    5: "int64",
    6: "float16",
    7: "float32",
    8: "float64",
    9: "complex32",
    10: "complex64",
    11: "complex128",
    12: "bool",
    13: "bfloat16",
    28: "uint16",
    29: "float8_e4m3fn",
    30: "float8_e5m2",
    31: "float8_e4m3fnuz",
    32: "float8_e5m2fnuz",
    33: "float8_e8m0fnu",
    34: "uint32",
    35: "uint64",
}
"""PyTorch's element types by their numbers in schema 8."""
_WIDTHS = {"bfloat16": 2} | {
    name: np.dtype(name).itemsize for name in DTYPES.values() if not name.startswith(("float8", "complex32", "bfloat"))
}


@dataclass(frozen=True)
class Weights:
    """
    The values that an archive has, by the name of a parameter, buffer or constant, and where each lies.

    `given` are functions that read values which the archive lacks.
    """

    archive: Archive
    payloads: Mapping[str, tuple[str, PayloadJson]]
    given: Mapping[str, Callable[[], Array]]

    def reader(self, name: str) -> Callable[[], Array] | None:
        """A function that reads the values of a name; None where nobody has them."""
        if name in self.given:
            return self.given[name]
        folder, payload = self.payloads.get(name, ("", None))
        if payload is None or payload.tensor_meta is None or payload.use_pickle:
            return None
        path, meta = f"{folder}{payload.path_name}", payload.tensor_meta
        shape = _numbers(meta, "sizes")
        if path not in self.archive or shape is None or (prod(shape) and not self.archive.size(path)):
            return None
        return lambda: self._read(name, path, meta)

    def _read(self, name: str, path: str, meta: TensorJson) -> Array:
        """The values of a tensor; bfloat16 as float32. Raises `SourceError` where they do not fit into their file."""
        dtype = DTYPES.get(meta.dtype, "")
        shape, strides, offset = (_numbers(meta, one) for one in ("sizes", "strides", "storage_offset"))
        if dtype not in _WIDTHS or shape is None or strides is None or offset is None or len(shape) != len(strides):
            raise self.archive.error(f"'{name}': found values of type {dtype or meta.dtype}, which cannot be read")
        content = self.archive.read(path, self.archive.size(path))
        count = len(content) // _WIDTHS[dtype]
        last = offset[0] + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
        if min((*shape, *strides, *offset), default=0) < 0 or (prod(shape) and last >= count):
            raise self.archive.corrupt(f"the values of '{name}' end behind the end of '{path}'")
        flat = np.frombuffer(content, np.uint16 if dtype == "bfloat16" else dtype, count)
        if not prod(shape):
            return np.zeros(shape, np.float32 if dtype == "bfloat16" else dtype)
        inside = flat[offset[0] :]
        found = np.lib.stride_tricks.as_strided(inside, shape, [stride * inside.itemsize for stride in strides])
        if dtype == "bfloat16":
            return (found.astype(np.uint32) << 16).view(np.float32)
        return np.ascontiguousarray(found).reshape(shape)


def _numbers(meta: TensorJson, field: str) -> tuple[int, ...] | None:
    """The sizes, strides or offset of stored values; None where they are no plain integers."""
    value: SizeJson | list[SizeJson] = getattr(meta, field)
    found = [one.as_int for one in (value if isinstance(value, list) else [value])]
    return tuple(one for one in found if one is not None) if None not in found else None


def weights_of(archive: Archive, given: Mapping[str, Callable[[], Array]] = NO_VALUES) -> Weights:
    """The values that an archive has or that are `given`. Raises `SourceError` for a list of them that is none."""
    found: dict[str, tuple[str, PayloadJson]] = {}
    for folder, kind in (("data/weights/", "_weights_config.json"), ("data/constants/", "_constants_config.json")):
        for model in archive.names(folder, kind):
            text = archive.read(f"{folder}{model}{kind}", MAX_CONFIG)
            try:
                config = msgspec.json.decode(text, type=PayloadsJson).config
            except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
                raise SourceError(f"{archive.filename}: cannot read the list of values in {folder}: {error}") from None
            found |= {name: (folder, payload) for name, payload in config.items()}
    return Weights(archive, found, given)
