"""
Priority flow control (PFC, IEEE 802.1Qbb): a switch that holds X_off bytes from a link pauses its sender, at X_on it
lets it go on. Either word takes a link's delay to arrive.

The sender stops for all flows, so that one that goes elsewhere waits behind those that are the cause (head-of-line
blocking). A deadlock is a set of paused ports of which each has sent more than X_on bytes that wait for others of the
set: none of them can ever go on. There is a ring in it.
"""

from __future__ import annotations

import numpy as np

from npuc.compiler.analysis.interconnect.fluid.routes import Bools, Floats, Ints, summed


class PauseControl:
    """Which ports are told to pause; all arrays are by port, the last one of them stands for none."""

    def __init__(self, ports: int, x_off: int, x_on: int, delay: int) -> None:
        self.x_off, self.x_on = x_off, x_on
        self.asked: Bools = np.zeros(ports, np.bool_)
        """Whether the next switch tells each port to pause, as of the last step."""
        self.peak: Floats = np.zeros(ports)
        """The most bytes from each port that the next switch has held."""
        self.pauses: Ints = np.zeros(ports, np.int64)
        """How often each port was told to pause."""
        self._late: Bools = np.zeros((delay, ports), np.bool_)
        self._at = 0

    def advance(self, held: Floats) -> Bools:
        """
        One step, from the bytes of each port that the next switch holds: the ports that are paused in this step.
        """
        held[-1] = 0
        np.maximum(self.peak, held, out=self.peak)
        asked = np.where(self.asked, held > self.x_on, held >= self.x_off)
        self.pauses += asked & ~self.asked
        self.asked = asked
        paused = self._late[self._at].copy()
        self._late[self._at] = asked
        self._at = (self._at + 1) % len(self._late)
        return paused


def waiting_ring(ports: Ints, ingress: Ints, backlog: Floats, paused: Bools, x_on: int) -> tuple[int, ...]:
    """
    Ports that wait for each other in a ring for ever, from the least number on; empty where there is no deadlock.

    A port is paused for the bytes that it has sent to the next switch, and waits for the ports of that switch where
    they queue; it goes on where those that can still leave bring the others to `x_on`. `ports`, `ingress` and `backlog`
    are by hop and flow, `paused` by port.
    """
    last = len(paused) - 1
    crossed = (backlog > 0) & (ports != last) & (ingress != last)
    dead = paused.copy()
    while True:
        stuck = crossed & dead[ports] & dead[ingress]
        left = dead & (summed(ingress, np.where(stuck, backlog, 0.0), len(paused)) > x_on)
        if (left == dead).all():
            break
        dead = left
    waits: dict[int, set[int]] = {}
    for port, one in zip(ingress[stuck].tolist(), ports[stuck].tolist(), strict=True):
        waits.setdefault(port, set()).add(one)
    return _ring(waits)


def _ring(waits: dict[int, set[int]]) -> tuple[int, ...]:
    """A ring in a graph, found by going down from each node in turn."""
    done: set[int] = set()
    for start in sorted(waits):
        path: list[int] = []
        branches = [iter([start])]
        while branches:
            node = next(branches[-1], None)
            if node is None:
                branches.pop()
                if path:
                    done.add(path.pop())
            elif node in path:
                ring = path[path.index(node) :]
                least = ring.index(min(ring))
                return (*ring[least:], *ring[:least])
            elif node not in done:
                path.append(node)
                branches.append(iter(sorted(waits.get(node, ()))))
    return ()
