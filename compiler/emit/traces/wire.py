"""
Writing the wire format of protocol buffers, as far as execution traces need it.

A message is a row of fields, each a tag (number and wire type) and a value; values that are zero or empty are left
out, as proto3 has it. Source: https://protobuf.dev/programming-guides/encoding. Nothing of this needs the package
`protobuf`, as the reader of ONNX files does not.
"""

import struct
from collections.abc import Iterable

_VARINT, _FIXED64, _LENGTH = 0, 1, 2
_WORD = 1 << 64


def varint(value: int) -> bytes:
    """A number of 64 bits in groups of seven bits, the least significant first; a negative one as two's complement."""
    value %= _WORD
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def delimited(message: bytes) -> bytes:
    """A message behind its length, as in a stream of messages."""
    return varint(len(message)) + message


def integer_field(number: int, value: int, *, always: bool = False) -> bytes:
    """A number, a truth value or a member of an enumeration; `always` also where it is 0, as in a `oneof`."""
    return _tag(number, _VARINT) + varint(value) if value or always else b""


def real_field(number: int, value: float) -> bytes:
    """A float of 64 bits, also where it is 0."""
    return _tag(number, _FIXED64) + struct.pack("<d", value)


def text_field(number: int, value: str) -> bytes:
    """A text."""
    return bytes_field(number, value.encode()) if value else b""


def bytes_field(number: int, value: bytes) -> bytes:
    """Bytes or a message, also where it is empty."""
    return _tag(number, _LENGTH) + delimited(value)


def packed_field(number: int, values: Iterable[int]) -> bytes:
    """Repeated numbers, packed."""
    content = b"".join(map(varint, values))
    return bytes_field(number, content) if content else b""


def _tag(number: int, wire: int) -> bytes:
    return varint(number << 3 | wire)
