"""Fluid in any fabric, with any flows: no byte is made or lost, no port is faster than its link, none overflows."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.analysis.interconnect.fluid.engine import run_fluid
from npuc.compiler.analysis.interconnect.fluid.fabric import ClosFabric
from npuc.compiler.analysis.interconnect.fluid.law import CongestionLaw
from npuc.compiler.analysis.interconnect.fluid.laws.dcqcn import Dcqcn
from npuc.compiler.analysis.interconnect.fluid.laws.dctcp import Dctcp
from npuc.compiler.analysis.interconnect.fluid.laws.hpcc import Hpcc
from npuc.compiler.analysis.interconnect.fluid.laws.pfc import PfcOnly
from npuc.compiler.analysis.interconnect.fluid.laws.timely import Timely
from npuc.compiler.analysis.interconnect.fluid.queues import PortQueues
from npuc.compiler.analysis.interconnect.fluid.routes import ROUTINGS, Floats, clos_routes
from npuc.compiler.analysis.interconnect.fluid.traffic import (
    ALGORITHMS,
    CollectiveTraffic,
    FlowTraffic,
    collective_plan,
)

LAWS: tuple[type[CongestionLaw], ...] = (PfcOnly, Dcqcn, Dctcp, Timely, Hpcc)


@st.composite
def fabrics(draw: Any) -> ClosFabric:
    leaves, hosts, spines = draw(st.tuples(st.integers(1, 4), st.integers(2, 5), st.integers(1, 4)))
    rate = draw(st.sampled_from([1_250_000_000, 12_500_000_000, 50_000_000_001]))
    delay = draw(st.sampled_from([500, 1000, 3000]))
    bare = ClosFabric(leaves, hosts, spines, rate, delay, 10**9, response_ns=delay)
    return ClosFabric(
        leaves, hosts, spines, rate, delay, bare.headroom + draw(st.integers(2001, 400_000)), response_ns=delay
    )


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at every port in every step."""
    serve = PortQueues.serve

    def looked_at(self: PortQueues, arrivals: Floats, capacity: Floats) -> tuple[Floats, Floats]:
        before = self.backlog + arrivals
        out, waiting = serve(self, arrivals, capacity)
        assert out.min() >= 0
        assert self.backlog.min() >= 0
        assert (self.per_port(out)[:-1] <= capacity[:-1] * (1 + 1e-9) + 1e-6).all()
        assert before.sum() == pytest.approx(out.sum() + self.backlog.sum(), abs=1e-3)
        return out, waiting

    monkeypatch.setattr(PortQueues, "serve", looked_at)


@pytest.mark.usefixtures("watched")
@settings(deadline=None, max_examples=25)
@given(st.data(), fabrics(), st.sampled_from(LAWS))
def test_flows(data: st.DataObject, fabric: ClosFabric, law: type[CongestionLaw]) -> None:
    count, seed = data.draw(st.integers(1, 12)), data.draw(st.integers(0, 999))
    random = np.random.default_rng(seed)
    source = random.integers(0, fabric.all_hosts, count)
    target = (source + random.integers(1, fabric.all_hosts, count)) % fabric.all_hosts
    if data.draw(st.booleans()):
        target[source != 0] = 0
    step = fabric.delay_ns // data.draw(st.sampled_from([1, 2, 5]))
    most = fabric.bytes_per_s // 20_000
    sizes, starts = (random.integers(1, one, count).astype(float) for one in (most, 10**5))
    traffic = FlowTraffic(clos_routes(fabric, source, target, "hash", seed), sizes, starts, step)
    until = data.draw(st.sampled_from([50_000, 10**8]))
    found = run_fluid(fabric, traffic, law.at(fabric.bytes_per_s), step, until)
    total = found.delivered + found.queued + found.carried
    assert found.sent == pytest.approx(total, abs=1e-2)
    assert (found.sent <= sizes + 1e-2).all()
    assert found.held.max() <= fabric.buffer
    if until == 10**8:
        assert found.complete
        assert found.delivered == pytest.approx(sizes, abs=1e-2)
        links = traffic.routes.links
        alone = starts * 1e-9 + sizes / fabric.bytes_per_s + links * fabric.delay_ns * 1e-9
        assert (found.finished_s >= alone * (1 - 1e-9)).all()


@pytest.mark.usefixtures("watched")
@settings(deadline=None, max_examples=15)
@given(st.data(), fabrics(), st.sampled_from(LAWS), st.sampled_from(ALGORITHMS))
def test_collectives(data: st.DataObject, fabric: ClosFabric, law: type[CongestionLaw], algorithm: Any) -> None:
    hosts = data.draw(st.integers(2, fabric.all_hosts))
    if algorithm == "halving-doubling":
        hosts = 1 << (hosts.bit_length() - 1)
    size = data.draw(st.integers(1, fabric.bytes_per_s // 10_000))
    plan = collective_plan(algorithm, hosts, size)
    routing = data.draw(st.sampled_from(ROUTINGS))
    traffic = CollectiveTraffic(fabric, plan, routing)
    found = run_fluid(fabric, traffic, law.at(fabric.bytes_per_s), fabric.delay_ns, 10**9)
    assert found.complete
    parts = (hosts - 1) / hosts * size * (1 if algorithm == "pairwise" else 2)
    assert found.delivered == pytest.approx(parts, abs=1e-2)
    assert found.held.max() <= fabric.buffer
    assert found.seconds >= parts / fabric.bytes_per_s
