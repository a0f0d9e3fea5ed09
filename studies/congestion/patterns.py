"""
Flows that congest a fabric, between hosts of its first four leaf switches.

    incast    15 hosts of three leaf switches and one of the fourth to a host of the fourth, 2 MB each
    victim    five hosts of each of three leaf switches, a leaf switch over one spine switch, and one of the fourth,
              the local one, to one host of the fourth; and a host of the first to another host of the fourth, whose own
              port is idle
    ring      two flows that go up again at a leaf switch, as after a link fails, so that four links wait for each
              other in a ring, and a third flow over one of them (Hu et al., "Deadlocks in Datacenter Networks",
              HotNets 2016)
"""

from __future__ import annotations

import numpy as np

from npuc.compiler.analysis.interconnect.fluid.engine import FluidResult, Watch, run_fluid
from npuc.compiler.analysis.interconnect.fluid.law import CongestionLaw
from npuc.compiler.analysis.interconnect.fluid.routes import FlowRoutes, Hop, clos_routes, named_routes
from npuc.compiler.analysis.interconnect.fluid.traffic import FlowTraffic
from npuc.compiler.core.errors import CapacityError
from npuc.studies.congestion.settings import INCAST, INCAST_SIZE, CongestionSetup

FINE_SIZE = 500_000
"""Bytes of each flow of the incast that is run with half the step."""
SHARES_MS, SETTLED_MS = 5, 3
"""The time of the victim, and that after which shares are taken."""
RING_SIZE, RING_MS = 6_000_000, 8
"""Bytes of each flow of the ring of waits, and after how long it is cut off, since a deadlock never ends."""
WATCHED_NS = 20_000
"""The time between two points of what is watched."""
ENDLESS = 1e15
"""Bytes of a flow that ends in no run."""
UNTIL_NS = 10**10
"""The time after which a run is cut off that should have ended long before."""


def incast(setup: CongestionSetup, law: CongestionLaw, step_ns: int, size: int = INCAST_SIZE) -> FluidResult:
    """The incast with flows of so many bytes, until all of it is delivered."""
    hosts = setup.fabric.hosts
    remote = [leaf * hosts + host for host in range(hosts) for leaf in range(3)][: INCAST - 1]
    target = 3 * hosts
    source = np.array([*remote, target + 1])
    routes = clos_routes(setup.fabric, source, np.full(INCAST, target), "hash", setup.run.seed)
    traffic = FlowTraffic(routes, np.full(INCAST, float(size)), np.zeros(INCAST), step_ns)
    watch = Watch((setup.fabric.to_host(target),), tuple(range(INCAST)), max(WATCHED_NS // step_ns, 1))
    return ended(run_fluid(setup.fabric, traffic, law, step_ns, UNTIL_NS, watch), f"the incast by {law.name}")


def ended(found: FluidResult, what: str) -> FluidResult:
    """A run that has ended. Raises `CapacityError` for one that was cut off before all bytes were there."""
    if found.complete:
        return found
    raise CapacityError(
        f"{what} has not ended after {found.seconds:g} s of the fabric's time",
        hint="other constants, fewer bytes (run.bytes), or faster links (fabric.bytes_per_s)",
    )


def victim(setup: CongestionSetup, law: CongestionLaw) -> FluidResult:
    """The victim, whose flow is the last one, and before it the local one; none of them ends."""
    hosts, spines = setup.fabric.hosts, setup.fabric.spines
    target = 3 * hosts
    others = [(leaf * hosts + host, leaf) for leaf in range(3) for host in range(1, 6)]
    walks = [(host, _over(leaf, leaf % spines), target) for host, leaf in others]
    local: list[Hop] = [("leaf", 3)]
    walks += [(target + 2, local, target), (0, _over(0, 0), target + 1)]
    return _endless(setup, law, named_routes(setup.fabric, walks))


def _over(leaf: int, spine: int) -> list[Hop]:
    return [("leaf", leaf), ("spine", spine), ("leaf", 3)]


def _endless(setup: CongestionSetup, law: CongestionLaw, routes: FlowRoutes) -> FluidResult:
    flows, step = len(routes.source), setup.run.step_ns
    traffic = FlowTraffic(routes, np.full(flows, ENDLESS), np.zeros(flows), step)
    watch = Watch((), tuple(range(flows)), max(WATCHED_NS // step, 1))
    return run_fluid(setup.fabric, traffic, law, step, SHARES_MS * 10**6, watch)


def waiting_ring(setup: CongestionSetup, law: CongestionLaw) -> FluidResult:
    """The ring of waits, until all is delivered or nothing has moved for long."""
    hosts, step = setup.fabric.hosts, setup.run.step_ns
    first: list[Hop] = [("leaf", 0), ("spine", 0), ("leaf", 1), ("spine", 1), ("leaf", 2)]
    second: list[Hop] = [("leaf", 3), ("spine", 1), ("leaf", 2), ("spine", 0), ("leaf", 1)]
    third: list[Hop] = [("leaf", 1), ("spine", 1), ("leaf", 3)]
    walks = [(0, first, 2 * hosts), (3 * hosts, second, hosts), (hosts + 1, third, 3 * hosts + 1)]
    routes = named_routes(setup.fabric, walks)
    traffic = FlowTraffic(routes, np.full(3, float(RING_SIZE)), np.zeros(3), step)
    return run_fluid(setup.fabric, traffic, law, step, RING_MS * 10**6)
