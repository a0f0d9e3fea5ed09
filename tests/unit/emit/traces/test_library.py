"""Traces as the library of protocol buffers reads them, by the messages of the schema."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, cast

import pytest

from tests.chakra_traces import read_trace
from tests.unit.emit.traces.programs import compiled, emitted


def test_the_library_of_protocol_buffers_reads_the_same() -> None:
    pytest.importorskip("google.protobuf")
    messages = cast(Any, library_messages())
    for name in ("parts of a ring", "two levels", "chunks", "stored in parts"):
        data = next(iter(cast("Mapping[str, bytes]", emitted(compiled(name)).content).values()))
        own, at = read_trace(data), 0
        found: list[Any] = []
        while at < len(data):
            size = shift = 0
            while True:
                size, shift, at = size | (data[at] & 0x7F) << shift, shift + 7, at + 1
                if data[at - 1] < 0x80:
                    break
            found.append(messages["GlobalMetadata" if not found else "Node"].FromString(data[at : at + size]))
            assert found[-1].SerializeToString(deterministic=True) == data[at : at + size]
            at += size
        assert found[0].version == own.version
        for node, theirs in zip(own.nodes, found[1:], strict=True):
            assert (node.id, node.name, node.type) == (theirs.id, theirs.name, theirs.type)
            assert node.data_deps == tuple(theirs.data_deps)
            assert (node.start_micros, node.duration_micros) == (theirs.start_time_micros, theirs.duration_micros)
            values = {one.name: getattr(one, one.WhichOneof("value")) for one in theirs.attr}
            assert {
                key: [*value.values] if key == "involved_dim" else value for key, value in values.items()
            } == node.attributes


def library_messages() -> dict[str, object]:
    """The messages of the schema that traces use, as classes of the library."""
    descriptor_pb2 = import_module("google.protobuf.descriptor_pb2")
    file = descriptor_pb2.FileDescriptorProto(name="et.proto", package="et", syntax="proto3")
    u64, i32, i64, real, truth, text, message = 4, 5, 3, 1, 8, 9, 11
    layouts: dict[str, list[tuple[str, int, int, bool]]] = {
        "BoolList": [("values", 1, truth, True)],
        "AttributeProto": [
            ("name", 1, text, False),
            *(("double_val", 3, real, False), ("int32_val", 7, i32, False), ("int64_val", 9, i64, False)),
            *(("uint64_val", 13, u64, False), ("bool_val", 27, truth, False), ("bool_list", 28, message, False)),
            ("string_val", 29, text, False),
        ],
        "GlobalMetadata": [("version", 1, text, False), ("attr", 2, message, True)],
        "Node": [
            *(("id", 1, u64, False), ("name", 2, text, False), ("type", 3, i32, False), ("ctrl_deps", 4, u64, True)),
            *(("data_deps", 5, u64, True), ("start_time_micros", 6, u64, False), ("duration_micros", 7, u64, False)),
            ("attr", 10, message, True),
        ],
    }
    for name, fields in layouts.items():
        layout = file.message_type.add(name=name)
        if name == "AttributeProto":
            layout.oneof_decl.add(name="value")
        for field, number, kind, repeated in fields:
            added = layout.field.add(name=field, number=number, type=kind, label=3 if repeated else 1)
            if kind == message:
                added.type_name = ".et.AttributeProto" if field == "attr" else ".et.BoolList"
            if name == "AttributeProto" and field != "name":
                added.oneof_index = 0
    pool = import_module("google.protobuf.descriptor_pool").DescriptorPool()
    pool.Add(file)
    made = import_module("google.protobuf.message_factory").GetMessageClass
    return {name: made(pool.FindMessageTypeByName(f"et.{name}")) for name in layouts}
