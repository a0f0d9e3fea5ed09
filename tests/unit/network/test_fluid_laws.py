"""Laws of congestion control by what is published of them: fixed points, limit cycles, responses to a step."""

from dataclasses import dataclass
from functools import partial
from math import exp, expm1, log1p, sqrt

import numpy as np
import pytest

from npuc.compiler.analysis.interconnect.fluid.engine import FluidResult, Watch, run_fluid
from npuc.compiler.analysis.interconnect.fluid.fabric import ClosFabric
from npuc.compiler.analysis.interconnect.fluid.law import (
    CongestionLaw,
    ControlContext,
    FlowControl,
    FlowView,
    marked,
    marking,
)
from npuc.compiler.analysis.interconnect.fluid.laws.dcqcn import Dcqcn
from npuc.compiler.analysis.interconnect.fluid.laws.dctcp import Dctcp
from npuc.compiler.analysis.interconnect.fluid.laws.hpcc import Hpcc
from npuc.compiler.analysis.interconnect.fluid.laws.pfc import PfcOnly
from npuc.compiler.analysis.interconnect.fluid.laws.timely import Timely
from npuc.compiler.analysis.interconnect.fluid.routes import clos_routes
from npuc.compiler.analysis.interconnect.fluid.traffic import FlowTraffic

SLOW_STEPS = partial(ClosFabric, 1, 11, 1, delay_ns=4000, response_ns=4000, buffer=6_000_000)
"""Links of 4 us, which a step may be as long as: the fixed points do not depend on it."""
VIEW = FlowView(np.full(1, 4e-6), np.zeros(1), np.zeros(1), np.zeros(1), np.ones(1, bool))
LAWS: tuple[type[CongestionLaw], ...] = (PfcOnly, Dcqcn, Dctcp, Timely, Hpcc)


def one_link(
    fabric: ClosFabric, law: CongestionLaw, flows: int, ms: float, *, every: int = 10, step_ns: int = 1000
) -> FluidResult:
    """Endless flows of hosts under one leaf switch to another host."""
    source = np.arange(1, flows + 1)
    routes = clos_routes(fabric, source, np.zeros(flows, int))
    traffic = FlowTraffic(routes, np.full(flows, 1e15), np.zeros(flows), step_ns)
    watch = Watch((fabric.to_host(0),), tuple(range(flows)), every)
    return run_fluid(fabric, traffic, law, step_ns, int(ms * 1e6), watch)


def dcqcn_exact(law: Dcqcn, flows: int, link: float, mtu: int) -> float:
    """The part of marked packets at which all three equations stand still, by bisection."""
    rate, count = link / mtu / flows, law.byte_counter / mtu

    def excess(p: float) -> float:
        clear = log1p(-p)
        cut, alpha = -expm1(law.t_cnp * rate * clear), -expm1(law.t_alpha * rate * clear)
        b, d = p / expm1(-count * clear) if count * p < 500 else 0.0, p / expm1(-law.timer * rate * clear)
        rise = b * exp(law.fast_recovery * count * clear) + d * exp(law.fast_recovery * law.timer * rate * clear)
        gap = law.t_cnp * law.r_ai / mtu * rate * rise / cut
        return alpha * cut / law.t_cnp - gap * (b + d)

    low, high = 1e-7, 0.5
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    return low


@pytest.mark.parametrize("flows", [2, 8])
def test_dcqcn_settles_at_its_fixed_point(flows: int) -> None:
    fabric, law = SLOW_STEPS(bytes_per_s=5 * 10**9), Dcqcn()
    found = one_link(fabric, law, flows, 80, step_ns=4000)
    part = dcqcn_exact(law, flows, 5e9, 1000)
    assert found.queues[-100:] == pytest.approx(5e3 + part / 0.01 * 195e3, rel=0.015)
    assert found.rates[-100:] == pytest.approx(5e9 / flows, rel=0.002)
    near, waiting = law.fixed_point(flows, 5e9, 1000)
    assert part == pytest.approx(near, rel=0.25)
    assert waiting == pytest.approx(5e3 + near / 0.01 * 195e3)


def test_dcqcn_halves_in_the_time_of_its_notifications() -> None:
    """All packets marked, alpha 1: R' = - R / (2 t_cnp), and less as alpha follows the marks."""
    context = ControlContext(5e9, 4e-6, 1e-6, 1000)
    control = Dcqcn().start(context, 1)
    for _ in range(50):
        control.advance(np.ones((1, 1, 1)), VIEW)
    assert control.rate[0] == pytest.approx(5e9 * exp(-0.5), rel=0.01)
    for _ in range(2000):
        control.advance(np.ones((1, 1, 1)), VIEW)
    assert control.rate[0] == pytest.approx(5e6)
    for _ in range(4000):
        control.advance(np.zeros((1, 1, 1)), VIEW)
    # without a mark the target grows by R_AI in each period of the timer, and the rate follows
    assert control.rate[0] == pytest.approx(5e6 + 5e6 * 4000e-6 / 55e-6, rel=0.1)


