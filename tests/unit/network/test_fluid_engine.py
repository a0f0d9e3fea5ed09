"""The fluid model as a whole: exact without contention, pauses, victims, unequal shares, deadlocks, smaller steps."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from npuc.compiler.analysis.interconnect.collectives import collective_cost
from npuc.compiler.analysis.interconnect.fluid.engine import FluidResult, Watch, run_fluid
from npuc.compiler.analysis.interconnect.fluid.fabric import ClosFabric
from npuc.compiler.analysis.interconnect.fluid.law import CongestionLaw
from npuc.compiler.analysis.interconnect.fluid.laws.dcqcn import Dcqcn
from npuc.compiler.analysis.interconnect.fluid.laws.dctcp import Dctcp
from npuc.compiler.analysis.interconnect.fluid.laws.hpcc import Hpcc
from npuc.compiler.analysis.interconnect.fluid.laws.pfc import PfcOnly
from npuc.compiler.analysis.interconnect.fluid.laws.timely import Timely
from npuc.compiler.analysis.interconnect.fluid.routes import (
    ROUTINGS,
    FlowRoutes,
    Hop,
    Routing,
    clos_routes,
    named_routes,
)
from npuc.compiler.analysis.interconnect.fluid.traffic import CollectiveTraffic, FlowTraffic, collective_plan
from npuc.compiler.analysis.interconnect.topology import Interconnect, NetworkLevel
from npuc.compiler.core.errors import UsageError

LAWS: tuple[type[CongestionLaw], ...] = (PfcOnly, Dcqcn, Dctcp, Timely, Hpcc)
FABRIC = ClosFabric(leaves=4, hosts=8, spines=8)
LINE = FABRIC.bytes_per_s


def send(
    routes: FlowRoutes,
    law: CongestionLaw,
    size: float = 1e15,
    ms: float = 5,
    *,
    fabric: ClosFabric = FABRIC,
    step_ns: int = 1000,
) -> FluidResult:
    """Flows of equal sizes that begin at once."""
    flows = len(routes.source)
    traffic = FlowTraffic(routes, np.full(flows, size), np.zeros(flows), step_ns)
    watch = Watch((fabric.to_host(0),), tuple(range(flows)), 50_000 // step_ns)
    return run_fluid(fabric, traffic, law, step_ns, int(ms * 1e6), watch)


def switches(leaves: int, hosts: int, delay: Fraction) -> Interconnect:
    """The fabric as levels of switches, whose latency is that of the links of a route."""
    levels = [("outer", leaves, 4 * delay), ("inner", hosts, 2 * delay)]
    return Interconnect(
        tuple(NetworkLevel("switch", size, Fraction(LINE), latency) for _, size, latency in levels if size > 1)
    )


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("leaves", "hosts"), [(1, 8), (4, 8), (8, 2)])
@pytest.mark.parametrize("size", [1_000_003, 8 * 2**20])
def test_halving_and_doubling_takes_what_the_model_of_collectives_says(
    law: type[CongestionLaw], leaves: int, hosts: int, size: int
) -> None:
    fabric = ClosFabric(leaves, hosts, hosts)
    traffic = CollectiveTraffic(fabric, collective_plan("halving-doubling", leaves * hosts, size), "destination")
    found = run_fluid(fabric, traffic, law.at(LINE), 1000, 10**8)
    network = switches(leaves, hosts, Fraction(1, 10**6))
    mesh = network.place([level.size for level in network.levels])
    expected = float(collective_cost("all_reduce", size, mesh, range(len(network.levels))).seconds)
    if law is Hpcc:
        assert expected <= found.seconds <= expected / 0.95 + 1e-9
    else:
        assert found.seconds == pytest.approx(expected, rel=1e-9)
    assert found.all_pauses == 0
    assert found.waited.max() < 1


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("routing", ROUTINGS)
def test_a_ring_takes_its_steps(law: type[CongestionLaw], routing: Routing) -> None:
    """No two flows of a ring share a link, whatever spine they cross; the step over a spine sets the pace."""
    size = 4 * 2**20
    traffic = CollectiveTraffic(FABRIC, collective_plan("ring", 32, size), routing)
    found = run_fluid(FABRIC, traffic, law.at(LINE), 1000, 10**8)
    expected = 62 * (size / 32 / LINE + 4e-6)
    assert found.seconds == pytest.approx(expected, rel=0.05 if law is Hpcc else 1e-9)
    level = NetworkLevel("ring", 32, Fraction(LINE), Fraction(4, 10**6))
    cost = collective_cost("all_reduce", size, Interconnect((level,)).place([32]), [0])
    assert float(cost.seconds) == pytest.approx(expected)


@pytest.mark.parametrize("step_ns", [1000, 200])
def test_a_pairwise_all_to_all_is_exact_with_any_step(step_ns: int) -> None:
    traffic = CollectiveTraffic(FABRIC, collective_plan("pairwise", 32, 10**6), "destination")
    found = run_fluid(FABRIC, traffic, PfcOnly(), step_ns, 10**8)
    assert found.seconds == pytest.approx(31 * (10**6 / 32 / LINE + 4e-6), rel=1e-9)


def test_topology_aware_collectives_differ_little() -> None:
    for algorithm in ("ring", "halving-doubling"):
        plan = collective_plan(algorithm, 32, 8 * 2**20)
        times = [
            run_fluid(FABRIC, CollectiveTraffic(FABRIC, plan, "destination"), law.at(LINE), 1000, 10**8).seconds
            for law in LAWS
        ]
        assert (max(times) - min(times)) / max(times) < 0.05


def incast() -> FlowRoutes:
    """15 hosts of other leaf switches, and one of the same, to host 24."""
    source = np.array([*range(1, 8), *range(8, 16), 26])
    return clos_routes(FABRIC, source, np.full(len(source), 24))


def test_an_incast_pauses_with_pfc_alone_and_less_with_a_law() -> None:
    found = {law.name: send(incast(), law.at(LINE), 2e6, 50) for law in LAWS}
    assert all(one.complete for one in found.values())
    most = found["pfc"].all_pauses
    assert most > 100
    assert all(one.all_pauses < 0.6 * most for name, one in found.items() if name != "pfc")
    assert found["hpcc"].all_pauses == 0
    # the port to the receiver is busy all the time, after the way to it
    assert found["pfc"].seconds == pytest.approx(16 * 2e6 / LINE, rel=0.01)
    assert found["hpcc"].seconds < 1.1 * 16 * 2e6 / LINE


def walk(source: int, spine: int, target: int) -> tuple[int, list[Hop], int]:
    """A route over a spine switch; within a leaf switch where both hosts are there."""
    leaves = source // 8, target // 8
    hops: list[Hop] = [("leaf", leaves[0])]
    return source, hops if leaves[0] == leaves[1] else [*hops, ("spine", spine), ("leaf", leaves[1])], target


def victim() -> FlowRoutes:
    """Five hosts of each of three leaf switches and a local one to host 24; last, host 0 to host 25 on the same way."""
    walks = [walk(leaf * 8 + host, leaf, 24) for leaf in range(3) for host in range(1, 6)]
    return named_routes(FABRIC, [*walks, walk(26, 0, 24), walk(0, 0, 25)])


def test_pfc_makes_a_victim_and_unequal_shares() -> None:
    """Pauses stop a flow whose own port is idle, and ports share by ingress: the local flow has as much as five."""
    found = send(victim(), PfcOnly(), ms=5)
    shares = found.rates[40:].mean(axis=0) / LINE
    assert shares[-1] == pytest.approx(1 / 20, rel=0.02)
    assert shares[-2] == pytest.approx(1 / 4, rel=0.02)
    assert shares[:15] == pytest.approx(1 / 20, rel=0.02)
    hpcc = send(victim(), Hpcc.at(LINE), ms=5).rates[40:].mean(axis=0) / LINE
    assert hpcc[-1] > 0.5  # of 1 - 5/16, what is left of its link
    assert hpcc[:16] == pytest.approx(hpcc[0], rel=0.02)


BOUNCED: Sequence[tuple[int, list[Hop], int]] = [
    (0, [("leaf", 0), ("spine", 0), ("leaf", 1), ("spine", 1), ("leaf", 2)], 16),
    (24, [("leaf", 3), ("spine", 1), ("leaf", 2), ("spine", 0), ("leaf", 1)], 8),
]
"""Two flows that go up again at a leaf switch, so that four links wait for each other in a ring."""
THIRD: tuple[int, list[Hop], int] = (9, [("leaf", 1), ("spine", 1), ("leaf", 3)], 25)


@pytest.mark.parametrize("step_ns", [1000, 250])
def test_a_ring_of_waits_is_a_deadlock_once_a_third_flow_joins(step_ns: int) -> None:
    """Hu et al., "Deadlocks in Datacenter Networks", HotNets 2016: a ring alone is not enough."""
    free = send(named_routes(FABRIC, BOUNCED), PfcOnly(), 1e7, 6, step_ns=step_ns)
    assert free.complete
    assert not free.ring
    stuck = send(named_routes(FABRIC, [*BOUNCED, THIRD]), PfcOnly(), 1e7, 6, step_ns=step_ns)
    assert not stuck.complete
    assert [FABRIC.port_name(port) for port in stuck.ring] == [
        "leaf 1 -> spine 1", "spine 1 -> leaf 2", "leaf 2 -> spine 0", "spine 0 -> leaf 1"
    ]  # fmt: skip
    assert (stuck.rates[-10:] == 0).all()


@pytest.mark.parametrize("law", LAWS[1:])
def test_laws_keep_queues_too_short_for_that_deadlock(law: type[CongestionLaw]) -> None:
    assert send(named_routes(FABRIC, [*BOUNCED, THIRD]), law.at(LINE), 2e7, 30).complete


@pytest.mark.parametrize(("law", "error"), [*zip(LAWS, (0.01, 0.02, 0.02, 0.04, 0.03), strict=True)])
def test_smaller_steps_come_to_the_same(law: type[CongestionLaw], error: float) -> None:
    """Times of an incast with steps of 1 us and 250 ns against those of 125 ns."""
    found = [send(incast(), law.at(LINE), 1e6, 50, step_ns=step).seconds for step in (1000, 250, 125)]
    assert abs(found[0] / found[2] - 1) < error
    assert abs(found[1] / found[2] - 1) < error / 2


def test_flows_begin_when_they_should() -> None:
    routes = clos_routes(FABRIC, np.array([0, 1]), np.array([31, 30]), "destination")
    traffic = FlowTraffic(routes, np.array([1e6, 1e5]), np.array([0.0, 12_345.0]), 1000)
    found = run_fluid(FABRIC, traffic, PfcOnly(), 1000, 10**7)
    assert found.finished_s == pytest.approx([80e-6 + 4e-6, 12.345e-6 + 8e-6 + 4e-6], abs=1e-9)


def test_a_flow_that_has_not_begun_is_not_finished() -> None:
    routes = clos_routes(FABRIC, np.array([0, 1]), np.array([31, 30]), "destination")
    traffic = FlowTraffic(routes, np.array([1e6, 1e5]), np.array([0.0, 200_000.0]), 1000)
    found = run_fluid(FABRIC, traffic, PfcOnly(), 1000, 150_000)
    assert not found.complete
    assert found.finished_s.tolist() == [pytest.approx(84e-6), np.inf]
    assert found.seconds == pytest.approx(150e-6)
    none = run_fluid(FABRIC, CollectiveTraffic(FABRIC, collective_plan("ring", 32, 64), "hash"), PfcOnly(), 1000, 0)
    assert not none.complete


def test_flows_of_one_host_share_its_link() -> None:
    routes = clos_routes(FABRIC, np.array([0, 0]), np.array([31, 22]), "destination")
    found = send(routes, PfcOnly(), 1e6)
    assert found.finished_s == pytest.approx(160e-6 + 4e-6, abs=1e-6)
    assert found.rates[1] == pytest.approx(LINE / 2, rel=1e-9)


def test_what_cannot_be_run_is_an_error() -> None:
    routes = clos_routes(FABRIC, np.array([0]), np.array([1]))
    one, start = np.ones(1), np.zeros(1)
    for step in (0, 300, 2000):
        with pytest.raises(UsageError, match=f"a step of {step} ns"):
            run_fluid(FABRIC, FlowTraffic(routes, one, start, 1000), PfcOnly(), step, 10)
    for sizes, starts in ((start, start), (one * np.inf, start), (one, one * -1), (one, one * np.nan)):
        with pytest.raises(UsageError, match="a flow"):
            FlowTraffic(routes, sizes, starts, 1000)
    with pytest.raises(UsageError, match="power of two of hosts, not 24"):
        collective_plan("halving-doubling", 24, 10)
    with pytest.raises(UsageError, match="two hosts or more"):
        collective_plan("ring", 1, 10)
    with pytest.raises(UsageError, match="64 hosts, the fabric 32"):
        CollectiveTraffic(FABRIC, collective_plan("ring", 64, 10), "hash")


@pytest.mark.heavy
def test_a_thousand_hosts_for_ten_milliseconds_with_pauses() -> None:
    fabric = ClosFabric(32, 32, 32)
    own = np.arange(1024)
    found = send(clos_routes(fabric, own, (own + 259) % 1024), PfcOnly(), ms=10, fabric=fabric)
    assert found.all_pauses > 10**5
