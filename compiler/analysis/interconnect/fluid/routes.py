"""
The ports that flows cross, one column a flow.

Between two leaf switches a flow crosses one spine switch. Which one, is found by a hash of source and destination
(ECMP), or is that of the destination's number (`destination`, D-mod-k: Zahavi, "Fat-tree routing and node ordering
providing contention free traffic for MPI global collectives", JPDC 2012): with as many spine switches as hosts of a
leaf, shifts and exchanges in which each host sends to one other then share no link. `named_routes` takes any walk over
the fabric.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from npuc.compiler.analysis.interconnect.fluid.fabric import ClosFabric, SwitchTier
from npuc.compiler.core.errors import UsageError

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Routing = Literal["hash", "destination"]
ROUTINGS: tuple[Routing, ...] = get_args(Routing)
Hop = tuple[SwitchTier, int]
"""A switch: its tier and number there."""


def summed(places: Ints, values: Floats, count: int) -> Floats:
    """The sums of values by place, from 0 to `count` - 1; both arrays have the same shape."""
    return np.bincount(places.ravel(), values.ravel(), count).astype(np.float64, copy=False)


@dataclass(frozen=True)
class FlowRoutes:
    """
    Routes of flows: `ports` of switches [hop, flow] that they cross, the last one at the last hop, `nowhere` where a
    route is shorter; `source` the host that sends, which is also its port, and `target` the one that receives.
    """

    ports: Ints
    source: Ints
    target: Ints
    nowhere: int

    @property
    def first(self) -> Ints:
        """The hop at which each route begins."""
        return np.asarray((self.ports == self.nowhere).sum(axis=0), np.int64)

    @property
    def links(self) -> Ints:
        """The links that each route crosses, that of the host included."""
        return len(self.ports) + 1 - self.first

    def ingress(self) -> Ints:
        """The port [hop, flow] whose link enters the switch of each hop; `nowhere` before the route begins."""
        before = np.full_like(self.ports, self.nowhere)
        before[1:] = self.ports[:-1]
        before[self.first, np.arange(len(self.source))] = self.source
        return before


def clos_routes(fabric: ClosFabric, source: Ints, target: Ints, routing: Routing = "hash", seed: int = 0) -> FlowRoutes:
    """The routes of flows between hosts. Raises `UsageError` for hosts that are not there, and for flows to oneself."""
    _check_hosts(fabric, source, target)
    spine = _hashed(source, target, seed) % fabric.spines if routing == "hash" else target % fabric.spines
    leaves = source // fabric.hosts, target // fabric.hosts
    up = fabric.all_hosts + leaves[0] * fabric.spines + spine
    down = fabric.all_hosts + fabric.leaves * fabric.spines + spine * fabric.leaves + leaves[1]
    last = fabric.all_hosts + 2 * fabric.leaves * fabric.spines + target
    inside = leaves[0] == leaves[1]
    ports = np.vstack([np.where(inside, fabric.nowhere, up), np.where(inside, fabric.nowhere, down), last])
    return FlowRoutes(ports, source, target, fabric.nowhere)


def _check_hosts(fabric: ClosFabric, source: Ints, target: Ints) -> None:
    for hosts in (source, target):
        if len(hosts) and not (0 <= hosts.min() and hosts.max() < fabric.all_hosts):
            raise UsageError(f"a flow names a host that is not one of {fabric.all_hosts:,}")
    if (source == target).any():
        raise UsageError(f"host {int(source[source == target][0])} sends to itself")


def _hashed(source: Ints, target: Ints, seed: int) -> Ints:
    """A number from 0 to 2^32 - 1 for each pair of hosts, by the finaliser of MurmurHash3."""
    mask = np.uint64((1 << 32) - 1)
    pair = source.astype(np.uint64) * np.uint64(0x9E3779B1) + target.astype(np.uint64) * np.uint64(0x85EBCA77)
    key = (pair + np.uint64(seed * 0xC2B2AE3D & 0xFFFFFFFF)) & mask
    for factor, shift in ((0x85EBCA6B, 16), (0xC2B2AE35, 13)):
        key = ((key ^ (key >> np.uint64(shift))) * np.uint64(factor)) & mask
    return (key ^ (key >> np.uint64(16))).astype(np.int64)


def named_routes(fabric: ClosFabric, walks: Sequence[tuple[int, Sequence[Hop], int]]) -> FlowRoutes:
    """Routes as walks: a host, the switches in order, a host. Raises `UsageError` where no such host or link is."""
    source, target = (np.array([walk[end] for walk in walks], np.int64) for end in (0, 2))
    _check_hosts(fabric, source, target)
    routes = [_walk(fabric, *walk) for walk in walks]
    hops = max(map(len, routes), default=1)
    ports = np.full((hops, len(routes)), fabric.nowhere, np.int64)
    for column, route in enumerate(routes):
        ports[hops - len(route) :, column] = route
    return FlowRoutes(ports, source, target, fabric.nowhere)


def _walk(fabric: ClosFabric, source: int, switches: Sequence[Hop], target: int) -> list[int]:
    """The ports of the switches of a walk."""
    ends = [("leaf", host // fabric.hosts) for host in (source, target)]
    if not switches or [switches[0], switches[-1]] != ends:
        raise UsageError(f"a route from host {source} to host {target} begins and ends at their leaf switches")
    route: list[int] = []
    for (tier, number), (other, there) in pairwise(switches):
        leaf, spine = (number, there) if tier == "leaf" else (there, number)
        if tier == other or not (0 <= leaf < fabric.leaves and 0 <= spine < fabric.spines):
            raise UsageError(f"there is no link from {tier} {number} to {other} {there}")
        route.append(fabric.up(leaf, spine) if tier == "leaf" else fabric.down(spine, leaf))
    return [*route, fabric.to_host(target)]