def test_dcqcn_without_fast_recovery_is_a_number_where_all_packets_are_marked() -> None:
    control = Dcqcn(fast_recovery=0.0).start(ControlContext(5e9, 4e-6, 1e-6, 1000), 1)
    for part in (1.0, 0.0, 1.0):
        control.advance(np.full((1, 1, 1), part), VIEW)
        assert 0 < control.rate[0] <= 5e9


@pytest.mark.parametrize(
    ("law", "told"), [(PfcOnly, ()), (Dcqcn, (1.0,)), (Dctcp, (1.0, 1e-4)), (Timely, (1e-3,)), (Hpcc, (3.0,))]
)
def test_a_connection_knows_of_no_queue_before_something_is_acknowledged(
    law: type[CongestionLaw], told: tuple[float, ...]
) -> None:
    """Two connections, of which the second is told of a long queue while nothing of it is acknowledged."""
    control = law.at(12.5e9).start(ControlContext(12.5e9, 8e-6, 1e-6, 1000), 2)
    before, views = (control.rate[1], control.window[1]), [np.array([True, one]) for one in (False, True, False)]
    seen = np.tile(np.array(told)[:, None, None], (1, 1, 2))
    for turn, heard in enumerate(views):
        for _ in range(30):
            view = FlowView(np.full(2, 8e-6), np.ones(2), np.full(2, 9e4), np.full(2, 8e4), heard)
            control.advance(seen, view)
        if turn == 0:
            assert (control.rate[1], control.window[1]) == before
    if law is not PfcOnly:
        assert (control.rate[1], control.window[1]) != before
        control.begin(np.array([1]))
        assert (control.rate[1], control.window[1]) == before


def dctcp_model(flows: int, link: float, rtt: float, k: float, gain: float, lag: int) -> np.ndarray:
    """The published fluid model by itself, in packets, steps of 1 us, with a constant delay of what senders hear."""
    window, alpha, queue, step = (link * rtt + k) / flows, 0.2, k, 1e-6
    late = np.zeros(lag)
    found = np.zeros(40_000)
    for n in range(len(found)):
        part = 1.0 if late[n % lag] > k else 0.0
        trip = rtt + queue / link
        late[n % lag] = queue
        window += step / trip * (1 - window * alpha * part / 2)
        alpha += step * gain / trip * (part - alpha)
        queue = max(queue + step * (flows * window / trip - link), 0.0)
        found[n] = queue
    return found[20_000:]


@pytest.mark.parametrize(("flows", "k"), [(2, 40), (10, 65)])
def test_dctcp_swings_as_its_model_does(flows: int, k: int) -> None:
    """10 Gb/s, 100 us, packets of 1,500 bytes; what senders hear is as old here as the way from the port and back."""
    fabric = SLOW_STEPS(bytes_per_s=1_250_000_000, delay_ns=25_000, mtu=1500)
    found = one_link(fabric, Dctcp(k=k * 1500.0), flows, 40, every=1, step_ns=2500)
    queue = found.queues[-8000:, 0] / 1500
    link = 1.25e9 / 1500
    model = dctcp_model(flows, link, 100e-6, k, 1 / 16, 75)
    assert queue.max() == pytest.approx(model.max(), rel=0.03)
    assert queue.min() == pytest.approx(model.min(), rel=0.03)
    assert np.ptp(queue) == pytest.approx(np.ptp(model), rel=0.2)
    # the published bounds: the queue ends at K + N at most, swings by less than the sawtooth, and is never empty
    assert k < queue.max() <= k + flows
    assert 0.5 < np.ptp(queue) / (sqrt(2 * flows * (link * 100e-6 + k)) / 2) < 1
    assert queue.min() > 0
    assert found.rates[-8000:].sum(axis=1).mean() == pytest.approx(1.25e9, rel=1e-6)
    assert found.rates[-8000:].mean(axis=0) == pytest.approx(1.25e9 / flows, rel=0.01)


@dataclass(frozen=True)
class Uneven(Timely):
    """TIMELY with two flows that begin at unequal rates."""

    first: float = 0.7

    def start(self, context: ControlContext, flows: int) -> FlowControl:
        control = super().start(context, flows)
        control.rate[:] = context.bytes_per_s * np.array([self.first, 1 - self.first])
        control.begin = lambda flows: None
        return control


def test_timely_has_no_fixed_point_and_stays_uneven() -> None:
    found = one_link(SLOW_STEPS(bytes_per_s=1_250_000_000), Uneven(hai=0), 2, 40, step_ns=4000)
    rates, queue = found.rates[-300:], found.queues[-300:, 0]
    assert rates.sum(axis=1).mean() == pytest.approx(1.25e9, rel=0.01)
    assert rates[:, 0].mean() > 2 * rates[:, 1].mean()
    assert np.ptp(queue) > 2000  # it goes on and on


@pytest.mark.parametrize("flows", [2, 6])
def test_timely_patched_settles_at_its_fixed_point(flows: int) -> None:
    fabric = SLOW_STEPS(bytes_per_s=1_250_000_000)
    law: Timely = Timely(beta=0.008, hai=0, patched=True)
    if flows == 2:
        law = Uneven(beta=0.008, hai=0, patched=True, first=0.55)
    found = one_link(fabric, law, flows, 100, step_ns=4000)
    trip = law.t_low * (1 + flows * law.delta / (law.beta * 1.25e9))
    assert found.rates[-100:] == pytest.approx(1.25e9 / flows, rel=0.005)
    assert found.queues[-100:] == pytest.approx(1.25e9 * (trip - 16e-6), rel=0.003)


