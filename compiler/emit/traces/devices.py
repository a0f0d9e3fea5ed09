"""
The traces of all devices, each as the bytes of its file.

All devices run one program, so that most nodes are the same bytes in all traces. What differs is encoded once for each
group of devices, and a trace is joined of these parts when somebody asks for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from npuc.compiler.emit.traces.communicators import Communicators, Participants
from npuc.compiler.emit.traces.program import TracedStep, TracedTask, micros_of
from npuc.compiler.emit.traces.schema import (
    COLLECTIVES,
    NodeType,
    TraceNode,
    boolean,
    booleans,
    double,
    int32,
    int64,
    metadata,
    string,
    uint64,
)
from npuc.compiler.report import OpRow
from npuc.compiler.report.sections import ExchangeChunks, ExchangeFacts
from npuc.dialects.distributed import SendReceiveOp, levels_of
from npuc.dialects.train.base import ints

SUFFIX = ".et"
GROUPS = ".comm_group.json"
"""What the name of the file of communicator groups, their devices by number, ends with."""
OPS_PER_MAC = 2
_ON_CHIP = boolean("is_cpu_op", value=False)


@dataclass
class _Varying:
    """Nodes that differ: `key` says for a device what decides its bytes, `encode` makes them."""

    key: Callable[[int], object]
    encode: Callable[[int], bytes]
    known: dict[object, bytes] = field(default_factory=dict[object, bytes])

    def bytes_of(self, device: int) -> bytes:
        """The bytes of a device's nodes."""
        key = self.key(device)
        if key not in self.known:
            self.known[key] = self.encode(device)
        return self.known[key]


class Traces(Mapping[str, bytes]):
    """
    The files of a step's traces by name: `NAME.DEVICE.et`, and `NAME.comm_group.json` with the devices of communicator
    groups where some are named.

    `communicators` is None for one device; `header` are attributes of the metadata of each trace. A trace has
    `most_nodes` at most, fewer where the device takes no part in a message (`varies_in_nodes`).
    """

    def __init__(
        self, name: str, step: TracedStep, communicators: Communicators | None, header: Sequence[bytes]
    ) -> None:
        self._name = name
        self.devices = 1 if step.mesh is None else step.mesh.devices
        self._devices = {f"{name}.{device}{SUFFIX}": device for device in range(self.devices)}
        encoder = _Encoder(step, communicators)
        self.most_nodes, self.varies_in_nodes = encoder.count, encoder.count > len(step.tasks)
        self._parts = _joined([metadata(header), *encoder.parts()])
        groups = {} if communicators is None else communicators.groups
        text = json.dumps({str(number): devices for number, devices in groups.items()}) + "\n"
        self._beside = {f"{name}{GROUPS}": text.encode()} if groups else {}

    def __getitem__(self, name: str) -> bytes:
        return self._beside[name] if name in self._beside else self._trace(self._devices[name])

    def __iter__(self) -> Iterator[str]:
        yield from self._devices
        yield from self._beside

    def __len__(self) -> int:
        return len(self._devices) + len(self._beside)

    @cached_property
    def size(self) -> int:
        """The bytes of all files together."""
        fixed = sum(map(len, self._beside.values()))
        fixed += self.devices * sum(len(part) for part in self._parts if isinstance(part, bytes))
        varying = [part for part in self._parts if isinstance(part, _Varying)]
        return fixed + sum(len(part.bytes_of(device)) for part in varying for device in range(self.devices))

    def _trace(self, device: int) -> bytes:
        parts = self._parts
        if len(parts) == 1 and isinstance(parts[0], bytes):
            return parts[0]
        return b"".join(part if isinstance(part, bytes) else part.bytes_of(device) for part in parts)


def _joined(parts: Sequence[bytes | _Varying]) -> list[bytes | _Varying]:
    """The parts with neighbours that are the same for all devices as one."""
    found: list[bytes | _Varying] = []
    run: list[bytes] = []
    for part in parts:
        if isinstance(part, bytes):
            run.append(part)
            continue
        found += [b"".join(run), part]
        run.clear()
    return [*found, b"".join(run)] if run else found


