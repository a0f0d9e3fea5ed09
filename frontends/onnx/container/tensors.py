"""Tensors of an ONNX file: element type, shape, and content that is read from the mapped file when it is asked for."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from npuc.compiler.core.errors import SourceError
from npuc.frontends.onnx.container.element_types import ELEMENT_TYPES, INT64, Array, ElementType
from npuc.frontends.onnx.container.external import ExternalFiles, Stretch
from npuc.frontends.onnx.container.wire import LENGTH, VARINT, Message, Span, WireFile, unpacked_varints

MAX_RANK = 32
"""The most axes of a tensor, as in numpy before version 2."""
MAX_STRINGS = 1 << 20
"""The most strings in a tensor that is read."""
_TYPED = {4: ("float_data", "<f4"), 5: ("int32_data", ""), 7: ("int64_data", ""), 10: ("double_data", "<f8")}
_TYPED[11] = ("uint64_data", "")
_FIELD_OF = {"float": 4, "complex64": 4, "double": 10, "complex128": 10, "int64": 7, "uint32": 11, "uint64": 11}
_STRINGS, _RAW, _EXTERNAL, _LOCATION = 6, 9, 13, 14


@dataclass(frozen=True, slots=True)
class OnnxTensor:
    """
    A tensor whose content is in a file.

    `shape` may have any number of elements, whatever the file holds; `numpy` checks that the content is as long.
    """

    name: str
    type: ElementType
    shape: tuple[int, ...]
    _content: _Content

    @property
    def count(self) -> int:
        """The number of its elements."""
        return prod(self.shape)

    @property
    def has_data(self) -> bool:
        """Whether the file, or one beside it that is there, has its elements."""
        return self.count == 0 or self._content.is_there()

    def numpy(self) -> Array:
        """
        Its values, without a copy where the file holds them as numpy does.

        Types that numpy lacks come as `element_types` says, bfloat16 as float32. Raises `SourceError`.
        """
        return self._content.read(self).reshape(self.shape)


@dataclass(frozen=True, slots=True)
class _Content:
    """Where the content of a tensor is: raw bytes, fields of numbers, strings, or an external file."""

    file: WireFile
    outside: ExternalFiles
    raw: Span | None = None
    pieces: tuple[tuple[int, int, int], ...] = ()
    field: int = 0
    strings: tuple[Span, ...] = ()
    stretch: Stretch | None = None

    def is_there(self) -> bool:
        """Whether there is any."""
        if self.stretch is not None:
            return self.outside.is_there(self.stretch)
        return self.raw is not None or bool(self.pieces) or bool(self.strings)

    def read(self, tensor: OnnxTensor) -> Array:
        """The values in row-major order. Raises `SourceError`."""
        kind, count = tensor.type, tensor.count
        if count == 0:
            return np.zeros(0, kind.held)
        if kind.bits == 0:
            return self._read_strings(tensor)
        if self.stretch is not None:
            return _decoded(kind, self.outside.read(tensor.name, self.stretch), count)
        if self.raw is not None:
            return _decoded(kind, (self.file.data, *self.raw), count)
        if not self.pieces:
            raise SourceError(f"{self.file.filename}: tensor '{tensor.name}' has no content")
        return self._read_numbers(tensor)

    def _read_strings(self, tensor: OnnxTensor) -> Array:
        _check_count(self.file, tensor, len(self.strings), "strings")
        if len(self.strings) > MAX_STRINGS:
            raise SourceError(f"{self.file.filename}: tensor '{tensor.name}' has more than {MAX_STRINGS} strings")
        values = np.empty(len(self.strings), object)
        values[:] = [self.file.data[start:end].decode(errors="replace") for start, end in self.strings]
        return values

    def _read_numbers(self, tensor: OnnxTensor) -> Array:
        """The elements that stand in a field of numbers."""
        kind, (name, floats) = tensor.type, _TYPED[self.field]
        if floats:
            data = b"".join(self.file.data[start:end] for _, start, end in self.pieces)
            if len(data) % int(floats[-1]):
                raise self.file.corrupt(f"tensor '{tensor.name}': '{name}' has {len(data)} bytes")
            numbers: Array = np.frombuffer(data, floats)
            numbers = numbers.view(kind.held) if kind.held.kind == "c" else numbers
        else:
            numbers = _integers(self.file, tensor.name, self.pieces)
        if kind.bits in (2, 4):  # several in each number
            numbers = numbers[: kind.size_of(tensor.count)].astype(np.uint8)
            return kind.decode(numbers, tensor.count)
        _check_count(self.file, tensor, len(numbers), "elements")
        if kind.name in ("float16", "bfloat16"):
            return kind.decode(numbers.astype("<u2").view(np.uint8), tensor.count)
        return kind.decode_codes(numbers.astype(np.uint8)) if kind.short else numbers.astype(kind.held)


def _integers(file: WireFile, title: str, pieces: tuple[tuple[int, int, int], ...]) -> Array:
    """Integers in pieces, packed or single ones."""
    single = np.array([first for wire, first, _ in pieces if wire == VARINT], np.uint64).view(np.int64)
    if len(single) == len(pieces):
        return single
    if len(single):
        raise file.corrupt(f"tensor '{title}' has numbers packed and single")
    found = [unpacked_varints(file, (start, end), title) for _, start, end in pieces]
    return found[0] if len(found) == 1 else np.concatenate(found)


def _decoded(kind: ElementType, place: tuple[bytes | mmap.mmap, int, int], count: int) -> Array:
    data, start, end = place
    return kind.decode(np.frombuffer(data, np.uint8, end - start, start), count)


def _check_count(file: WireFile, tensor: OnnxTensor, found: int, things: str) -> None:
    if found != tensor.count:
        raise file.corrupt(f"tensor '{tensor.name}' has {found} {things}, expected {tensor.count}")


def tensor_of_message(message: Message, file: WireFile, outside: ExternalFiles) -> OnnxTensor:
    """The tensor that a `TensorProto` is. Raises `SourceError` where its content cannot be that long."""
    name = message.string(8, "name")
    kind = element_type(file, message.integer(2, "data_type"), f"tensor '{name}'")
    shape = checked_shape(file, message.integers(1, "dims"), f"tensor '{name}'")
    count = prod(shape)
    if message.has(3):
        raise SourceError(f"{file.filename}: tensor '{name}' is a segment of a tensor, expected a whole one")
    expected = kind.size_of(count)
    if message.integer(_LOCATION, "data_location") == 1:
        entries = {e.string(1, "key"): e.string(2, "value") for e in message.messages(_EXTERNAL, "external_data")}
        if kind.bits == 0:
            raise SourceError(f"{file.filename}: tensor '{name}' has strings in an external file")
        return OnnxTensor(name, kind, shape, _Content(file, outside, stretch=outside.stretch(name, entries, expected)))
    if kind.bits == 0:
        return OnnxTensor(
            name, kind, shape, _Content(file, outside, strings=tuple(message.spans(_STRINGS, "string_data")))
        )
    spans = message.spans(_RAW, "raw_data")
    if spans:
        start, end = spans[-1]
        if end - start != expected:
            raise file.corrupt(f"tensor '{name}' has {end - start} bytes, expected {expected}")
        return OnnxTensor(name, kind, shape, _Content(file, outside, raw=(start, end)))
    number = _FIELD_OF.get(kind.name, 5)
    pieces = tuple(message.packed(number, _TYPED[number][0]))
    _check_pieces(file, name, kind, count, pieces)
    return OnnxTensor(name, kind, shape, _Content(file, outside, pieces=pieces, field=number))


def _check_pieces(
    file: WireFile, name: str, kind: ElementType, count: int, pieces: tuple[tuple[int, int, int], ...]
) -> None:
    """Refuse content that cannot be as long as its shape, before it is read: a varint has 1 to 10 bytes."""
    packed = sum(end - start for wire, start, end in pieces if wire == LENGTH)
    single = sum(wire != LENGTH for wire, _, _ in pieces)
    floats = _TYPED[_FIELD_OF.get(kind.name, 5)][1]
    widths = (int(floats[-1]), int(floats[-1])) if floats else (1, 10)
    numbers = kind.size_of(count) if kind.bits in (2, 4) else 2 * count if kind.held.kind == "c" else count
    if pieces and not widths[0] * (numbers - single) <= packed <= widths[1] * (numbers - single):
        raise file.corrupt(
            f"tensor '{name}' has {single} single numbers and {packed} bytes of others for {count} elements"
        )


def element_type(file: WireFile, code: int, title: str) -> ElementType:
    """The element type of a code. Raises `SourceError`."""
    if code not in ELEMENT_TYPES:
        raise SourceError(f"{file.filename}: {title} has the element type {code}, expected 1 to {max(ELEMENT_TYPES)}")
    return ELEMENT_TYPES[code]


def checked_shape(file: WireFile, sizes: tuple[int, ...], title: str) -> tuple[int, ...]:
    """A shape of known sizes. Raises `SourceError`."""
    if len(sizes) > MAX_RANK:
        raise SourceError(f"{file.filename}: {title} has {len(sizes)} axes, expected at most {MAX_RANK}")
    if any(size < 0 for size in sizes):
        raise SourceError(f"{file.filename}: {title} has the shape {list(sizes)}, expected sizes from 0")
    return sizes


@dataclass(frozen=True, slots=True)
class SparseTensor:
    """A tensor of zeros but for some elements: their values, and where they are."""

    values: OnnxTensor
    indices: OnnxTensor
    shape: tuple[int, ...]

    def numpy(self, most: int) -> Array:
        """Its values; the shape has at most some elements. Raises `SourceError`."""
        count, found, rank = prod(self.shape), self.values.count, len(self.shape)
        title = f"sparse tensor '{self.values.name}'"
        if count > most:
            raise SourceError(f"{title} has {count} elements, expected at most {most}")
        if self.indices.type is not INT64 or self.indices.shape not in ((found,), (found, rank)):
            raise SourceError(
                f"{title} has indices {list(self.indices.shape)}, expected [{found}] or [{found}, {rank}]"
            )
        index: Any = self.indices.numpy()
        bounds = np.array([count] if index.ndim == 1 else self.shape)
        if np.any(index < 0) or np.any(index.reshape(found, -1) >= bounds):
            raise SourceError(f"{title} has an index outside its shape {list(self.shape)}")
        dense = np.zeros(count, self.values.type.held)
        dense[index if index.ndim == 1 else np.ravel_multi_index(tuple(index.T), self.shape)] = self.values.numpy()
        return dense.reshape(self.shape)