def test_timely_answers_round_trips_by_their_three_kinds() -> None:
    context = ControlContext(1.25e9, 4e-6, 1e-6, 1000)

    def after(law: Timely, queueing: float, rate: float = 5e8) -> float:
        control = law.start(context, 1)
        control.rate[:] = rate
        for _ in range(10):
            control.advance(np.full((1, 1, 1), queueing), VIEW)
        return (control.rate[0] - rate) / 10e-6

    segment = 16e3 / 5e8
    assert after(Timely(hai=0), 10e-6) == pytest.approx(1.25e6 / segment, rel=0.01)
    assert after(Timely(hai=0), 200e-6) == pytest.approx(1.25e6 / segment, rel=0.01)
    assert after(Timely(), 996e-6) == pytest.approx(-0.8 * 5e8 * 0.5 / segment, rel=0.15)
    control = Timely().start(context, 1)
    control.rate[:] = 5e8
    for _ in range(1000):
        control.advance(np.full((1, 1, 1), 10e-6), VIEW)
    assert control.rate[0] - 5e8 > 3 * 1000e-6 * 1.25e6 / segment  # increases grow after five segments


@pytest.mark.parametrize("flows", [2, 8, 20])
def test_hpcc_settles_at_eta_with_an_empty_queue(flows: int) -> None:
    fabric = ClosFabric(1, 21, 1, buffer=3_000_000)
    law = Hpcc.at(fabric.bytes_per_s)
    found = one_link(fabric, law, flows, 3)
    use = law.eta + flows * law.w_ai / (fabric.bytes_per_s * 4e-6)
    assert found.rates[-100:].sum(axis=1) == pytest.approx(use * fabric.bytes_per_s, rel=1e-3)
    assert found.rates[-1] == pytest.approx(use * fabric.bytes_per_s / flows, rel=1e-3)
    assert found.queues[-100:].max() == 0
    # all flows begin with a window of a round trip; the queue of that is gone after a few
    assert found.waited.max() == pytest.approx((flows - 1) * fabric.bytes_per_s * 4e-6, rel=0.05)
    assert np.argmax(found.queues[:, 0] == 0) * 10e-6 < 4e-6 * (flows + 8)


def test_hpcc_takes_what_becomes_free() -> None:
    """A flow that ends leaves its part to the other one within a few round trips."""
    fabric = ClosFabric(1, 4, 1)
    routes = clos_routes(fabric, np.array([1, 2]), np.array([0, 0]))
    traffic = FlowTraffic(routes, np.array([1e15, 5e6]), np.zeros(2), 1000)
    law = Hpcc.at(fabric.bytes_per_s)
    found = run_fluid(fabric, traffic, law, 1000, 2_000_000, Watch((), (0, 1), 10))
    share = found.rates[:, 0] / fabric.bytes_per_s
    end = int(found.finished_s[1] / 10e-6)
    assert share[end - 5] == pytest.approx(0.477, abs=0.005)
    assert share[end + 8] > 0.9


@pytest.mark.parametrize("law", LAWS)
def test_a_flow_alone_has_its_link(law: type[CongestionLaw]) -> None:
    fabric = ClosFabric(1, 2, 1)
    found = one_link(fabric, law.at(fabric.bytes_per_s), 1, 2)
    share = 0.95 if law is Hpcc else 1.0
    assert found.rates[-50:] == pytest.approx(share * fabric.bytes_per_s, rel=0.005)
    assert found.all_pauses == 0


@pytest.mark.parametrize("law", LAWS)
def test_constants_scale_with_the_link(law: type[CongestionLaw]) -> None:
    """Twice the rate with half the delay and the same packets per second is the same in half as many seconds."""
    assert law.at(2e9).name == law.at(1e9).name
    if law is Dcqcn:
        assert (Dcqcn.at(5e9), Dcqcn.at(10e9).k_max) == (Dcqcn(), 400e3)
    if law is Dctcp:
        assert (Dctcp.at(1.25e9), Dctcp.at(12.5e9).k) == (Dctcp(), 300e3)
    if law is Timely:
        assert (Timely.at(1.25e9), Timely.at(12.5e9).delta) == (Timely(), 12.5e6)
    if law is Hpcc:
        assert (Hpcc.at(12.5e9), Hpcc.at(25e9).w_ai) == (Hpcc(), 160.0)


def test_marks_of_several_ports_add_up() -> None:
    assert marking(np.array([0.0, 5, 10, 15, 16]), 5, 15, 0.2).tolist() == pytest.approx([0, 0, 0.1, 0.2, 1])
    assert marking(np.array([4.0, 5, 6]), 5, 5, 1.0).tolist() == [0, 0, 1]
    assert marked(np.array([[0.5, 0.0], [0.5, 0.0], [0.0, 1.0]])).tolist() == [0.75, 1.0]
