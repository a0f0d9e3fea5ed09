"""
The element types of ONNX tensors: their codes in a file, their names, and their bits as numpy's values.

Types that numpy lacks are read as the nearest one that holds all their values: short floats as float32, integers of
two and four bits as int8 and uint8. Formats of 8 bits: https://arxiv.org/abs/2209.05433 and, with the suffix `uz`,
https://arxiv.org/abs/2206.02915; those of 4 and 6 bits, and e8m0: Open Compute Project, Microscaling Formats 1.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class _Short:
    """A float of 8 bits or fewer: bits of exponent and mantissa, bias, and what its largest codes mean."""

    exponent: int
    mantissa: int
    bias: int
    special: str = ""


@dataclass(frozen=True)
class ElementType:
    """
    A type of elements: code, name, bits of an element as it is stored, numpy's type that holds its values.

    `language` is the name in the network language, "" where it has none. Strings have 0 bits.
    """

    code: int
    name: str
    bits: int
    held: np.dtype[Any]
    language: str = ""
    short: _Short | None = None

    @property
    def is_plain(self) -> bool:
        """Whether numpy holds the elements as they are stored."""
        return self.bits == 8 * self.held.itemsize

    @property
    def is_float(self) -> bool:
        """Whether its values are real numbers."""
        return self.held.kind == "f"

    def size_of(self, count: int) -> int:
        """The bytes of some elements, as they are stored."""
        return -(-count * self.bits // 8)

    def decode(self, raw: npt.NDArray[np.uint8], count: int) -> Array:
        """The values of stored elements."""
        if self.is_plain:
            return raw.view(self.held.newbyteorder("<"))
        if self.name == "bfloat16":
            return (raw.view("<u2").astype(np.uint32) << 16).view(np.float32)
        codes = raw if self.bits == 8 else _unpacked(raw, self.bits, count)
        return self.decode_codes(codes)

    def decode_codes(self, codes: npt.NDArray[np.uint8]) -> Array:
        """The values of elements of 8 bits or fewer, one in each byte."""
        if self.short is not None:
            return _table(self.short)[codes]
        if self.held.kind == "i":
            sign = 1 << (self.bits - 1)
            return ((codes.astype(np.int16) ^ sign) - sign).astype(np.int8)
        return codes


def _unpacked(raw: npt.NDArray[np.uint8], bits: int, count: int) -> npt.NDArray[np.uint8]:
    """Elements of a few bits each, the first in the lowest bits, one in each byte."""
    stream = np.unpackbits(raw, bitorder="little")[: count * bits].reshape(count, bits)
    padded = np.pad(stream, ((0, 0), (0, 8 - bits)))
    return np.packbits(padded, axis=1, bitorder="little")[:, 0]


@cache
def _table(short: _Short) -> npt.NDArray[np.float32]:
    """The values of all codes."""
    if short.special == "scale":  # e8m0: a power of two, without sign
        values = np.ldexp(1.0, np.arange(256) - short.bias)
        values[255] = np.nan
        return values.astype(np.float32)
    bits = 1 + short.exponent + short.mantissa
    codes = np.arange(1 << bits)
    exponent = (codes >> short.mantissa) & ((1 << short.exponent) - 1)
    fraction = (codes & ((1 << short.mantissa) - 1)) / (1 << short.mantissa)
    normal = np.ldexp(1.0 + fraction, exponent - short.bias)
    values = np.where(exponent == 0, np.ldexp(fraction, 1 - short.bias), normal)
    top = exponent == (1 << short.exponent) - 1
    if short.special == "ieee":
        values = np.where(top, np.where(fraction == 0, np.inf, np.nan), values)
    if short.special == "fn":
        values = np.where(top & (fraction == fraction.max()), np.nan, values)
    values = np.where(codes >> (bits - 1), -values, values)
    if short.special == "uz":
        values[1 << (bits - 1)] = np.nan
    return values.astype(np.float32)


def _types() -> tuple[ElementType, ...]:
    def plain(code: int, name: str, kind: Any, language: str = "") -> ElementType:
        held = np.dtype(kind)
        return ElementType(code, name, 8 * held.itemsize, held, language)

    def short(code: int, name: str, exponent: int, mantissa: int, bias: int, special: str = "") -> ElementType:
        bits = 8 if special == "scale" else 1 + exponent + mantissa
        return ElementType(code, name, bits, np.dtype(np.float32), "", _Short(exponent, mantissa, bias, special))

    return (
        plain(1, "float", np.float32, "f32"),
        plain(2, "uint8", np.uint8),
        plain(3, "int8", np.int8, "i8"),
        plain(4, "uint16", np.uint16),
        plain(5, "int16", np.int16),
        plain(6, "int32", np.int32, "i32"),
        plain(7, "int64", np.int64, "i64"),
        ElementType(8, "string", 0, np.dtype(object)),
        plain(9, "bool", np.bool_, "bool"),
        plain(10, "float16", np.float16, "f16"),
        plain(11, "double", np.float64, "f64"),
        plain(12, "uint32", np.uint32),
        plain(13, "uint64", np.uint64),
        plain(14, "complex64", np.complex64),
        plain(15, "complex128", np.complex128),
        ElementType(16, "bfloat16", 16, np.dtype(np.float32), "bf16"),
        short(17, "float8e4m3fn", 4, 3, 7, "fn"),
        short(18, "float8e4m3fnuz", 4, 3, 8, "uz"),
        short(19, "float8e5m2", 5, 2, 15, "ieee"),
        short(20, "float8e5m2fnuz", 5, 2, 16, "uz"),
        ElementType(21, "uint4", 4, np.dtype(np.uint8)),
        ElementType(22, "int4", 4, np.dtype(np.int8)),
        short(23, "float4e2m1", 2, 1, 1),
        short(24, "float8e8m0", 8, 0, 127, "scale"),
        ElementType(25, "uint2", 2, np.dtype(np.uint8)),
        ElementType(26, "int2", 2, np.dtype(np.int8)),
        short(27, "float6e2m3", 2, 3, 1),
        short(28, "float6e3m2", 3, 2, 3),
    )


ELEMENT_TYPES = {type.code: type for type in _types()}
"""The element types by their codes in files."""
BY_NAME = {type.name: type for type in ELEMENT_TYPES.values()}
FLOAT, INT64, BOOL, STRING = BY_NAME["float"], BY_NAME["int64"], BY_NAME["bool"], BY_NAME["string"]
_BY_HELD = {type.held: type for type in reversed(ELEMENT_TYPES.values()) if type.is_plain or type.name == "string"}


def type_of(array: Array) -> ElementType:
    """The element type of numpy's values."""
    return _BY_HELD[array.dtype]
