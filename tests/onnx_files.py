"""Writes ONNX files for tests, without the onnx package: messages as nested lists of (field number, value)."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

Fields = Sequence[tuple[int, "int | float | str | bytes | Fields"]]
CODES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7, "bool": 9, "float16": 10, "float64": 11}
AttributeLike = int | float | str | Sequence[int] | bytes | npt.NDArray[np.generic]


def varint(value: int) -> bytes:
    value %= 1 << 64
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number: int, value: float | str | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def message(*fields: tuple[int, int | float | str | bytes]) -> bytes:
    return b"".join(field(number, value) for number, value in fields)


def tensor(name: str, array: npt.NDArray[np.generic]) -> bytes:
    dims = [(1, size) for size in array.shape]
    return message(*dims, (2, CODES[array.dtype.name]), (8, name), (9, array.tobytes()))


def attribute(name: str, value: AttributeLike) -> bytes:
    """An attribute; bytes are a graph."""
    if isinstance(value, np.ndarray):
        return message((1, name), (20, 4), (5, tensor("", value)))
    if isinstance(value, int | float):
        return message(
            (1, name), (20, 1 if isinstance(value, float) else 2), (2 if isinstance(value, float) else 3, value)
        )
    if isinstance(value, bytes):
        return message((1, name), (20, 5), (6, value))
    if isinstance(value, str):
        return message((1, name), (20, 3), (4, value))
    return message((1, name), (20, 7), *((8, int(item)) for item in value))


def node(
    op: str, inputs: Sequence[str], outputs: Sequence[str], domain: str = "", **attributes: AttributeLike
) -> bytes:
    names = [(1, name) for name in inputs] + [(2, name) for name in outputs]
    return message(*names, (4, op), (7, domain), *((5, attribute(n, value)) for n, value in attributes.items()))


def value(name: str, sizes: Sequence[int | str] | None = None, code: int = 1) -> bytes:
    if sizes is None:
        return message((1, name))
    dims = [(1, message((1, size) if isinstance(size, int) else (2, size))) for size in sizes]
    return message((1, name), (2, message((1, message((1, code), (2, message(*dims)))))))


def graph(
    nodes: Sequence[bytes],
    inputs: Sequence[bytes] = (),
    outputs: Sequence[str] = (),
    initializers: Mapping[str, npt.NDArray[np.generic]] | None = None,
) -> bytes:
    return message(
        *((1, each) for each in nodes),
        (2, "g"),
        *((5, tensor(name, array)) for name, array in (initializers or {}).items()),
        *((11, each) for each in inputs),
        *((12, value(name)) for name in outputs),
    )


def function(
    name: str, inputs: Sequence[str], outputs: Sequence[str], nodes: Sequence[bytes], opset: int = 21
) -> bytes:
    fields = [(1, name), *((4, n) for n in inputs), *((5, n) for n in outputs), *((7, n) for n in nodes), (10, "own")]
    return message(*fields, (9, message((2, opset))))


def model(graph: bytes, opset: int = 21, functions: Sequence[bytes] = ()) -> bytes:
    return message((1, 9), (8, message((1, ""), (2, opset))), (7, graph), *((25, each) for each in functions))
