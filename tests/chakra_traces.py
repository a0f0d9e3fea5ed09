"""A reader of execution traces in Chakra's format, by the schema: what others find in the files that npuc writes."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from npuc.frontends.onnx.container.wire import Message, WireFile, signed

Value = bool | int | float | str | list[bool]
COMPUTE, SEND, RECEIVE, COLLECTIVE = 4, 5, 6, 7
ALL_REDUCE, ALL_GATHER, ALL_TO_ALL, REDUCE_SCATTER = 0, 2, 6, 7
DOUBLE, INT32, INT64, UINT64, BOOL, BOOLS, STRING = 3, 7, 9, 13, 27, 28, 29
"""Fields of `AttributeProto`."""
READ_AS = {
    **{"is_cpu_op": BOOL, "num_ops": INT64, "tensor_size": UINT64, "pg_name": STRING, "involved_dim": BOOLS},
    **{"comm_type": INT64, "comm_size": INT64, "comm_src": INT32, "comm_dst": INT32, "comm_tag": INT32},
}
"""The field that Chakra's and ASTRA-sim's readers take an attribute from; in any other it is 0 to the former."""


@dataclass(frozen=True)
class Node:
    """A node of a trace: the fields of `Node`, attributes by name."""

    id: int
    name: str
    type: int
    data_deps: tuple[int, ...]
    start_micros: int
    duration_micros: int
    attributes: dict[str, Value]


@dataclass(frozen=True)
class Trace:
    """A trace: the version of its schema, the attributes of its metadata, and its nodes."""

    version: str
    about: dict[str, Value]
    nodes: list[Node]


def read_trace(data: bytes) -> Trace:
    """The trace in the bytes of a file."""
    file = WireFile(data, "t.et")
    first, *rest = _messages(data, file)
    nodes = [
        Node(
            id=node.integer(1, "id"),
            name=node.string(2, "name"),
            type=node.integer(3, "type"),
            data_deps=node.integers(5, "data_deps"),
            start_micros=node.integer(6, "start"),
            duration_micros=node.integer(7, "duration"),
            attributes=_attributes(node, 10, data),
        )
        for node in rest
    ]
    return Trace(first.string(1, "version"), _attributes(first, 2, data), nodes)


def _messages(data: bytes, file: WireFile) -> Iterator[Message]:
    at = 0
    while at < len(data):
        size = shift = 0
        while True:
            byte = data[at]
            at += 1
            size |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        assert at + size <= len(data)
        yield Message(file, "message", at, at + size, 0)
        at += size


def _attributes(message: Message, number: int, data: bytes) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for attribute in message.messages(number, "attr"):
        name = attribute.string(1, "name")
        assert name not in found
        assert name not in READ_AS or attribute.has(READ_AS[name]), f"{name} is of another type than readers take"
        found[name] = _value(attribute, data)
    return found


def _value(attribute: Message, data: bytes) -> Value:
    if attribute.has(DOUBLE):
        ((_, begin, end),) = attribute.packed(DOUBLE, "double")
        return struct.unpack("<d", data[begin:end])[0]
    if attribute.has(BOOL):
        return bool(attribute.integer(BOOL, "bool"))
    if attribute.has(BOOLS):
        values = attribute.message(BOOLS, "bools")
        assert values is not None
        return [bool(value) for value in values.integers(1, "values")]
    if attribute.has(STRING):
        return attribute.string(STRING, "string")
    for kind in (INT32, INT64):
        if attribute.has(kind):
            return signed(attribute.integer(kind, "int"))
    assert attribute.has(UINT64)
    return attribute.integer(UINT64, "uint64") % (1 << 64)
