"""
The fabric in steps of time: what arrives is queued, switches pause and mark, hosts and ports send, laws react.

A step is at most a link's delay. What a step adds to exact times is less than a step at each of the laws' reactions;
flows that meet no others are exact, their ends within a step included.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npuc.compiler.analysis.interconnect.fluid.fabric import NANOSECONDS, ClosFabric
from npuc.compiler.analysis.interconnect.fluid.law import CongestionLaw, ControlContext, FlowControl, FlowView, PortView
from npuc.compiler.analysis.interconnect.fluid.pauses import PauseControl, waiting_ring
from npuc.compiler.analysis.interconnect.fluid.queues import PortQueues, Wires
from npuc.compiler.analysis.interconnect.fluid.routes import Bools, Floats, FlowRoutes, Ints, summed
from npuc.compiler.analysis.interconnect.fluid.traffic import Starts, Traffic
from npuc.compiler.core.errors import UsageError

TINY = 1e-3
"""Bytes below which a flow counts as delivered: what rounding leaves."""


@dataclass(frozen=True)
class Watch:
    """What to note every so many steps: bytes that wait at ports, and rates at which flows are delivered."""

    ports: tuple[int, ...] = ()
    flows: tuple[int, ...] = ()
    every: int = 1


@dataclass(frozen=True)
class FluidResult:
    """
    What happened. `seconds` are those until the last byte was delivered, or of the whole run; `sent`, `delivered`,
    `queued` and `carried` (on wires) the bytes of each column of flows; `finished_s` when its last flow was delivered,
    infinite where it was not, or has not begun. `complete` says whether no flow is left.

    By port: `waited`, the most bytes that waited; `held`, the most that the next switch held from it; `pauses`, how
    often it was told to pause, and `paused_s`. `ring` are ports that wait for each other at the end, for ever. `times`,
    `queues` [time, port] in bytes and `rates` [time, flow] in bytes per second are what was watched.
    """

    complete: bool
    seconds: float
    sent: Floats
    delivered: Floats
    queued: Floats
    carried: Floats
    finished_s: Floats
    waited: Floats
    held: Floats
    pauses: Ints
    paused_s: Floats
    ring: tuple[int, ...]
    times: Floats
    queues: Floats
    rates: Floats

    @property
    def all_pauses(self) -> int:
        """How often any port was told to pause."""
        return int(self.pauses.sum())


def run_fluid(
    fabric: ClosFabric,
    traffic: Traffic,
    law: CongestionLaw,
    step_ns: int,
    until_ns: int,
    watch: Watch | None = None,
) -> FluidResult:
    """
    Send a traffic over a fabric until all of it is delivered, for at most `until_ns`.

    Raises `UsageError` for a step that does not divide a link's delay, or that is longer than a sender's response.
    """
    if step_ns < 1 or fabric.delay_ns % step_ns or step_ns > fabric.response_ns:
        raise UsageError(
            f"a step of {step_ns} ns: expected one that divides a link's {fabric.delay_ns} ns, and at most a sender's "
            f"response of {fabric.response_ns} ns"
        )
    control = law.start(ControlContext.of(fabric, step_ns), traffic.flows)
    run = _Run(fabric, traffic, control, step_ns, watch or Watch())
    steps = -(-until_ns // step_ns)
    while run.step < steps and not run.over:
        run.advance()
    return run.result()


class _Notes:
    """What was watched so far."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.times: list[float] = []
        self.queues: list[Floats] = []
        self.rates: list[Floats] = []
        self._before: Floats = np.zeros(len(watch.flows))

    def take(self, step: int, step_s: float, waiting: Floats, delivered: Floats) -> None:
        """Note a step, if it is one of those."""
        if step % self.watch.every == 0:
            now = delivered[list(self.watch.flows)]
            self.times.append(step * step_s)
            self.queues.append(waiting[list(self.watch.ports)])
            self.rates.append((now - self._before) / (self.watch.every * step_s))
            self._before = now

    def arrays(self) -> tuple[Floats, Floats, Floats]:
        """Times, bytes that waited [time, port], and rates [time, flow]."""
        count, watch = len(self.times), self.watch
        queues = np.array(self.queues).reshape(count, len(watch.ports))
        return np.array(self.times), queues, np.array(self.rates).reshape(count, len(watch.flows))