class _Encoder:
    """The nodes of the tasks of a step, in program order. A message is two: what a device sends, what it receives."""

    def __init__(self, step: TracedStep, communicators: Communicators | None) -> None:
        self._step, self._communicators = step, communicators
        self._micros = micros_of(step)
        self._ids: list[int] = []
        self._known_ends: dict[SendReceiveOp, tuple[dict[int, int], dict[int, int]]] = {}
        self.count = 0
        for task in step.tasks:
            self._ids.append(self.count)
            self.count += 2 if isinstance(task.exchange, SendReceiveOp) else 1

    def parts(self) -> Iterator[bytes | _Varying]:
        """The nodes of each task."""
        for number, task in enumerate(self._step.tasks):
            if isinstance(task.exchange, SendReceiveOp):
                yield self._message(number, task.exchange)
            else:
                who = self._participants(task)
                messages = self._messages_read(number)
                if who.group_of is None and not messages:
                    yield self._node(number, who, 0)
                else:
                    yield self._varying(number, who, messages)

    def _varying(self, number: int, who: Participants, messages: Sequence[SendReceiveOp]) -> _Varying:
        """A task whose node differs by the group of a device, or by the messages that it receives."""

        def key(device: int) -> object:
            group = None if who.group_of is None else who.group_of[device]
            return group, tuple(self._peers(message, device)[1] is not None for message in messages)

        return _Varying(key, lambda device: self._node(number, who, device))

    def _participants(self, task: TracedTask) -> Participants:
        if task.exchange is None or self._communicators is None:
            return Participants()
        return self._communicators.over(levels_of(task.exchange))

    def _messages_read(self, number: int) -> list[SendReceiveOp]:
        """The messages among what a task reads."""
        read = (self._step.tasks[source].exchange for source in self._step.tasks[number].reads)
        return [op for op in read if isinstance(op, SendReceiveOp)]

    def _reads(self, number: int, device: int) -> list[int]:
        """The nodes that a task of a device waits for; a message that it does not receive is none."""
        found: list[int] = []
        for source in self._step.tasks[number].reads:
            op = self._step.tasks[source].exchange
            if not isinstance(op, SendReceiveOp):
                found.append(self._ids[source])
            elif self._peers(op, device)[1] is not None:
                found.append(self._ids[source] + 1)
        return found

    def _node(self, number: int, who: Participants, device: int) -> bytes:
        task = self._step.tasks[number]
        if task.exchange is None:
            return self._encoded(number, device, NodeType.COMPUTE, _work(task.row))
        kind = task.exchange.name.rpartition(".")[2]
        attributes = [int64("comm_type", COLLECTIVES[kind]), int64("comm_size", _operand_bytes(task.row))]
        chunks = ExchangeChunks.found_in(task.row)
        if chunks is not None:
            attributes.append(uint64("chunks", chunks.chunks))
        if who.dimensions is not None:
            attributes.append(booleans("involved_dim", who.dimensions))
        if who.group_of is not None:
            attributes.append(string("pg_name", str(who.group_of[device])))
        return self._encoded(number, device, NodeType.COLLECTIVE, attributes)

    def _message(self, number: int, op: SendReceiveOp) -> _Varying:
        """What a device sends and what it receives, each if it does."""
        size = int64("comm_size", _operand_bytes(self._step.tasks[number].row))

        def encode(device: int) -> bytes:
            target, source = self._peers(op, device)
            found = b""
            for type, other, ends in (
                (NodeType.SEND, target, (device, target)),
                (NodeType.RECEIVE, source, (source, device)),
            ):
                if other is not None:
                    places = [int32(key, end or 0) for key, end in zip(("comm_src", "comm_dst"), ends, strict=True)]
                    found += self._encoded(number, device, type, [size, *places, int32("comm_tag", number)])
            return found

        return _Varying(lambda device: device, encode)

    def _peers(self, op: SendReceiveOp, device: int) -> tuple[int | None, int | None]:
        """To whom a device sends, and from whom it receives; a message to itself moves nothing."""
        mesh = self._step.mesh
        assert mesh is not None, "messages need a mesh"
        (level,) = levels_of(op)
        digits = mesh.coordinates(device)
        target, source = (
            None if part is None else mesh.device((*digits[:level], part, *digits[level + 1 :]))
            for part in (ends.get(digits[level]) for ends in self._ends(op))
        )
        return target, source

    def _ends(self, op: SendReceiveOp) -> tuple[dict[int, int], dict[int, int]]:
        """By coordinate at the level of a message: to which one it sends, and from which one it receives."""
        if op not in self._known_ends:
            pairs = [pair for pair in zip(ints(op.source), ints(op.target), strict=True) if pair[0] != pair[1]]
            self._known_ends[op] = dict(pairs), {target: source for source, target in pairs}
        return self._known_ends[op]

    def _encoded(self, number: int, device: int, type: NodeType, attributes: Sequence[bytes]) -> bytes:
        task, (start, duration) = self._step.tasks[number], self._micros[number]
        row, seconds = task.row, task.seconds
        kind = row.phase if task.exchange is None else task.exchange.name.rpartition(".")[2]
        return TraceNode(
            id=self._ids[number] + (type is NodeType.RECEIVE),
            name=f"{row.name or row.op} {kind}",
            type=type,
            data_deps=self._reads(number, device),
            start_micros=start,
            duration_micros=duration,
            attributes=[_ON_CHIP, *attributes, *([] if seconds is None else [double("seconds", seconds)])],
        ).encoded()


def _work(row: OpRow) -> list[bytes]:
    """Operations and bytes of all runs, what nobody counts left out."""
    found: list[bytes] = []
    if row.macs is not None or row.vector_ops is not None:
        found.append(int64("num_ops", row.repeat * (OPS_PER_MAC * (row.macs or 0) + (row.vector_ops or 0))))
    if row.dram_read_bytes is not None or row.dram_write_bytes is not None:
        moved = (row.dram_read_bytes or 0) + (row.dram_write_bytes or 0)
        found.append(uint64("tensor_size", row.repeat * moved))
    return found


def _operand_bytes(row: OpRow) -> int:
    facts = ExchangeFacts.found_in(row)
    assert facts is not None, "rows of exchanges have them"
    return facts.operand_bytes
