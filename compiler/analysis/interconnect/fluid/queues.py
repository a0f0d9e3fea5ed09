"""
First in, first out at every output port, and bytes on the wires, as arrays [hop, flow].

What arrives at a port in one step is a batch, whose flows are mixed; batches leave in their order. A port holds the
batches of its last `KEPT` steps apart; older ones, which wait for so long only while it is paused, are mixed. A port
that empties `LOADS` batches in one step has few bytes in each: the others then leave mixed, too.
"""

from __future__ import annotations

import numpy as np

from npuc.compiler.analysis.interconnect.fluid.routes import Bools, Floats, FlowRoutes, Ints, summed

KEPT = 512
"""The batches that a port holds apart: one of each of its last steps."""
LOADS = 6
"""The batches of a port that may leave in one step before the others leave mixed."""


class PortQueues:
    """The queues at the output ports of switches."""

    def __init__(self, routes: FlowRoutes) -> None:
        self.ports = routes.ports
        self.count = routes.nowhere + 1
        shape = self.ports.shape
        self.backlog: Floats = np.zeros(shape)
        """Bytes that wait, [hop, flow]."""
        self._head: Floats = np.zeros(shape)
        self._batches: Floats = np.zeros((KEPT, *shape))
        self._next: Ints = np.zeros(self.count, np.int64)
        self._now = -1

    def per_port(self, values: Floats) -> Floats:
        """The sum [port] of values [hop, flow]."""
        return summed(self.ports, values, self.count)

    def route(self, columns: Ints, ports: Ints) -> None:
        """Let these flows, of which nothing waits, cross other ports from now on."""
        self.ports = self.ports.copy()
        self.ports[:, columns] = ports
        # what left its old port must not be in a batch that the new one has still to send
        oldest = int(self._next[ports].min(initial=self._now + 1))
        kept = np.arange(oldest, self._now + 1) % KEPT
        self._batches[kept[:, None], :, columns] = 0
        self._head[:, columns] = 0
        self.backlog[:, columns] = 0

    def serve(self, arrivals: Floats, capacity: Floats) -> tuple[Floats, Floats]:
        """
        One step: what arrives is queued, and ports send up to `capacity` bytes [port].

        Returns what leaves [hop, flow], and the bytes that wait at each port before that.
        """
        self._now += 1
        self._batches[self._now % KEPT] = arrivals
        self.backlog += arrivals
        waiting = self.per_port(self.backlog)
        out = self.backlog.copy()
        busy = waiting > capacity
        if busy.any():
            self._bound_age(busy)
            held = busy[self.ports]
            out[held] = 0
            self._serve_busy(busy, capacity, waiting, out)
        self.backlog -= out
        np.maximum(self.backlog, 0, out=self.backlog)
        idle = ~busy
        self._next[idle] = self._now + 1
        if not busy.all():
            self._head[idle[self.ports]] = 0
        return out, waiting

    def _bound_age(self, busy: Bools) -> None:
        """Mix the two oldest batches of ports at which one has waited for as long as batches are held apart."""
        old = busy & (self._now - self._next >= KEPT - 2)
        if old.any():
            self._load(old)

    def _load(self, ports: Bools) -> None:
        """Add the next batch of these ports to what leaves first."""
        at = np.nonzero(ports[self.ports])
        batch = self._next[self.ports[at]] % KEPT
        self._head[at] += self._batches[batch, at[0], at[1]]
        self._next[ports] += 1

    def _serve_busy(self, busy: Bools, capacity: Floats, waiting: Floats, out: Floats) -> None:
        """What leaves ports at which more waits than they can send."""
        left = np.where(busy, capacity, 0.0)
        for turn in range(LOADS + 1):
            if turn == LOADS:
                rest = (left > 0)[self.ports]
                self._head[rest] = np.maximum(self.backlog - out, 0.0)[rest]
                self._next[left > 0] = self._now + 1
            head = self.per_port(self._head)
            whole = head <= left
            share = np.where(whole, 1.0, np.divide(left, head, out=np.zeros_like(left), where=head > 0))
            share[left <= 0] = 0
            taken = self._head * share[self.ports]
            out += np.where(busy[self.ports], taken, 0.0)
            self._head -= taken
            left = np.where(whole, np.maximum(left - head, 0.0), 0.0)
            left[left < 1e-9 * waiting] = 0
            more = left > 0
            if not more.any():
                return
            if turn < LOADS - 1:
                self._load(more)


class Wires:
    """Bytes on the links: what leaves in one step arrives `delay` steps later, at the next hop or at the host."""

    def __init__(self, shape: tuple[int, int], delay: int) -> None:
        self._queued: Floats = np.zeros((delay, *shape))
        self._last: Floats = np.zeros((delay, shape[1]))
        self._at = 0

    def arrive(self) -> tuple[Floats, Floats]:
        """What arrives in this step: at ports [hop, flow], and at hosts [flow]; the places are free then."""
        ports, hosts = self._queued[self._at].copy(), self._last[self._at].copy()
        self._queued[self._at] = 0
        self._last[self._at] = 0
        return ports, hosts

    def leave(self, sent: Floats, first: Ints, out: Floats) -> None:
        """What hosts send [flow] to the first hop of each flow, and what ports send on; the step ends."""
        slot = self._queued[self._at]
        slot[1:] += out[:-1]
        slot[first, np.arange(len(sent))] += sent
        self._last[self._at] += out[-1]
        self._at = (self._at + 1) % len(self._queued)

    @property
    def carried(self) -> Floats:
        """The bytes of each flow on the links."""
        return self._queued.sum(axis=(0, 1)) + self._last.sum(axis=0)
