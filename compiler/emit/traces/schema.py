"""
The messages of an execution trace, by the schema of MLCommons Chakra (`schema/protobuf/et_def.proto`).

A trace is a stream of messages, each behind its length: a `GlobalMetadata`, then `Node`s. What a node costs and whom
it talks to are attributes by name, of the types by which Chakra's feeder reads them (`src/feeder/et_feeder_node.cpp`),
which takes a value of another type for 0; ASTRA-sim's own feeder converts integers:

    is_cpu_op     bool       false: work of the accelerator
    num_ops       int64      operations of a node of computation
    tensor_size   uint64     bytes between DRAM and the chip for it
    comm_type     int64      the collective (`COLLECTIVES`)
    comm_size     int64      bytes of a device's operand
    involved_dim  bool list  the dimensions of the network that take part, innermost first
    pg_name       string     the communicator group, by its number
    comm_src, comm_dst, comm_tag  int32   the devices of a message, and its number
    chunks        uint64     npuc's own: the chunks of a collective, of one that moves in some
    seconds       double     npuc's own: the time that `duration_micros` rounds
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from npuc.compiler.emit.traces.wire import (
    bytes_field,
    delimited,
    integer_field,
    packed_field,
    real_field,
    text_field,
)

VERSION = "0.0.4"
"""Of the schema, as the generators of Chakra write it."""


class NodeType(IntEnum):
    """What a node does."""

    COMPUTE = 4
    SEND = 5
    RECEIVE = 6
    COLLECTIVE = 7


COLLECTIVES = {"all_reduce": 0, "all_gather": 2, "all_to_all": 6, "reduce_scatter": 7}
"""The numbers of collectives, by the name of the operation."""

_DOUBLE, _INT32, _INT64, _UINT64, _BOOL, _BOOLS, _STRING = 3, 7, 9, 13, 27, 28, 29
"""Fields of the value of an attribute, by its type."""


@dataclass(frozen=True)
class TraceNode:
    """
    One node of a device's trace: its number, name, type and those that it waits for.

    `start_micros` and `duration_micros` are whole microseconds, as the schema has times; `attributes` are encoded.
    """

    id: int
    name: str
    type: NodeType
    data_deps: Sequence[int] = ()
    start_micros: int = 0
    duration_micros: int = 0
    attributes: Sequence[bytes] = field(default_factory=tuple[bytes, ...])

    def encoded(self) -> bytes:
        """The node as a message behind its length."""
        return delimited(
            b"".join(
                (
                    integer_field(1, self.id),
                    text_field(2, self.name),
                    integer_field(3, self.type),
                    packed_field(5, self.data_deps),
                    integer_field(6, self.start_micros),
                    integer_field(7, self.duration_micros),
                    *(bytes_field(10, attribute) for attribute in self.attributes),
                )
            )
        )


def metadata(attributes: Sequence[bytes]) -> bytes:
    """The message that a trace begins with, behind its length."""
    return delimited(text_field(1, VERSION) + b"".join(bytes_field(2, attribute) for attribute in attributes))


def double(name: str, value: float) -> bytes:
    """An attribute that is a float of 64 bits."""
    return text_field(1, name) + real_field(_DOUBLE, value)


def int32(name: str, value: int) -> bytes:
    """An attribute that is an integer of 32 bits."""
    return text_field(1, name) + integer_field(_INT32, value, always=True)


def int64(name: str, value: int) -> bytes:
    """An attribute that is an integer of 64 bits."""
    return text_field(1, name) + integer_field(_INT64, value, always=True)


def uint64(name: str, value: int) -> bytes:
    """An attribute that is a natural number of 64 bits."""
    return text_field(1, name) + integer_field(_UINT64, value, always=True)


def boolean(name: str, *, value: bool) -> bytes:
    """An attribute that is a truth value."""
    return text_field(1, name) + integer_field(_BOOL, int(value), always=True)


def booleans(name: str, values: Sequence[bool]) -> bytes:
    """An attribute that is a list of truth values."""
    return text_field(1, name) + bytes_field(_BOOLS, packed_field(1, map(int, values)))


def string(name: str, value: str) -> bytes:
    """An attribute that is a text."""
    return text_field(1, name) + bytes_field(_STRING, value.encode())