class _Run:
    """The state of a run."""

    def __init__(self, fabric: ClosFabric, traffic: Traffic, control: FlowControl, step_ns: int, watch: Watch) -> None:
        self.fabric, self.traffic, self.control = fabric, traffic, control
        self.step_s = step_ns / NANOSECONDS
        self.delay = fabric.delay_ns // step_ns
        self.full = fabric.bytes_per_s * self.step_s
        self.step = 0
        flows, self.count = traffic.flows, fabric.nowhere + 1
        self.queues = PortQueues(traffic.routes)
        self.wires = Wires(traffic.routes.ports.shape, self.delay)
        self.pause = PauseControl(self.count, fabric.x_off, fabric.x_on, self.delay)
        self.memory = 2 * self.delay * (len(traffic.routes.ports) + 1) + 1
        self.told: Floats = np.zeros((self.memory, control.words, self.count))
        self.arrived: Floats = np.zeros((self.memory, flows))
        self.size: Floats = np.zeros(flows)
        self.sent: Floats = np.zeros(flows)
        """Bytes of the flow that a column has now."""
        self.delivered: Floats = np.zeros(flows)
        self.all_sent: Floats = np.zeros(flows)
        """Bytes of all flows of a column."""
        self.all_delivered: Floats = np.zeros(flows)
        self.finished: Floats = np.full(flows, np.inf)
        self.busy: Bools = np.zeros(flows, np.bool_)
        """Flows that are not delivered."""
        self.begun: Floats = np.zeros(flows)
        self.last_sent: Floats = np.full(flows, -np.inf)
        self.waiting: Floats = np.zeros(self.count)
        self.waited: Floats = np.zeros(self.count)
        self.paused_steps: Floats = np.zeros(self.count)
        self.limited: Floats = np.zeros(flows)
        self.acknowledged: Floats = np.zeros(flows)
        self.acknowledged_before: Floats = np.zeros(flows)
        self.notes = _Notes(watch)
        self._known_routes(traffic.routes)

    def _known_routes(self, routes: FlowRoutes) -> None:
        """What follows from the routes, in steps."""
        self.routes, self.ingress, self.first = routes, routes.ingress(), routes.first
        self.links = routes.links
        self.rtt_s: Floats = (2.0 * self.delay * self.step_s) * self.links.astype(np.float64)
        hops = np.arange(len(routes.ports))[:, None]
        self.lag = np.minimum(self.delay * (len(routes.ports) - hops + self.links), self.memory - 1)

    @property
    def over(self) -> bool:
        return self.traffic.done and not self.busy.any()

    def advance(self) -> None:
        """One step."""
        arrivals, hosts = self.wires.arrive()
        self._deliver(hosts)
        starts = self.traffic.begin(self.step, np.where(self.busy, np.inf, self.finished))
        if starts is not None:
            self._begin(starts)
        held = summed(self.ingress, self.queues.backlog + arrivals, self.count)
        paused = self.pause.advance(held)
        self.paused_steps += paused
        sent = self._send(paused)
        out, before = self.queues.serve(arrivals, np.where(paused, 0.0, self.full))
        self.wires.leave(sent, self.first, out)
        self._tell(before, self.queues.per_port(out))
        self.step += 1
        self.notes.take(self.step, self.step_s, self.waiting, self.all_delivered)

    def _deliver(self, hosts: Floats) -> None:
        self.delivered += hosts
        self.all_delivered += hosts
        self.arrived[self.step % self.memory] = self.delivered
        ended = self.busy & (self.size - self.delivered <= TINY) & (self.sent >= self.size - TINY)
        if ended.any():
            self.busy &= ~ended
            # where nothing delayed the last byte, it arrives at its time within the step
            due = self.last_sent + self.links * self.delay
            self.finished[ended] = np.where(due > self.step, due, self.step + 1.0)[ended]

    def _begin(self, starts: Starts) -> None:
        at = starts.columns
        if starts.routes is not None:
            changed = at[(starts.routes.ports[:, at] != self.routes.ports[:, at]).any(axis=0)]
            self.queues.route(changed, starts.routes.ports[:, changed])
            self.control.begin(changed)
            self._known_routes(starts.routes)
        self.size[at] = starts.sizes
        self.sent[at] = self.delivered[at] = 0.0
        self.arrived[:, at] = 0.0
        self.busy[at] = True
        self.begun[at] = self.step + starts.offsets

    def _send(self, paused: Bools) -> Floats:
        """What each flow sends in this step, within its law and what its host's link carries."""
        late = np.clip(self.begun - self.step, 0.0, 1.0)
        room = (1.0 - late) * np.minimum(self.control.rate * self.step_s, self.full)
        self.acknowledged_before = self.acknowledged
        now = (self.step - self.links * self.delay) % self.memory
        self.acknowledged = self.arrived[now, np.arange(len(room))]
        open_window = self.control.window - (self.sent - self.acknowledged)
        self.limited = np.where(self.busy & (open_window < self.full) & (self.sent < self.size), 1.0, 0.0)
        wanted = np.minimum(np.minimum(room, np.maximum(open_window, 0.0)), self.size - self.sent)
        wanted[~self.busy | paused[self.routes.source]] = 0.0
        link = summed(self.routes.source, wanted, self.count)
        over = link > self.full
        if over.any():
            wanted *= np.where(over, self.full / np.maximum(link, 1e-300), 1.0)[self.routes.source]
        self.sent += wanted
        self.all_sent += wanted
        ends = (wanted > 0) & (self.sent >= self.size - TINY)
        self.last_sent[ends] = (self.step + late + wanted / self.full)[ends]
        return wanted

    def _tell(self, before: Floats, sent: Floats) -> None:
        """Ports tell of themselves, and laws react to what senders hear."""
        waiting = np.maximum(before - sent, 0.0)
        waiting[-1] = sent[-1] = 0.0
        np.maximum(self.waited, waiting, out=self.waited)
        if self.control.words:
            self.told[self.step % self.memory] = self.control.tell(PortView(waiting, self.waiting, sent))
            seen = self.told[(self.step - self.lag) % self.memory, :, self.routes.ports].transpose(2, 0, 1)
            heard = self.acknowledged > self.acknowledged_before
            view = FlowView(self.rtt_s, self.limited, self.sent, self.acknowledged, heard)
            self.control.advance(seen, view)
        self.waiting = waiting

    def result(self) -> FluidResult:
        """What happened."""
        ends = np.where(self.busy, np.inf, self.finished) * self.step_s
        ring = waiting_ring(self.routes.ports, self.ingress, self.queues.backlog, self.pause.asked, self.fabric.x_on)
        times, queues, rates = self.notes.arrays()
        return FluidResult(
            complete=self.over,
            seconds=float(ends.max(initial=0.0)) if self.over else self.step * self.step_s,
            sent=self.all_sent,
            delivered=self.all_delivered,
            queued=self.queues.backlog.sum(axis=0),
            carried=self.wires.carried,
            finished_s=ends,
            waited=self.waited,
            held=self.pause.peak,
            pauses=self.pause.pauses,
            paused_s=self.paused_steps * self.step_s,
            ring=ring,
            times=times,
            queues=queues,
            rates=rates,
        )
