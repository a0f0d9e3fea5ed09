"""
A run of the traces of all devices, as ASTRA-sim issues their nodes: a device computes one thing at a time and has one
exchange under way beside it (and any number of messages to come), of what is ready the lowest number first. An exchange
begins when all that take part have come to it, and takes the time that its node says.
"""

from collections import deque
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from math import prod
from typing import cast

from tests.chakra_traces import COLLECTIVE, COMPUTE, RECEIVE, SEND, Node, Trace


@dataclass
class _Device:
    """What of a trace is done and under way."""

    trace: Trace
    missing: dict[int, set[int]]
    done: int = 0
    busy: dict[bool, bool] = field(default_factory=lambda: {True: False, False: False})
    met: dict[tuple[int, ...], int] = field(default_factory=dict[tuple[int, ...], int])


def replay(traces: list[Trace], groups: dict[str, list[int]], sizes: list[int]) -> float:
    """
    The seconds until all devices have done all nodes; `sizes` are the dimensions of the network, innermost first.

    Raises `AssertionError` for devices that wait for each other, and for exchanges whose participants disagree.
    """
    devices = [_Device(trace, {node.id: set(node.data_deps) for node in trace.nodes}) for trace in traces]
    posted: dict[object, list[tuple[int, Node]]] = {}
    events: list[tuple[float, int, int, Node]] = []
    order = count()
    now, last = 0.0, 0.0
    waiting = deque(range(len(devices)))
    while waiting or events:
        while waiting:
            number = waiting.popleft()
            for node in _ready(devices[number]):
                _start(devices[number], node)
                key, members = _meeting(devices[number], number, node, groups, sizes, len(devices))
                posted.setdefault(key, []).append((number, node))
                if len(posted[key]) == members:
                    there = posted.pop(key)
                    assert len({(n.attributes.get("comm_type"), n.attributes.get("comm_size")) for _, n in there}) == 1
                    for device, own in there:
                        heappush(
                            events, (now + cast(float, own.attributes.get("seconds", 0.0)), next(order), device, own)
                        )
        if events:
            now, _, number, node = heappop(events)
            last = max(last, now)
            devices[number].done += 1
            if node.type != RECEIVE:
                devices[number].busy[node.type == COMPUTE] = False
            for before in devices[number].missing.values():
                before.discard(node.id)
            waiting.append(number)
    assert not posted, "devices wait for each other"
    assert all(device.done == len(device.trace.nodes) for device in devices)
    return last


def _ready(device: _Device) -> list[Node]:
    """The nodes that a device begins now."""
    found: list[Node] = []
    taken = dict(device.busy)
    for node in device.trace.nodes:
        if node.id not in device.missing or device.missing[node.id]:
            continue
        kind = node.type == COMPUTE
        if node.type == RECEIVE or not taken[kind]:
            found.append(node)
            taken[kind] = taken[kind] or node.type != RECEIVE
    return found


def _start(device: _Device, node: Node) -> None:
    del device.missing[node.id]
    if node.type != RECEIVE:
        device.busy[node.type == COMPUTE] = True


def _meeting(
    device: _Device, number: int, node: Node, groups: dict[str, list[int]], sizes: list[int], devices: int
) -> tuple[object, int]:
    """What devices meet at, and how many they are."""
    if node.type == COMPUTE:
        return (number, node.id), 1
    if node.type in (SEND, RECEIVE):
        return tuple(node.attributes[key] for key in ("comm_src", "comm_dst", "comm_tag")), 2
    assert node.type == COLLECTIVE
    members = tuple(members_of(node, number, groups, sizes, devices))
    assert number in members
    device.met[members] = device.met.get(members, 0) + 1
    return (members, device.met[members]), len(members)


def members_of(node: Node, device: int, groups: dict[str, list[int]], sizes: list[int], devices: int) -> list[int]:
    """The devices that take part in a collective of a device."""
    if "pg_name" in node.attributes:
        return groups[str(node.attributes["pg_name"])]
    if "involved_dim" not in node.attributes:
        return list(range(devices))
    involved = cast("list[bool]", node.attributes["involved_dim"])
    assert prod(sizes) == devices
    found = [0]
    for dimension, (size, taking_part) in enumerate(zip(sizes, involved, strict=True)):
        stride = prod(sizes[:dimension])
        digits = range(size) if taking_part else (device // stride % size,)
        found = [number + stride * digit for digit in digits for number in found]
    return sorted(found)
